// SPDX-License-Identifier: GPL-2.0
//! One virtual machine: its devices, its shared directories, its console and its agent.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{bail, Context as _, Result};
use serde_json::{json, Value};

use crate::agent::{Agent, Reply, Request};
use crate::cli::Driver;
use crate::console::{alarm, between, Console};
use crate::env::{accelerator, Env, Kernel};
use crate::interrupt::Scratch;
use crate::manifest::Machine;
use crate::process::{tied, Daemon};
use crate::stage;
use crate::vefa::{self, Vefa};

const CPUS: u8 = 2;
const MEMORY_MIB: u32 = 1024;
const CHECKED_MEMORY_MIB: u32 = 2048;
/// While the kernel looks at its first CPU, KASAN takes page tables of five levels for such of four,
/// and an interrupt that comes then for an access out of bounds. It turns lockdep off.
const CHECKED_ARGUMENTS: &str = "no5lvl";

/// Software emulation on a busy host is slow; a boot takes about 5 s on an idle one.
const BOOT_LIMIT: Duration = Duration::from_secs(120);
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(20);
/// How long a device may take to notice that its client is gone.
const DETACH_LIMIT: Duration = Duration::from_secs(10);
const MARK_LIMIT: Duration = Duration::from_secs(10);
/// How the line begins that the guest puts into the kernel log before a test.
const BEGIN: &str = "efa-test: begin <";
const QEMU_LOG: &str = "qemu.log";
const VIRTIOFSD: &str = "/usr/libexec/virtiofsd";

/// Serial ports 2 and 3 lead to the control sockets of the devices. A line of their own each:
/// the usual two are taken by ports 0 and 1, and a shared edge-triggered line loses interrupts.
const CONTROL_PORTS: [(&str, u8); 2] = [("0x3e8", 10), ("0x2e8", 11)];

/// What to boot.
#[derive(Clone, Debug)]
pub struct Boot<'a> {
    pub kernel: &'a Kernel,
    pub driver: Driver,
    pub machine: &'a Machine,
    /// Whether loading the module runs its KUnit suites, which takes seconds.
    pub kunit: bool,
    /// More files for the guest to find in /mnt/bench, each under its name there.
    pub files: &'a [(&'a str, PathBuf)],
}

/// A running virtual machine.
pub struct Vm {
    agent: Agent,
    qemu: Daemon,
    shares: Vec<Daemon>,
    vefa: Vefa,
    pub console: Console,
    dir: Scratch,
    /// How many times as long as it says a request may take.
    patience: u32,
    /// Whether the kernel's checkers are in it.
    pub checks: bool,
    /// Whether its devices stand behind an IOMMU.
    pub iommu: bool,
    /// Whether the test may end the devices.
    pub devices_may_end: bool,
}

/// What one test program in the guest came to.
#[derive(Debug)]
pub struct Outcome {
    pub reply: Reply,
    /// What the kernel printed meanwhile.
    pub kernel_log: String,
}

impl Vm {
    /// Starts the devices and the machine, and waits for the agent.
    ///
    /// # Errors
    ///
    /// Anything that does not start; the message says what the console last showed.
    pub fn boot(env: &Env, boot: &Boot) -> Result<Self> {
        let dir = Scratch::new("efa-vm-")?;
        let job = dir.path().join("job");
        stage::stage(&job, env, boot)?;
        stage::add(&job.join("bench"), boot.files)?;

        let vefa = Vefa::start(&env.vefa, dir.path(), &boot.machine.devices)?;
        let mut shares = vec![
            share(dir.path(), "root", env.root(boot.machine.root)?, true)?,
            share(dir.path(), "job", &job, false)?,
        ];
        wait_for_sockets(dir.path(), &mut shares)?;

        let listener = Agent::listen(&dir.path().join("agent.sock"))?;
        let mut qemu = start_qemu(dir.path(), boot, &vefa.devices)?;
        let console = Console::new(dir.path().join("console.log"));
        let patience = boot.kernel.patience() * boot.machine.patience();
        let agent = match wait_for_agent(&listener, patience, &mut qemu, dir.path()) {
            Ok(agent) => agent,
            Err(error) => {
                keep_boot_log(env, &console);
                let text = console.text();
                bail!(
                    "{error:#}; the console's last line: {}",
                    crate::process::last_line(&text)
                );
            }
        };
        Ok(Self {
            agent,
            qemu,
            shares,
            vefa,
            console,
            dir,
            patience,
            checks: boot.kernel.checks,
            iommu: boot.machine.iommu,
            devices_may_end: false,
        })
    }

