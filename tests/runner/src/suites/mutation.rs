// SPDX-License-Identifier: GPL-2.0
//! `mutation.`: one-line changes of the module, each of which a KUnit case must notice.
//!
//! A test that cannot fail proves nothing. `mutation.list` (quick) checks that each change in
//! tests/mutations still fits the sources; in the full size each is built and booted.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{bail, Context as _, Result};
use serde::Deserialize;

use super::{kunit, Context};
use crate::cli::Size;
use crate::env::{Env, Kernel};
use crate::ktap::{parse, CaseResult};
use crate::process;
use crate::report::Status;

const LIST: &str = "mutation.list";
const BUILD_LIMIT: Duration = Duration::from_secs(600);

/// What the module is built from.
const SOURCES: &[&str] = &["Kbuild", "src", "include"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    mutation: Vec<Mutation>,
}

/// A change, and the case that notices it.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mutation {
    name: String,
    file: String,
    from: String,
    to: String,
    /// `SUITE.CASE` of KUnit.
    fails: String,
}

impl Mutation {
    fn test(&self) -> String {
        format!("mutation.{}", self.name)
    }

    /// The text of a source file with the change in it.
    fn apply(&self, text: &str) -> Result<String> {
        match text.matches(&self.from).count() {
            1 => Ok(text.replace(&self.from, &self.to)),
            n => bail!("{}: the line to change is in {} {n} times", self.name, self.file),
        }
    }
}

/// The selected mutations, and whether the list itself is checked.
pub struct Plan {
    all: Vec<Mutation>,
    list: bool,
    chosen: Vec<Mutation>,
}

impl Plan {
    pub fn len(&self) -> usize {
        self.chosen.len() + usize::from(self.list)
    }
}

pub fn plan(context: &Context) -> Result<Plan> {
    let all = read(&context.env.tree)?;
    let chosen = match context.args.size {
        Size::Short => Vec::new(),
        Size::Full => all
            .iter()
            .filter(|mutation| context.selects(&mutation.test()))
            .cloned()
            .collect(),
    };
    Ok(Plan { list: context.selects(LIST), all, chosen })
}

pub fn run(context: &mut Context, plan: &Plan) {
    if plan.list {
        context.report.time(LIST, |env| check_list(env, &plan.all));
    }
    for mutation in &plan.chosen {
        context.report.time(&mutation.test(), |env| is_noticed(env, mutation));
    }
}

fn read(tree: &Path) -> Result<Vec<Mutation>> {
    let directory = tree.join("tests/mutations");
    let mut all = Vec::new();
    for entry in fs::read_dir(&directory).with_context(|| directory.display().to_string())? {
        let path = entry?.path();
        let file: File = toml::from_str(&fs::read_to_string(&path)?)
            .with_context(|| path.display().to_string())?;
        all.extend(file.mutation);
    }
    Ok(all)
}

/// Each change fits, no name stands twice, and each case exists.
fn check_list(env: &Env, all: &[Mutation]) -> Result<Status> {
    if all.is_empty() {
        bail!("tests/mutations is empty");
    }
    let mut names = HashSet::new();
    for mutation in all {
        if !names.insert(&mutation.name) {
            bail!("{} stands twice", mutation.name);
        }
        mutation.apply(&fs::read_to_string(env.tree.join(&mutation.file))?)?;
        let (_, case) = mutation
            .fails
            .split_once('.')
            .with_context(|| format!("{}: `fails` is not SUITE.CASE", mutation.name))?;
        if !mentions(&env.tree.join("src"), &format!("fn {case}("))? {
            bail!("{}: there is no KUnit case {case}", mutation.name);
        }
    }
    Ok(Status::Passed)
}

fn mentions(directory: &Path, text: &str) -> Result<bool> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let found = if path.is_dir() {
            mentions(&path, text)?
        } else {
            fs::read_to_string(&path)?.contains(text)
        };
        if found {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Builds the module with the change and runs its KUnit cases.
fn is_noticed(env: &Env, mutation: &Mutation) -> Result<Status> {
    let kernel = build(env, mutation)?;
    let (log, _) = kunit::load(env, &kernel, &mutation.test())?;
    let report = parse(&log);
    let verdict = report
        .cases
        .iter()
        .find(|case| format!("{}.{}", case.suite, case.name) == mutation.fails);
    Ok(match verdict.map(|case| &case.result) {
        Some(CaseResult::Failed(_)) => Status::Passed,
        Some(_) => Status::Failed(format!("{} did not notice", mutation.fails)),
        None => Status::Failed(format!("{} did not run", mutation.fails)),
    })
}

/// The kernel under test, with the module built from changed sources.
fn build(env: &Env, mutation: &Mutation) -> Result<Kernel> {
    let tree = env.tree.join("build/mutation/tree");
    let objects = env.tree.join("build/mutation/objects");
    fs::create_dir_all(&tree)?;
    fs::create_dir_all(&objects)?;
    // By checksum, so that only what changed is built again.
    let mut copy = Command::new("rsync");
    copy.args(["--recursive", "--checksum", "--delete"])
        .args(SOURCES.iter().map(|source| env.tree.join(source)))
        .arg(&tree);
    require(&process::run(&mut copy, BUILD_LIMIT)?)?;
    let path = tree.join(&mutation.file);
    fs::write(&path, mutation.apply(&fs::read_to_string(&path)?)?)?;

    let mut make = Command::new("make");
    make.arg("-C")
        .arg(&env.kernel.build)
        .arg(format!("M={}", tree.display()))
        .arg(format!("MO={}", objects.display()))
        .args(["-j2", "modules"]);
    require(&process::run(&mut make, BUILD_LIMIT)?)?;
    Ok(Kernel { efa_module: objects.join("efa.ko"), ..env.kernel.clone() })
}

fn require(output: &process::Output) -> Result<()> {
    if !output.success {
        bail!("{}", process::last_line(&output.text));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Mutation;

    fn mutation() -> Mutation {
        Mutation {
            name: "m".into(),
            file: "f".into(),
            from: "a\n".into(),
            to: "".into(),
            fails: "suite.case".into(),
        }
    }

    #[test]
    fn a_change_that_fits_once_is_made() {
        assert_eq!(mutation().apply("b\na\nc\n").ok().as_deref(), Some("b\nc\n"));
    }

    #[test]
    fn a_change_that_fits_nowhere_or_twice_is_an_error() {
        assert!(mutation().apply("b\n").is_err());
        assert!(mutation().apply("a\na\n").is_err());
    }
}
