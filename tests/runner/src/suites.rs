// SPDX-License-Identifier: GPL-2.0
//! `runner test`: the suites, in the order they run, and the selection among them.

mod cargo;
mod guest;
mod kunit;
mod lint;
mod mutation;
mod rdma_core;
mod setup;
mod stock;

use anyhow::{bail, Result};

use crate::cli::{Driver, TestArgs};
use crate::env::Env;
use crate::known::Known;
use crate::manifest::Manifest;
use crate::report::Report;

/// What every suite works with.
pub struct Context<'a> {
    pub env: Env,
    pub args: &'a TestArgs,
    pub manifest: Manifest,
    pub report: Report,
}

impl Context<'_> {
    /// Whether a test of this name was asked for.
    fn selects(&self, name: &str) -> bool {
        name.starts_with(&self.args.prefix)
    }

    /// Whether a suite whose tests are not known yet may hold one that was asked for.
    fn may_select(&self, suite: &str) -> bool {
        may_select(&self.args.prefix, suite)
    }
}

fn may_select(prefix: &str, suite: &str) -> bool {
    suite.starts_with(prefix) || prefix.starts_with(suite)
}

/// Runs the selected tests.
///
/// # Errors
///
/// The environment is incomplete, or no test has the wanted prefix.
pub fn run(args: &TestArgs) -> Result<bool> {
    let env = Env::from_variables()?;
    let manifest = Manifest::read(&env.tree)?;
    let known = Known::read(&env.tree)?;
    let mut context = Context {
        env,
        args,
        manifest,
        report: Report::new(),
    };

    // What an earlier run left would pass for this one's.
    drop(std::fs::remove_dir_all(
        context.env.tree.join("build/results"),
    ));
    let lints = lint::plan(&context);
    let scripts = setup::plan(&context)?;
    let mutations = mutation::plan(&context)?;
    let guests = guest::plan(&context);
    let planned = lints.len() + scripts.len() + mutations.len() + guests.len();
    context.report.plan(planned);

    lint::run(&mut context, &lints);
    cargo::run(&mut context);
    setup::run(&mut context, &scripts);
    if args.driver == Driver::Rust && args.kernel != "stock" {
        kunit::run(&mut context);
        mutation::run(&mut context, &mutations);
    }
    guest::run(&mut context, &guests, &known);
    rdma_core::run(&mut context, &known);
    if args.driver == Driver::Rust {
        stock::run(&mut context);
    }
    finish(&context)
}

fn finish(context: &Context) -> Result<bool> {
    if context.report.is_empty() {
        bail!("no test starts with `{}`", context.args.prefix);
    }
    context.report.summarise();
    if let Some(path) = &context.args.json {
        context.report.write_json(path)?;
    }
    Ok(context.report.all_passed())
}

#[cfg(test)]
mod tests {
    use super::may_select;

    #[test]
    fn a_prefix_selects_its_suite_and_no_other() {
        assert!(may_select("", "kunit."));
        assert!(may_select("kunit.efa_crc", "kunit."));
        assert!(may_select("ku", "kunit."));
        assert!(!may_select("field.A6", "kunit."));
    }
}
