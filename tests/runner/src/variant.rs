// SPDX-License-Identifier: GPL-2.0
//! The machines that `make test-debug` runs every guest test on.

use crate::manifest::Machine;

/// What is different from the machine that a test asks for.
#[derive(Debug)]
pub struct Variant {
    /// What the names of results begin with.
    pub label: &'static str,
    cpus: Option<u8>,
    pub iommu: bool,
}

impl Variant {
    /// Nothing is different.
    pub const AS_TOLD: Self = Self {
        label: "",
        cpus: None,
        iommu: false,
    };

    pub const DEBUG: [Self; 3] = [
        Self {
            label: "cpus2.",
            cpus: Some(2),
            iommu: false,
        },
        Self {
            label: "cpus4.",
            cpus: Some(4),
            iommu: false,
        },
        Self {
            label: "iommu.",
            cpus: Some(2),
            iommu: true,
        },
    ];

    /// The machine as it is in this variant. A test that says how many CPUs it needs has its reason.
    pub fn of(&self, machine: Machine) -> Machine {
        Machine {
            cpus: machine.cpus.or(self.cpus),
            iommu: machine.iommu || self.iommu,
            ..machine
        }
    }

    /// Whether `prefix` selects the test: it may begin with the variant's label, or leave it out.
    pub fn selects(&self, prefix: &str, name: &str) -> bool {
        name.starts_with(prefix) || self.labelled(name).starts_with(prefix)
    }

    /// Whether a test in `suite` may be selected by `prefix`.
    pub fn may_select(&self, prefix: &str, suite: &str) -> bool {
        let labelled = self.labelled(suite);
        [suite, &labelled]
            .iter()
            .any(|suite| suite.starts_with(prefix) || prefix.starts_with(suite))
    }

    fn labelled(&self, name: &str) -> String {
        format!("{}{name}", self.label)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_selects_its_suite_and_no_other() {
        let told = Variant::AS_TOLD;
        assert!(told.may_select("", "kunit."));
        assert!(told.may_select("kunit.efa_crc", "kunit."));
        assert!(told.may_select("ku", "kunit."));
        assert!(!told.may_select("field.A6", "kunit."));
    }

    #[test]
    fn a_prefix_may_name_one_variant_or_mean_all() {
        let [two, four, _] = Variant::DEBUG;
        assert!(two.selects("field.A6", "field.A6") && four.selects("field.A6", "field.A6"));
        assert!(four.selects("cpus4.field.A6", "field.A6") && four.selects("cpus4", "field.A6"));
        assert!(!two.selects("cpus4.field.A6", "field.A6"));
        assert!(four.may_select("cpus4.field.A6", "field."));
        assert!(!two.may_select("cpus4.field.A6", "field."));
    }

    #[test]
    fn a_test_keeps_the_cpus_it_asks_for() {
        let one = Machine {
            cpus: Some(1),
            ..Machine::default()
        };
        let [_, four, iommu] = Variant::DEBUG;
        assert_eq!(four.of(one.clone()).cpus, Some(1));
        assert_eq!(four.of(Machine::default()).cpus, Some(4));
        assert!(iommu.of(one).iommu);
    }
}
