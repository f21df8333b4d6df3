// SPDX-License-Identifier: GPL-2.0
//! The virtual devices: their process, and the control socket of each.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{bail, Context, Result};
use serde_json::{json, Value};

use crate::process::{tied, Daemon};

const START_LIMIT: Duration = Duration::from_secs(10);
const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// The file that holds what the process says, in the machine's directory.
pub const LOG: &str = "vefa.log";

/// The virtual devices of one machine. One process serves all, since they reach each other in it.
pub struct Vefa {
    /// `None` where there is no device to serve.
    process: Option<Daemon>,
    pub devices: Vec<Device>,
}

/// One virtual device.
pub struct Device {
    /// Where the virtual machine attaches.
    pub socket: PathBuf,
    /// Where tests read counters and script faults.
    pub control: PathBuf,
}

impl Vefa {
    /// Starts a device for each list of settings (`key=value`) and waits until all listen. What the
    /// process says goes to [`LOG`].
    pub fn start(program: &Path, dir: &Path, settings: &[Vec<String>]) -> Result<Self> {
        let devices: Vec<Device> = (0..settings.len())
            .map(|number| Device::new(dir, number))
            .collect();
        let process = match devices.as_slice() {
            [] => None,
            devices => Some(start(program, dir, devices, settings)?),
        };
        Ok(Self { process, devices })
    }

    pub fn ended(&mut self) -> bool {
        let process = self.process.as_mut();
        process.is_some_and(|process| process.ended().is_some())
    }
}

impl Device {
    fn new(dir: &Path, number: usize) -> Self {
        Self {
            socket: dir.join(format!("vefa{number}.sock")),
            control: dir.join(format!("vefa{number}.ctl")),
        }
    }

    pub fn control(&self) -> Result<Control> {
        Control::connect(&self.control)
    }
}

fn start(
    program: &Path,
    dir: &Path,
    devices: &[Device],
    settings: &[Vec<String>],
) -> Result<Daemon> {
    let log = std::fs::File::create(dir.join(LOG))?;
    let mut command = tied(program);
    for (number, (device, settings)) in devices.iter().zip(settings).enumerate() {
        if number > 0 {
            command.arg("--device");
        }
        command.arg("--socket").arg(&device.socket);
        command.arg("--control").arg(&device.control);
        for setting in settings {
            command.arg("--set").arg(setting);
        }
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log);
    let mut process = Daemon::start("vefa", &mut command)?;
    let stdout = process.stdout().context("vefa has no output")?;
    wait_ready(stdout).with_context(|| format!("vefa: {}", first_line(&dir.join(LOG))))?;
    Ok(process)
}

fn wait_ready(stdout: std::process::ChildStdout) -> Result<()> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let mut reader = BufReader::new(stdout);
        let _ = reader.read_line(&mut line);
        let _ = sender.send(line);
        // Keep the pipe open and empty, so that the device never waits for a reader.
        let _ = std::io::copy(&mut reader, &mut std::io::sink());
    });
    let line = receiver.recv_timeout(START_LIMIT).unwrap_or_default();
    if line.trim() != "ready" {
        bail!("the virtual device did not get ready");
    }
    Ok(())
}

fn first_line(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().next().unwrap_or("no message").to_string()
}

/// A connection to a device's control socket.
pub struct Control {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
}

impl Control {
    fn connect(path: &Path) -> Result<Self> {
        let stream = UnixStream::connect(path).context("the virtual device's control socket")?;
        stream.set_read_timeout(Some(ANSWER_LIMIT))?;
        Ok(Self {
            writer: stream.try_clone()?,
            reader: BufReader::new(stream),
        })
    }

    /// Sends one request and returns the answer.
    ///
    /// # Errors
    ///
    /// No answer, or one that says `"ok": false`.
    pub fn ask(&mut self, request: &Value) -> Result<Value> {
        self.writer
            .write_all(format!("{request}\n").as_bytes())
            .context("the virtual device is gone")?;
        let mut line = String::new();
        self.reader
            .read_line(&mut line)
            .context("the virtual device does not answer")?;
        let answer: Value = serde_json::from_str(&line)
            .with_context(|| format!("the virtual device answered `{}`", line.trim()))?;
        if answer["ok"] != Value::Bool(true) {
            bail!("the virtual device refuses {request}: {}", answer["error"]);
        }
        Ok(answer)
    }

    /// The command log, one entry a line, for a person to read.
    pub fn log_text(&mut self) -> Result<String> {
        let answer = self.ask(&json!({"op": "log"}))?;
        let entries = answer["log"].as_array().context("a log that is no list")?;
        let violations = self.ask(&json!({"op": "violations"}))?;
        let broken = violations["violations"]
            .as_array()
            .context("violations that are no list")?;
        let lines = entries.iter().map(Value::to_string);
        let broken = broken
            .iter()
            .map(|violation| format!("violation {violation}"));
        Ok(lines.chain(broken).map(|line| line + "\n").collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    /// A control connection, and the device's end of it, which must live as long.
    fn answering(answer: &'static str) -> (Control, UnixStream) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ctl");
        let listener = UnixListener::bind(&path).unwrap();
        let control = Control::connect(&path).unwrap();
        let (mut device, _) = listener.accept().unwrap();
        device.write_all(answer.as_bytes()).unwrap();
        (control, device)
    }

    #[test]
    fn a_refusal_is_an_error_with_the_devices_words() {
        let (mut control, _device) = answering("{\"ok\":false,\"error\":\"no such op\"}\n");
        let error = control.ask(&json!({"op": "x"})).unwrap_err();
        assert!(error.to_string().contains("no such op"), "{error}");
    }

    #[test]
    fn the_log_text_has_one_entry_a_line_and_the_violations() {
        let (mut control, _device) = answering(
            "{\"ok\":true,\"log\":[{\"seq\":1},{\"seq\":2}]}\n{\"ok\":true,\"violations\":[{\"rule\":\"r\"}]}\n",
        );
        assert_eq!(
            control.log_text().unwrap(),
            "{\"seq\":1}\n{\"seq\":2}\nviolation {\"rule\":\"r\"}\n"
        );
    }
}
