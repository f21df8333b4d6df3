// SPDX-License-Identifier: GPL-2.0
//! Changes that a test of tests/protocol must notice.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{bail, Result};

use crate::cargo_test::{results, TestResult};
use crate::env::Env;
use crate::module;
use crate::mutations::Mutation;
use crate::process::{self, Output};
use crate::report::Status;

const LIMIT: Duration = Duration::from_secs(600);

/// What the crate is built from: itself, its workspace, and the module's sources.
const SOURCES: &[&str] = &["src", "tests"];

/// Whether `test` fails with the change.
pub fn is_noticed(
    env: &Env,
    work: &Path,
    mutation: &Mutation,
    changed: &str,
    test: &str,
) -> Result<Status> {
    super::copy(env, work, SOURCES)?;
    fs::write(work.join(&mutation.file), changed)?;
    let path = format!("tests::{}", test.replace('.', "::"));
    let mut command = Command::new("cargo");
    command
        .args(["test", "--locked", "-p", "efa-protocol", "--lib"])
        .args(["--", "--exact", &path])
        .env("CARGO_TARGET_DIR", target(work))
        .current_dir(work.join("tests"));
    judge(&process::run_apart(&mut command, LIMIT)?, &path, test)
}

/// Where the changed crate is built: apart, since cargo takes two copies of a workspace for one.
fn target(work: &Path) -> PathBuf {
    let shared = env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    shared
        .unwrap_or_else(|| work.with_extension("target"))
        .join("mutation")
}

fn judge(output: &Output, path: &str, test: &str) -> Result<Status> {
    if output.text.contains("could not compile") {
        bail!("the change does not build: {}", module::reason(output));
    }
    let found = results(&output.stdout);
    let result = found.iter().find(|(name, _)| name == path);
    Ok(match result.map(|(_, result)| result) {
        Some(TestResult::Failed(_)) => Status::Passed,
        Some(TestResult::Passed) => Status::Failed(format!("{test} passes with the change")),
        Some(TestResult::Ignored(_)) => Status::Failed(format!("{test} is ignored")),
        // It broke the test program off, which ran this test alone.
        None if output.stdout.contains("running 1 test") && !output.success => Status::Passed,
        None => Status::Failed(format!("there is no test {test}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(stdout: &str, text: &str, success: bool) -> Output {
        Output {
            success,
            text: text.into(),
            stdout: stdout.into(),
        }
    }

    fn status(stdout: &str, success: bool) -> Status {
        judge(&output(stdout, "", success), "tests::a::b", "a.b").unwrap()
    }

    #[test]
    fn a_change_is_noticed_only_by_a_test_that_fails() {
        let failed = "running 1 test\ntest tests::a::b ... FAILED\n";
        let passed = "running 1 test\ntest tests::a::b ... ok\n";
        assert_eq!(status(failed, false), Status::Passed);
        assert!(matches!(status(passed, true), Status::Failed(_)));
        assert!(matches!(
            status("running 0 tests\n", true),
            Status::Failed(_)
        ));
    }

    #[test]
    fn a_test_program_that_breaks_off_has_noticed() {
        assert_eq!(status("running 1 test\n", false), Status::Passed);
    }

    #[test]
    fn a_change_that_does_not_build_says_nothing() {
        let output = output("", "error: could not compile `efa-protocol`", false);
        assert!(judge(&output, "tests::a::b", "a.b").is_err());
    }
}
