// SPDX-License-Identifier: GPL-2.0
//! tests/known-c.toml: the tests in which the in-tree C driver behaves differently, and why.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{bail, Context, Result};
use serde::Deserialize;

use crate::report::Status;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    known: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    reason: String,
    /// Whether it takes luck to see the difference.
    #[serde(default)]
    sometimes: bool,
}

/// Differences that are known, with their reasons.
#[derive(Debug, Default)]
pub struct Known(BTreeMap<String, Entry>);

impl Known {
    /// # Errors
    ///
    /// The file cannot be read, a name stands twice, or an entry gives no reason.
    pub fn read(tree: &Path) -> Result<Self> {
        let path = tree.join("tests/known-c.toml");
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text).with_context(|| path.display().to_string())
    }

    fn parse(text: &str) -> Result<Self> {
        let file: File = toml::from_str(text)?;
        let mut known = BTreeMap::new();
        for entry in file.known {
            if entry.reason.trim().is_empty() {
                bail!("{} has no reason", entry.name);
            }
            if let Some(twin) = known.insert(entry.name.clone(), entry) {
                bail!("{} stands twice", twin.name);
            }
        }
        Ok(Self(known))
    }

    /// The outcome of a test that ran on the C driver alone: a failure that is known says why it is one.
    pub fn explain(&self, name: &str, status: Status) -> Status {
        match (status, self.0.get(name)) {
            (Status::Failed(reason), Some(known)) => {
                Status::Failed(format!("(known: {}) {reason}", known.reason))
            }
            (status, _) => status,
        }
    }

    /// Judges one test that ran on both drivers: a difference must be known, and a known one must
    /// still be there, unless it takes luck to see it. What is the same counts as what it is: a skip
    /// on both is a skip, not a pass.
    pub fn judge(&self, name: &str, c: &Status, rust: &Status) -> Status {
        match (differ(c, rust), self.0.get(name)) {
            (
                false,
                None
                | Some(Entry {
                    sometimes: true, ..
                }),
            ) => c.clone(),
            (true, Some(_)) => Status::Passed,
            (true, None) => Status::Failed(format!(
                "C differs and known-c.toml does not say so: {}",
                c.describe()
            )),
            (false, Some(_)) => {
                Status::Failed("known-c.toml lists a difference that is no longer seen".into())
            }
        }
    }
}

/// Whether two outcomes are of different kinds. Reasons may differ: they carry numbers and times.
pub fn differ(c: &Status, rust: &Status) -> bool {
    std::mem::discriminant(c) != std::mem::discriminant(rust)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed() -> Status {
        Status::Failed("why".into())
    }

    #[test]
    fn a_difference_passes_only_if_it_is_known() {
        let known = Known::parse("[[known]]\nname='field.A6'\nreason='stale handle'\n").unwrap();
        assert_eq!(
            known.judge("field.A6", &failed(), &Status::Passed),
            Status::Passed
        );
        assert!(matches!(
            known.judge("field.A4", &failed(), &Status::Passed),
            Status::Failed(_)
        ));
        assert_eq!(
            known.judge("field.A4", &Status::Passed, &Status::Passed),
            Status::Passed
        );
    }

    #[test]
    fn what_both_skip_or_fail_is_no_pass() {
        let skipped = Status::Skipped("EFA has none".into());
        for status in [skipped, failed()] {
            assert_eq!(Known::default().judge("a", &status, &status), status);
        }
    }

    #[test]
    fn a_known_failure_says_why_it_is_one() {
        let known = Known::parse("[[known]]\nname='field.A6'\nreason='stale handle'\n").unwrap();
        assert_eq!(
            known.explain("field.A6", failed()),
            Status::Failed("(known: stale handle) why".into())
        );
        assert_eq!(known.explain("field.A4", failed()), failed());
        assert_eq!(known.explain("field.A6", Status::Passed), Status::Passed);
    }

    #[test]
    fn a_known_difference_that_is_gone_fails() {
        let known = Known::parse("[[known]]\nname='field.A6'\nreason='stale handle'\n").unwrap();
        assert!(matches!(
            known.judge("field.A6", &Status::Passed, &Status::Passed),
            Status::Failed(_)
        ));
    }

    #[test]
    fn a_difference_that_takes_luck_may_stay_away() {
        let text = "[[known]]\nname='field.D4'\nreason='a race'\nsometimes=true\n";
        let known = Known::parse(text).unwrap();
        for c in [failed(), Status::Passed] {
            let judged = known.judge("field.D4", &c, &Status::Passed);
            assert_eq!(judged, Status::Passed);
        }
        assert_eq!(known.judge("field.D4", &failed(), &failed()), failed());
    }

    #[test]
    fn an_entry_needs_a_reason_and_stands_once() {
        assert!(Known::parse("[[known]]\nname='a'\nreason=' '\n").is_err());
        assert!(Known::parse("[[known]]\nname='a'\n").is_err());
        assert!(
            Known::parse("[[known]]\nname='a'\nreason='x'\n[[known]]\nname='a'\nreason='y'\n")
                .is_err()
        );
    }
}
