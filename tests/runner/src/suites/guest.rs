// SPDX-License-Identifier: GPL-2.0
//! The tests of tests/guest/tests.toml, which run in the virtual machine.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{json, Value};

use super::Context;
use crate::agent::Request;
use crate::cli::{Driver, Size};
use crate::console::{alarm, CUT_HERE};
use crate::env::Env;
use crate::known::{differ, Known};
use crate::manifest::{GuestTest, Root};
use crate::report::{Difference, Measurement, Report, Status};
use crate::vm::{Boot, Outcome, Vm};

/// Results by test name, with the seconds each took.
type Results = BTreeMap<String, (Status, f64)>;

/// The selected tests, those of one machine together.
pub fn plan(context: &Context) -> Vec<GuestTest> {
    plan_where(context, |root| root != Root::User)
}

/// Those of the machine on which the package is tried.
pub fn plan_on_user_machine(context: &Context) -> Vec<GuestTest> {
    plan_where(context, |root| root == Root::User)
}

fn plan_where(context: &Context, fits: impl Fn(Root) -> bool) -> Vec<GuestTest> {
    let mut tests: Vec<GuestTest> = context
        .manifest
        .test
        .iter()
        .filter(|test| context.selects(&test.name))
        .filter(|test| fits(context.manifest.machine(&test.machine).root))
        .filter(|test| !test.full || context.args.size == Size::Full)
        .cloned()
        .collect();
    // The sort is stable: within a machine the order of the file stays.
    tests.sort_by_key(|test| test.machine.clone());
    tests
}

pub fn run(context: &mut Context, tests: &[GuestTest], known: &Known) {
    if tests.is_empty() {
        return;
    }
    let mut machines = Machines { vm: None };
    let mut ours = Results::new();
    for test in tests {
        let (mut status, seconds) = machines.run(context, test, context.args.driver);
        if context.args.driver == Driver::C {
            status = known.explain(test.known_as(), status);
        }
        context.report.record(&test.name, status.clone(), seconds);
        ours.insert(test.name.clone(), (status, seconds));
    }
    machines.stop(context);
    if context.args.compare_with_c {
        context.report.plan(tests.len());
        context.report.note("the same tests on the C driver");
        for test in tests {
            let (status, seconds) = machines.run(context, test, Driver::C);
            if let Some((rust, _)) = ours.get(&test.name) {
                compare(
                    &mut context.report,
                    known,
                    &test.name,
                    test.known_as(),
                    (&status, seconds),
                    rust,
                );
            }
        }
        machines.stop(context);
    }
}

/// Judges a test's outcome on the C driver against ours; records it as `c.NAME`. `known_as` is its
/// name in known-c.toml.
pub fn compare(
    report: &mut Report,
    known: &Known,
    name: &str,
    known_as: &str,
    c: (&Status, f64),
    rust: &Status,
) {
    if differ(c.0, rust) {
        report.differences.push(Difference {
            name: name.to_string(),
            c: c.0.describe(),
            rust: rust.describe(),
        });
    }
    report.record(&format!("c.{name}"), known.judge(known_as, c.0, rust), c.1);
}

/// The machine that is up, kept from one test to the next while it suits both.
struct Machines {
    vm: Option<(Vm, Driver, String)>,
}

impl Machines {
    fn run(&mut self, context: &mut Context, test: &GuestTest, driver: Driver) -> (Status, f64) {
        let alone = test.alone
            || test.ends_devices
            || !test.complaints.is_empty()
            || (test.alone_on_c && driver == Driver::C);
        if alone || !self.suits(test, driver) {
            self.stop(context);
        }
        let boot = match self.boot(context, test, driver) {
            Ok(()) => Instant::now(),
            Err(error) => return (Status::Failed(format!("{error:#}")), 0.0),
        };
        let Some((vm, ..)) = self.vm.as_mut() else {
            return (Status::Failed("no machine".into()), 0.0);
        };
        let request = request(context, test, driver);
        if let Some(reason) = &test.ends_in {
            let status = judge_end(vm, &request, reason);
            let status = save_failure(context, vm, test, driver, status);
            self.vm = None;
            return (status, boot.elapsed().as_secs_f64());
        }
        vm.devices_may_end = test.ends_devices;
        let result = vm.call(&request);
        let seconds = boot.elapsed().as_secs_f64();
        let (status, usable) = match result {
            Ok(outcome) => {
                note_numbers(context, test, driver, &outcome);
                judge(&outcome, &test.complaints)
            }
            Err(error) => {
                let alarm = vm.alarm().map(|line| format!("; on the console: {line}"));
                (
                    Status::Failed(format!("{error:#}{}", alarm.unwrap_or_default())),
                    false,
                )
            }
        };
        let status = save_failure(context, vm, test, driver, status);
        if alone || !usable {
            self.vm = None;
        }
        (status, seconds)
    }

