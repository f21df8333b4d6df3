// SPDX-License-Identifier: GPL-2.0
//! `runner soak`: processes that use the device and are killed at random, for a long time.

use serde_json::json;

use super::guest::{judge, retire};
use super::Context;
use crate::agent::Request;
use crate::report::Status;
use crate::vm::{Boot, Vm};

const NAME: &str = "soak.processes_come_and_go";
/// What it may take beyond its time, to begin and to end.
const SLACK_SECONDS: u64 = 120;

pub fn run(context: &mut Context, seconds: u64) {
    context.report.plan(1);
    let machine = context.machine("soak");
    let (env, driver) = (&context.env, context.args.driver);
    let boot = Boot {
        kernel: &env.kernel,
        driver,
        machine: &machine,
        kunit: false,
        files: &[],
    };
    let mut left = None;
    context.report.time(NAME, || {
        let mut vm = Vm::boot(env, &boot)?;
        let outcome = vm.call(&Request {
            name: NAME,
            run: "soak.processes_come_and_go",
            driver: driver.name(),
            size: "full",
            // The machine allows a multiple of this where everything takes longer. The soak does not.
            timeout: SLACK_SECONDS + seconds / u64::from(env.kernel.patience()),
            args: json!({ "seconds": seconds }),
        });
        let status = match outcome {
            Ok(outcome) => {
                println!("{}", outcome.reply.result);
                judge(&outcome, &[]).0
            }
            Err(error) => Status::Failed(format!("{error:#}")),
        };
        if status != Status::Passed {
            vm.save_logs(&env.results(NAME))?;
        }
        left = Some(vm);
        Ok(status)
    });
    if let Some(vm) = left {
        retire(context, vm, driver, "soak");
    }
}