    /// Runs one test program in the guest.
    ///
    /// # Errors
    ///
    /// The guest hangs or is gone: the machine is of no more use.
    pub fn call(&mut self, request: &Request) -> Result<Outcome> {
        let (qemu, vefa, dir) = (&mut self.qemu, &mut self.vefa, self.dir.path());
        let may_end = self.devices_may_end;
        let mut alive = || {
            if !may_end && vefa.ended() {
                bail!("the virtual device ended: {}", last_words(dir, vefa::LOG));
            }
            qemu_alive(qemu, dir)
        };
        let patient = Request {
            timeout: request.timeout * u64::from(self.patience),
            args: request.args.clone(),
            ..*request
        };
        let reply = self.agent.call(&patient, &mut alive)?;
        let (begin, end) = marks(request.name);
        let log = self.console.wait_for(&end, MARK_LIMIT)?;
        Ok(Outcome {
            reply,
            kernel_log: between(&log, &begin, &end).to_string(),
        })
    }

    /// Runs a test program that reboots the guest, which ends the machine.
    ///
    /// # Errors
    ///
    /// The program ended without a reboot, or nothing happened in time.
    pub fn call_to_the_end(&mut self, request: &Request) -> Result<()> {
        match self.call(request) {
            Ok(outcome) => bail!(
                "the guest did not reboot: {} {}",
                outcome.reply.status,
                outcome.reply.reason
            ),
            // What is noticed first is that the agent is gone.
            Err(error) => match self.qemu.wait(SHUTDOWN_LIMIT) {
                Ok(_) => Ok(()),
                Err(_) => Err(error),
            },
        }
    }

