// SPDX-License-Identifier: GPL-2.0
//! `mutation.`: the tests notice when a rule is broken. The full size builds the module with each
//! change and looks whether the named case fails. (`lint.mutations` checks that each still applies.)

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{bail, Result};

use super::{kunit, Context};
use crate::cli::{Driver, Size};
use crate::env::{Env, Kernel};
use crate::ktap::{parse, CaseResult};
use crate::mutations::{read, Mutation};
use crate::process;
use crate::report::Status;
use crate::stage::copy_tree;

const BUILD_LIMIT: Duration = Duration::from_secs(600);
/// What the module is built from.
const SOURCES: &[&str] = &["Kbuild", "Kconfig", "src", "include"];

pub fn plan(context: &Context) -> Result<Vec<(String, Mutation)>> {
    if context.args.size != Size::Full || context.args.driver != Driver::Rust {
        return Ok(Vec::new());
    }
    let mut mutations = read(&context.env.tree)?;
    for (name, _) in &mut mutations {
        name.insert_str(0, "mutation.");
    }
    mutations.retain(|(name, _)| context.selects(name));
    Ok(mutations)
}

pub fn run(context: &mut Context, mutations: &[(String, Mutation)]) {
    for (name, mutation) in mutations {
        let env = &context.env;
        context.report.time(name, || {
            is_noticed(env, mutation, &mutation.changed(&env.tree)?)
        });
    }
}

/// Whether the named case fails in a module with the change. A case without a result counts as
/// failed: the change may hang or crash the kernel in the middle of it.
fn is_noticed(env: &Env, mutation: &Mutation, changed: &str) -> Result<Status> {
    let work = env.tree.join("build/mutation");
    build(env, &work, mutation, changed)?;
    let kernel = Kernel {
        efa_module: work.join("efa.ko"),
        ..env.kernel.clone()
    };
    let (log, _) = kunit::load(env, &kernel)?;
    let report = parse(&log);
    if report.cases.is_empty() && report.missing.is_empty() {
        bail!("the changed module ran no KUnit suite");
    }
    let case = report
        .cases
        .iter()
        .find(|case| format!("{}.{}", case.suite, case.name) == mutation.fails);
    Ok(match case.map(|case| &case.result) {
        Some(CaseResult::Passed) => {
            Status::Failed(format!("{} passes with the change", mutation.fails))
        }
        Some(CaseResult::Skipped(_)) => Status::Failed(format!("{} is skipped", mutation.fails)),
        Some(CaseResult::Failed(_)) | None => Status::Passed,
    })
}

fn build(env: &Env, work: &Path, mutation: &Mutation, changed: &str) -> Result<()> {
    if work.exists() {
        fs::remove_dir_all(work)?;
    }
    fs::create_dir_all(work)?;
    for source in SOURCES {
        let (from, to) = (env.tree.join(source), work.join(source));
        match from.is_dir() {
            true => copy_tree(&from, &to)?,
            false => fs::copy(&from, &to).map(drop)?,
        }
    }
    fs::write(work.join(&mutation.file), changed)?;
    let mut command = Command::new("make");
    command
        .arg("-C")
        .arg(&env.kernel.build)
        .arg(format!("M={}", work.display()));
    command.args(["-j2", "modules"]);
    let output = process::run(&mut command, BUILD_LIMIT)?;
    if !output.success {
        bail!(
            "the changed module does not build: {}",
            process::last_line(&output.text)
        );
    }
    Ok(())
}
