// SPDX-License-Identifier: GPL-2.0
//! `vefa`: a virtual EFA device for QEMU, and a control client for people.

#![forbid(unsafe_code)]

use anyhow::{Context, Result};
use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use vefa_server::device::Device;
use vefa_server::options::{parse, Command, Serve, USAGE, VERSION};
use vefa_server::server::Server;
use vefa_server::slot::Slot;
use vefa_server::socket::Listener;
use vefa_server::{ctl, settings};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = std::io::stderr().write_all(format!("vefa: {error:#}\n").as_bytes());
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    match parse(std::env::args_os().skip(1))? {
        Command::Help => say(USAGE),
        Command::Version => say(VERSION),
        Command::Control(options) => say(&ctl::run(&options)?),
        Command::Serve(options) => serve(&options)?,
    }
    Ok(())
}

fn serve(devices: &[Serve]) -> Result<()> {
    raise_file_limit();
    let stop = stop_signal().context("signal handlers")?;
    let slots = (0..)
        .zip(devices)
        .map(|(number, options)| slot(number, options));
    let slots = slots.collect::<Result<_>>()?;
    let server = Server::new(slots)?;
    say("ready\n");
    for (number, leaks) in server.run(stop)?.into_iter().enumerate() {
        let report = serde_json::json!({"device": number, "leaks": leaks});
        say(&format!("{report}\n"));
    }
    Ok(())
}

/// A device and its sockets.
fn slot(number: u32, options: &Serve) -> Result<Slot> {
    let config = settings::load(number, options.config.as_deref(), &options.set)?;
    let device = Device::new(config)?;
    let listener = Listener::bind(&options.socket)?;
    let control = Listener::bind(&options.control)?;
    Ok(Slot::new(device, listener, control))
}

/// A stream that becomes readable on SIGTERM and SIGINT.
fn stop_signal() -> std::io::Result<UnixStream> {
    let (stop, sender) = UnixStream::pair()?;
    signal_hook::low_level::pipe::register(SIGTERM, sender.try_clone()?)?;
    signal_hook::low_level::pipe::register(SIGINT, sender)?;
    Ok(stop)
}

/// With an IOMMU in the guest each mapping comes with a file descriptor of its own, and there may be
/// thousands. Where the limit cannot be raised, the client is told when it is reached.
fn raise_file_limit() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let current = maximum;
    let _ = setrlimit(Resource::Nofile, Rlimit { current, maximum });
}

/// Writes to stdout. Whoever has closed it does not want to know.
fn say(text: &str) {
    let mut out = std::io::stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
