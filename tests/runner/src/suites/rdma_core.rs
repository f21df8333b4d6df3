// SPDX-License-Identifier: GPL-2.0
//! `rdma-core.`: rdma-core's own tests, from its package, each case a result.

use std::time::Instant;

use anyhow::{bail, Context as _, Result};
use serde::Deserialize;
use serde_json::json;

use super::guest::{compare, CASE_LIMIT};
use super::Context;
use crate::agent::Request;
use crate::cli::Driver;
use crate::console::alarm;
use crate::known::Known;
use crate::report::Status;
use crate::vm::{Boot, Vm};

const MODULES: &[&str] = &["test_addr", "test_device", "test_pd"];

/// One case as the guest reports it.
#[derive(Debug, Deserialize)]
struct Case {
    name: String,
    status: String,
    reason: String,
    seconds: f64,
}

pub fn run(context: &mut Context, known: &Known) {
    let modules: Vec<&str> = MODULES
        .iter()
        .copied()
        .filter(|module| context.may_select(&format!("rdma-core.{module}.")))
        .collect();
    if modules.is_empty() {
        return;
    }
    let ours = run_on(context, context.args.driver, &modules);
    for (name, status, seconds) in &ours {
        let shown = match context.args.driver {
            Driver::Rust => status.clone(),
            Driver::C => known.explain(name, status.clone()),
        };
        context.report.record(name, shown, *seconds);
    }
    if context.args.compare_with_c {
        for (name, status, seconds) in run_on(context, Driver::C, &modules) {
            let rust = ours
                .iter()
                .find(|(ours, ..)| *ours == name)
                .map(|(_, status, _)| status.clone());
            let rust = rust.unwrap_or(Status::Failed("did not run".into()));
            compare(&mut context.report, known, &name, (&status, seconds), &rust);
        }
    }
}

fn run_on(context: &Context, driver: Driver, modules: &[&str]) -> Vec<(String, Status, f64)> {
    context.report.note(&format!(
        "booting for rdma-core's tests with the {} driver",
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
        machine: &context.machine("default"),
        kunit: false,
    };
    let mut vm = match Vm::boot(&context.env, &boot) {
        Ok(vm) => vm,
        Err(error) => {
            return modules
                .iter()
                .map(|module| {
                    failed(
                        format!("rdma-core.{module}.boot"),
                        anyhow::anyhow!("{error:#}"),
                    )
                })
                .collect()
        }
    };
    let mut results = Vec::new();
    for module in modules {
        match run_module(context, &mut vm, driver, module) {
            Ok(cases) => results.extend(cases),
            Err(error) => {
                let target = context.env.results(&format!("rdma-core.{module}"));
                let _ = vm.save_logs(&target);
                let error = error.context(format!("logs in {}", target.display()));
                results.push(failed(format!("rdma-core.{module}.run"), error));
            }
        }
    }
    if let Err(error) = vm.shut_down() {
        context
            .report
            .note(&format!("the machine did not power off: {error:#}"));
    }
    results.retain(|(name, ..)| context.selects(name));
    results
}

fn run_module(
    context: &Context,
    vm: &mut Vm,
    driver: Driver,
    module: &str,
) -> Result<Vec<(String, Status, f64)>> {
    let outcome = vm.call(&Request {
        name: &format!("rdma-core.{module}"),
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
            let name = format!("rdma-core.{module}.{}", case.name);
            let allowed = context.manifest.allowed_skip(&name);
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
