// SPDX-License-Identifier: GPL-2.0
//! The command line.

use std::path::PathBuf;

use anyhow::{bail, Context, Result};
use lexopt::prelude::*;

pub const USAGE: &str = "\
usage: runner run  --kernel K --driver rust|c [--json FILE]
       runner test --kernel K --driver rust|c|both [--size short|full] [--prefix T] [--json FILE]
       runner test --kernel K --driver rust|c --every-machine [--prefix T] [--json FILE]
       runner soak --kernel K --driver rust|c --seconds N [--json FILE]
       runner bench [--line NAME] [--json FILE]
K is stock, test or debug
";

const KERNELS: &[&str] = &["stock", "test", "debug"];

/// Which EFA driver the guest loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// The module of this tree.
    Rust,
    /// The in-tree driver of the guest's kernel.
    C,
}

impl Driver {
    pub fn name(self) -> &'static str {
        match self {
            Driver::Rust => "rust",
            Driver::C => "c",
        }
    }
}

/// How long the loops in the tests are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    Short,
    Full,
}

impl Size {
    pub fn name(self) -> &'static str {
        match self {
            Size::Short => "short",
            Size::Full => "full",
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub struct RunArgs {
    pub kernel: String,
    pub driver: Driver,
    pub json: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestArgs {
    pub kernel: String,
    /// The driver whose results count.
    pub driver: Driver,
    /// Also run each guest test on the C driver and compare.
    pub compare_with_c: bool,
    pub size: Size,
    /// Only the tests that run in a guest, but each on every machine of `Variant::DEBUG`.
    pub every_machine: bool,
    /// Only the soak, for so many seconds.
    pub soak_seconds: Option<u64>,
    /// Only tests whose name starts with this; empty selects all.
    pub prefix: String,
    pub json: Option<PathBuf>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct BenchArgs {
    /// Only this line, and those it is computed from.
    pub line: Option<String>,
    pub json: Option<PathBuf>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Command {
    Run(RunArgs),
    Test(TestArgs),
    Bench(BenchArgs),
    Help,
}

/// Reads the command line.
///
/// # Errors
///
/// An unknown command, option or value, or a missing one.
pub fn parse(mut parser: lexopt::Parser) -> Result<Command> {
    let command = match parser.next()? {
        Some(Value(word)) => word.string()?,
        Some(Long("help") | Short('h')) => return Ok(Command::Help),
        Some(other) => return Err(other.unexpected().into()),
        None => bail!("no command: there are run, test, soak and bench"),
    };
    let (testing, soaking) = match command.as_str() {
        "run" => (false, false),
        "test" => (true, false),
        "soak" => (false, true),
        "bench" => return parse_bench(parser),
        _ => bail!("unknown command `{command}`: there are run, test, soak and bench"),
    };

    let (mut kernel, mut driver, mut size, mut prefix, mut json) =
        (None, None, Size::Short, String::new(), None);
    let (mut every_machine, mut soak_seconds) = (false, None);
    while let Some(arg) = parser.next()? {
        match arg {
            Long("help") | Short('h') => return Ok(Command::Help),
            Long("kernel") => kernel = Some(one_of(&mut parser, "--kernel", KERNELS)?),
            Long("driver") => {
                let known: &[&str] = if testing {
                    &["rust", "c", "both"]
                } else {
                    &["rust", "c"]
                };
                driver = Some(one_of(&mut parser, "--driver", known)?);
            }
            Long("size") if testing => {
                size = match one_of(&mut parser, "--size", &["short", "full"])?.as_str() {
                    "full" => Size::Full,
                    _ => Size::Short,
                }
            }
            Long("every-machine") if testing => every_machine = true,
            Long("seconds") if soaking => soak_seconds = Some(parser.value()?.parse()?),
            Long("prefix") if testing => prefix = parser.value()?.string()?,
            Long("json") => json = Some(PathBuf::from(parser.value()?)),
            other => return Err(other.unexpected().into()),
        }
    }
    let kernel = kernel.with_context(|| format!("--kernel is missing: {}", KERNELS.join(", ")))?;
    let driver = driver.context("--driver is missing: rust or c")?;
    let compare_with_c = driver == "both";
    let driver = if driver == "c" {
        Driver::C
    } else {
        Driver::Rust
    };
    if soaking && soak_seconds.is_none() {
        bail!("--seconds is missing: how long to soak");
    }
    Ok(if testing || soaking {
        Command::Test(TestArgs {
            kernel,
            driver,
            compare_with_c,
            size,
            every_machine,
            soak_seconds,
            prefix,
            json,
        })
    } else {
        Command::Run(RunArgs {
            kernel,
            driver,
            json,
        })
    })
}

fn parse_bench(mut parser: lexopt::Parser) -> Result<Command> {
    let mut args = BenchArgs::default();
    while let Some(arg) = parser.next()? {
        match arg {
            Long("help") | Short('h') => return Ok(Command::Help),
            Long("line") => args.line = Some(parser.value()?.string()?),
            Long("json") => args.json = Some(PathBuf::from(parser.value()?)),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Command::Bench(args))
}

fn one_of(parser: &mut lexopt::Parser, option: &str, known: &[&str]) -> Result<String> {
    let value = parser.value()?.string()?;
    if known.contains(&value.as_str()) {
        return Ok(value);
    }
    bail!("{option} {value}: known are {}", known.join(", "));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_words(words: &[&str]) -> Result<Command> {
        parse(lexopt::Parser::from_args(words))
    }

    #[test]
    fn both_means_rust_compared_with_c() {
        let Ok(Command::Test(args)) = parse_words(&[
            "test", "--kernel", "test", "--driver", "both", "--prefix", "field.A6",
        ]) else {
            panic!("not a test command");
        };
        assert_eq!((args.driver, args.compare_with_c), (Driver::Rust, true));
        assert_eq!((args.prefix.as_str(), args.size), ("field.A6", Size::Short));
    }

    #[test]
    fn unknown_values_are_refused_with_the_known_ones() {
        let error = parse_words(&["run", "--kernel", "old", "--driver", "c"]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "--kernel old: known are stock, test, debug"
        );
        assert!(parse_words(&["run", "--kernel", "test", "--driver", "both"]).is_err());
        assert!(parse_words(&["jog"]).is_err());
    }

    #[test]
    fn kernel_and_driver_are_required() {
        assert!(parse_words(&["test", "--driver", "rust"]).is_err());
        assert!(parse_words(&["run", "--kernel", "test"]).is_err());
        assert!(parse_words(&["soak", "--kernel", "test", "--driver", "c"]).is_err());
    }

    #[test]
    fn a_benchmark_needs_neither_kernel_nor_driver() {
        assert_eq!(
            parse_words(&["bench"]).unwrap(),
            Command::Bench(BenchArgs::default())
        );
        let Ok(Command::Bench(args)) = parse_words(&["bench", "--line", "insmod"]) else {
            panic!("not a bench command");
        };
        assert_eq!(args.line.as_deref(), Some("insmod"));
        assert!(parse_words(&["bench", "--kernel", "test"]).is_err());
    }

    #[test]
    fn a_soak_is_as_long_as_it_is_told() {
        let words = [
            "soak",
            "--kernel",
            "debug",
            "--driver",
            "rust",
            "--seconds",
            "600",
        ];
        let Ok(Command::Test(args)) = parse_words(&words) else {
            panic!("not a test command");
        };
        assert_eq!(args.soak_seconds, Some(600));
        assert!(parse_words(&[
            "test",
            "--kernel",
            "test",
            "--driver",
            "c",
            "--seconds",
            "1"
        ])
        .is_err());
    }
}