    /// What is wrong with a device whose driver was to reset it, once, for `reason`, as the last thing.
    ///
    /// # Errors
    ///
    /// The device does not answer.
    pub fn wrong_after_reset(&self, reason: &str) -> Result<Option<String>> {
        let device = self.vefa.devices.first().context("no device")?;
        let mut control = device.control()?;
        let counters = control.ask(&json!({"op": "counters"}))?;
        let resets = &counters["counters"]["resets"];
        if resets[reason] != json!(1) {
            return Ok(Some(format!("no reset for {reason}: {resets}")));
        }
        let answer = control.ask(&json!({"op": "violations"}))?;
        let violations = answer["violations"].as_array().cloned().unwrap_or_default();
        // Processes may still ring the doorbells of queue pairs that the reset ended.
        let broken = violations
            .iter()
            .find(|violation| violation["rule"] != json!("doorbell-unowned"));
        if let Some(violation) = broken {
            return Ok(Some(format!("contract violation: {violation}")));
        }
        for _ in 0..DETACH_LIMIT.as_millis() / 100 {
            let answer = control.ask(&json!({"op": "log"}))?;
            let log = answer["log"].as_array().context("a log that is no list")?;
            if let Some(verdict) = wrong_after(log, reason) {
                return Ok(verdict);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(Some("the device still has its client".into()))
    }

    /// Copies what explains a failure to `target`: the console, each device's command log, vefa's
    /// messages, and what the guest wrote.
    pub fn save_logs(&self, target: &Path) -> Result<()> {
        fs::create_dir_all(target)?;
        let _ = fs::copy(self.console.path(), target.join("console.log"));
        for log in [vefa::LOG, QEMU_LOG] {
            let _ = fs::copy(self.dir.path().join(log), target.join(log));
        }
        for (index, device) in self.vefa.devices.iter().enumerate() {
            let log = device.control().and_then(|mut control| control.log_text());
            let text = log.unwrap_or_else(|error| format!("no command log: {error:#}\n"));
            fs::write(target.join(format!("device{index}-commands.log")), text)?;
        }
        for entry in fs::read_dir(self.dir.path().join("job/out"))?.flatten() {
            let _ = fs::copy(entry.path(), target.join(entry.file_name()));
        }
        Ok(())
    }

    /// The first alarming line on the console since the first test began.
    pub fn alarm(&self) -> Option<String> {
        let text = self.console.text();
        let (_, tests) = text.split_once(BEGIN)?;
        alarm(tests)
    }

    /// Powers off in order.
    ///
    /// # Errors
    ///
    /// The guest does not go down in time (it is killed when `self` is dropped).
    pub fn shut_down(mut self) -> Result<()> {
        self.agent.power_off()?;
        self.qemu.wait(SHUTDOWN_LIMIT)?;
        self.shares.clear();
        Ok(())
    }
}

/// What a device did after the last reset for `reason`, until its client had gone, that it must not
/// have done: nothing, as a rule. `None` as long as the client is there.
fn wrong_after(log: &[Value], reason: &str) -> Option<Option<String>> {
    let reset = log.iter().rposition(|entry| entry["reason"] == reason)?;
    let after = log.get(reset + 1..)?;
    let gone = after
        .iter()
        .any(|entry| entry["command"] == "function_reset");
    let idle = json!({"dma_reads": 0, "dma_writes": 0, "interrupts": 0});
    let wrong = after
        .iter()
        .find(|entry| entry["command"] != "function_reset" || entry["did"] != idle);
    gone.then(|| wrong.map(|entry| format!("after the reset: {entry}")))
}

/// The lines that bracket a test in the kernel log.
pub fn marks(test: &str) -> (String, String) {
    (format!("{BEGIN}{test}>"), format!("efa-test: end <{test}>"))
}

/// Starts the server of one shared directory.
fn share(dir: &Path, tag: &str, shared: &Path, read_only: bool) -> Result<Daemon> {
    let log = fs::File::create(dir.join(format!("{tag}.share.log")))?;
    let mut command = tied(VIRTIOFSD);
    command
        .arg("--shared-dir")
        .arg(shared)
        .arg("--socket-path")
        .arg(dir.join(format!("{tag}.share")))
        .args([
            "--sandbox",
            "none",
            "--cache",
            if read_only { "always" } else { "auto" },
        ])
        .args(["--log-level", "error"]);
    if read_only {
        command.arg("--readonly");
    }
    command
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log);
    Daemon::start("virtiofsd", &mut command)
}

fn wait_for_sockets(dir: &Path, shares: &mut [Daemon]) -> Result<()> {
    let start = Instant::now();
    for (tag, daemon) in ["root", "job"].iter().zip(shares) {
        while !dir.join(format!("{tag}.share")).exists() {
            if daemon.ended().is_some() || start.elapsed() > Duration::from_secs(10) {
                bail!(
                    "virtiofsd: {}",
                    last_words(dir, &format!("{tag}.share.log"))
                );
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    Ok(())
}

fn start_qemu(dir: &Path, boot: &Boot, devices: &[vefa::Device]) -> Result<Daemon> {
    let log = fs::File::create(dir.join(QEMU_LOG))?;
    let mut command = tied("qemu-system-x86_64");
    machine(&mut command, boot)?;
    for tag in ["root", "job"] {
        let socket = dir.join(format!("{tag}.share"));
        command
            .args([
                "-chardev",
                &format!("socket,id={tag},path={}", socket.display()),
            ])
            .args([
                "-device",
                &format!("vhost-user-fs-pci,chardev={tag},tag={tag}"),
            ]);
    }
    let console = dir.join("console.log");
    let agent = dir.join("agent.sock");
    command
        .args(["-serial", &format!("file:{}", console.display())])
        .args([
            "-chardev",
            &format!("socket,id=agent,path={}", agent.display()),
        ])
        .args(["-serial", "chardev:agent"]);
    for (index, device) in devices.iter().enumerate() {
        attach(&mut command, index, device);
    }
    command
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log);
    Daemon::start("QEMU", &mut command)
}

/// Attaches a device behind a root port of its own, and its control socket to a serial port while
/// there are ports left.
fn attach(command: &mut Command, index: usize, device: &vefa::Device) {
    let chassis = index + 1;
    let function = serde_json::json!({
        "driver": "vfio-user-pci",
        "bus": format!("rp{chassis}"),
        "socket": {"type": "unix", "path": device.socket},
    });
    let root_port = format!("pcie-root-port,id=rp{chassis},chassis={chassis}");
    command.args(["-device", &root_port, "-device", &function.to_string()]);
    if let Some((iobase, irq)) = CONTROL_PORTS.get(index) {
        let control = format!("socket,id=ctl{index},path={}", device.control.display());
        let port = index + 2;
        let serial =
            format!("isa-serial,chardev=ctl{index},index={port},iobase={iobase},irq={irq}");
        command.args(["-chardev", &control, "-device", &serial]);
    }
}

fn machine(command: &mut Command, boot: &Boot) -> Result<()> {
    let machine = boot.machine;
    let memory = memory_mib(boot);
    // The guest's root has no init: a shell mounts the job directory and goes on from there.
    let init = "init=/bin/sh -- -c \"mount -t virtiofs job /mnt; exec /mnt/guest/init\"";
    let kunit = u8::from(boot.kunit);
    // One CPU while the kernel boots, and patches its own code (static keys): software emulation
    // with a thread for each CPU may run such code half patched on the other one. Seen about once
    // in thirty boots, as an int3 oops or a hang where timers become precise. tests/guest/init
    // brings the other CPUs up. And no check of the timer: on a busy host its interrupt may be late
    // enough for the kernel to take it for broken, and panic.
    let checked = match boot.kernel.checks {
        true => CHECKED_ARGUMENTS,
        false => "",
    };
    let iommu = iommu_argument(machine);
    let more = &machine.kernel_arguments;
    let cmdline = format!(
        "console=ttyS0 ignore_loglevel maxcpus=1 no_timer_check kunit.enable={kunit} panic=-1 oops=panic printk.time=1 {checked} {iommu} {more} rootfstype=virtiofs root=root ro {init}"
    );
    command
        .args(["-nodefaults", "-no-reboot", "-display", "none"])
        .args([
            "-cpu",
            "max",
            "-smp",
            &cpus(machine).to_string(),
            "-m",
            &format!("{memory}M"),
        ])
        .args([
            "-object",
            &format!("memory-backend-memfd,id=mem,size={memory}M,share=on"),
        ])
        .args(["-machine", "q35,memory-backend=mem"])
        .arg("-kernel")
        .arg(&boot.kernel.image)
        .args(["-append", &cmdline]);
    match machine.counts_instructions {
        // A nanosecond for each instruction.
        true => command.args(["-accel", "tcg,thread=single", "-icount", "shift=0"]),
        false => command.args(["-accel", accelerator()?]),
    };
    if machine.iommu {
        // Before all devices that are to stand behind it. A vfio device needs to be told of every mapping.
        command.args(["-device", "intel-iommu,caching-mode=on"]);
    }
    Ok(())
}

fn cpus(machine: &Machine) -> u8 {
    match machine.counts_instructions {
        true => 1,
        false => machine.cpus.unwrap_or(CPUS),
    }
}

fn memory_mib(boot: &Boot) -> u32 {
    let least = match boot.kernel.checks {
        true => CHECKED_MEMORY_MIB,
        false => MEMORY_MIB,
    };
    boot.machine.memory_mib.unwrap_or(least).max(least)
}

/// Strict: what is unmapped is out of the device's reach at once, so that a late access shows.
fn iommu_argument(machine: &Machine) -> &'static str {
    match machine.iommu {
        true => "intel_iommu=on iommu.strict=1",
        false => "",
    }
}

fn wait_for_agent(
    listener: &UnixListener,
    patience: u32,
    qemu: &mut Daemon,
    dir: &Path,
) -> Result<Agent> {
    Agent::accept(listener, BOOT_LIMIT * patience, &mut || {
        qemu_alive(qemu, dir)
    })
}

fn qemu_alive(qemu: &mut Daemon, dir: &Path) -> Result<()> {
    match qemu.ended() {
        Some(status) => bail!(
            "the virtual machine ended ({status}): {}",
            last_words(dir, QEMU_LOG)
        ),
        None => Ok(()),
    }
}

fn last_words(dir: &Path, log: &str) -> String {
    let text = fs::read_to_string(dir.join(log)).unwrap_or_default();
    crate::process::last_line(&text).to_string()
}

/// A machine that never came up has no owner yet that could save its console.
fn keep_boot_log(env: &Env, console: &Console) {
    let target = env.results("boot");
    if fs::create_dir_all(&target).is_ok() {
        let _ = fs::copy(console.path(), target.join("console.log"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(after: &[Value]) -> Vec<Value> {
        let reset = json!({"command": "reset", "reason": "shutdown", "did": {"dma_writes": 9}});
        let before = json!({"command": "function_reset", "did": {"dma_writes": 5}});
        [&[before, reset], after].concat()
    }

    fn end(dma_writes: u64) -> Value {
        let did = json!({"dma_reads": 0, "dma_writes": dma_writes, "interrupts": 0});
        json!({"command": "function_reset", "did": did})
    }

    #[test]
    fn a_device_is_judged_once_its_client_is_gone() {
        assert_eq!(wrong_after(&log(&[]), "shutdown"), None);
        assert_eq!(wrong_after(&log(&[end(0)]), "shutdown"), Some(None));
        assert_eq!(wrong_after(&[end(0)], "shutdown"), None);
    }

    #[test]
    fn what_a_device_does_after_its_reset_is_wrong() {
        for after in [
            vec![end(1)],
            vec![end(0), end(1)],
            vec![json!({"command": "reg_mr"}), end(0)],
        ] {
            let verdict = wrong_after(&log(&after), "shutdown");
            assert!(verdict.flatten().is_some(), "{after:?}");
        }
    }
}
