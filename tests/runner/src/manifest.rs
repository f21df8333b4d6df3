// SPDX-License-Identifier: GPL-2.0
//! tests/guest/tests.toml: which tests run in the guest, and on which devices.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use anyhow::{bail, Context, Result};
use serde::Deserialize;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The machines tests ask for, by name.
    pub machine: BTreeMap<String, Machine>,
    #[serde(default)]
    pub test: Vec<GuestTest>,
    /// Other settings with which the tests of machine `default` run again.
    #[serde(default)]
    pub again: Vec<Again>,
    /// Tests that do not, each with the reason.
    #[serde(default)]
    pub not_again: BTreeMap<String, String>,
    /// rdma-core cases, or classes of them, that may be skipped, each with the reason why EFA
    /// cannot run them.
    #[serde(default)]
    pub rdma_core_skip: BTreeMap<String, String>,
}

/// One more run of the tests of machine `default`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Again {
    /// What the names of results begin with, before a dot.
    pub label: String,
    /// More settings of each device.
    pub settings: Vec<String>,
    /// The tests that run again in the short size, too.
    #[serde(default)]
    pub short: Vec<String>,
}

impl Again {
    /// What machines, tests and suites are called in this run.
    pub fn name(&self, name: &str) -> String {
        format!("{}.{name}", self.label)
    }
}

/// A virtual machine, and its devices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// One list of `key=value` settings for each virtual device.
    pub devices: Vec<Vec<String>>,
    /// Virtual CPUs; two if it does not matter.
    #[serde(default)]
    pub cpus: Option<u8>,
    /// Memory in MiB; what the kernel needs if it does not matter.
    #[serde(default)]
    pub memory_mib: Option<u32>,
    /// Whether an Intel IOMMU stands before the devices: they then reach only what is mapped.
    #[serde(default)]
    pub iommu: bool,
    /// Whether the machine's clock counts instructions, for benchmarks: one CPU, and far slower.
    #[serde(default)]
    pub counts_instructions: bool,
    /// What to add to the kernel's command line.
    #[serde(default)]
    pub kernel_arguments: String,
    /// Whose user space runs in it.
    #[serde(default)]
    pub root: Root,
    /// Whether the kernel's modules are installed for modprobe, and ours beside them by `make install`; instead of the
    /// list of those to load.
    #[serde(default)]
    pub installed: bool,
}

impl Machine {
    /// A machine with one device as it is.
    pub fn with_one_device() -> Self {
        Self {
            devices: vec![vec![]],
            ..Self::default()
        }
    }

    /// How many times as long as usual things may take.
    pub fn patience(&self) -> u32 {
        match self.counts_instructions {
            true => 4,
            false => 1,
        }
    }
}

/// A root file system for guests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Root {
    /// The release after Debian 13, with the newest rdma-core.
    #[default]
    #[serde(rename = "debian-14")]
    Debian14,
    /// Debian 13, with the rdma-core that people have.
    #[serde(rename = "debian-13")]
    Debian13,
    /// A Debian 13 machine as people have it, with its own kernel and our package.
    #[serde(rename = "user")]
    User,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuestTest {
    pub name: String,
    /// `MODULE.FUNCTION` under tests/guest.
    pub run: String,
    #[serde(default = "default_machine")]
    pub machine: String,
    /// Seconds the short size may take.
    #[serde(default = "default_timeout")]
    pub timeout: u64,
    /// Seconds the full size may take.
    #[serde(default)]
    pub timeout_full: Option<u64>,
    /// Boot a machine for this test alone: it leaves the kernel or the device unusable.
    #[serde(default)]
    pub alone: bool,
    /// The same, on the C driver only.
    #[serde(default)]
    pub alone_on_c: bool,
    /// The test reboots the machine, which ends there, after a reset of the device for this reason.
    #[serde(default)]
    pub ends_in: Option<String>,
    /// What the kernel says of a test, and is right: lines with this are no failure. Boots a machine for it alone.
    #[serde(default)]
    pub complaints: Vec<String>,
    /// The test ends the devices, as if they were pulled out: the machine is of no more use.
    #[serde(default)]
    pub ends_devices: bool,
    /// Only in the full size.
    #[serde(default)]
    pub full: bool,
    /// The name of the test of which this is one more run.
    #[serde(skip)]
    pub again: Option<String>,
}

impl GuestTest {
    /// The name that it stands under in known-c.toml.
    pub fn known_as(&self) -> &str {
        self.again.as_deref().unwrap_or(&self.name)
    }
}

/// The machine of tests that ask for none.
pub const DEFAULT_MACHINE: &str = "default";

fn default_machine() -> String {
    DEFAULT_MACHINE.into()
}

fn default_timeout() -> u64 {
    60
}

