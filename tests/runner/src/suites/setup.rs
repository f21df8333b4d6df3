// SPDX-License-Identifier: GPL-2.0
//! `setup.`: the scripts tests/setup/NAME.sh, which try the environment's own set-up.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use super::Context;
use crate::process;
use crate::report::Status;

const LIMIT: Duration = Duration::from_secs(1800);

pub fn plan(context: &Context) -> Result<Vec<(String, PathBuf)>> {
    let mut scripts = Vec::new();
    let Ok(entries) = std::fs::read_dir(context.env.tree.join("tests/setup")) else {
        return Ok(scripts);
    };
    for entry in entries {
        let path = entry?.path();
        let name = format!(
            "setup.{}",
            path.file_stem().unwrap_or_default().to_string_lossy()
        );
        if path.extension().is_some_and(|extension| extension == "sh") && context.selects(&name) {
            scripts.push((name, path));
        }
    }
    scripts.sort();
    Ok(scripts)
}

pub fn run(context: &mut Context, scripts: &[(String, PathBuf)]) {
    for (name, path) in scripts {
        let tree = context.env.tree.clone();
        context.report.time(name, || {
            let output = process::run(Command::new(path).current_dir(tree), LIMIT)?;
            Ok(match output.success {
                true => Status::Passed,
                false => Status::Failed(process::last_line(&output.text).to_string()),
            })
        });
    }
}
