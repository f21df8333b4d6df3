// SPDX-License-Identifier: GPL-2.0
//! What the samples of a line come to.

use std::collections::BTreeMap;

use anyhow::{bail, Context, Result};
use serde::{Deserialize, Serialize};

use super::lines::{Goal, Line, Source};

/// What was measured on each driver, in the order it was measured: the drivers take turns, so
/// samples with the same index are neighbours in time.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Samples {
    /// Empty where there is no C counterpart.
    #[serde(default)]
    pub c: Vec<f64>,
    pub rust: Vec<f64>,
}

/// One line of the table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    pub unit: String,
    /// The median on the C driver; `None` where there is no C counterpart.
    pub c: Option<f64>,
    /// The median on this driver.
    pub rust: f64,
    /// The median of rust/c over neighbours.
    pub ratio: Option<f64>,
    /// How far samples are apart: the largest less the smallest, as a part of the median, on the
    /// driver where that is more.
    pub spread: f64,
}

impl Samples {
    pub fn figure(&self, unit: &str) -> Result<Figure> {
        let rust = median(&self.rust).context("no samples")?;
        let c = median(&self.c);
        let ratio = match c {
            Some(_) => median(&self.pairwise(|rust, c| rust / c)?),
            None => None,
        };
        Ok(Figure {
            unit: unit.to_string(),
            c,
            rust,
            ratio,
            spread: spread(&self.rust).max(spread(&self.c)),
        })
    }

    fn pairwise(&self, both: impl Fn(f64, f64) -> f64) -> Result<Vec<f64>> {
        if self.c.len() != self.rust.len() {
            bail!("{} samples of C, {} of Rust", self.c.len(), self.rust.len());
        }
        let pairs = self.rust.iter().zip(&self.c);
        Ok(pairs.map(|(&rust, &c)| both(rust, c)).collect())
    }

    /// Each sample combined with what `other` came to on the same driver; where `other` has no C
    /// counterpart, it counts for both.
    fn combined(&self, other: &Figure, both: impl Fn(f64, f64) -> f64) -> Self {
        let with = |samples: &[f64], value: f64| samples.iter().map(|&s| both(s, value)).collect();
        Self {
            c: with(&self.c, other.c.unwrap_or(other.rust)),
            rust: with(&self.rust, other.rust),
        }
    }
}

/// Adds what is computed from other lines, where these were measured.
pub fn compute(lines: &[&Line], samples: &mut BTreeMap<String, Samples>) {
    for line in lines {
        let (of, other, both): (_, _, fn(f64, f64) -> f64) = match &line.source {
            Source::Guest { .. } | Source::Size { .. } => continue,
            Source::Difference { of, less } => (of, less, |a, b| a - b),
            Source::Quotient { of, by } => (of, by, |a, b| a / b),
        };
        let other = samples.get(other).map(|samples| samples.figure(""));
        if let (Some(of), Some(Ok(other))) = (samples.get(of), other) {
            samples.insert(line.name.clone(), of.combined(&other, both));
        }
    }
}

impl Goal {
    /// In words, and whether the figure shows it.
    pub fn check(self, figure: &Figure) -> (String, bool) {
        let ratio = figure.ratio.unwrap_or(f64::NAN);
        let less = figure.c.unwrap_or(f64::NAN) - figure.rust;
        match self {
            Goal::RatioAtMost(limit) => (format!("ratio <= {limit}"), ratio <= limit),
            Goal::RatioAtLeast(limit) => (format!("ratio >= {limit}"), ratio >= limit),
            Goal::RustAtMost(limit) => (format!("rust <= {limit}"), figure.rust <= limit),
            Goal::RustAtLeast(limit) => (format!("rust >= {limit}"), figure.rust >= limit),
            Goal::LessByAtLeast(limit) => (format!("c - rust >= {limit}"), less >= limit),
        }
    }
}

fn sorted(samples: &[f64]) -> Vec<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

fn median(samples: &[f64]) -> Option<f64> {
    let sorted = sorted(samples);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

fn spread(samples: &[f64]) -> f64 {
    let sorted = sorted(samples);
    match (sorted.first(), sorted.last(), median(samples)) {
        (Some(least), Some(most), Some(median)) if median != 0.0 => (most - least) / median.abs(),
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(c: &[f64], rust: &[f64]) -> Samples {
        Samples {
            c: c.to_vec(),
            rust: rust.to_vec(),
        }
    }

    #[test]
    fn the_ratio_is_that_of_neighbours() {
        // The host was twice as slow in the second half; the medians alone would say 1.
        let figure = samples(&[10.0, 10.0, 20.0], &[5.0, 5.0, 10.0])
            .figure("ms")
            .unwrap();
        assert_eq!(
            (figure.c, figure.rust, figure.ratio),
            (Some(10.0), 5.0, Some(0.5))
        );
        let drifting = samples(&[10.0, 20.0, 30.0, 40.0], &[20.0, 10.0, 15.0, 20.0]);
        assert_eq!(drifting.figure("ms").unwrap().ratio, Some(0.5));
    }

    #[test]
    fn the_spread_is_that_of_the_driver_with_more() {
        let figure = samples(&[9.0, 10.0, 11.0], &[10.0, 10.0, 10.0]);
        assert!((figure.figure("").unwrap().spread - 0.2).abs() < 1e-9);
    }

    #[test]
    fn without_a_counterpart_there_is_no_ratio() {
        let figure = samples(&[], &[3.0, 1.0]).figure("").unwrap();
        assert_eq!((figure.c, figure.rust, figure.ratio), (None, 2.0, None));
        assert!(samples(&[1.0], &[]).figure("").is_err());
        assert!(samples(&[1.0, 2.0], &[1.0]).figure("").is_err());
    }

    #[test]
    fn a_share_is_what_is_left_without_the_floor() {
        let mut all = BTreeMap::from([
            ("pair".to_string(), samples(&[100.0, 102.0], &[70.0, 71.0])),
            ("floor".to_string(), samples(&[], &[40.0])),
        ]);
        let line: Line =
            toml::from_str("name='share'\nunit='x'\nsource.difference={of='pair',less='floor'}")
                .unwrap();
        compute(&[&line], &mut all);
        assert_eq!(all["share"], samples(&[60.0, 62.0], &[30.0, 31.0]));

        let mut without = BTreeMap::from([("pair".to_string(), samples(&[1.0], &[1.0]))]);
        compute(&[&line], &mut without);
        assert_eq!(without.len(), 1);
    }

    #[test]
    fn goals_are_met_or_not() {
        let figure = samples(&[100.0], &[60.0]).figure("ms").unwrap();
        assert!(Goal::RatioAtMost(0.6).check(&figure).1);
        assert!(!Goal::RatioAtMost(0.5).check(&figure).1);
        assert!(!Goal::RatioAtLeast(2.0).check(&figure).1);
        assert!(Goal::LessByAtLeast(40.0).check(&figure).1);
        let alone = samples(&[], &[60.0]).figure("ms").unwrap();
        assert!(!Goal::RatioAtMost(0.6).check(&alone).1);
        assert!(Goal::RustAtMost(60.0).check(&alone).1);
    }
}
