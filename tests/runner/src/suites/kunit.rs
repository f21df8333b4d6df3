// SPDX-License-Identifier: GPL-2.0
//! `kunit.`: the module's own tests, which run when a kernel with KUnit loads it.

use std::time::Instant;

use anyhow::Result;
use serde_json::Value;

use super::Context;
use crate::agent::Request;
use crate::cli::Driver;
use crate::console::{alarm, between};
use crate::env::{Env, Kernel};
use crate::ktap::{parse, CaseResult};
use crate::manifest::Machine;
use crate::report::Status;
use crate::vm::{marks, Boot, Vm};

const LOAD_SECONDS: u64 = 120;
const LOAD: &str = "kunit.load";

pub fn run(context: &mut Context) {
    if !context.may_select("kunit.") {
        return;
    }
    context.report.note("booting for the module's KUnit suites");
    let start = Instant::now();
    let machine = context.variant.of(Machine::default());
    let (log, loaded) = load(&context.env, &context.env.kernel, &machine)
        .unwrap_or_else(|error| (String::new(), Status::Failed(format!("{error:#}"))));
    let report = parse(&log);
    let trouble = match loaded {
        Status::Passed if report.cases.is_empty() => {
            Status::Failed("the kernel log has no KTAP".into())
        }
        Status::Passed if !report.missing.is_empty() => {
            Status::Failed(format!("cut off: {}", report.missing.join("; ")))
        }
        status => status,
    };
    if trouble != Status::Passed {
        context
            .report
            .record(LOAD, trouble, start.elapsed().as_secs_f64());
    }
    let seconds = start.elapsed().as_secs_f64() / report.cases.len().max(1) as f64;
    for case in report.cases {
        let name = format!("kunit.{}.{}", case.suite, case.name);
        if !context.selects(&name) {
            continue;
        }
        let status = match case.result {
            CaseResult::Passed => Status::Passed,
            CaseResult::Failed(reason) => Status::Failed(reason),
            CaseResult::Skipped(reason) => Status::Skipped(reason),
        };
        context.report.record(&name, status, seconds);
    }
}

/// Loads the module in a guest of its own; the kernel log, and whether the loading went well.
pub fn load(env: &Env, kernel: &Kernel, machine: &Machine) -> Result<(String, Status)> {
    let mut vm = Vm::boot(
        env,
        &Boot {
            kernel,
            driver: Driver::Rust,
            machine,
            kunit: true,
            files: &[],
        },
    )?;
    let outcome = vm.call(&Request {
        name: LOAD,
        run: "module.load_only",
        driver: Driver::Rust.name(),
        size: "short",
        timeout: LOAD_SECONDS,
        args: Value::Null,
    });
    let (log, status) = match outcome {
        Ok(outcome) => {
            let status = match (outcome.reply.status.as_str(), alarm(&outcome.kernel_log)) {
                ("passed", None) => Status::Passed,
                (_, Some(line)) => Status::Failed(line),
                (_, None) => Status::Failed(outcome.reply.reason),
            };
            (outcome.kernel_log, status)
        }
        // A crash while loading leaves the results up to it on the console.
        Err(error) => {
            let (begin, end) = marks(LOAD);
            let log = between(&vm.console.text(), &begin, &end).to_string();
            (
                log,
                Status::Failed(vm.alarm().unwrap_or(format!("{error:#}"))),
            )
        }
    };
    if status != Status::Passed {
        vm.save_logs(&env.results(LOAD))?;
    }
    Ok((log, status))
}
