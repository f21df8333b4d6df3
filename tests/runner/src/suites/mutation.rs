// SPDX-License-Identifier: GPL-2.0
//! `mutation.`: the tests notice when a rule is broken. The full size makes each change and looks
//! whether the named test fails: a KUnit case in a module with the change, or a test of the crate
//! tests/protocol, which compiles the same sources. (`lint.mutations` checks that each still applies.)

use std::fs;
use std::path::Path;

use anyhow::{bail, Result};

mod protocol;

use super::{kunit, Context};
use crate::cli::{Driver, Size};
use crate::env::{Env, Kernel};
use crate::ktap::{parse, CaseResult, Report};
use crate::manifest::Machine;
use crate::module;
use crate::mutations::{read, Mutation};
use crate::report::Status;
use crate::stage::copy_tree;

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

/// Whether the named test fails with the change.
fn is_noticed(env: &Env, mutation: &Mutation, changed: &str) -> Result<Status> {
    let work = env.tree.join("build/mutation");
    if work.exists() {
        fs::remove_dir_all(&work)?;
    }
    match mutation.fails.strip_prefix("protocol.") {
        Some(test) => protocol::is_noticed(env, &work, mutation, changed, test),
        None => is_noticed_in_guest(env, &work, mutation, changed),
    }
}

fn is_noticed_in_guest(
    env: &Env,
    work: &Path,
    mutation: &Mutation,
    changed: &str,
) -> Result<Status> {
    copy(env, work, SOURCES)?;
    fs::write(work.join(&mutation.file), changed)?;
    let output = module::build(&env.kernel, work, &work.join("objects"), &[])?;
    if !output.success {
        bail!(
            "the changed module does not build: {}",
            module::reason(&output)
        );
    }
    let kernel = Kernel {
        efa_module: work.join("objects/efa.ko"),
        ..env.kernel.clone()
    };
    let (log, _) = kunit::load(env, &kernel, &Machine::default())?;
    Ok(judge(&parse(&log), &mutation.fails))
}

/// Copies parts of the tree.
fn copy(env: &Env, work: &Path, sources: &[&str]) -> Result<()> {
    fs::create_dir_all(work)?;
    for source in sources {
        let (from, to) = (env.tree.join(source), work.join(source));
        match from.is_dir() {
            true => copy_tree(&from, &to)?,
            false => fs::copy(&from, &to).map(drop)?,
        }
    }
    Ok(())
}

/// A case without a result counts as failed only where its suite was cut off: the change hung or
/// crashed the kernel. Else the case is not there at all.
fn judge(report: &Report, fails: &str) -> Status {
    let case = report
        .cases
        .iter()
        .find(|case| format!("{}.{}", case.suite, case.name) == fails);
    let suite = fails.split('.').next().unwrap_or(fails);
    let cut_off = report
        .missing
        .iter()
        .any(|missing| missing.starts_with(&format!("{suite}:")));
    match case.map(|case| &case.result) {
        Some(CaseResult::Failed(_)) => Status::Passed,
        None if cut_off => Status::Passed,
        Some(CaseResult::Passed) => Status::Failed(format!("{fails} passes with the change")),
        Some(CaseResult::Skipped(_)) => Status::Failed(format!("{fails} is skipped")),
        None => Status::Failed(format!("there is no case {fails}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str =
        "# Subtest: s\n    1..2\n    not ok 1 noticed\n    ok 2 unmoved\nnot ok 1 s\n";

    #[test]
    fn a_change_is_noticed_only_by_the_case_that_fails() {
        let report = parse(LOG);
        assert_eq!(judge(&report, "s.noticed"), Status::Passed);
        assert!(matches!(judge(&report, "s.unmoved"), Status::Failed(_)));
        assert!(matches!(judge(&report, "s.renamed"), Status::Failed(_)));
    }

    #[test]
    fn a_suite_cut_off_before_its_case_has_noticed_too() {
        let report = parse(LOG.split("    ok 2").next().unwrap());
        assert_eq!(judge(&report, "s.unmoved"), Status::Passed);
        assert!(matches!(judge(&report, "other.case"), Status::Failed(_)));
    }
}
