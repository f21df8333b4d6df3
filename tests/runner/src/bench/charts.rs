// SPDX-License-Identifier: GPL-2.0
//! What there is to draw: each line over the order of its samples, each series over its axis.

use std::collections::BTreeMap;

use serde::Serialize;

use super::figures::{Figure, Samples};
use super::lines::{Line, Series};

/// One chart, as the program in tests/bench/plot reads it.
#[derive(Debug, PartialEq, Serialize)]
pub struct Chart {
    name: String,
    x_label: String,
    unit: String,
    c: Vec<(f64, f64)>,
    rust: Vec<(f64, f64)>,
}

/// The charts of all lines and series that were measured.
pub fn charts(
    lines: &[&Line],
    series: &[Series],
    samples: &BTreeMap<String, Samples>,
    figures: &BTreeMap<String, Figure>,
) -> Vec<Chart> {
    let of_lines = lines
        .iter()
        .filter_map(|line| Some(over_time(line, samples.get(&line.name)?)));
    let of_series = series.iter().filter_map(|series| curve(series, figures));
    of_lines.chain(of_series).collect()
}

fn over_time(line: &Line, samples: &Samples) -> Chart {
    let numbered = |values: &[f64]| (0..).map(f64::from).zip(values.iter().copied()).collect();
    Chart {
        name: line.name.clone(),
        x_label: "sample".into(),
        unit: line.unit.clone(),
        c: numbered(&samples.c),
        rust: numbered(&samples.rust),
    }
}

/// `None` where not all its lines were measured.
fn curve(series: &Series, figures: &BTreeMap<String, Figure>) -> Option<Chart> {
    let mut chart = Chart {
        name: series.name.clone(),
        x_label: series.x.clone(),
        unit: String::new(),
        c: Vec::new(),
        rust: Vec::new(),
    };
    for (x, line) in &series.points {
        let figure = figures.get(line)?;
        chart.unit.clone_from(&figure.unit);
        chart.c.extend(figure.c.map(|c| (f64::from(*x), c)));
        chart.rust.push((f64::from(*x), figure.rust));
    }
    Some(chart)
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
    fn a_series_is_drawn_where_all_its_lines_were_measured() {
        let line: Line =
            toml::from_str("name='one'\nunit='x'\nsource.guest={machine='m',run='m.f'}").unwrap();
        let series: Series =
            toml::from_str("name='curve'\nx='keys'\npoints=[[1,'one'],[9,'nine']]").unwrap();
        let mut all = BTreeMap::from([("one".to_string(), samples(&[4.0, 4.0], &[2.0, 3.0]))]);
        let figures = |all: &BTreeMap<String, Samples>| {
            let figure =
                |(name, samples): (&String, &Samples)| (name.clone(), samples.figure("x").unwrap());
            all.iter().map(figure).collect::<BTreeMap<_, _>>()
        };
        let without = charts(&[&line], &[series.clone()], &all, &figures(&all));
        assert_eq!(without.len(), 1);
        assert_eq!(without[0].rust, [(0.0, 2.0), (1.0, 3.0)]);

        all.insert("nine".into(), samples(&[6.0], &[5.0]));
        let with = charts(&[&line], &[series], &all, &figures(&all));
        assert_eq!(with[1].rust, [(1.0, 2.5), (9.0, 5.0)]);
        assert_eq!(with[1].c, [(1.0, 4.0), (9.0, 6.0)]);
    }
}
