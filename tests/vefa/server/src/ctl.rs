// SPDX-License-Identifier: GPL-2.0
//! `vefa ctl`: sends one request to a device's control socket and shows the answer.

use crate::options::Control;
use anyhow::{anyhow, bail, Context, Result};
use serde_json::{Map, Value};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

/// Sends the request and returns the text to print.
///
/// # Errors
///
/// When nobody listens at the control socket, an argument is not `KEY=VALUE`, or the device refuses the
/// request.
pub fn run(options: &Control) -> Result<String> {
    let request = request(&options.op, &options.arguments)?;
    let answer = exchange(options, &request)?;
    if answer.get("ok") != Some(&Value::Bool(true)) {
        let reason = answer.get("error").and_then(Value::as_str);
        bail!(
            "{}: {}",
            options.op,
            reason.unwrap_or("refused without a reason")
        );
    }
    Ok(if options.json {
        format!("{}\n", Value::Object(answer))
    } else {
        human(answer)
    })
}

fn exchange(options: &Control, request: &Value) -> Result<Map<String, Value>> {
    let path = options.control.display();
    let mut socket = UnixStream::connect(&options.control)
        .with_context(|| format!("no device answers at {path}"))?;
    writeln!(socket, "{request}").with_context(|| format!("cannot write to {path}"))?;
    let mut line = String::new();
    BufReader::new(socket)
        .read_line(&mut line)
        .with_context(|| format!("cannot read from {path}"))?;
    serde_json::from_str(&line).with_context(|| format!("{path}: no answer, or not a JSON object"))
}

/// A value is JSON where it can be read as such, else text.
fn request(op: &str, arguments: &[String]) -> Result<Value> {
    let mut request = Map::new();
    request.insert("op".to_owned(), op.into());
    for argument in arguments {
        let (key, text) = argument
            .split_once('=')
            .ok_or_else(|| anyhow!("{argument}: expected KEY=VALUE"))?;
        let value = serde_json::from_str(text).unwrap_or_else(|_| text.into());
        request.insert(key.to_owned(), value);
    }
    Ok(Value::Object(request))
}

/// The answer as indented lines, one for each value that holds no others.
fn human(mut answer: Map<String, Value>) -> String {
    answer.retain(|key, _| key != "ok");
    let mut text = String::new();
    for (key, value) in &answer {
        show(&mut text, 0, key, value);
    }
    if text.is_empty() {
        text.push_str("ok\n");
    }
    text
}

fn show(text: &mut String, depth: usize, name: &str, value: &Value) {
    let indent = "  ".repeat(depth);
    if depth > 0 || is_scalar(value) {
        if let Some(flat) = flat(value) {
            text.push_str(&format!("{indent}{name}: {flat}\n"));
            return;
        }
    }
    text.push_str(&format!("{indent}{name}:\n"));
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                show(text, depth + 1, name, value);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                show(text, depth + 1, "-", item);
            }
        }
        _ => text.push_str(&format!("{indent}  none\n")),
    }
}

fn is_scalar(value: &Value) -> bool {
    !matches!(value, Value::Object(_) | Value::Array(_))
}

/// A value that fits on a line: a scalar, or an object of scalars as `key=value key=value`.
fn flat(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Object(fields) if fields.values().all(is_scalar) => {
            let shown = |(key, value)| Some(format!("{key}={}", flat(value)?));
            let shown: Option<Vec<String>> = fields.iter().map(shown).collect();
            shown.map(|fields| fields.join(" "))
        }
        Value::Object(_) | Value::Array(_) => None,
        scalar => Some(scalar.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(answer: Value) -> String {
        human(answer.as_object().unwrap().clone())
    }

    #[test]
    fn arguments_are_json_where_they_can_be() {
        let arguments = ["on=true", "nth=2", "gid=fe80::1"].map(str::to_owned);
        let expected = json!({"op": "x", "on": true, "nth": 2, "gid": "fe80::1"});
        assert_eq!(request("x", &arguments).unwrap(), expected);
        assert!(request("x", &["bare".to_owned()]).is_err());
    }

    #[test]
    fn an_answer_without_content_is_ok() {
        assert_eq!(shown(json!({"ok": true})), "ok\n");
    }

    #[test]
    fn counters_of_one_command_share_a_line() {
        let answer = json!({"ok": true, "counters": {"create_ah": {"seen": 2, "ok": 1}, "n": 3}});
        assert_eq!(
            shown(answer),
            "counters:\n  create_ah: seen=2 ok=1\n  n: 3\n"
        );
    }

    #[test]
    fn each_entry_of_a_list_has_a_line_and_an_empty_list_says_so() {
        let answer = json!({"ok": true, "log": [{"seq": 1, "command": "a"}], "violations": []});
        assert_eq!(
            shown(answer),
            "log:\n  -: seq=1 command=a\nviolations:\n  none\n"
        );
    }
}
