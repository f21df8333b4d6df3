// SPDX-License-Identifier: GPL-2.0
//! `runner bench`: measures both drivers on the same virtual device, and shows one table.

mod charts;
mod figures;
mod lines;
mod size;
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
use lines::{rounds, Lines, Round, Source};

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
    // What cannot be measured must not cost the rest of a long run.
    let mut samples = BTreeMap::new();
    for round in rounds(&selected) {
        if let Err(error) = measure(&env, &lines, &round, &files, &mut samples) {
            complain(&error);
        }
    }
    for line in &selected {
        if let Source::Size { c, rust } = &line.source {
            match size::samples(&env.tree, c, rust) {
                Ok(sizes) => drop(samples.insert(line.name.clone(), sizes)),
                Err(error) => complain(&error),
            }
        }
    }
    compute(&selected, &mut samples);
    let mut figures: BTreeMap<String, Figure> = BTreeMap::new();
    for line in &selected {
        if let Some(of_line) = samples.get(&line.name) {
            figures.insert(line.name.clone(), of_line.figure(&line.unit)?);
        }
    }
    let text = table::table(&selected, &figures);
    print!("{text}");
    fs::write(env.tree.join(DIRECTORY).join("table.txt"), &text)?;
    let charts = charts::charts(&selected, &lines.series, &samples, &figures);
    write_json(
        &env.tree.join(DIRECTORY).join("charts.json"),
        &json!(charts),
    )?;
    println!("measured in {}", clock(start.elapsed()));
    if let Some(path) = &args.json {
        write_json(path, &json!(figures))?;
    }
    let missing = selected.len() - figures.len();
    if missing > 0 {
        eprintln!("{missing} lines could not be measured");
    }
    Ok(missing == 0)
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

fn complain(error: &anyhow::Error) {
    eprintln!("error: {error:#}");
}

/// Boots the machine of `round`, runs its programs and adds to `samples`.
///
/// # Errors
///
/// The machine does not come up, or is of no use any more. A program that fails is told of, and
/// the others run.
fn measure(
    env: &Env,
    lines: &Lines,
    round: &Round,
    files: &[(String, PathBuf)],
    samples: &mut BTreeMap<String, Samples>,
) -> Result<()> {
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
    for (program, names) in &round.programs {
        let start = Instant::now();
        match program_samples(&mut vm, program, names) {
            Ok(more) => samples.extend(more),
            Err(error) => complain(&with_logs(&vm, &env.results("bench"), error)),
        }
        println!("{} ({})", names.join(", "), clock(start.elapsed()));
    }
    vm.shut_down()
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
