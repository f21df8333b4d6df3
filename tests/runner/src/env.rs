// SPDX-License-Identifier: GPL-2.0
//! Where things are: the environment that the Makefile passes.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{bail, Context, Result};

use crate::manifest::Root;

/// Where tests/package/lib/machine.sh mounts a machine.
const USER_MACHINE: &str = "/mnt/root";

/// A kernel that a guest can boot, and the module built for it.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The boot image.
    pub image: PathBuf,
    /// `uname -r` of the kernel.
    pub release: String,
    /// `lib/modules/RELEASE`.
    pub modules: PathBuf,
    /// KDIR, for builds against this kernel.
    pub build: PathBuf,
    /// The module of this tree built for the kernel.
    pub efa_module: PathBuf,
    /// Whether the kernel's checkers are in it: it then takes more memory, and several times as long for everything.
    pub checks: bool,
}

impl Kernel {
    fn at(item: &Path, objects: &Path) -> Result<Self> {
        let release_file = item.join("release");
        let release = fs::read_to_string(&release_file)
            .with_context(|| format!("no kernel in {}", item.display()))?;
        let release = release.trim().to_string();
        let config = fs::read_to_string(item.join("build/.config")).unwrap_or_default();
        Ok(Self {
            image: item.join("image"),
            modules: item.join("modules/lib/modules").join(&release),
            build: item.join("build"),
            efa_module: objects.join("efa.ko"),
            release,
            checks: config.lines().any(|line| line == "CONFIG_KASAN=y"),
        })
    }

    /// How many times as long as on a kernel without checkers things may take.
    pub fn patience(&self) -> u32 {
        match self.checks {
            true => 8,
            false => 1,
        }
    }
}

/// The paths a run works with.
#[derive(Clone, Debug)]
pub struct Env {
    /// The source tree.
    pub tree: PathBuf,
    /// The kernel the guest tests boot.
    pub kernel: Kernel,
    /// The unpacked kernel source (for its formatting rules and headers).
    pub kernel_source: PathBuf,
    /// The root file system of the guest.
    guest_root: PathBuf,
    /// The same of Debian 13.
    guest_root_13: PathBuf,
    /// The virtual device's program.
    pub vefa: PathBuf,
    /// What the names of results begin with.
    pub label: &'static str,
}

impl Env {
    /// Reads the environment variables.
    ///
    /// # Errors
    ///
    /// A variable that is not set, or a kernel item that is not there.
    pub fn from_variables() -> Result<Self> {
        let tree = variable("EFA_TREE")?;
        let kernel = Kernel::at(&variable("EFA_KERNEL_DIR")?, &variable("EFA_BUILD")?)?;
        Ok(Self {
            kernel,
            kernel_source: variable("EFA_KERNEL_SOURCE")?,
            guest_root: variable("EFA_GUEST_ROOT")?,
            guest_root_13: variable("EFA_GUEST_ROOT_13")?,
            vefa: variable("EFA_VEFA")?,
            label: "",
            tree,
        })
    }

    /// Debian's unmodified kernel and the module built for it, for the tests that boot it beside
    /// the one under test.
    pub fn stock_kernel(&self) -> Result<Kernel> {
        let item = variable("EFA_STOCK_KERNEL_DIR")?;
        Kernel::at(&item, &self.tree.join("build/stock"))
    }

    /// The kernel of the machine on which the package is tried.
    pub fn user_kernel(&self) -> Result<Kernel> {
        let lib = Path::new(USER_MACHINE).join("usr/lib/modules");
        let entries = fs::read_dir(&lib).with_context(|| format!("no {}", lib.display()))?;
        let found = entries
            .flatten()
            .find(|entry| entry.path().join("build").exists());
        let modules = found
            .context("the machine has no kernel with headers")?
            .path();
        let release = modules
            .file_name()
            .context("a kernel without a name")?
            .to_string_lossy();
        Ok(Kernel {
            image: Path::new(USER_MACHINE).join(format!("boot/vmlinuz-{release}")),
            build: modules.join("build"),
            efa_module: modules.join("updates/dkms/efa.ko.xz"),
            release: release.into_owned(),
            modules,
            checks: false,
        })
    }

    /// The directory that becomes a guest's root.
    ///
    /// # Errors
    ///
    /// Nothing has made that root.
    pub fn root(&self, root: Root) -> Result<&Path> {
        let directory = match root {
            Root::Debian14 => &self.guest_root,
            Root::Debian13 => &self.guest_root_13,
            Root::User => Path::new(USER_MACHINE),
        };
        if !directory.exists() {
            bail!(
                "there is no {}: scripts/setup makes it",
                directory.display()
            );
        }
        Ok(directory)
    }

    /// Where a failing test leaves its logs.
    pub fn results(&self, test: &str) -> PathBuf {
        let name = format!("{}{test}", self.label);
        self.tree.join("build/results").join(name)
    }
}

fn variable(name: &str) -> Result<PathBuf> {
    match std::env::var_os(name) {
        Some(value) if !value.is_empty() => Ok(PathBuf::from(value)),
        _ => bail!("{name} is not set; start the runner with `make run` or `make test`"),
    }
}

/// Whether the guest may use KVM. A /dev/kvm alone says nothing: without vmx or svm in the
/// processor flags a guest never starts, so the default follows the flags. EFA_ACCEL overrides.
///
/// # Errors
///
/// EFA_ACCEL is neither `kvm` nor `tcg`.
pub fn accelerator() -> Result<&'static str> {
    if let Ok(forced) = std::env::var("EFA_ACCEL") {
        return match forced.as_str() {
            "kvm" => Ok("kvm"),
            "tcg" => Ok("tcg"),
            other => bail!("EFA_ACCEL={other}: known are kvm, tcg"),
        };
    }
    let flags = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let capable = flags
        .split_whitespace()
        .any(|word| word == "vmx" || word == "svm");
    let usable = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/kvm")
        .is_ok();
    Ok(if capable && usable { "kvm" } else { "tcg" })
}
