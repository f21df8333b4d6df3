// SPDX-License-Identifier: GPL-2.0
//! `runner run`: the main job from the device to five threads that share one address handle.

use std::time::Instant;

use anyhow::{bail, Context, Result};
use serde::Deserialize;
use serde_json::{json, Value};

use crate::agent::Request;
use crate::cli::{Driver, RunArgs};
use crate::console::alarm;
use crate::env::{Env, Kernel};
use crate::manifest::Machine;
use crate::report::write_json;
use crate::vm::{Boot, Vm};

const TIMEOUT_SECONDS: u64 = 120;

/// What the guest saw, and what the device saw.
#[derive(Debug, Deserialize)]
pub struct Numbers {
    pub devinfo: String,
    pub handles: u64,
    /// The driver's table of handles while they were there; the C driver has none.
    pub ah_cache: String,
    pub create_ah: u64,
    pub destroy_ah: u64,
    pub violations: Vec<Value>,
    /// What the unloading of the module said; empty when it went well.
    pub unload: String,
    /// The first alarming line in the kernel log.
    #[serde(skip)]
    pub alarm: Option<String>,
}

impl Numbers {
    /// The users of each entry of the driver's table.
    fn users_in_cache(&self) -> Vec<u64> {
        let lines = self.ah_cache.lines().skip(1);
        lines
            .filter_map(|line| line.split_whitespace().nth(3)?.parse().ok())
            .collect()
    }

    /// What is not as it must be.
    pub fn complaints(&self, driver: Driver) -> Vec<String> {
        let mut complaints = Vec::new();
        if self.handles != 5 {
            complaints.push(format!("{} handles instead of 5", self.handles));
        }
        if driver == Driver::Rust && (self.create_ah, self.destroy_ah) != (1, 1) {
            complaints.push(format!(
                "{} CREATE_AH and {} DESTROY_AH instead of 1 and 1",
                self.create_ah, self.destroy_ah
            ));
        }
        if driver == Driver::Rust && self.users_in_cache() != [5] {
            complaints.push(format!("not one entry of 5 users:\n{}", self.ah_cache));
        }
        complaints.extend(
            self.violations
                .iter()
                .map(|violation| format!("contract violation {violation}")),
        );
        if !self.unload.is_empty() {
            complaints.push(format!("the module does not unload: {}", self.unload));
        }
        let alarm = self.alarm.iter();
        complaints.extend(alarm.map(|line| format!("the kernel complains: {line}")));
        complaints
    }
}

/// Boots `kernel` with one device and does the job; what is not as it must be is in the numbers.
///
/// # Errors
///
/// The job could not be done; the logs are then in the directory the message names.
pub fn measure(env: &Env, kernel: &Kernel, driver: Driver) -> Result<Numbers> {
    let boot = Boot {
        kernel,
        driver,
        machine: &Machine::with_one_device(),
        kunit: false,
        files: &[],
    };
    let mut vm = Vm::boot(env, &boot)?;
    let numbers = job(&mut vm, driver);
    let bad = numbers
        .as_ref()
        .map_or(true, |numbers| !numbers.complaints(driver).is_empty());
    if bad {
        let target = env.results("run");
        vm.save_logs(&target)?;
        return numbers.with_context(|| format!("logs in {}", target.display()));
    }
    vm.shut_down()?;
    numbers
}

fn job(vm: &mut Vm, driver: Driver) -> Result<Numbers> {
    let outcome = vm.call(&Request {
        name: "run",
        run: "main_job.five_threads",
        driver: driver.name(),
        size: "short",
        timeout: TIMEOUT_SECONDS,
        args: Value::Null,
    })?;
    if outcome.reply.status != "passed" {
        bail!("{}", outcome.reply.reason);
    }
    let mut numbers: Numbers =
        serde_json::from_value(outcome.reply.result).context("the guest's result")?;
    numbers.alarm = alarm(&outcome.kernel_log);
    Ok(numbers)
}

/// Runs the main job and prints what it came to.
pub fn run(args: &RunArgs) -> Result<bool> {
    let env = Env::from_variables()?;
    let start = Instant::now();
    println!(
        "booting Linux {} with the {} driver",
        env.kernel.release,
        args.driver.name()
    );
    let numbers = measure(&env, &env.kernel, args.driver)?;
    let seconds = start.elapsed().as_secs_f64();
    print!("{}", numbers.devinfo);
    println!("five threads hold {} handles of one peer", numbers.handles);
    print!("{}", numbers.ah_cache);
    println!("the device saw {} CREATE_AH", numbers.create_ah);
    println!(
        "and, after the last was destroyed, {} DESTROY_AH",
        numbers.destroy_ah
    );
    let complaints = numbers.complaints(args.driver);
    for complaint in &complaints {
        eprintln!(
            "runner: {complaint} (logs in {})",
            env.results("run").display()
        );
    }
    if complaints.is_empty() {
        println!("the module is unloaded; 0 contract violations; {seconds:.1} s");
    }
    if let Some(path) = &args.json {
        let value = json!({
            "driver": args.driver.name(),
            "kernel": env.kernel.release,
            "handles": numbers.handles,
            "create_ah": numbers.create_ah,
            "destroy_ah": numbers.destroy_ah,
            "violations": numbers.violations.len(),
            "seconds": seconds,
        });
        write_json(path, &value)?;
    }
    Ok(complaints.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(create_ah: u64) -> Numbers {
        Numbers {
            devinfo: String::new(),
            handles: 5,
            ah_cache: "pd gid ah users state\n1 fe80::1 0 5 live\n".into(),
            create_ah,
            destroy_ah: 1,
            violations: vec![],
            unload: String::new(),
            alarm: None,
        }
    }

    #[test]
    fn five_handles_on_one_command_is_what_our_driver_must_show() {
        assert!(numbers(1).complaints(Driver::Rust).is_empty());
        assert_eq!(numbers(5).complaints(Driver::Rust).len(), 1);
        assert!(numbers(5).complaints(Driver::C).is_empty());
    }

    #[test]
    fn five_handles_are_one_entry_in_the_cache() {
        let mut bad = numbers(1);
        bad.ah_cache.push_str("1 fe80::2 1 1 live\n");
        assert_eq!(bad.complaints(Driver::Rust).len(), 1);
        bad.ah_cache.clear();
        assert_eq!(bad.complaints(Driver::Rust).len(), 1);
        assert!(bad.complaints(Driver::C).is_empty());
    }

    #[test]
    fn a_violation_or_a_module_that_stays_is_a_complaint_on_both_drivers() {
        let mut bad = numbers(1);
        bad.violations.push(json!({"rule": "r"}));
        bad.unload = "Module efa is in use".into();
        assert_eq!(bad.complaints(Driver::C).len(), 2);
    }
}
