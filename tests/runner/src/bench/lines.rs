// SPDX-License-Identifier: GPL-2.0
//! tests/bench/lines.toml: what is measured, and on which machines.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{bail, Context, Result};
use serde::Deserialize;

use crate::manifest::Machine;

/// Where the lines are listed.
pub const FILE: &str = "tests/bench/lines.toml";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lines {
    /// The machines that lines are measured on, by name.
    pub machine: BTreeMap<String, Machine>,
    pub line: Vec<Line>,
    #[serde(default)]
    pub series: Vec<Series>,
}

/// Lines that are points of one curve.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    pub name: String,
    /// What the horizontal axis counts.
    pub x: String,
    /// Where on it each line is.
    pub points: Vec<(u32, String)>,
}

/// One line of the table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    pub name: String,
    pub unit: String,
    pub source: Source,
    /// Whether more is better; else less is.
    #[serde(default)]
    pub more_is_better: bool,
    #[serde(default)]
    pub goal: Option<Goal>,
}

/// Where a line's numbers come from.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Source {
    /// A program in the guest, which may measure several lines.
    Guest {
        /// The name of the machine.
        machine: String,
        /// `MODULE.FUNCTION` under tests/guest.
        run: String,
    },
    /// Bytes of code and data of two modules, paths below the tree.
    Size { c: PathBuf, rust: PathBuf },
    /// One line less another.
    Difference { of: String, less: String },
    /// One line divided by another.
    Quotient { of: String, by: String },
}

/// What a line is to show.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Goal {
    RatioAtMost(f64),
    RatioAtLeast(f64),
    RustAtMost(f64),
    RustAtLeast(f64),
    /// So much less than the C driver, in the line's unit.
    LessByAtLeast(f64),
}

impl Lines {
    /// # Errors
    ///
    /// The file cannot be read, a name stands twice, or a line asks for what is not there.
    pub fn read(tree: &Path) -> Result<Self> {
        let text =
            std::fs::read_to_string(tree.join(FILE)).with_context(|| format!("no {FILE}"))?;
        Self::parse(&text).context(FILE)
    }

    fn parse(text: &str) -> Result<Self> {
        let lines: Self = toml::from_str(text)?;
        for (index, line) in lines.line.iter().enumerate() {
            let before = &lines.line[..index];
            if before.iter().any(|other| other.name == line.name) {
                bail!("the line {} stands twice", line.name);
            }
            lines.check(line, before)?;
        }
        for (_, name) in lines.series.iter().flat_map(|series| &series.points) {
            if !lines.line.iter().any(|line| line.name == *name) {
                bail!("a series has a point {name}, and there is no such line");
            }
        }
        Ok(lines)
    }

    /// A line is computed from lines above it alone, so that one pass over the list does it.
    fn check(&self, line: &Line, before: &[Line]) -> Result<()> {
        match &line.source {
            Source::Guest { machine, .. } if !self.machine.contains_key(machine) => {
                bail!(
                    "the line {} asks for an unknown machine {machine}",
                    line.name
                )
            }
            Source::Guest { .. } | Source::Size { .. } => {}
            Source::Difference { of, less: other } | Source::Quotient { of, by: other } => {
                for name in [of, other] {
                    if !before.iter().any(|line| line.name == *name) {
                        bail!("the line {} needs {name}, which is not above it", line.name);
                    }
                }
            }
        }
        Ok(())
    }

    /// The lines to show, and with them those they are computed from: all, or the one called `name`.
    ///
    /// # Errors
    ///
    /// There is no line of that name.
    pub fn select(&self, name: Option<&str>) -> Result<Vec<&Line>> {
        let Some(name) = name else {
            return Ok(self.line.iter().collect());
        };
        let mut wanted = vec![name];
        let mut selected = Vec::new();
        for line in self.line.iter().rev() {
            if !wanted.contains(&line.name.as_str()) {
                continue;
            }
            selected.push(line);
            if let Source::Difference { of, less: other } | Source::Quotient { of, by: other } =
                &line.source
            {
                wanted.extend([of.as_str(), other.as_str()]);
            }
        }
        if selected.is_empty() {
            let known: Vec<&str> = self.line.iter().map(|line| line.name.as_str()).collect();
            bail!("there is no line {name}; there are {}", known.join(", "));
        }
        selected.reverse();
        Ok(selected)
    }
}

