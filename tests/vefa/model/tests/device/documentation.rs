// SPDX-License-Identifier: GPL-2.0
//! Documentation/vefa.md lists every rule and every key.

use vefa_model::rules::Rule;
use vefa_model::Config;

fn manual() -> String {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../Documentation/vefa.md"
    );
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn every_rule_is_in_the_manual() {
    let manual = manual();
    for rule in Rule::ALL {
        let row = format!("| `{}` |", rule.name());
        assert!(manual.contains(&row), "no row for {}", rule.name());
    }
}

#[test]
fn every_configuration_key_is_in_the_manual() {
    let manual = manual();
    let config = serde_json::to_value(Config::default()).unwrap();
    for key in config.as_object().unwrap().keys() {
        assert!(manual.contains(&format!("`{key}`")), "no row for {key}");
    }
}
