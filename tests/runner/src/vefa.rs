// SPDX-License-Identifier: GPL-2.0
//! The virtual device: its process, and its control socket.

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

/// One virtual device.
pub struct Vefa {
    process: Daemon,
    /// Where the virtual machine attaches.
    pub socket: PathBuf,
    /// Where tests read counters and script faults.
    pub control: PathBuf,
}

impl Vefa {
    /// Starts the device with `settings` (`key=value`) and waits until it listens. Its own
    /// messages go to `log`.
    pub fn start(program: &Path, dir: &Path, index: usize, settings: &[String]) -> Result<Self> {
        let socket = dir.join(format!("vefa{index}.sock"));
        let control = dir.join(format!("vefa{index}.ctl"));
        let log = std::fs::File::create(dir.join(format!("vefa{index}.log")))?;
        let mut command = tied(program);
        command
            .arg("--socket")
            .arg(&socket)
            .arg("--control")
            .arg(&control);
        for setting in settings {
            command.arg("--set").arg(setting);
        }
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log);
        let mut process = Daemon::start("vefa", &mut command)?;
        let stdout = process.stdout().context("vefa has no output")?;
        wait_ready(stdout).with_context(|| {
            format!(
                "vefa: {}",
                first_line(&dir.join(format!("vefa{index}.log")))
            )
        })?;
        Ok(Self {
            process,
            socket,
            control,
        })
    }

    pub fn ended(&mut self) -> bool {
        self.process.ended().is_some()
    }

    pub fn control(&self) -> Result<Control> {
        Control::connect(&self.control)
    }
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
