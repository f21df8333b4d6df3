// SPDX-License-Identifier: GPL-2.0
//! `rdma-core.`: rdma-core's own tests, from its package, each case a result; in the full size
//! also `rdma-core-13.`, those of Debian 13's older one, and the newest again with other settings of
//! the device.

use std::time::Instant;

use anyhow::{bail, Context as _, Result};
use serde::Deserialize;
use serde_json::json;

use super::guest::{compare, last_look, CASE_LIMIT};
use super::Context;
use crate::agent::Request;
use crate::cli::{Driver, Size};
use crate::console::alarm;
use crate::known::Known;
use crate::manifest::{Again, DEFAULT_MACHINE};
use crate::report::Status;
use crate::vm::{Boot, Vm};

/// The package's test programs that EFA can run. The others are about verbs it has not (atomics, flows,
/// on-demand paging, shared receive queues, tag matching, RSS, device memory handles), other vendors'
/// devices, CUDA, clocks, or the connection manager, which needs an IP interface of the device.
const MODULES: &[&str] = &[
    "test_addr",
    "test_cq",
    "test_cq_events",
    "test_cqex",
    "test_device",
    "test_efa_srd",
    "test_efadv",
    "test_fork",
    "test_mr",
    "test_parent_domain",
    "test_pd",
    "test_qp",
    "test_qpex",
    "test_relaxed_ordering",
    "test_shared_pd",
];

/// One run of one version of rdma-core's tests.
struct Suite {
    /// What its results begin with.
    name: String,
    /// What the names in known-c.toml begin with.
    known_as: &'static str,
    /// The machine of tests.toml that has it.
    machine: String,
}

impl Suite {
    fn new(name: &'static str, machine: &str) -> Self {
        Self {
            name: name.to_owned(),
            known_as: name,
            machine: machine.to_owned(),
        }
    }

    fn newest() -> Self {
        Self::new("rdma-core", DEFAULT_MACHINE)
    }

    /// The newest version, on devices with other settings.
    fn again(again: &Again) -> Self {
        let newest = Self::newest();
        Self {
            name: again.name(&newest.name),
            machine: again.name(&newest.machine),
            ..newest
        }
    }

    /// The name in known-c.toml of one of its results.
    fn known_name(&self, name: &str) -> String {
        name.replacen(&self.name, self.known_as, 1)
    }
}

/// What the results begin with of the version on the machine on which our package is tried.
pub const ON_USER_MACHINE: &str = "stock.package.rdma-core";

/// One case as the guest reports it.
#[derive(Debug, Deserialize)]
struct Case {
    name: String,
    status: String,
    reason: String,
    seconds: f64,
}

pub fn run(context: &mut Context, known: &Known) {
    run_suite(context, known, &Suite::newest());
    if context.args.size == Size::Full {
        run_suite(context, known, &Suite::new("rdma-core-13", "debian-13"));
        for again in context.manifest.again.clone() {
            run_suite(context, known, &Suite::again(&again));
        }
    }
}

pub fn run_on_user_machine(context: &mut Context, known: &Known) {
    run_suite(context, known, &Suite::new(ON_USER_MACHINE, "user"));
}

fn run_suite(context: &mut Context, known: &Known, suite: &Suite) {
    let modules: Vec<&str> = MODULES
        .iter()
        .copied()
        .filter(|module| context.may_select(&format!("{}.{module}.", suite.name)))
        .collect();
    if modules.is_empty() {
        return;
    }
    let ours = run_on(context, context.args.driver, suite, &modules);
    for (name, status, seconds) in &ours {
        let shown = match context.args.driver {
            Driver::Rust => status.clone(),
            Driver::C => known.explain(&suite.known_name(name), status.clone()),
        };
        context.report.record(name, shown, *seconds);
    }
    if context.args.compare_with_c {
        for (name, status, seconds) in run_on(context, Driver::C, suite, &modules) {
            let rust = ours
                .iter()
                .find(|(ours, ..)| *ours == name)
                .map(|(_, status, _)| status.clone());
            let rust = rust.unwrap_or(Status::Failed("did not run".into()));
            compare(
                &mut context.report,
                known,
                &name,
                &suite.known_name(&name),
                (&status, seconds),
                &rust,
            );
        }
    }
}