impl Manifest {
    /// # Errors
    ///
    /// The file cannot be read, a name stands twice, or a test asks for an unknown machine.
    pub fn read(tree: &Path) -> Result<Self> {
        let path = tree.join("tests/guest/tests.toml");
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text).with_context(|| path.display().to_string())
    }

    fn parse(text: &str) -> Result<Self> {
        let mut manifest: Self = toml::from_str(text)?;
        manifest.run_again()?;
        let mut names = HashSet::new();
        for test in &manifest.test {
            if !names.insert(&test.name) {
                bail!("the test {} stands twice", test.name);
            }
            if !manifest.machine.contains_key(&test.machine) {
                bail!(
                    "the test {} asks for an unknown machine {}",
                    test.name,
                    test.machine
                );
            }
        }
        Ok(manifest)
    }

    /// Adds the tests that run again, and their machines.
    fn run_again(&mut self) -> Result<()> {
        let runs_again = |test: &GuestTest| {
            test.machine == DEFAULT_MACHINE && !self.not_again.contains_key(&test.name)
        };
        let tests: Vec<GuestTest> = self
            .test
            .iter()
            .filter(|test| runs_again(test))
            .cloned()
            .collect();
        for (name, reason) in &self.not_again {
            if reason.trim().is_empty() || !self.test.iter().any(|test| test.name == *name) {
                bail!("not_again: {name} is no test, or has no reason");
            }
        }
        for again in &self.again {
            let mut machine = self.machine(DEFAULT_MACHINE);
            for settings in &mut machine.devices {
                settings.extend(again.settings.iter().cloned());
            }
            self.machine.insert(again.name(DEFAULT_MACHINE), machine);
            if let Some(name) = again
                .short
                .iter()
                .find(|name| !tests.iter().any(|test| test.name == **name))
            {
                bail!("{}: {name} is no test that runs again", again.label);
            }
            self.test.extend(tests.iter().map(|test| GuestTest {
                name: again.name(&test.name),
                machine: again.name(DEFAULT_MACHINE),
                full: test.full || !again.short.contains(&test.name),
                again: Some(test.name.clone()),
                ..test.clone()
            }));
        }
        Ok(())
    }

    /// Why a case of rdma-core may be skipped; `None` if it may not.
    pub fn allowed_skip(&self, case: &str) -> Option<&str> {
        let covers = |key: &str| {
            case.strip_prefix(key)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let found = self.rdma_core_skip.iter().find(|(key, _)| covers(key));
        found.map(|(_, reason)| reason.as_str())
    }

    /// A machine by its name; one without devices if there is none of that name.
    pub fn machine(&self, name: &str) -> Machine {
        self.machine.get(name).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_with_only_a_name_and_a_program_gets_the_defaults() {
        let manifest =
            Manifest::parse("[machine.default]\ndevices=[[]]\n[[test]]\nname='a'\nrun='m.f'\n")
                .unwrap();
        assert_eq!(
            (manifest.test[0].machine.as_str(), manifest.test[0].timeout),
            ("default", 60)
        );
        assert_eq!(manifest.machine("default"), Machine::with_one_device());
    }

    #[test]
    fn what_runs_again_has_a_name_and_a_machine_of_its_own() {
        let manifest = Manifest::parse(
            "[machine.default]\ndevices=[['x=1']]\n[machine.other]\ndevices=[[]]\n\
             [[again]]\nlabel='odd'\nsettings=['y=2']\nshort=['a.b']\n\
             [not_again]\n'd'='why'\n\
             [[test]]\nname='a.b'\nrun='m.f'\n[[test]]\nname='c'\nrun='m.f'\n\
             [[test]]\nname='d'\nrun='m.f'\n[[test]]\nname='e'\nrun='m.f'\nmachine='other'\n",
        )
        .unwrap();
        let again: Vec<_> = manifest
            .test
            .iter()
            .filter(|test| test.again.is_some())
            .collect();
        let names: Vec<_> = again
            .iter()
            .map(|test| (test.name.as_str(), test.full))
            .collect();
        assert_eq!(names, [("odd.a.b", false), ("odd.c", true)]);
        assert!(again.iter().all(|test| test.machine == "odd.default"));
        assert_eq!(
            (again[0].known_as(), manifest.test[0].known_as()),
            ("a.b", "a.b")
        );
        assert_eq!(manifest.machine("odd.default").devices, [["x=1", "y=2"]]);
        assert_eq!(manifest.machine("default").devices, [["x=1"]]);
    }

    #[test]
    fn what_runs_again_or_does_not_must_be_there() {
        let head = "[machine.default]\ndevices=[[]]\n[[test]]\nname='a'\nrun='m.f'\n";
        let again = "[[again]]\nlabel='odd'\nsettings=[]\nshort=";
        assert!(Manifest::parse(&format!("{head}{again}['a']\n")).is_ok());
        assert!(Manifest::parse(&format!("{head}{again}['b']\n")).is_err());
        assert!(Manifest::parse(&format!("{head}{again}['a']\n[not_again]\n'a'='why'\n")).is_err());
        assert!(Manifest::parse(&format!("{head}[not_again]\n'a'=' '\n")).is_err());
        assert!(Manifest::parse(&format!("{head}[not_again]\n'b'='why'\n")).is_err());
    }

    #[test]
    fn a_class_covers_its_cases_and_no_other_class() {
        let manifest = Manifest::parse("[machine]\n[rdma_core_skip]\n'm.Dm'='none'\n").unwrap();
        assert_eq!(manifest.allowed_skip("m.Dm.test_read"), Some("none"));
        assert_eq!(manifest.allowed_skip("m.DmOther.test_read"), None);
    }

    #[test]
    fn doubled_names_unknown_machines_and_unknown_keys_are_refused() {
        let head = "[machine.default]\ndevices=[[]]\n";
        let test = "[[test]]\nname='a'\nrun='m.f'\n";
        assert!(Manifest::parse(&format!("{head}{test}{test}")).is_err());
        assert!(Manifest::parse(&format!("{head}{test}machine='none'\n")).is_err());
        assert!(Manifest::parse(&format!("{head}{test}colour='red'\n")).is_err());
    }
}
