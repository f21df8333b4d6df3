// SPDX-License-Identifier: GPL-2.0
//! `lint.`: what can be said of the sources without running them.

mod layers;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::Context;
use crate::env::{Env, Kernel};
use crate::module;
use crate::mutations;
use crate::process::{self, Output};
use crate::report::Status;

const LIMIT: Duration = Duration::from_secs(900);

type Lint = fn(&Env) -> Result<Status>;

const LINTS: &[(&str, Lint)] = &[
    ("lint.fmt", formatting),
    ("lint.licence", licence),
    ("lint.hosts", package_hosts),
    ("lint.layers", layers::layers),
    ("lint.unsafe", unsafe_places),
    ("lint.unsafe-count", unsafe_count),
    ("lint.mutations", mutations_apply),
    ("lint.shellcheck", shellcheck),
    ("lint.clippy", clippy_workspace),
    ("lint.module", module_under_test),
    ("lint.module-stock", stock_module),
];

pub fn plan(context: &Context) -> Vec<(&'static str, Lint)> {
    LINTS
        .iter()
        .copied()
        .filter(|(name, _)| context.selects(name))
        .collect()
}

pub fn run(context: &mut Context, lints: &[(&'static str, Lint)]) {
    for (name, lint) in lints {
        context.report.time(name, || lint(&context.env));
    }
}

/// The module's Rust is in the kernel's format, the workspace's in rustfmt's own.
fn formatting(env: &Env) -> Result<Status> {
    let mut command = Command::new("rustfmt");
    command.args(["--check", "--edition", "2021", "--config-path"]);
    command.arg(env.kernel_source.join(".rustfmt.toml"));
    for directory in ["src", "tests/bench/floor"] {
        command.args(files(&env.tree.join(directory), &["rs"])?);
    }
    let module = process::run(&mut command, LIMIT)?;
    let mut command = Command::new("cargo");
    command
        .args(["fmt", "--all", "--check"])
        .current_dir(env.tree.join("tests"));
    let workspace = process::run(&mut command, LIMIT)?;
    Ok(match (verdict(&module), verdict(&workspace)) {
        (Status::Passed, status) | (status, _) => status,
    })
}

/// Every source file says its licence on its first or second line.
fn licence(env: &Env) -> Result<Status> {
    let mut sources = files(&env.tree.join("src"), &["rs", "c", "h"])?;
    sources.extend(files(&env.tree.join("include"), &["h"])?);
    sources.extend(files(&env.tree.join("tests"), &["rs", "py", "sh", "c"])?);
    for source in sources {
        let text = fs::read_to_string(&source)?;
        if !text
            .lines()
            .take(2)
            .any(|line| line.contains("SPDX-License-Identifier: GPL-2.0"))
        {
            return Ok(Status::Failed(format!(
                "{} has no licence line",
                relative(env, &source)
            )));
        }
    }
    Ok(Status::Passed)
}

/// No file of the tree names a host that packages come from: people have mirrors. Locks, which cargo
/// writes, say where the registry's index is.
fn package_hosts(env: &Env) -> Result<Status> {
    const PARTS: &[&str] = &["Documentation", "include", "scripts", "src", "tests"];
    let mut sources: Vec<PathBuf> = ["Kbuild", "Kconfig", "Makefile", "README.md"]
        .map(|name| env.tree.join(name))
        .into();
    for part in PARTS {
        sources.extend(files(&env.tree.join(part), &[])?);
    }
    sources.retain(|path| path.extension() != Some(OsStr::new("lock")));
    for source in sources {
        let text = String::from_utf8_lossy(&fs::read(&source)?).into_owned();
        let found = text
            .lines()
            .zip(1..)
            .find_map(|(line, number)| Some((number, package_host(line)?)));
        if let Some((number, host)) = found {
            return Ok(Status::Failed(format!(
                "{}:{number} names the package host {host}",
                relative(env, &source)
            )));
        }
    }
    Ok(Status::Passed)
}

/// The host of a distribution's or a language's packages that a line names.
fn package_host(line: &str) -> Option<&str> {
    const DOMAINS: &[&str] = &[
        "debian.org",
        "debian.net",
        "ubuntu.com",
        "crates.io",
        "pypi.org",
    ];
    line.split(|c: char| !c.is_ascii_alphanumeric() && c != '.' && c != '-')
        .map(|word| word.trim_matches('.'))
        .filter(|word| !word.starts_with("www."))
        .find(|word| {
            DOMAINS.iter().any(|domain| {
                word.strip_suffix(domain)
                    .is_some_and(|host| host.ends_with('.'))
            })
        })
}

/// The word `unsafe` stands only where raw memory is dealt with. That each block argues its safety
/// is clippy's business.
fn unsafe_places(env: &Env) -> Result<Status> {
    const ALLOWED: &[&str] = &[
        "src/rdma/",
        "tests/vefa/server/",
        "tests/protocol/",
        "tests/runner/src/suites/lint.rs",
    ];
    let mut sources = files(&env.tree.join("src"), &["rs"])?;
    sources.extend(files(&env.tree.join("tests"), &["rs"])?);
    for source in sources {
        let name = relative(env, &source);
        let text = fs::read_to_string(&source)?;
        let found = text
            .lines()
            .position(|line| words(line).any(|word| word == "unsafe"));
        if let Some(line) = found.filter(|_| !ALLOWED.iter().any(|place| name.starts_with(place))) {
            return Ok(Status::Failed(format!(
                "{name}:{} has the word unsafe",
                line + 1
            )));
        }
    }
    Ok(Status::Passed)
}

/// Documentation/unsafe.md says how many unsafe blocks each part of crate rdma has.
fn unsafe_count(env: &Env) -> Result<Status> {
    const TABLE: &str = "Documentation/unsafe.md";
    let text = fs::read_to_string(env.tree.join(TABLE))?;
    let mut parts: Vec<_> = parts_of_the_table(&text)
        .map(|(path, said)| (path, said, 0))
        .collect();
    for source in files(&env.tree.join("src/rdma"), &["rs"])? {
        let name = relative(env, &source);
        let blocks = unsafe_blocks(&name, &fs::read_to_string(&source)?);
        let part = parts
            .iter_mut()
            .filter(|(path, ..)| name.starts_with(path))
            .max_by_key(|(path, ..)| path.len());
        match part {
            Some((.., counted)) => *counted += blocks,
            None => return Ok(Status::Failed(format!("{TABLE} has no part for {name}"))),
        }
    }
    Ok(parts
        .iter()
        .find(|(_, said, counted)| said != counted)
        .map_or(Status::Passed, |(path, said, counted)| {
            Status::Failed(format!(
                "{path} has {counted} unsafe blocks, and {said} in {TABLE}"
            ))
        }))
}

/// The rows `| \`PATH\` | NUMBER | ... |` of a text.
fn parts_of_the_table(text: &str) -> impl Iterator<Item = (&str, usize)> {
    text.lines().filter_map(|line| {
        let mut cells = line.strip_prefix('|')?.split('|').map(str::trim);
        let path = cells.next()?.strip_prefix('`')?.strip_suffix('`')?;
        Some((path, cells.next()?.parse().ok()?))
    })
}

/// The unsafe blocks of a file, outside its tests, which come last.
fn unsafe_blocks(name: &str, text: &str) -> usize {
    if name.ends_with("/tests.rs") {
        return 0;
    }
    text.lines()
        .take_while(|line| !line.contains("kunit_tests("))
        .filter(|line| line.contains("unsafe {"))
        .count()
}

/// Every change of tests/mutations still applies to the sources.
fn mutations_apply(env: &Env) -> Result<Status> {
    for (_, mutation) in mutations::read(&env.tree)? {
        mutation.changed(&env.tree)?;
    }
    Ok(Status::Passed)
}

fn shellcheck(env: &Env) -> Result<Status> {
    let mut scripts = Vec::new();
    for directory in ["scripts", ".ci", "tests"] {
        for path in files(&env.tree.join(directory), &[])? {
            let text = fs::read(&path)?;
            let first =
                String::from_utf8_lossy(text.split(|byte| *byte == b'\n').next().unwrap_or(&[]))
                    .into_owned();
            if first.starts_with("#!") && first.ends_with("sh")
                || path.extension() == Some(OsStr::new("sh"))
            {
                scripts.push(path);
            }
        }
    }
    if scripts.is_empty() {
        return Ok(Status::Failed("no shell script found".into()));
    }
    let mut command = Command::new("shellcheck");
    command
        .args(["--external-sources", "--format", "gcc"])
        .args(scripts)
        .current_dir(&env.tree);
    Ok(verdict(&process::run(&mut command, LIMIT)?))
}

fn clippy_workspace(env: &Env) -> Result<Status> {
    let mut command = Command::new("cargo");
    command
        .args([
            "clippy",
            "--quiet",
            "--workspace",
            "--all-targets",
            "--locked",
            "--",
            "-D",
            "warnings",
        ])
        .args(["-D", "clippy::undocumented_unsafe_blocks"])
        .current_dir(env.tree.join("tests"));
    Ok(verdict(&process::run(&mut command, LIMIT)?))
}

fn module_under_test(env: &Env) -> Result<Status> {
    build_module(env, &env.kernel, "test")
}

/// As people build it: without its own tests, for which alone something may be imported.
fn stock_module(env: &Env) -> Result<Status> {
    build_module(env, &env.stock_kernel()?, "stock")
}

/// Takes any warning of a build for a failure. One build has those of `W=1` and those of clippy,
/// which has the compiler's own, too.
fn build_module(env: &Env, kernel: &Kernel, name: &str) -> Result<Status> {
    let objects = env.tree.join("build/lint").join(name);
    let output = module::build(kernel, &env.tree, &objects, &["CLIPPY=1", "W=1"])?;
    let is_warning = |line: &&str| line.contains("warning:") || line.contains("WARNING:");
    Ok(match output.text.lines().find(is_warning) {
        Some(line) => Status::Failed(line.trim().to_string()),
        None => verdict(&output),
    })
}

fn verdict(output: &Output) -> Status {
    if output.success {
        return Status::Passed;
    }
    let telling = output
        .text
        .lines()
        .find(|line| {
            line.contains("error") || line.contains("warning") || line.starts_with("Diff in")
        })
        .unwrap_or_else(|| process::last_line(&output.text));
    Status::Failed(telling.trim().to_string())
}

/// All files under `directory` with one of the extensions (any, if none is given), build products
/// left out.
fn files(directory: &Path, extensions: &[&str]) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    if !directory.exists() {
        return Ok(found);
    }
    let entries = fs::read_dir(directory).with_context(|| directory.display().to_string())?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            if path.file_name() != Some(OsStr::new("target")) {
                found.extend(files(&path, extensions)?);
            }
        } else if extensions.is_empty()
            || extensions
                .iter()
                .any(|wanted| path.extension() == Some(OsStr::new(wanted)))
        {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn relative(env: &Env, path: &Path) -> String {
    path.strip_prefix(&env.tree)
        .unwrap_or(path)
        .display()
        .to_string()
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_unsafe_is_found_as_a_word_only() {
        assert!(words("let x = unsafe { y };").any(|word| word == "unsafe"));
        assert!(!words("#![forbid(unsafe_code)]").any(|word| word == "unsafe"));
    }

    #[test]
    fn a_package_host_is_one_below_a_domain_that_has_packages() {
        let line = |name: &str| format!("deb http://{name}.{}/debian trixie", "debian.org");
        assert!(package_host(&line("deb")).is_some_and(|host| host.starts_with("deb.")));
        assert!(package_host(&line("ftp.de")).is_some());
        assert_eq!(package_host(&line("www")), None);
        assert_eq!(package_host("https://mirror.example/debian.org/x"), None);
    }

    #[test]
    fn unsafe_blocks_are_counted_outside_tests() {
        let text = "unsafe { a() };\nlet b = unsafe {\nunsafe fn c() {\nkunit_tests(d)]\nunsafe { e() };\n";
        assert_eq!(unsafe_blocks("src/rdma/a.rs", text), 2);
        assert_eq!(unsafe_blocks("src/rdma/a/tests.rs", text), 0);
    }

    #[test]
    fn the_table_has_a_path_and_a_number_in_each_row() {
        let text = "| part | blocks |\n|---|---|\n| `src/rdma/a` | 12 | for that |\nend\n";
        assert_eq!(
            parts_of_the_table(text).collect::<Vec<_>>(),
            [("src/rdma/a", 12)]
        );
    }

    #[test]
    fn a_failure_names_the_telling_line() {
        let output = Output {
            success: false,
            text: "Compiling\nerror: unused\nmore\n".into(),
            stdout: String::new(),
        };
        assert_eq!(verdict(&output), Status::Failed("error: unused".into()));
    }
}
