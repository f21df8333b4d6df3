// SPDX-License-Identifier: GPL-2.0
//! `plot CHARTS.json DIRECTORY`: each chart as NAME.svg and NAME.png.

#![forbid(unsafe_code)]

mod chart;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{bail, Context, Result};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [charts, directory] = arguments.as_slice() else {
        bail!("usage: plot CHARTS.json DIRECTORY");
    };
    let text =
        fs::read_to_string(charts).with_context(|| format!("cannot read {}", charts.display()))?;
    let charts: Vec<chart::Chart> = serde_json::from_str(&text).context("the charts")?;
    chart::register_font()?;
    fs::create_dir_all(directory)?;
    for chart in &charts {
        chart
            .draw(directory)
            .with_context(|| format!("cannot draw {}", chart.name))?;
    }
    Ok(())
}
