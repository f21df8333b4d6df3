// SPDX-License-Identifier: GPL-2.0
//! The directory a guest shares with the host: its modules, its programs, and what it writes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{bail, Context, Result};

use crate::cli::Driver;
use crate::env::{Env, Kernel};
use crate::manifest::Root;
use crate::process;
use crate::vm::Boot;

/// What the EFA driver needs loaded before it.
const NEEDED: &[&str] = &["ib_uverbs"];
const INSTALL_LIMIT: Duration = Duration::from_secs(60);

/// Fills `job` for one boot: `guest/` (the programs), `documentation/` (whose commands are run),
/// `modules/` (numbered in load order, the EFA driver last), `exporter.ko` (that of tests/exporter,
/// where it was built), `out/` (empty, for the guest to write to). A machine that brings its modules
/// in its root gets none; one that has them installed gets `installed/`, the root of that
/// installation.
pub fn stage(job: &Path, env: &Env, boot: &Boot) -> Result<()> {
    copy_tree(&env.tree.join("tests/guest"), &job.join("guest"))?;
    copy_tree(&env.tree.join("Documentation"), &job.join("documentation"))?;
    fs::create_dir_all(job.join("out"))?;
    let exporter = boot
        .kernel
        .efa_module
        .with_file_name("exporter/exporter.ko");
    if exporter.exists() {
        add(job, &[("exporter.ko", exporter)])?;
    }
    let modules = job.join("modules");
    fs::create_dir_all(&modules)?;
    if boot.machine.installed {
        install(env, boot.kernel, &job.join("installed"))?;
    }
    let order = match boot.machine.root {
        _ if boot.machine.installed => vec![],
        Root::User => vec![],
        Root::Debian13 | Root::Debian14 => load_order(boot.kernel, boot.driver)?,
    };
    for (index, source) in order.iter().enumerate() {
        let name = source
            .file_name()
            .context("a module without a name")?
            .to_string_lossy();
        fs::copy(source, modules.join(format!("{index:02}-{name}")))
            .with_context(|| format!("cannot copy the module {}", source.display()))?;
    }
    Ok(())
}

/// Puts the kernel's modules below `root`, and ours as `make install` does.
fn install(env: &Env, kernel: &Kernel, root: &Path) -> Result<()> {
    copy_tree(
        &kernel.modules,
        &root.join("lib/modules").join(&kernel.release),
    )?;
    let script = "cd $1 && . scripts/lib/common.sh && . scripts/lib/installed.sh && root=$2 && put_module $3 $4";
    let output = process::run(
        Command::new("bash")
            .args(["-euc", script, "bash"])
            .args([&env.tree, root, &kernel.efa_module])
            .arg(&kernel.release),
        INSTALL_LIMIT,
    )?;
    if !output.success {
        bail!(
            "our module is not installed: {}",
            process::last_line(&output.text)
        );
    }
    Ok(())
}

/// Copies files into `directory`, each under the name that comes with it.
pub fn add(directory: &Path, files: &[(&str, PathBuf)]) -> Result<()> {
    for (name, source) in files {
        fs::create_dir_all(directory)?;
        fs::copy(source, directory.join(name))
            .with_context(|| format!("cannot copy {}", source.display()))?;
    }
    Ok(())
}

/// The C driver, a module of `kernel`.
///
/// # Errors
///
/// The kernel has none.
pub fn c_driver(kernel: &Kernel) -> Result<PathBuf> {
    let order = load_order(kernel, Driver::C)?;
    order.last().cloned().context("no module")
}

/// The module files to load, each after all it depends on.
fn load_order(kernel: &Kernel, driver: Driver) -> Result<Vec<PathBuf>> {
    let dep_file = kernel.modules.join("modules.dep");
    let dep = fs::read_to_string(&dep_file)
        .with_context(|| format!("no module list at {}", dep_file.display()))?;
    let mut wanted = NEEDED.to_vec();
    if driver == Driver::C {
        wanted.push("efa");
    }
    let mut order: Vec<PathBuf> = Vec::new();
    for name in wanted {
        for path in dependencies(&dep, name)
            .with_context(|| format!("kernel {} has no module {name}", kernel.release))?
        {
            let path = kernel.modules.join(path);
            if !order.contains(&path) {
                order.push(path);
            }
        }
    }
    if driver == Driver::Rust {
        if !kernel.efa_module.exists() {
            bail!(
                "{} is not built; `make` builds it",
                kernel.efa_module.display()
            );
        }
        order.push(kernel.efa_module.clone());
    }
    Ok(order)
}

/// The line of modules.dep for `name`: what it needs, deepest first, then the module itself.
fn dependencies<'a>(dep: &'a str, name: &str) -> Option<Vec<&'a str>> {
    let (path, needs) = dep
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(path, _)| {
            let file = path.rsplit('/').next().unwrap_or(path);
            file.split_once(".ko")
                .is_some_and(|(stem, _)| stem.replace('-', "_") == name)
        })?;
    let mut list: Vec<&str> = needs.split_whitespace().collect();
    list.reverse();
    list.push(path);
    Some(list)
}

/// Copies a directory with all below it.
pub fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("no directory {}", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEP: &str = "kernel/a/ib_core.ko.xz:\nkernel/a/ib-uverbs.ko.xz: kernel/a/support.ko.xz kernel/a/ib_core.ko.xz\n";

    #[test]
    fn a_module_comes_after_what_it_needs() {
        assert_eq!(
            dependencies(DEP, "ib_uverbs").unwrap(),
            [
                "kernel/a/ib_core.ko.xz",
                "kernel/a/support.ko.xz",
                "kernel/a/ib-uverbs.ko.xz"
            ]
        );
        assert_eq!(dependencies(DEP, "efa"), None);
    }
}
