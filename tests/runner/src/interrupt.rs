// SPDX-License-Identifier: GPL-2.0
//! What happens when a person stops the runner: nothing of a run is left behind.
//!
//! The children need no care: each is tied to the runner and dies with it (see `process::tied`).

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context, Result};
use tempfile::TempDir;

/// Exit status after SIGINT, as shells have it.
const INTERRUPTED: i32 = 130;

static DIRECTORIES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Lets SIGINT, SIGTERM and SIGHUP remove the scratch directories and end the runner.
pub fn handle() -> Result<()> {
    ctrlc::set_handler(|| {
        if let Ok(directories) = DIRECTORIES.lock() {
            for directory in directories.iter() {
                let _ = std::fs::remove_dir_all(directory);
            }
        }
        std::process::exit(INTERRUPTED);
    })
    .context("cannot handle signals")
}

/// A scratch directory that goes with its owner, or with the runner.
pub struct Scratch(TempDir);

impl Scratch {
    pub fn new(prefix: &str) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix(prefix).tempdir()?;
        if let Ok(mut directories) = DIRECTORIES.lock() {
            directories.push(directory.path().to_path_buf());
        }
        Ok(Self(directory))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Ok(mut directories) = DIRECTORIES.lock() {
            directories.retain(|directory| directory != self.0.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scratch_directory_goes_with_its_owner() {
        let scratch = Scratch::new("efa-test-").unwrap();
        let path = scratch.path().to_path_buf();
        assert!(path.is_dir());
        drop(scratch);
        assert!(!path.exists());
    }
}
