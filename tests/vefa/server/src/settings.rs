// SPDX-License-Identifier: GPL-2.0
//! A device's configuration: defaults, then a file, then single keys.

use anyhow::{anyhow, Context, Result};
use serde_json::{Map, Value};
use std::path::Path;
use toml::Table;
use vefa_model::{Config, Gid};

/// The configuration of device `number`: reads the file, if there is one, and changes the keys given as
/// `KEY=VALUE`.
///
/// # Errors
///
/// When the file cannot be read or is not TOML, or a key or value is not one of the device's. The message
/// names the file, or the key.
pub fn load(number: u32, file: Option<&Path>, changes: &[String]) -> Result<Config> {
    let mut config = defaults(number);
    if let Some(path) = file {
        config = read(&config, path)?;
    }
    for change in changes {
        let (key, text) = change
            .split_once('=')
            .ok_or_else(|| anyhow!("--set {change}: expected KEY=VALUE"))?;
        let keys = Map::from_iter([(key.to_owned(), value(key, text))]);
        config = changed(&config, keys).with_context(|| format!("--set {change}"))?;
    }
    Ok(config)
}

/// The defaults, but for the addresses, which have to differ from device to device.
fn defaults(number: u32) -> Config {
    let defaults = Config::default();
    let gid = u128::from_be_bytes(defaults.gid.0).wrapping_add(u128::from(number));
    Config {
        guid: defaults.guid.wrapping_add(u64::from(number)),
        gid: Gid(gid.to_be_bytes()),
        ..defaults
    }
}

fn read(defaults: &Config, path: &Path) -> Result<Config> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
    let table: Table = one_line(text.parse(), &text).with_context(|| shown.to_string())?;
    let keys = table
        .into_iter()
        .map(|(key, value)| Ok((key, serde_json::to_value(value)?)))
        .collect::<Result<_>>()?;
    changed(defaults, keys).with_context(|| shown.to_string())
}

fn changed(config: &Config, keys: Map<String, Value>) -> Result<Config> {
    let config = config.with(keys).map_err(|error| anyhow!(error))?;
    config.validate()?;
    Ok(config)
}

/// The value that `text` stands for: for a key that holds text, itself, where quotes are not asked for; else
/// TOML, or JSON, where it can be read as such.
pub fn value(key: &str, text: &str) -> Value {
    let defaults = serde_json::to_value(Config::default()).unwrap_or_default();
    if defaults.get(key).is_some_and(Value::is_string) {
        return text.trim_matches('"').into();
    }
    let toml = format!("value = {text}").parse::<Table>().ok();
    toml.and_then(|mut table| table.remove("value"))
        .and_then(|value| serde_json::to_value(value).ok())
        .or_else(|| serde_json::from_str(text).ok())
        .unwrap_or_else(|| text.into())
}

/// The message of a TOML error with its line, without its drawing of the text.
fn one_line<T>(result: Result<T, toml::de::Error>, text: &str) -> Result<T> {
    result.map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start));
        let line = before.map_or(1, |before| before.matches('\n').count() + 1);
        let message = error.message().trim().replace('\n', "; ");
        anyhow!("line {line}: {message}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn set(changes: &[&str]) -> Result<Config> {
        let changes: Vec<String> = changes.iter().map(|c| c.to_string()).collect();
        load(0, None, &changes)
    }

    fn message(result: Result<Config>) -> String {
        let message = format!("{:#}", result.unwrap_err());
        assert!(!message.contains('\n'), "{message}");
        message
    }

    #[test]
    fn without_file_and_changes_the_defaults_hold() {
        assert_eq!(set(&[]).unwrap(), Config::default());
    }

    #[test]
    fn devices_have_addresses_of_their_own_unless_told() {
        let config = load(3, None, &[]).unwrap();
        assert_eq!(config.gid, "fe80::ef:a000:0:4".parse().unwrap());
        assert_eq!(config.guid, 0x02ef_a000_0000_0004);
        let config = load(3, None, &["gid=fe80::5".to_owned()]).unwrap();
        assert_eq!(config.gid, "fe80::5".parse().unwrap());
    }

    #[test]
    fn a_change_takes_numbers_flags_and_bare_text() {
        let config = set(&[
            "max_pd=7",
            "has_bar2=false",
            "api_version=0.2",
            "device_id=0xefa1",
        ]);
        let config = config.unwrap();
        assert_eq!(
            (config.max_pd, config.has_bar2, config.device_id),
            (7, false, 0xefa1)
        );
        assert_eq!(config.api_version, vefa_model::ApiVersion::V0_2);
    }

    #[test]
    fn a_change_overrides_the_file() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"max_pd = 3\nmax_ah = 4\n").unwrap();
        let config = load(0, Some(file.path()), &["max_pd=5".to_owned()]).unwrap();
        assert_eq!((config.max_pd, config.max_ah), (5, 4));
    }

    #[test]
    fn errors_are_one_line_and_name_the_key_or_the_file() {
        assert!(message(set(&["max_pd"])).contains("--set max_pd: expected KEY=VALUE"));
        assert!(message(set(&["no_such_key=1"])).contains("no_such_key"));
        assert_eq!(
            message(set(&["max_pd=many"])),
            "--set max_pd=many: max_pd cannot be \"many\" (it is 256): invalid type: string \"many\", \
             expected u32"
        );
        assert!(message(set(&["device_id=1"])).contains("device_id"));
        assert!(message(load(0, Some(Path::new("/no/such/file")), &[])).contains("/no/such/file"));

        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"max_ah = 4\nmax_pd = = 3\n").unwrap();
        let place = format!("{}: line 2: ", file.path().display());
        assert!(message(load(0, Some(file.path()), &[])).starts_with(&place));
    }
}
