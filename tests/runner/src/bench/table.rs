// SPDX-License-Identifier: GPL-2.0
//! The figures as a table for people.

use std::collections::BTreeMap;

use super::figures::Figure;
use super::lines::Line;

/// By how much a figure may be worse than the C driver's before the table says so.
const TOLERANCE: f64 = 0.02;
/// The columns whose numbers stand below each other at the right.
const NUMBERS: std::ops::Range<usize> = 2..6;

/// The table of all lines that have a figure.
pub fn table(lines: &[&Line], figures: &BTreeMap<String, Figure>) -> String {
    let head = ["line", "unit", "c", "rust", "ratio", "spread", ""];
    let mut rows = vec![head.map(String::from)];
    for line in lines {
        if let Some(figure) = figures.get(&line.name) {
            rows.push(row(line, figure));
        }
    }
    let widths: Vec<usize> = (0..head.len())
        .map(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0))
        .collect();
    rows.iter().map(|row| aligned(row, &widths)).collect()
}

fn aligned(row: &[String; 7], widths: &[usize]) -> String {
    let cells = row.iter().zip(widths).enumerate();
    let cells = cells.map(|(column, (cell, &width))| match NUMBERS.contains(&column) {
        true => format!("{cell:>width$}"),
        false => format!("{cell:width$}"),
    });
    let text = cells.collect::<Vec<_>>().join("  ");
    format!("{}\n", text.trim_end())
}

fn row(line: &Line, figure: &Figure) -> [String; 7] {
    let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".into());
    [
        line.name.clone(),
        figure.unit.clone(),
        or_dash(figure.c.map(number)),
        number(figure.rust),
        or_dash(figure.ratio.map(|ratio| format!("{ratio:.3}"))),
        format!("{:.1}%", figure.spread * 100.0),
        remark(line, figure),
    ]
}

/// Whether the goal is met, and whether the figure is worse than the C driver's.
fn remark(line: &Line, figure: &Figure) -> String {
    let mut remarks = Vec::new();
    if let Some(goal) = line.goal {
        let (words, met) = goal.check(figure);
        remarks.push(format!("{words}: {}", if met { "met" } else { "NOT MET" }));
    }
    let worse = figure.ratio.is_some_and(|ratio| match line.more_is_better {
        true => ratio < 1.0 - TOLERANCE,
        false => ratio > 1.0 + TOLERANCE,
    });
    if worse {
        remarks.push("worse than c".into());
    }
    remarks.join(", ")
}

/// Four digits that count, and no fraction of large numbers.
fn number(value: f64) -> String {
    match value.abs() {
        large if large >= 1000.0 => format!("{value:.0}"),
        middle if middle >= 100.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, more: &str) -> Line {
        toml::from_str(&format!(
            "name='{name}'\nunit='x'\nsource.guest={{machine='m',run='m.f'}}\n{more}"
        ))
        .unwrap()
    }

    fn figure(c: f64, rust: f64) -> Figure {
        Figure {
            unit: "x".into(),
            c: Some(c),
            rust,
            ratio: Some(rust / c),
            spread: 0.012,
        }
    }

    #[test]
    fn numbers_stand_below_each_other() {
        let (short, long) = (line("a", ""), line("longer", "goal.ratio-at-most=0.6"));
        let figures = BTreeMap::from([
            ("a".to_string(), figure(7400.4, 3700.2)),
            ("longer".to_string(), figure(10.0, 10.1)),
        ]);
        let expected = "\
line    unit      c   rust  ratio  spread
a       x      7400   3700  0.500    1.2%
longer  x     10.00  10.10  1.010    1.2%  ratio <= 0.6: NOT MET
";
        assert_eq!(table(&[&short, &long], &figures), expected);
    }

    #[test]
    fn what_is_worse_depends_on_the_line() {
        let slower = figure(10.0, 10.3);
        assert_eq!(remark(&line("a", ""), &slower), "worse than c");
        assert_eq!(remark(&line("a", "more_is_better=true"), &slower), "");
        let fewer = figure(10.0, 9.0);
        assert_eq!(
            remark(&line("a", "more_is_better=true"), &fewer),
            "worse than c"
        );
    }
}
