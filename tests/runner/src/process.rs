// SPDX-License-Identifier: GPL-2.0
//! Child processes: run to the end within a time, or kept as long as their owner lives.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{bail, Context, Result};
use rustix::process::{kill_process_group, Pid, Signal};

const POLL: Duration = Duration::from_millis(20);

/// What a finished command left.
pub struct Output {
    pub success: bool,
    /// Standard output and error in the order they were written.
    pub text: String,
    /// Standard output alone; empty unless it was asked for separately.
    pub stdout: String,
}

/// A command that the kernel kills when the runner dies, however it dies.
pub fn tied(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    command
}

/// A child that is killed, with its process group, when dropped.
pub struct Daemon {
    name: &'static str,
    child: Child,
}

impl Daemon {
    /// Starts `command` in its own process group, so that a stop reaches what it starts.
    pub fn start(name: &'static str, command: &mut Command) -> Result<Self> {
        let child = command
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {name} ({:?})", command.get_program()))?;
        Ok(Self { name, child })
    }

    /// The exit status if it has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Waits for the end, at most `limit`.
    pub fn wait(&mut self, limit: Duration) -> Result<ExitStatus> {
        self.wait_while(limit, &mut || Ok(()))
    }

    /// As [`Daemon::wait`], and does `meanwhile` again and again.
    fn wait_while(
        &mut self,
        limit: Duration,
        meanwhile: &mut dyn FnMut() -> Result<()>,
    ) -> Result<ExitStatus> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            if start.elapsed() > limit {
                bail!("{} did not end within {} s", self.name, limit.as_secs());
            }
            meanwhile()?;
            std::thread::sleep(POLL);
        }
    }

    pub fn stdout(&mut self) -> Option<std::process::ChildStdout> {
        self.child.stdout.take()
    }

    fn signal(&self, signal: Signal) {
        // The group may be gone already, which is what the signal is for.
        let _ = kill_process_group(Pid::from_child(&self.child), signal);
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if self.ended().is_none() {
            self.signal(Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

/// Runs `command` to its end and returns what it printed; kills it after `limit`.
///
/// # Errors
///
/// The command cannot be started, or did not end in time (with the end of its output).
pub fn run(command: &mut Command, limit: Duration) -> Result<Output> {
    let mut log = tempfile::tempfile()?;
    command
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log.try_clone()?);
    let mut child = Daemon::start("the command", command)?;
    let status = child.wait(limit);
    let text = read_all(&mut log)?;
    match status {
        Ok(status) => Ok(Output {
            success: status.success(),
            text,
            stdout: String::new(),
        }),
        Err(error) => bail!("{error}; its last words: {}", last_line(&text)),
    }
}

/// As [`run`], but keeps standard output apart (for formats that are parsed).
pub fn run_apart(command: &mut Command, limit: Duration) -> Result<Output> {
    run_watched(command, limit, Duration::MAX, &mut |_| ())
}

/// As [`run_apart`], and tells `watch` every `period` what standard output has so far.
pub fn run_watched(
    command: &mut Command,
    limit: Duration,
    period: Duration,
    watch: &mut dyn FnMut(&str),
) -> Result<Output> {
    let mut stdout = tempfile::tempfile()?;
    let mut stderr = tempfile::tempfile()?;
    command
        .stdin(Stdio::null())
        .stdout(stdout.try_clone()?)
        .stderr(stderr.try_clone()?);
    let mut child = Daemon::start("the command", command)?;
    let mut shown = Instant::now();
    let status = child.wait_while(limit, &mut || {
        if shown.elapsed() >= period {
            watch(&so_far(&stdout)?);
            shown = Instant::now();
        }
        Ok(())
    })?;
    let (stdout, text) = (read_all(&mut stdout)?, read_all(&mut stderr)?);
    Ok(Output {
        success: status.success(),
        text,
        stdout,
    })
}

/// What the child has written. It shares the file's position, which must stay.
fn so_far(file: &File) -> Result<String> {
    let mut bytes = vec![0; usize::try_from(file.metadata()?.len())?];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn read_all(file: &mut File) -> Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The last line that says something.
pub fn last_line(text: &str) -> &str {
    text.lines()
        .rev()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("(no output)")
        .trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_and_failure_are_returned() {
        let output = run(
            Command::new("sh").args(["-c", "echo out; echo err >&2; exit 3"]),
            Duration::from_secs(10),
        )
        .unwrap();
        assert!(!output.success);
        assert_eq!(output.text, "out\nerr\n");
    }

    #[test]
    fn a_command_beyond_its_time_is_killed_with_its_children() {
        let start = Instant::now();
        let result = run(
            Command::new("sh").args(["-c", "echo begun; sleep 30 & sleep 30"]),
            Duration::from_millis(300),
        );
        let error = result.err().unwrap().to_string();
        assert!(error.ends_with("its last words: begun"), "{error}");
        assert!(start.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn a_watcher_sees_what_was_written_so_far_and_nothing_is_lost() {
        let mut seen = Vec::new();
        let output = run_watched(
            Command::new("sh").args(["-c", "echo one; sleep 1; echo two"]),
            Duration::from_secs(30),
            Duration::from_millis(100),
            &mut |text| seen.push(text.to_string()),
        )
        .unwrap();
        assert_eq!(output.stdout, "one\ntwo\n");
        assert!(seen.iter().any(|text| text == "one\n"), "{seen:?}");
    }

    #[test]
    fn the_last_line_skips_blank_ones() {
        assert_eq!(last_line("a\n b \n\n"), "b");
        assert_eq!(last_line(""), "(no output)");
    }
}
