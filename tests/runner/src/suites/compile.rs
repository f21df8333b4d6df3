// SPDX-License-Identifier: GPL-2.0
//! `compile.`: what a driver may write, and what the compiler refuses. Each file of tests/compile is
//! a driver crate of its own; its first comment after the licence says `compiles`, or with which
//! error it does not. The drivers that `make bench` measures have to compile, too. All are compiled as
//! the driver is, against the crate rdma of the module in use.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{bail, Context as _, Result};

use super::Context;
use crate::env::Env;
use crate::process;
use crate::report::Status;
use crate::stage::copy_tree;

const LIMIT: Duration = Duration::from_secs(120);

/// The drivers of `make bench`, and what of the tree is put beside each.
const BENCH: [(&str, &str, &[&str]); 2] = [
    (
        "compile.bench_floor",
        "tests/bench/floor/floor_main.rs",
        &[],
    ),
    (
        "compile.bench_cache",
        "tests/bench/cache_rust/cache_main.rs",
        &["src/ah_cache.rs", "src/ah_cache"],
    ),
];

/// What kbuild keeps of how it made the driver's object.
const SAVED: &str = "src/.efa_main.o.cmd";

pub fn plan(context: &Context) -> Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(context.env.tree.join("tests/compile"))? {
        let path = entry?.path();
        if path.extension() == Some(OsStr::new("rs")) {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            found.push((format!("compile.{stem}"), path));
        }
    }
    found.sort();
    let bench = BENCH.map(|(name, source, _)| (name.into(), source.into()));
    found.extend(bench);
    found.retain(|(name, _)| context.selects(name));
    Ok(found)
}

pub fn run(context: &mut Context, files: &[(String, PathBuf)]) {
    for (name, path) in files {
        let env = &context.env;
        let bench = BENCH.iter().find(|(bench, ..)| bench == name);
        context.report.time(name, || match bench {
            Some((_, source, beside)) => compile(env, &stage(env, source, beside)?, None),
            None => {
                let text = fs::read_to_string(path)?;
                compile(env, path, expected(&text)?)
            }
        });
    }
}

/// Puts a driver of `make bench` where what it needs of the tree is beside it.
fn stage(env: &Env, source: &str, beside: &[&str]) -> Result<PathBuf> {
    let directory = env.tree.join("build/compile/stage");
    fs::create_dir_all(&directory)?;
    let copy = |path: &str| -> Result<PathBuf> {
        let from = env.tree.join(path);
        let to = directory.join(from.file_name().context("no name")?);
        match from.is_dir() {
            true => copy_tree(&from, &to)?,
            false => fs::copy(&from, &to).map(drop)?,
        }
        Ok(to)
    };
    for path in beside {
        copy(path)?;
    }
    copy(source)
}

fn compile(env: &Env, source: &Path, expected: Option<&str>) -> Result<Status> {
    let objects = env.kernel.efa_module.parent().context("no directory")?;
    let saved = fs::read_to_string(objects.join(SAVED))?;
    let output = env.tree.join("build/compile");
    fs::create_dir_all(&output)?;
    let command = format!(
        "{} --crate-name compiled --out-dir {} --emit=metadata {}",
        flags(&saved)?,
        output.display(),
        source.display()
    );
    let mut shell = Command::new("sh");
    // As kbuild sets it: the kernel's flags are unstable ones.
    shell
        .args(["-c", &command])
        .env("RUSTC_BOOTSTRAP", "1")
        .current_dir(objects);
    let output = process::run(&mut shell, LIMIT)?;
    Ok(judge(&codes(&output.text), output.success, expected))
}

/// The compiler with the flags that the driver is compiled with.
fn flags(saved: &str) -> Result<&str> {
    let line = saved.lines().next().unwrap_or_default();
    let (_, command) = line.split_once(":=").context("no saved command")?;
    let (flags, _) = command
        .split_once("--out-dir")
        .context("the saved command has no --out-dir")?;
    Ok(flags)
}

/// The code of the error that a file says it has; `None` where it says that it compiles.
fn expected(text: &str) -> Result<Option<&str>> {
    let line = text.lines().nth(1).unwrap_or_default();
    if line == "// compiles" {
        return Ok(None);
    }
    match line.strip_prefix("// error: ") {
        Some(code) => Ok(Some(code)),
        None => bail!("its second line says neither `// compiles` nor `// error: CODE`"),
    }
}

/// The codes of the errors in a compiler's output.
fn codes(output: &str) -> Vec<&str> {
    output
        .lines()
        .filter_map(|line| line.strip_prefix("error[")?.split(']').next())
        .collect()
}

fn judge(codes: &[&str], success: bool, expected: Option<&str>) -> Status {
    match expected {
        None if success => Status::Passed,
        None => Status::Failed(format!("does not compile: {codes:?}")),
        Some(_) if success => Status::Failed("it compiles".into()),
        Some(code) if codes == [code] => Status::Passed,
        Some(code) => Status::Failed(format!("the errors are {codes:?} instead of {code}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_error_that_was_said_will_do() {
        let output = "error[E0616]: field `loan` of struct `Lent` is private\n --> x.rs:1:1\n";
        let expected = expected("// licence\n// error: E0616\n").unwrap();
        assert_eq!(judge(&codes(output), false, expected), Status::Passed);
        for (codes, success) in [(&["E0308"][..], false), (&[], false), (&[], true)] {
            assert!(matches!(judge(codes, success, expected), Status::Failed(_)));
        }
    }

    #[test]
    fn what_compiles_has_no_error() {
        let expected = expected("// licence\n// compiles\n").unwrap();
        assert_eq!(judge(&[], true, expected), Status::Passed);
        assert!(matches!(
            judge(&["E0308"], false, expected),
            Status::Failed(_)
        ));
    }

    #[test]
    fn the_flags_end_before_what_is_made() {
        let saved = "savedcmd_src/efa_main.o := rustc --edition=2021 --out-dir src/ --emit=obj=x\n";
        assert_eq!(flags(saved).unwrap(), " rustc --edition=2021 ");
        assert!(flags("nothing").is_err());
    }
}
