// SPDX-License-Identifier: GPL-2.0
//! `vefa ctl`: sends one request to a device's control socket and shows the answer.

use crate::options::Control;
use crate::settings;
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

/// A value is JSON where it can be read as such, else text; those of `set` are as for `--set`.
fn request(op: &str, arguments: &[String]) -> Result<Value> {
    let mut request = Map::new();
    request.insert("op".to_owned(), op.into());
    for argument in arguments {
        let (key, text) = argument
            .split_once('=')
            .ok_or_else(|| anyhow!("{argument}: expected KEY=VALUE"))?;
        let value = match op {
            "set" => settings::value(key, text),
            _ => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
        };
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
    match value {
        Value::Object(fields)
            if !fields.is_empty() && (depth == 0 || !fields.values().all(is_scalar)) =>
        {
            text.push_str(&format!("{indent}{name}:\n"));
            for (name, value) in fields {
                show(text, depth + 1, name, value);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            text.push_str(&format!("{indent}{name}:\n"));
            for item in items {
                text.push_str(&format!("{indent}  -: {}\n", flat(item)));
            }
        }
        value => text.push_str(&format!("{indent}{name}: {}\n", flat(value))),
    }
}

fn is_scalar(value: &Value) -> bool {
    !matches!(value, Value::Object(_) | Value::Array(_))
}

/// A value on one line: fields as `key=value key=value`, those of a field in braces, a list with commas.
fn flat(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) if !items.is_empty() => {
            items.iter().map(flat).collect::<Vec<_>>().join(",")
        }
        Value::Object(fields) if !fields.is_empty() => {
            let field = |(key, value): (&String, &Value)| match value {
                Value::Object(inner) if !inner.is_empty() => format!("{key}={{{}}}", flat(value)),
                _ => format!("{key}={}", flat(value)),
            };
            fields.iter().map(field).collect::<Vec<_>>().join(" ")
        }
        Value::Object(_) | Value::Array(_) => "none".to_owned(),
        scalar => scalar.to_string(),
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
    fn set_takes_what_the_command_line_and_the_file_take() {
        let arguments = [
            "device_id=0xefa1",
            "api_version=0.2",
            "caps=[\"rdma_read\"]",
        ];
        let expected =
            json!({"op": "set", "device_id": 0xefa1, "api_version": "0.2", "caps": ["rdma_read"]});
        let arguments = arguments.map(str::to_owned);
        assert_eq!(request("set", &arguments).unwrap(), expected);
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
            "log:\n  -: seq=1 command=a\nviolations: none\n"
        );
    }

    #[test]
    fn what_a_log_entry_holds_stays_on_its_line() {
        let answer = json!({"ok": true, "log": [
            {"command": "reset", "live": {}},
            {"command": "reset", "live": {"ah": 1, "pd": 2}, "faults": [3, 4]},
        ]});
        assert_eq!(
            shown(answer),
            "log:\n  -: command=reset live=none\n  -: command=reset live={ah=1 pd=2} faults=3,4\n"
        );
    }
}
