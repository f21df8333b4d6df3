// SPDX-License-Identifier: GPL-2.0
//! Which modules of the driver use which: only those of lower layers.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{ensure, Result};

use super::{files, relative};
use crate::env::Env;
use crate::report::Status;

const TABLE: &str = "Documentation/architecture.md";
/// How the table of layers begins.
const HEADING: &str = "| layer | modules |";

/// No module uses one of its own layer, or of one above it.
pub fn layers(env: &Env) -> Result<Status> {
    let table = fs::read_to_string(env.tree.join(TABLE))?;
    let layers = of_table(&table);
    let root = fs::read_to_string(env.tree.join("src/efa_main.rs"))?;
    for module in modules(&root) {
        ensure!(
            layers.contains_key(module),
            "{TABLE} has no layer for {module}"
        );
    }
    for source in files(&env.tree.join("src"), &["rs"])? {
        let name = relative(env, &source);
        let Some(own) = module_of(&name) else {
            continue;
        };
        let text = fs::read_to_string(&source)?;
        if let Some(other) = upward(&layers, own, &text) {
            return Ok(Status::Failed(format!(
                "{name} uses {other}, which is not below it"
            )));
        }
    }
    Ok(Status::Passed)
}

/// The modules of a table of layers, each with the number of its layer, the highest of which is 0.
fn of_table(text: &str) -> BTreeMap<&str, usize> {
    let rows = text
        .lines()
        .skip_while(|line| !line.starts_with(HEADING))
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let mut layers = BTreeMap::new();
    for (layer, row) in rows.enumerate() {
        let names = row.split('|').nth(2).unwrap_or_default();
        let names = names.split(',').map(|name| name.trim().trim_matches('`'));
        layers.extend(names.map(|name| (name, layer)));
    }
    layers
}

/// The modules that the root declares.
fn modules(root: &str) -> impl Iterator<Item = &str> {
    root.lines()
        .filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'))
}

/// The module that a file is of; `None` for the root, and for crate `rdma`.
fn module_of(name: &str) -> Option<&str> {
    let path = name.strip_prefix("src/")?;
    let module = path.split('/').next()?.trim_end_matches(".rs");
    (module != "efa_main" && module != "rdma" && module != "shims").then_some(module)
}

/// A module that `text`, of module `own`, uses and must not.
fn upward<'a>(layers: &BTreeMap<&str, usize>, own: &str, text: &'a str) -> Option<&'a str> {
    let layer = *layers.get(own)?;
    used(text)
        .into_iter()
        .find(|other| *other != own && layers.get(other).is_some_and(|other| *other <= layer))
}

/// The names that follow `crate::`, alone or in braces.
fn used(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for after in text.split("crate::").skip(1) {
        match after.strip_prefix('{') {
            None => names.push(word(after)),
            Some(list) => names.extend(heads(list)),
        }
    }
    names
}

/// The first word of each item of a list in braces, whose first brace is gone.
fn heads(list: &str) -> Vec<&str> {
    let (mut depth, mut begins, mut heads) = (0, true, Vec::new());
    for (at, character) in list.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => begins = true,
            _ if begins && character.is_alphabetic() => {
                heads.push(word(&list[at..]));
                begins = false;
            }
            _ => {}
        }
    }
    heads
}

fn word(text: &str) -> &str {
    let end = text.find(|character: char| !character.is_alphanumeric() && character != '_');
    &text[..end.unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    const PICTURE: &str = "text\n| layer | modules | what |\n|---|---|---|\n| a | `top` | x |\n\
                           | b | `left`, `right` | y, `z` |\n| c | `low` | |\n\n| d | `other` |\n";

    #[test]
    fn layers_are_the_rows_of_the_table() {
        let expected = BTreeMap::from([("top", 0), ("left", 1), ("right", 1), ("low", 2)]);
        assert_eq!(of_table(PICTURE), expected);
    }

    #[test]
    fn a_module_uses_what_is_below_it() {
        let layers = of_table(PICTURE);
        let uses = |own, text| upward(&layers, own, text);
        let list = "use crate::{\n    low::{\n        self,\n        top, //\n    },\n    left::Left, //\n};";
        assert_eq!(uses("top", list), None);
        assert_eq!(uses("left", list), None);
        assert_eq!(uses("right", list), Some("left"));
        assert_eq!(uses("low", "fn f() { crate::top::g() }"), Some("top"));
        assert_eq!(uses("low", "crate::parameters::x, crate::low::y"), None);
    }

    #[test]
    fn a_file_is_of_the_module_that_its_path_begins_with() {
        assert_eq!(module_of("src/left.rs"), Some("left"));
        assert_eq!(module_of("src/left/a/b.rs"), Some("left"));
        assert_eq!(module_of("src/rdma/left.rs"), None);
        assert_eq!(module_of("src/efa_main.rs"), None);
        assert!(modules("mod left;\nmod right;\n").eq(["left", "right"]));
    }
}