fn run_on(
    context: &Context,
    driver: Driver,
    suite: &Suite,
    modules: &[&str],
) -> Vec<(String, Status, f64)> {
    context.report.note(&format!(
        "booting for {}'s tests with the {} driver",
        suite.name,
        driver.name()
    ));
    let start = Instant::now();
    let failed = |name: String, error: anyhow::Error| {
        (
            name,
            Status::Failed(format!("{error:#}")),
            start.elapsed().as_secs_f64(),
        )
    };
    let boot = Boot {
        kernel: &context.env.kernel,
        driver,
        machine: &context.machine(&suite.machine),
        kunit: false,
        files: &[],
    };
    let mut vm = match Vm::boot(&context.env, &boot) {
        Ok(vm) => vm,
        Err(error) => {
            return modules
                .iter()
                .map(|module| {
                    failed(
                        format!("{}.{module}.boot", suite.name),
                        anyhow::anyhow!("{error:#}"),
                    )
                })
                .collect()
        }
    };
    let mut results = Vec::new();
    for module in modules {
        match run_module(context, &mut vm, driver, suite, module) {
            Ok(cases) => results.extend(cases),
            Err(error) => {
                let target = context.env.results(&format!("{}.{module}", suite.name));
                let _ = vm.save_logs(&target);
                let error = error.context(format!("logs in {}", target.display()));
                results.push(failed(format!("{}.{module}.run", suite.name), error));
            }
        }
    }
    results.retain(|(name, ..)| context.selects(name));
    results.extend(last_look(&context.env, &mut vm, driver, &suite.name));
    if let Err(error) = vm.shut_down() {
        context
            .report
            .note(&format!("the machine did not power off: {error:#}"));
    }
    results
}

fn run_module(
    context: &Context,
    vm: &mut Vm,
    driver: Driver,
    suite: &Suite,
    module: &str,
) -> Result<Vec<(String, Status, f64)>> {
    let outcome = vm.call(&Request {
        name: &format!("{}.{module}", suite.name),
        run: "rdma_core.cases",
        driver: driver.name(),
        size: context.args.size.name(),
        timeout: CASE_LIMIT.as_secs(),
        args: json!({ "module": module }),
    })?;
    if outcome.reply.status != "passed" {
        bail!("{}", outcome.reply.reason);
    }
    if let Some(line) = alarm(&outcome.kernel_log) {
        bail!("the kernel complains: {line}");
    }
    let cases: Vec<Case> =
        serde_json::from_value(outcome.reply.result).context("the guest's cases")?;
    if cases.is_empty() {
        bail!("no case ran");
    }
    Ok(cases
        .into_iter()
        .map(|case| {
            let case_name = format!("{module}.{}", case.name);
            let allowed = context.manifest.allowed_skip(&case_name);
            let name = format!("{}.{case_name}", suite.name);
            (name, status(&case, allowed), case.seconds)
        })
        .collect())
}

/// rdma-core takes "not supported" for a skip, so a skip counts as one only where it is known that
/// EFA does not have the feature.
fn status(case: &Case, allowed: Option<&str>) -> Status {
    match (case.status.as_str(), allowed) {
        ("passed", _) => Status::Passed,
        ("skipped", Some(reason)) => {
            Status::Skipped(format!("{reason} (rdma-core: {})", case.reason))
        }
        ("skipped", None) => Status::Failed(format!(
            "skipped, which tests.toml does not allow: {}",
            case.reason
        )),
        _ => Status::Failed(case.reason.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skip_needs_a_known_reason() {
        let case = Case {
            name: "C.t".into(),
            status: "skipped".into(),
            reason: "not supported".into(),
            seconds: 0.0,
        };
        assert!(matches!(status(&case, None), Status::Failed(_)));
        assert!(matches!(
            status(&case, Some("EFA has no such part")),
            Status::Skipped(_)
        ));
    }
}
