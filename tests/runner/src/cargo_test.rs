// SPDX-License-Identifier: GPL-2.0
//! What cargo and libtest print.

use std::path::PathBuf;

use serde::Deserialize;

/// A test program that cargo built.
#[derive(Debug, PartialEq, Eq)]
pub struct TestProgram {
    pub package: String,
    /// The target's name: the crate, or the file under tests/.
    pub target: String,
    pub integration: bool,
    pub path: PathBuf,
    /// The package's directory, in which the program expects to run.
    pub directory: PathBuf,
}

#[derive(Deserialize)]
struct Message {
    reason: String,
    manifest_path: Option<PathBuf>,
    target: Option<Target>,
    profile: Option<Profile>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// The test programs in the output of `cargo test --no-run --message-format=json`.
pub fn programs(output: &str) -> Vec<TestProgram> {
    output
        .lines()
        .filter_map(|line| program(serde_json::from_str(line).ok()?))
        .collect()
}

/// How many crates and programs are done, by what cargo has said so far.
pub fn built(output: &str) -> usize {
    let artifact = r#"{"reason":"compiler-artifact""#;
    output
        .lines()
        .filter(|line| line.starts_with(artifact))
        .count()
}

fn program(message: Message) -> Option<TestProgram> {
    if message.reason != "compiler-artifact" || !message.profile?.test {
        return None;
    }
    let directory = message.manifest_path?.parent()?.to_path_buf();
    let target = message.target?;
    Some(TestProgram {
        package: directory.file_name()?.to_string_lossy().into_owned(),
        integration: target.kind.iter().any(|kind| kind == "test"),
        target: target.name,
        path: message.executable?,
        directory,
    })
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TestResult {
    Passed,
    Failed(String),
    Ignored(String),
}

/// The test names that `PROGRAM --list --format terse` prints.
pub fn listed(output: &str) -> Vec<String> {
    output
        .lines()
        .filter_map(|line| line.strip_suffix(": test"))
        .map(str::to_string)
        .collect()
}

/// The results in the output of a test program. A test that prints to standard output by itself
/// may put text before its result, so the verdict is looked for at the line's end.
pub fn results(output: &str) -> Vec<(String, TestResult)> {
    let mut results = Vec::new();
    for line in output.lines() {
        let Some((name, verdict)) = line
            .strip_prefix("test ")
            .and_then(|rest| rest.split_once(" ... "))
        else {
            continue;
        };
        let name = name.trim_end_matches(" - should panic").to_string();
        let verdict = verdict.trim();
        let result = if verdict.ends_with("FAILED") {
            TestResult::Failed(failure(output, &name))
        } else if let Some(reason) = verdict.strip_prefix("ignored") {
            TestResult::Ignored(reason.trim_start_matches(',').trim().to_string())
        } else if verdict.ends_with("ok") {
            TestResult::Passed
        } else {
            continue;
        };
        results.push((name, result));
    }
    results
}

/// What a failed test printed, on one line.
fn failure(output: &str, name: &str) -> String {
    let head = format!("---- {name} stdout ----");
    let Some((_, rest)) = output.split_once(&head) else {
        return "no message".into();
    };
    let lines: Vec<&str> = rest
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("note: run with"))
        .take_while(|line| !line.starts_with("---- ") && *line != "failures:")
        .take(4)
        .collect();
    lines.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
running 3 tests
test ah::one_per_key ... ok
test ah::refuses ... FAILED
test slow ... ignored, takes an hour

failures:

---- ah::refuses stdout ----

thread 'ah::refuses' panicked at model/src/ah.rs:7:9:
assertion failed: false
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace


failures:
    ah::refuses
";

    #[test]
    fn results_carry_the_reason() {
        let results = results(OUTPUT);
        assert_eq!(results.len(), 3);
        assert_eq!(results[0], ("ah::one_per_key".into(), TestResult::Passed));
        assert!(
            matches!(&results[1].1, TestResult::Failed(why) if why.ends_with("assertion failed: false"))
        );
        assert_eq!(results[2].1, TestResult::Ignored("takes an hour".into()));
    }

    #[test]
    fn only_test_programs_are_taken_from_cargos_messages() {
        let output = r#"{"reason":"compiler-artifact","manifest_path":"/t/vefa/model/Cargo.toml","target":{"name":"vefa_model","kind":["lib"]},"profile":{"test":true},"executable":"/o/a"}
{"reason":"compiler-artifact","manifest_path":"/t/vefa/model/Cargo.toml","target":{"name":"vefa_model","kind":["lib"]},"profile":{"test":false},"executable":null}
{"reason":"build-finished","success":true}
not json"#;
        let programs = programs(output);
        assert_eq!(programs.len(), 1);
        assert_eq!(built(output), 2);
        assert_eq!(
            (programs[0].package.as_str(), programs[0].integration),
            ("model", false)
        );
    }

    #[test]
    fn benchmarks_are_not_listed_as_tests() {
        assert_eq!(
            listed("a::b: test\nc: benchmark\n\n1 test, 1 benchmark\n"),
            ["a::b"]
        );
    }
}
