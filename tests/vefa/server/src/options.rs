// SPDX-License-Identifier: GPL-2.0
//! The command line.

use anyhow::{ensure, Context, Result};
use lexopt::{Arg, Parser, ValueExt};
use std::ffi::OsString;
use std::path::PathBuf;

/// What `vefa --help` prints.
pub const USAGE: &str = "\
vefa: a virtual EFA device that QEMU attaches over vfio-user

usage: vefa DEVICE [--device DEVICE]...
       vefa ctl --control PATH [--json] OP [KEY=VALUE]...
       vefa --version

A DEVICE is: --socket PATH --control PATH [--config FILE] [--set KEY=VALUE]...

  --device          what follows is of one more device; they reach each other
  --socket PATH     where QEMU attaches
  --control PATH    where counters are read and faults are scripted
  --config FILE     configuration of the device (TOML)
  --set KEY=VALUE   one key of it; may be given several times
  --json            print the answer as it came

vefa.md has the keys, the operations and a QEMU command line. It is in
Documentation/ of the source, or in /usr/share/doc/vefa.
";

/// What `vefa --version` prints.
pub const VERSION: &str = concat!("vefa ", env!("CARGO_PKG_VERSION"), "\n");

/// What the program was asked to do.
#[derive(Debug, PartialEq, Eq)]
pub enum Command {
    /// Serve these devices, one or more.
    Serve(Vec<Serve>),
    Control(Control),
    Help,
    Version,
}

/// A device to serve.
#[derive(Debug, PartialEq, Eq)]
pub struct Serve {
    pub socket: PathBuf,
    pub control: PathBuf,
    pub config: Option<PathBuf>,
    /// `KEY=VALUE`, in the order given.
    pub set: Vec<String>,
}

/// Send one request to the control socket of a device.
#[derive(Debug, PartialEq, Eq)]
pub struct Control {
    pub control: PathBuf,
    pub json: bool,
    pub op: String,
    /// `KEY=VALUE`.
    pub arguments: Vec<String>,
}

/// Understands the arguments, the program's name not included.
///
/// # Errors
///
/// When an option is unknown, missing or lacks its value.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command> {
    let mut arguments = arguments.into_iter().peekable();
    if arguments.next_if(|first| first == "ctl").is_some() {
        parse_control(Parser::from_args(arguments))
    } else {
        parse_serve(Parser::from_args(arguments))
    }
}

fn parse_serve(mut parser: Parser) -> Result<Command> {
    let mut devices = vec![Given::default()];
    while let Some(argument) = parser.next()? {
        let Some(device) = devices.last_mut() else {
            break;
        };
        match argument {
            Arg::Long("device") => devices.push(Given::default()),
            Arg::Long("socket") => once(&mut device.socket, "--socket", &mut parser)?,
            Arg::Long("control") => once(&mut device.control, "--control", &mut parser)?,
            Arg::Long("config") => once(&mut device.config, "--config", &mut parser)?,
            Arg::Long("set") => device.set.push(parser.value()?.string()?),
            Arg::Long("help") | Arg::Short('h') => return Ok(Command::Help),
            Arg::Long("version") | Arg::Short('V') => return Ok(Command::Version),
            _ => return Err(argument.unexpected().into()),
        }
    }
    let devices = devices.into_iter().map(Given::complete);
    Ok(Command::Serve(devices.collect::<Result<_>>()?))
}

/// Takes the path that follows `option`, which may be given once: nobody means the first to be lost.
fn once(path: &mut Option<PathBuf>, option: &str, parser: &mut Parser) -> Result<()> {
    ensure!(
        path.is_none(),
        "{option} is given twice (options of a further device follow --device)"
    );
    *path = Some(parser.value()?.into());
    Ok(())
}

/// What has been given of a device so far.
#[derive(Default)]
struct Given {
    socket: Option<PathBuf>,
    control: Option<PathBuf>,
    config: Option<PathBuf>,
    set: Vec<String>,
}

impl Given {
    fn complete(self) -> Result<Serve> {
        Ok(Serve {
            socket: self.socket.context("--socket PATH is missing")?,
            control: self.control.context("--control PATH is missing")?,
            config: self.config,
            set: self.set,
        })
    }
}

fn parse_control(mut parser: Parser) -> Result<Command> {
    let (mut control, mut json, mut op) = (None, false, None);
    let mut arguments = Vec::new();
    while let Some(argument) = parser.next()? {
        match argument {
            Arg::Long("control") => once(&mut control, "--control", &mut parser)?,
            Arg::Long("json") => json = true,
            Arg::Long("help") | Arg::Short('h') => return Ok(Command::Help),
            Arg::Value(value) if op.is_none() => op = Some(value.string()?),
            Arg::Value(value) => arguments.push(value.string()?),
            _ => return Err(argument.unexpected().into()),
        }
    }
    Ok(Command::Control(Control {
        control: control.context("--control PATH is missing")?,
        json,
        op: op.context("the operation is missing")?,
        arguments,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn both_sockets_are_needed() {
        let error = parsed("--socket s").unwrap_err().to_string();
        assert_eq!(error, "--control PATH is missing");
        let error = parsed("--control c").unwrap_err().to_string();
        assert_eq!(error, "--socket PATH is missing");
    }

    #[test]
    fn unknown_options_are_refused() {
        let error = parsed("--sockets s").unwrap_err().to_string();
        assert!(error.contains("--sockets"), "{error}");
        assert!(parsed("--socket s --control c extra").is_err());
    }

    #[test]
    fn a_path_is_given_once() {
        for line in [
            "--socket s --control c --socket t",
            "--socket s --control c --control c",
            "--config a --config b --socket s --control c",
            "ctl --control a --control b counters",
        ] {
            let error = parsed(line).unwrap_err().to_string();
            assert!(error.contains("is given twice"), "{error}");
        }
    }

    #[test]
    fn set_may_be_given_several_times() {
        let Ok(Command::Serve(serve)) = parsed("--socket s --control c --set a=1 --set b=2") else {
            panic!("not understood");
        };
        assert_eq!(serve[0].set, ["a=1", "b=2"]);
    }

    #[test]
    fn each_device_has_its_own_options() {
        let line = "--set a=1 --socket s --control c --device --control d --set a=2 --socket t";
        let serve = |socket: &str, control: &str, set: &str| Serve {
            socket: socket.into(),
            control: control.into(),
            config: None,
            set: vec![set.to_owned()],
        };
        let devices = vec![serve("s", "c", "a=1"), serve("t", "d", "a=2")];
        assert_eq!(parsed(line).unwrap(), Command::Serve(devices));
        let error = parsed("--socket s --control c --device --socket t").unwrap_err();
        assert_eq!(error.to_string(), "--control PATH is missing");
    }

    #[test]
    fn control_takes_an_operation_and_its_arguments() {
        let expected = Control {
            control: "c".into(),
            json: true,
            op: "keep_alive".to_owned(),
            arguments: vec!["on=true".to_owned()],
        };
        let command = parsed("ctl --control c keep_alive on=true --json").unwrap();
        assert_eq!(command, Command::Control(expected));
        let error = parsed("ctl --control c").unwrap_err().to_string();
        assert_eq!(error, "the operation is missing");
    }
}
