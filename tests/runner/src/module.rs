// SPDX-License-Identifier: GPL-2.0
//! Building the kernel module apart from the objects in use.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use crate::env::Kernel;
use crate::process::{self, Output};

const LIMIT: Duration = Duration::from_secs(900);

/// Builds the module of `source` for `kernel` anew, with its objects in `objects`.
pub fn build(kernel: &Kernel, source: &Path, objects: &Path, options: &[&str]) -> Result<Output> {
    if objects.exists() {
        fs::remove_dir_all(objects)?;
    }
    fs::create_dir_all(objects)?;
    let mut command = Command::new("make");
    command
        .arg("-C")
        .arg(&kernel.build)
        .arg(format!("M={}", source.display()))
        .arg(format!("MO={}", objects.display()))
        .args(compiler(kernel))
        .args(["-j2", "modules"])
        .args(options);
    process::run(&mut command, LIMIT)
}

/// What make must be told to use the compiler that the kernel was built with.
fn compiler(kernel: &Kernel) -> Option<String> {
    let config = fs::read_to_string(kernel.build.join(".config")).unwrap_or_default();
    if config.lines().any(|line| line == "CONFIG_CC_IS_CLANG=y") {
        return Some("LLVM=1".into());
    }
    let text = config
        .lines()
        .find_map(|line| line.strip_prefix("CONFIG_CC_VERSION_TEXT=\""))?;
    text.split(' ')
        .next()
        .map(|program| format!("CC={program}"))
}

/// The line of a failed build that says why.
pub fn reason(output: &Output) -> &str {
    let telling = |line: &&str| line.starts_with("error") || line.contains(" error: ");
    output
        .text
        .lines()
        .find(telling)
        .unwrap_or_else(|| process::last_line(&output.text))
        .trim()
}
