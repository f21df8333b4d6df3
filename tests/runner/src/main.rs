// SPDX-License-Identifier: GPL-2.0
//! `runner`: boots a virtual machine with a virtual EFA device, runs the main job or the tests in
//! it, and reports what happened.

#![forbid(unsafe_code)]

mod agent;
mod bench;
mod cargo_test;
mod cli;
mod console;
mod env;
mod interrupt;
mod known;
mod ktap;
mod main_job;
mod manifest;
mod module;
mod mutations;
mod process;
mod report;
mod stage;
mod suites;
mod variant;
mod vefa;
mod vm;

use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Does what the command line asks; `false` when something was off.
fn run() -> anyhow::Result<bool> {
    let command = cli::parse(lexopt::Parser::from_env())?;
    interrupt::handle()?;
    match command {
        cli::Command::Run(args) => main_job::run(&args),
        cli::Command::Test(args) => suites::run(&args),
        cli::Command::Bench(args) => bench::run(&args),
        cli::Command::Help => {
            print!("{}", cli::USAGE);
            Ok(true)
        }
    }
}
