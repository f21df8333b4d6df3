// SPDX-License-Identifier: GPL-2.0
//! `vefa.`, `layout.`, `protocol.`, `runner.`: the tests of the workspace's crates, each test a result.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{bail, Result};

use super::Context;
use crate::cargo_test::{built, listed, programs, results, TestProgram, TestResult};
use crate::cli::Size;
use crate::process;
use crate::report::Status;

const BUILD_LIMIT: Duration = Duration::from_secs(900);
const NOTE_PERIOD: Duration = Duration::from_secs(10);
const RUN_LIMIT: Duration = Duration::from_secs(600);
const FULL_RUN_LIMIT: Duration = Duration::from_secs(3600);
const SUITES: &[&str] = &["vefa.", "layout.", "protocol.", "runner."];

pub fn run(context: &mut Context) {
    if !SUITES.iter().any(|suite| context.may_select(suite)) {
        return;
    }
    context
        .report
        .note("building the workspace's tests (some minutes the first time)");
    let start = Instant::now();
    let programs = match build(context) {
        Ok(programs) => programs,
        Err(error) => {
            let status = Status::Failed(format!("{error:#}"));
            context
                .report
                .record("vefa.build", status, start.elapsed().as_secs_f64());
            return;
        }
    };
    for program in &programs {
        run_program(context, program);
    }
}

fn build(context: &Context) -> Result<Vec<TestProgram>> {
    let mut command = Command::new("cargo");
    command
        .args([
            "test",
            "--workspace",
            "--no-run",
            "--locked",
            "--message-format=json",
        ])
        .current_dir(context.env.tree.join("tests"));
    let output = process::run_watched(&mut command, BUILD_LIMIT, NOTE_PERIOD, &mut |messages| {
        let built = built(messages);
        let text = format!("building the workspace's tests: {built} crates and programs so far");
        context.report.note(&text);
    })?;
    if !output.success {
        bail!("{}", process::last_line(&output.text));
    }
    Ok(programs(&output.stdout))
}

/// The suite and the part of it that a program's tests belong to.
fn base_name(program: &TestProgram) -> String {
    let suite = match program.package.as_str() {
        "runner" | "layout" | "protocol" => program.package.clone(),
        package => format!("vefa.{package}"),
    };
    match program.integration {
        true => format!("{suite}.{}", program.target),
        false => suite,
    }
}

fn test_name(base: &str, path: &str) -> String {
    let path = path.replace("::tests::", "::").replace("::", ".");
    format!("{base}.{}", path.trim_start_matches("tests."))
}

fn run_program(context: &mut Context, program: &TestProgram) {
    let base = base_name(program);
    if !context.may_select(&format!("{base}.")) {
        return;
    }
    let start = Instant::now();
    let selected = match select(context, program, &base) {
        Ok(selected) => selected,
        Err(error) => {
            context.report.record(
                &format!("{base}.list"),
                Status::Failed(format!("{error:#}")),
                0.0,
            );
            return;
        }
    };
    if selected.is_empty() {
        return;
    }
    context.report.plan(selected.len());
    let mut command = Command::new(&program.path);
    command
        .arg("--exact")
        .args(&selected)
        .env("EFA_TEST_SIZE", context.args.size.name())
        .current_dir(&program.directory);
    let limit = match context.args.size {
        Size::Short => RUN_LIMIT,
        Size::Full => FULL_RUN_LIMIT,
    };
    // Apart, since on one CPU libtest runs a test between its name and its verdict.
    let (found, trouble) = match process::run_apart(&mut command, limit) {
        Ok(output) => (
            results(&output.stdout),
            process::last_line(&(output.stdout + &output.text)).to_string(),
        ),
        Err(error) => (Vec::new(), format!("{error:#}")),
    };
    let seconds = start.elapsed().as_secs_f64() / selected.len() as f64;
    for path in &selected {
        let status = match found.iter().find(|(name, _)| name == path) {
            Some((_, TestResult::Passed)) => Status::Passed,
            Some((_, TestResult::Failed(reason))) => Status::Failed(reason.clone()),
            Some((_, TestResult::Ignored(reason))) => Status::Skipped(reason.clone()),
            None => Status::Failed(format!("no result: {trouble}")),
        };
        context
            .report
            .record(&test_name(&base, path), status, seconds);
    }
}

fn select(context: &Context, program: &TestProgram, base: &str) -> Result<Vec<String>> {
    let mut command = Command::new(&program.path);
    command
        .args(["--list", "--format", "terse"])
        .current_dir(&program.directory);
    let output = process::run_apart(&mut command, RUN_LIMIT)?;
    if !output.success {
        bail!("{}", process::last_line(&output.text));
    }
    let names = listed(&output.stdout);
    Ok(names
        .into_iter()
        .filter(|path| context.selects(&test_name(base, path)))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(package: &str, integration: bool) -> TestProgram {
        TestProgram {
            package: package.into(),
            target: "wire".into(),
            integration,
            path: Default::default(),
            directory: Default::default(),
        }
    }

    #[test]
    fn names_follow_the_crate_and_the_module() {
        assert_eq!(
            test_name(
                &base_name(&program("model", false)),
                "ah::tests::one_per_key"
            ),
            "vefa.model.ah.one_per_key"
        );
        assert_eq!(
            test_name(&base_name(&program("layout", true)), "sizes"),
            "layout.wire.sizes"
        );
        assert_eq!(
            test_name(&base_name(&program("runner", false)), "tests::x"),
            "runner.x"
        );
    }
}
