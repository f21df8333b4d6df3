// SPDX-License-Identifier: GPL-2.0
//! `stock.package.`: the package efa-rs-dkms on a Debian 13 machine as people have it. The scripts of
//! tests/package install, upgrade and remove it there; in between the machine boots.

use std::process::Command;
use std::time::Duration;

use anyhow::{bail, Result};

use super::{guest, rdma_core, Context};
use crate::cli::TestArgs;
use crate::known::Known;
use crate::process;
use crate::report::{Report, Status};

const SUITE: &str = "stock.package.";
/// Each needs no machine but its own.
const ALONE: [&str; 6] = [
    "version_names_the_commit",
    "report_keeps_the_kernels_words_only",
    "report_says_what_it_cannot_read",
    "refuses_in_one_line",
    "kernel_waits_for_its_source",
    "cross_builds_for_arm64",
];
/// Each needs what those before it did; the machine boots after the first.
const INSTALLATION: &str = "installs_before_any_other_efa";
const LATER: [&str; 2] = ["upgrade_keeps_what_worked", "removal_leaves_nothing"];
const LIMIT: Duration = Duration::from_secs(1800);

pub fn run(context: &mut Context, known: &Known) {
    let selected = |name: &str| context.selects(&format!("{SUITE}{name}"));
    let alone: Vec<&str> = ALONE.into_iter().filter(|name| selected(name)).collect();
    let installation = selected(INSTALLATION);
    let last = LATER.iter().rposition(|name| selected(name));
    let boots = context.may_select(&format!("{}.", rdma_core::ON_USER_MACHINE))
        || !guest::plan_on_user_machine(context).is_empty();
    for name in alone {
        step(context, name);
    }
    if boots || last.is_some() || installation {
        on_a_machine(context, known, boots, last.map_or(0, |last| last + 1));
    }
}

fn on_a_machine(context: &mut Context, known: &Known, boots: bool, later: usize) {
    if let Err(error) = machine(context, "new_machine") {
        let status = Status::Failed(format!("{error:#}"));
        context
            .report
            .record(&format!("{SUITE}{INSTALLATION}"), status, 0.0);
        return;
    }
    if step(context, INSTALLATION) {
        if boots {
            boot(context, known);
        }
        for name in &LATER[..later] {
            step(context, name);
        }
    }
    if let Err(error) = machine(context, "drop_machine") {
        context
            .report
            .note(&format!("the machine stays mounted: {error:#}"));
    }
}

/// Runs the guest tests on the machine as it is now. There is no C driver for its kernel.
fn boot(context: &mut Context, known: &Known) {
    let mut env = context.env.clone();
    match env.user_kernel() {
        Ok(kernel) => env.kernel = kernel,
        Err(error) => {
            let status = Status::Failed(format!("{error:#}"));
            return context.report.record(&format!("{SUITE}boot"), status, 0.0);
        }
    }
    let args = TestArgs {
        compare_with_c: false,
        ..context.args.clone()
    };
    let mut user = Context {
        env,
        args: &args,
        manifest: context.manifest.clone(),
        report: std::mem::replace(&mut context.report, Report::new()),
        variant: context.variant,
    };
    let tests = guest::plan_on_user_machine(&user);
    user.report.plan(tests.len());
    guest::run(&mut user, &tests, known);
    rdma_core::run_on_user_machine(&mut user, known);
    context.report = user.report;
}

/// Runs one of the scripts; whether it passed.
fn step(context: &mut Context, name: &str) -> bool {
    let script = context
        .env
        .tree
        .join("tests/package")
        .join(format!("{name}.sh"));
    let mut passed = false;
    context.report.plan(1);
    context.report.time(&format!("{SUITE}{name}"), || {
        let output = process::run(&mut Command::new(script), LIMIT)?;
        passed = output.success;
        Ok(match output.success {
            true => Status::Passed,
            false => Status::Failed(process::last_line(&output.text).to_string()),
        })
    });
    passed
}

/// Calls a function of tests/package/lib/machine.sh. What it mounts is seen by this process and its children.
fn machine(context: &Context, function: &str) -> Result<()> {
    let library = context.env.tree.join("tests/package/lib/machine.sh");
    let script = format!(". '{}' && {function}", library.display());
    let output = process::run(Command::new("bash").args(["-c", &script]), LIMIT)?;
    if !output.success {
        bail!("{}", process::last_line(&output.text));
    }
    Ok(())
}