    fn suits(&self, test: &GuestTest, driver: Driver) -> bool {
        self.vm
            .as_ref()
            .is_some_and(|(_, with, machine)| *with == driver && *machine == test.machine)
    }

    fn boot(&mut self, context: &Context, test: &GuestTest, driver: Driver) -> Result<()> {
        if self.vm.is_some() {
            return Ok(());
        }
        context.report.note(&format!(
            "booting machine `{}` with the {} driver",
            test.machine,
            driver.name()
        ));
        let machine = context.machine(&test.machine);
        let vm = Vm::boot(
            &context.env,
            &Boot {
                kernel: &context.env.kernel,
                driver,
                machine: &machine,
                kunit: false,
                files: &[],
            },
        )?;
        self.vm = Some((vm, driver, test.machine.clone()));
        Ok(())
    }

    fn stop(&mut self, context: &mut Context) {
        if let Some((vm, driver, machine)) = self.vm.take() {
            retire(context, vm, driver, &machine);
        }
    }
}

/// Powers a machine off, after a last look at its kernel.
pub fn retire(context: &mut Context, mut vm: Vm, driver: Driver, machine: &str) {
    if let Some((name, status, seconds)) = last_look(&context.env, &mut vm, driver, machine) {
        context.report.record(&name, status, seconds);
    }
    if let Err(error) = vm.shut_down() {
        context
            .report
            .note(&format!("a machine did not power off: {error:#}"));
    }
}

/// The result that a machine's kernel gives at the end, if there is anything to say. All its tests
/// passed, or it would be gone: an alarm that is on its console all the same came after the test
/// that caused it.
pub fn last_look(
    env: &Env,
    vm: &mut Vm,
    driver: Driver,
    machine: &str,
) -> Option<(String, Status, f64)> {
    let name = format!("{}.kernel.{machine}", driver.name());
    let start = Instant::now();
    let status = match vm.alarm() {
        Some(line) => Status::Failed(format!("the kernel complains between tests: {line}")),
        None => ask_checkers(vm, driver, &name)?,
    };
    if status != Status::Passed {
        drop(vm.save_logs(&env.results(&name)));
    }
    Some((name, status, start.elapsed().as_secs_f64()))
}

/// What the kernel's checkers say once the driver is gone; `None` where it has none.
fn ask_checkers(vm: &mut Vm, driver: Driver, name: &str) -> Option<Status> {
    if !vm.checks {
        return None;
    }
    let outcome = vm.call(&Request {
        name,
        run: "checkers.nothing_is_left",
        driver: driver.name(),
        size: "short",
        timeout: CHECKERS_SECONDS,
        args: json!({ "iommu": vm.iommu }),
    });
    Some(match outcome {
        Ok(outcome) => judge(&outcome, &[]).0,
        Err(error) => Status::Failed(format!("{error:#}")),
    })
}

/// Says what a test has to say, and keeps what it measured for the JSON file.
fn note_numbers(context: &mut Context, test: &GuestTest, driver: Driver, outcome: &Outcome) {
    for note in &outcome.reply.notes {
        context.report.note(&format!("{}: {note}", test.name));
    }
    if !outcome.reply.result.is_null() {
        context.report.measurements.push(Measurement {
            name: test.name.clone(),
            driver: driver.name(),
            numbers: outcome.reply.result.clone(),
        });
    }
}

fn request<'a>(context: &Context, test: &'a GuestTest, driver: Driver) -> Request<'a> {
    let timeout = match context.args.size {
        Size::Short => test.timeout,
        Size::Full => test.timeout_full.unwrap_or(test.timeout),
    };
    Request {
        name: &test.name,
        run: &test.run,
        driver: driver.name(),
        size: context.args.size.name(),
        timeout,
        args: match test.ends_devices {
            true => json!({ "ends_devices": true }),
            false => Value::Null,
        },
    }
}

/// Runs a test that ends the machine, and judges by what the device saw.
fn judge_end(vm: &mut Vm, request: &Request, reason: &str) -> Status {
    let wrong = vm
        .call_to_the_end(request)
        .and_then(|()| vm.wrong_after_reset(reason));
    let alarm = vm
        .alarm()
        .map(|line| format!("the kernel complains: {line}"));
    match (wrong, alarm) {
        (Err(error), _) => Status::Failed(format!("{error:#}")),
        (Ok(Some(why)), _) | (Ok(None), Some(why)) => Status::Failed(why),
        (Ok(None), None) => Status::Passed,
    }
}

/// The test's status, and whether the machine can take another test. A kernel that complained is
/// not trusted with a second one.
pub fn judge(outcome: &Outcome, expected: &[String]) -> (Status, bool) {
    if let Some(line) = alarm(&without(&outcome.kernel_log, expected)) {
        let program = match outcome.reply.status.as_str() {
            "passed" => String::new(),
            _ => format!("; the program: {}", outcome.reply.reason),
        };
        return (
            Status::Failed(format!("the kernel complains: {line}{program}")),
            false,
        );
    }
    match outcome.reply.status.as_str() {
        "passed" => (Status::Passed, true),
        "skipped" => (Status::Skipped(outcome.reply.reason.clone()), true),
        _ => (Status::Failed(outcome.reply.reason.clone()), false),
    }
}

