// SPDX-License-Identifier: GPL-2.0
//! The guest agent's protocol: one JSON object a line, over the guest's second serial port.

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{bail, Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A test program for the guest to run.
#[derive(Debug, Serialize)]
pub struct Request<'a> {
    /// The test's name, for the log.
    pub name: &'a str,
    /// `MODULE.FUNCTION` under tests/guest.
    pub run: &'a str,
    pub driver: &'a str,
    pub size: &'a str,
    /// Seconds after which the guest kills the program.
    pub timeout: u64,
    #[serde(skip_serializing_if = "Value::is_null")]
    pub args: Value,
}

/// What the guest answers.
#[derive(Debug, Deserialize)]
pub struct Reply {
    /// `passed`, `failed` or `skipped`.
    pub status: String,
    #[serde(default)]
    pub reason: String,
    /// What the program returned.
    #[serde(default)]
    pub result: Value,
    /// What else a person should know, a line each.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// The connection to the agent of one running guest.
pub struct Agent {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
    pending: Vec<u8>,
}

impl Agent {
    /// Listens where the virtual machine will connect its serial port.
    pub fn listen(path: &Path) -> Result<UnixListener> {
        let listener = UnixListener::bind(path)
            .with_context(|| format!("cannot listen on {}", path.display()))?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    }

    /// Waits for the connection, then for the agent's first line. `alive` is asked meanwhile, so
    /// that a dead virtual machine is noticed at once.
    ///
    /// # Errors
    ///
    /// `alive` fails, or the agent does not report within `limit`.
    pub fn accept(
        listener: &UnixListener,
        limit: Duration,
        alive: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Self> {
        let start = Instant::now();
        let stream = loop {
            alive()?;
            match listener.accept() {
                Ok((stream, _)) => break stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
            if start.elapsed() > limit {
                bail!(
                    "the virtual machine did not start within {} s",
                    limit.as_secs()
                );
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(Duration::from_millis(200)))?;
        let mut agent = Self {
            writer: stream.try_clone()?,
            reader: BufReader::new(stream),
            pending: Vec::new(),
        };
        let hello = agent
            .line(limit.saturating_sub(start.elapsed()), alive)
            .with_context(|| format!("the guest did not come up within {} s", limit.as_secs()))?;
        let hello: Value = serde_json::from_str(&hello).context("the guest agent's first line")?;
        if hello.get("ready") != Some(&Value::Bool(true)) {
            bail!("the guest agent's first line is {hello}");
        }
        Ok(agent)
    }

    /// Runs one test program and waits for its reply, somewhat longer than the guest itself does.
    pub fn call(
        &mut self,
        request: &Request,
        alive: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Reply> {
        self.send(&serde_json::to_string(request)?)?;
        let grace = Duration::from_secs(20);
        let line = self.line(Duration::from_secs(request.timeout) + grace, alive)?;
        serde_json::from_str(&line).with_context(|| format!("the guest answered `{line}`"))
    }

    /// Asks the guest to power off.
    pub fn power_off(&mut self) -> Result<()> {
        self.send(r#"{"power_off":true}"#)
    }

    fn send(&mut self, line: &str) -> Result<()> {
        self.writer
            .write_all(format!("{line}\n").as_bytes())
            .context("the guest agent is gone")
    }

    /// The next line from the guest.
    fn line(&mut self, limit: Duration, alive: &mut dyn FnMut() -> Result<()>) -> Result<String> {
        let start = Instant::now();
        loop {
            match self.reader.read_until(b'\n', &mut self.pending) {
                Ok(0) => {
                    alive()?;
                    bail!("the virtual machine closed the agent's connection");
                }
                Ok(_) if self.pending.ends_with(b"\n") => {
                    let line = String::from_utf8_lossy(&self.pending).trim().to_string();
                    self.pending.clear();
                    if line.starts_with('{') {
                        return Ok(line);
                    }
                }
                Ok(_) => {}
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    alive()?
                }
                Err(error) => return Err(error.into()),
            }
            if start.elapsed() > limit {
                bail!(
                    "the guest hangs: no answer for {} s",
                    start.elapsed().as_secs()
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An agent whose guest is the returned stream.
    fn connected() -> (Agent, UnixStream) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("agent");
        let listener = Agent::listen(&path).unwrap();
        let mut guest = UnixStream::connect(&path).unwrap();
        guest
            .write_all(b"noise from firmware\n{\"ready\":true}\n")
            .unwrap();
        let agent = Agent::accept(&listener, Duration::from_secs(5), &mut || Ok(())).unwrap();
        (agent, guest)
    }

    #[test]
    fn lines_that_are_no_json_are_ignored_and_a_reply_is_read() {
        let (mut agent, mut guest) = connected();
        guest
            .write_all(b"x\n{\"status\":\"failed\",\"reason\":\"why\"}\n")
            .unwrap();
        let request = Request {
            name: "n",
            run: "m.f",
            driver: "c",
            size: "short",
            timeout: 5,
            args: Value::Null,
        };
        let reply = agent.call(&request, &mut || Ok(())).unwrap();
        assert_eq!(
            (reply.status.as_str(), reply.reason.as_str()),
            ("failed", "why")
        );
    }

    #[test]
    fn a_guest_that_says_nothing_is_reported() {
        let (mut agent, _guest) = connected();
        let error = agent
            .line(Duration::from_millis(300), &mut || Ok(()))
            .unwrap_err();
        assert!(error.to_string().starts_with("the guest hangs"), "{error}");
    }

    #[test]
    fn a_dead_machine_ends_the_wait_at_once() {
        let (mut agent, _guest) = connected();
        let error = agent
            .line(Duration::from_secs(60), &mut || bail!("QEMU ended"))
            .unwrap_err();
        assert_eq!(error.to_string(), "QEMU ended");
    }
}