/// A part of a run: programs, each with the lines it measures, on one machine.
#[derive(Debug, PartialEq, Eq)]
pub struct Round<'a> {
    pub machine: &'a str,
    pub programs: Vec<(&'a str, Vec<&'a str>)>,
}

/// What has to run for `lines`: each machine once, each program once.
pub fn rounds<'a>(lines: &[&'a Line]) -> Vec<Round<'a>> {
    let mut rounds: Vec<Round> = Vec::new();
    for line in lines {
        let Source::Guest { machine, run } = &line.source else {
            continue;
        };
        let index = rounds.iter().position(|round| round.machine == machine);
        let index = index.unwrap_or_else(|| {
            rounds.push(Round {
                machine,
                programs: Vec::new(),
            });
            rounds.len() - 1
        });
        let programs = &mut rounds[index].programs;
        match programs.iter_mut().find(|(program, _)| program == run) {
            Some((_, names)) => names.push(&line.name),
            None => programs.push((run, vec![&line.name])),
        }
    }
    rounds
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = "
        [machine.one]
        devices = [[]]
        [[line]]
        name = 'pair'
        unit = 'instructions'
        source.guest = { machine = 'one', run = 'm.pairs' }
        [[line]]
        name = 'floor'
        unit = 'instructions'
        source.guest = { machine = 'one', run = 'm.pairs' }
        [[line]]
        name = 'other'
        unit = 'ms'
        source.guest = { machine = 'one', run = 'm.other' }
        [[line]]
        name = 'share'
        unit = 'instructions'
        source.difference = { of = 'pair', less = 'floor' }
        goal.ratio-at-most = 0.6
    ";

    fn names(lines: &[&Line]) -> Vec<String> {
        lines.iter().map(|line| line.name.clone()).collect()
    }

    #[test]
    fn a_computed_line_brings_the_lines_it_needs_and_no_other() {
        let lines = Lines::parse(LINES).unwrap();
        let selected = lines.select(Some("share")).unwrap();
        assert_eq!(names(&selected), ["pair", "floor", "share"]);
        assert_eq!(selected[2].goal, Some(Goal::RatioAtMost(0.6)));
        assert_eq!(lines.select(None).unwrap().len(), 4);
    }

    #[test]
    fn an_unknown_line_is_refused_with_the_known_ones() {
        let lines = Lines::parse(LINES).unwrap();
        let error = lines.select(Some("nosuch")).unwrap_err().to_string();
        assert_eq!(
            error,
            "there is no line nosuch; there are pair, floor, other, share"
        );
        assert!(lines.select(Some("pai")).is_err());
    }

    #[test]
    fn a_program_runs_once_for_all_its_lines() {
        let lines = Lines::parse(LINES).unwrap();
        let rounds = rounds(&lines.select(None).unwrap());
        assert_eq!(rounds.len(), 1);
        assert_eq!(
            rounds[0].programs,
            [
                ("m.pairs", vec!["pair", "floor"]),
                ("m.other", vec!["other"])
            ]
        );
    }

    #[test]
    fn each_line_is_documented() {
        let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let text = std::fs::read_to_string(tree.join("Documentation/benchmarks.md")).unwrap();
        let cells: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("| ")?.split(" |").next())
            .collect();
        let lines = Lines::read(&tree).unwrap();
        for line in &lines.line {
            let name = format!("`{}`", line.name);
            assert!(
                cells.iter().any(|cell| cell.contains(&name)),
                "benchmarks.md has no row for {name}"
            );
        }
    }

    #[test]
    fn doubled_names_and_what_is_not_there_are_refused() {
        let twice = LINES.replace("'floor'\n        unit", "'pair'\n        unit");
        assert!(Lines::parse(&twice).is_err());
        let machine = LINES.replace(
            "machine = 'one', run = 'm.other'",
            "machine = 'two', run = 'm.x'",
        );
        assert!(Lines::parse(&machine).is_err());
        let missing = LINES.replace("less = 'floor'", "less = 'none'");
        assert!(Lines::parse(&missing).is_err());
    }
}
