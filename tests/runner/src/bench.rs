// SPDX-License-Identifier: GPL-2.0
//! `runner bench`: measures both drivers on the same virtual device, and shows one table.

mod figures;
mod lines;
mod table;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{bail, Context, Result};
use serde_json::{json, Value};

use crate::agent::Request;
use crate::cli::{BenchArgs, Driver};
use crate::env::Env;
use crate::report::{clock, write_json};
use crate::stage;
use crate::vm::{Boot, Vm};
use figures::{compute, Figure, Samples};
use lines::{rounds, Lines, Round};

/// Seconds of the host that a program may take: its guest's clock may be far slower.
const TIMEOUT_SECONDS: u64 = 900;
/// Where the programs and modules for the guest are, and the results go.
const DIRECTORY: &str = "build/bench";

/// Measures what `args` selects.
///
/// # Errors
///
/// There is no such line, or one could not be measured.
pub fn run(args: &BenchArgs) -> Result<bool> {
    let env = Env::from_variables()?;
    let lines = Lines::read(&env.tree)?;
    let selected = lines.select(args.line.as_deref())?;
    let start = Instant::now();
    let files = guest_files(&env)?;
    let mut samples = BTreeMap::new();
    for round in rounds(&selected) {
        samples.extend(measure(&env, &lines, &round, &files)?);
    }
    compute(&selected, &mut samples)?;
    let figures: BTreeMap<String, Figure> = selected
        .iter()
        .map(|line| {
            let of_line = samples
                .get(&line.name)
                .with_context(|| format!("{} was not measured", line.name))?;
            Ok((line.name.clone(), of_line.figure(&line.unit)?))
        })
        .collect::<Result<_>>()?;
    let text = table::table(&selected, &figures);
    print!("{text}");
    fs::write(env.tree.join(DIRECTORY).join("table.txt"), &text)?;
    println!("measured in {}", clock(start.elapsed()));
    if let Some(path) = &args.json {
        write_json(path, &json!(figures))?;
    }
    Ok(true)
}

/// Both drivers, and what scripts/bench has built for the guest.
fn guest_files(env: &Env) -> Result<Vec<(String, PathBuf)>> {
    let mut files = vec![
        ("efa-c.ko".to_string(), stage::c_driver(&env.kernel)?),
        ("efa-rust.ko".to_string(), env.kernel.efa_module.clone()),
    ];
    let directory = env.tree.join(DIRECTORY);
    for entry in fs::read_dir(&directory).with_context(|| format!("no {DIRECTORY}"))? {
        let path = entry?.path();
        let wanted = ["so", "ko"]
            .iter()
            .any(|&end| path.extension() == Some(OsStr::new(end)));
        if let (true, Some(name)) = (wanted, path.file_name()) {
            files.push((name.to_string_lossy().into_owned(), path.clone()));
        }
    }
    Ok(files)
}

/// Boots the machine of `round` and runs its programs.
fn measure(
    env: &Env,
    lines: &Lines,
    round: &Round,
    files: &[(String, PathBuf)],
) -> Result<BTreeMap<String, Samples>> {
    println!("booting the machine {}", round.machine);
    let machine = &lines.machine[round.machine];
    let files: Vec<(&str, PathBuf)> = files
        .iter()
        .map(|(name, path)| (name.as_str(), path.clone()))
        .collect();
    let boot = Boot {
        kernel: &env.kernel,
        driver: Driver::Rust,
        machine,
        kunit: false,
        files: &files,
    };
    let mut vm = Vm::boot(env, &boot)?;
    let mut samples = BTreeMap::new();
    for (program, names) in &round.programs {
        let start = Instant::now();
        match program_samples(&mut vm, program, names) {
            Ok(more) => samples.extend(more),
            Err(error) => return Err(with_logs(&vm, &env.results("bench"), error)),
        }
        println!("{} ({})", names.join(", "), clock(start.elapsed()));
    }
    vm.shut_down()?;
    Ok(samples)
}

fn with_logs(vm: &Vm, target: &Path, error: anyhow::Error) -> anyhow::Error {
    match vm.save_logs(target) {
        Ok(()) => error.context(format!("logs in {}", target.display())),
        Err(_) => error,
    }
}

/// Runs one program; it must measure the lines `names`, and may measure more.
fn program_samples(
    vm: &mut Vm,
    program: &str,
    names: &[&str],
) -> Result<BTreeMap<String, Samples>> {
    let outcome = vm.call(&Request {
        name: program,
        run: program,
        driver: Driver::Rust.name(),
        size: "full",
        timeout: TIMEOUT_SECONDS,
        args: Value::Null,
    })?;
    if outcome.reply.status != "passed" {
        bail!("{program}: {}", outcome.reply.reason);
    }
    let samples: BTreeMap<String, Samples> = serde_json::from_value(outcome.reply.result)
        .with_context(|| format!("{program} returned something else than samples"))?;
    if let Some(missing) = names.iter().find(|&&name| !samples.contains_key(name)) {
        bail!("{program} did not measure {missing}");
    }
    Ok(samples)
}
