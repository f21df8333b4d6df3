// SPDX-License-Identifier: GPL-2.0
//! `runner test`: the suites, in the order they run, and the selection among them.

mod cargo;
mod compile;
mod guest;
mod kunit;
mod lint;
mod mutation;
mod package;
mod rdma_core;
mod setup;
mod soak;
mod stock;

use anyhow::{bail, Result};

use crate::cli::{Driver, TestArgs};
use crate::env::Env;
use crate::known::Known;
use crate::manifest::{Machine, Manifest};
use crate::report::Report;
use crate::variant::Variant;

/// What every suite works with.
pub struct Context<'a> {
    pub env: Env,
    pub args: &'a TestArgs,
    pub manifest: Manifest,
    pub report: Report,
    variant: &'static Variant,
}

impl Context<'_> {
    /// Whether a test of this name was asked for.
    fn selects(&self, name: &str) -> bool {
        self.variant.selects(&self.args.prefix, name)
    }

    /// Whether a suite whose tests are not known yet may hold one that was asked for.
    fn may_select(&self, suite: &str) -> bool {
        self.variant.may_select(&self.args.prefix, suite)
    }

    /// The machine of this name, as it is in the variant at hand.
    fn machine(&self, name: &str) -> Machine {
        self.variant.of(self.manifest.machine(name))
    }

    /// From here on machines and the names of results are the variant's.
    fn become_variant(&mut self, variant: &'static Variant) {
        self.variant = variant;
        self.env.label = variant.label;
        self.report.label = variant.label;
    }
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
        variant: &Variant::AS_TOLD,
    };

    // What an earlier run left would pass for this one's.
    drop(std::fs::remove_dir_all(
        context.env.tree.join("build/results"),
    ));
    if let Some(seconds) = args.soak_seconds {
        soak::run(&mut context, seconds);
    } else if args.every_machine {
        run_on_every_machine(&mut context, &known);
    } else {
        run_all(&mut context, &known)?;
    }
    finish(&context)
}

fn run_all(context: &mut Context, known: &Known) -> Result<()> {
    let lints = lint::plan(context);
    let scripts = setup::plan(context)?;
    let mutations = mutation::plan(context)?;
    let ours = context.args.driver == Driver::Rust;
    let compiled = match ours {
        true => compile::plan(context)?,
        false => Vec::new(),
    };
    context
        .report
        .plan(lints.len() + scripts.len() + mutations.len() + compiled.len());

    lint::run(context, &lints);
    cargo::run(context);
    setup::run(context, &scripts);
    compile::run(context, &compiled);
    if ours && context.args.kernel != "stock" {
        kunit::run(context);
        mutation::run(context, &mutations);
    }
    run_guests(context, known);
    if ours {
        stock::run(context);
        package::run(context, known);
    }
    Ok(())
}

fn run_on_every_machine(context: &mut Context, known: &Known) {
    for variant in &Variant::DEBUG {
        context.become_variant(variant);
        // The module's own tests use no device that could stand behind an IOMMU.
        if context.args.driver == Driver::Rust && !variant.iommu {
            kunit::run(context);
        }
        run_guests(context, known);
    }
}

/// The tests that use a device in a guest.
fn run_guests(context: &mut Context, known: &Known) {
    let guests = guest::plan(context);
    context.report.plan(guests.len());
    guest::run(context, &guests, known);
    rdma_core::run(context, known);
}

fn finish(context: &Context) -> Result<bool> {
    if context.report.is_empty() {
        bail!(
            "no test of this run starts with `{}`; make test-full has all of them",
            context.args.prefix
        );
    }
    context.report.summarise();
    if let Some(path) = &context.args.json {
        context.report.write_json(path)?;
    }
    Ok(context.report.all_passed())
}