/// The log without the lines that hold an expected complaint, and without the line that opens its
/// warning.
fn without(log: &str, expected: &[String]) -> String {
    let is_expected = |line: &str| expected.iter().any(|text| line.contains(text));
    let lines: Vec<&str> = log.lines().collect();
    let left = lines.iter().enumerate().filter(|(at, line)| {
        let opens =
            line.contains(CUT_HERE) && lines.get(at + 1).is_some_and(|next| is_expected(next));
        !opens && !is_expected(line)
    });
    left.flat_map(|(_, line)| [line, "\n"]).collect()
}

/// Adds the place of the logs to a failure's reason.
fn save_failure(
    context: &Context,
    vm: &Vm,
    test: &GuestTest,
    driver: Driver,
    status: Status,
) -> Status {
    let Status::Failed(reason) = status else {
        return status;
    };
    let directory = match driver {
        Driver::Rust => test.name.clone(),
        Driver::C => format!("c.{}", test.name),
    };
    let target = context.env.results(&directory);
    let saved = match vm.save_logs(&target) {
        Ok(()) => format!("logs in {}", target.display()),
        Err(error) => format!("logs not saved: {error:#}"),
    };
    Status::Failed(format!("{reason} ({saved})"))
}

const CHECKERS_SECONDS: u64 = 60;

/// How long a machine may take for one case of a larger program.
pub const CASE_LIMIT: Duration = Duration::from_secs(300);

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::agent::Reply;
    use crate::manifest::Manifest;

    fn outcome(status: &str, kernel_log: &str) -> Outcome {
        let reply = Reply {
            status: status.into(),
            reason: "why".into(),
            result: Value::Null,
            notes: vec![],
        };
        Outcome {
            reply,
            kernel_log: kernel_log.into(),
        }
    }

    #[test]
    fn a_kernel_warning_fails_a_program_that_passed() {
        let (status, usable) = judge(&outcome("passed", "WARNING: CPU: 0 PID: 1 at x.c:1\n"), &[]);
        assert!(
            matches!(status, Status::Failed(why) if why.starts_with("the kernel complains: WARNING: CPU"))
        );
        assert!(!usable);
    }

    /// What the DMA checker says of memory that stays with a mute device.
    const PENDING: &str = "\
[   86.2] ------------[ cut here ]------------
[   86.2] DMA-API: pci 0000:01:00.0: device driver has pending DMA allocations while released from device [count=6]
[   86.2] One of leaked entries details: [device address=0x00000000ffffe000] [size=4096 bytes]
[   86.2] WARNING: kernel/dma/debug.c:896 at dma_debug_device_change+0x21b/0x640, CPU#0: rmmod/86
[   86.3] ---[ end trace 0000000000000000 ]---
[   86.3] DMA-API: Mapped at:
[   86.3]  debug_dma_alloc_coherent+0x5c/0x2b0
";

    fn announced() -> Vec<String> {
        let manifest = Manifest::read(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")));
        let tests = manifest.expect("tests.toml").test;
        let test = tests.into_iter().find(|test| test.name == "field.D10");
        test.expect("field.D10").complaints
    }

    #[test]
    fn the_memory_of_a_mute_device_is_let_pass() {
        let judged = judge(&outcome("passed", PENDING), &announced());
        assert_eq!(judged, (Status::Passed, true));
        assert!(!judge(&outcome("passed", PENDING), &[]).1);
    }

    #[test]
    fn only_the_complaints_that_a_test_announces_are_let_pass() {
        for other in [
            "DMA-API: efa 0000:01:00.0: device driver tries to free DMA memory it has not allocated",
            "DMA-API: efa 0000:01:00.0: cacheline tracking EEXIST, overlapping mappings aren't supported",
            "WARNING: kernel/dma/debug.c:1002 at check_unmap+0x2a/0x30",
            "------------[ cut here ]------------",
            "BUG: KASAN: slab-use-after-free",
        ] {
            for log in [format!("{PENDING}{other}\n"), format!("{other}\n{PENDING}")] {
                let (status, usable) = judge(&outcome("passed", &log), &announced());
                assert!(
                    matches!(&status, Status::Failed(why) if why.contains(other)),
                    "{other}: {status:?}"
                );
                assert!(!usable);
            }
        }
    }

    #[test]
    fn an_unknown_status_is_a_failure() {
        assert!(matches!(judge(&outcome("", ""), &[]).0, Status::Failed(_)));
        assert_eq!(judge(&outcome("passed", ""), &[]), (Status::Passed, true));
    }
}
