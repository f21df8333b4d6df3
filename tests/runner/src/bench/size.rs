// SPDX-License-Identifier: GPL-2.0
//! How large modules are in memory.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{bail, Context, Result};

use super::figures::Samples;
use crate::process;

const LIMIT: Duration = Duration::from_secs(30);

/// Bytes of code and data of the two modules, paths below `tree`.
pub fn samples(tree: &Path, c: &Path, rust: &Path) -> Result<Samples> {
    Ok(Samples {
        c: vec![bytes(&tree.join(c))?],
        rust: vec![bytes(&tree.join(rust))?],
    })
}

fn bytes(module: &Path) -> Result<f64> {
    let output = process::run(Command::new("size").arg(module), LIMIT)?;
    if !output.success {
        bail!("{}", process::last_line(&output.text));
    }
    sum(&output.text).with_context(|| format!("size says of {}: {}", module.display(), output.text))
}

/// The column `dec` of what the program `size` prints.
fn sum(text: &str) -> Option<f64> {
    let (head, values) = text.trim_end().split_once('\n')?;
    let column = head.split_whitespace().position(|word| word == "dec")?;
    values.split_whitespace().nth(column)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_that_of_all_sections() {
        let text = "   text\t   data\t    bss\t    dec\t    hex\tfilename\n  90000\t   2000\t     50\t  92050\t  16792\tefa.ko\n";
        assert_eq!(sum(text), Some(92050.0));
        assert_eq!(sum("size: no such file\n"), None);
    }
}
