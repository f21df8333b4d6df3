// SPDX-License-Identifier: GPL-2.0
//! Results: shown while they come, summed up at the end, written as JSON.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::json;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    Passed,
    Failed(String),
    Skipped(String),
}

impl Status {
    fn word(&self) -> &'static str {
        match self {
            Status::Passed => "passed",
            Status::Failed(_) => "failed",
            Status::Skipped(_) => "skipped",
        }
    }

    fn reason(&self) -> &str {
        match self {
            Status::Passed => "",
            Status::Failed(reason) | Status::Skipped(reason) => reason,
        }
    }

    /// The outcome and its reason on one line.
    pub fn describe(&self) -> String {
        match self.reason() {
            "" => self.word().to_string(),
            reason => format!("{}: {reason}", self.word()),
        }
    }
}

struct Test {
    name: String,
    status: Status,
    seconds: f64,
}

/// What a test does on the C driver and not on ours.
#[derive(Serialize)]
pub struct Difference {
    pub name: String,
    pub c: String,
    pub rust: String,
}

/// What a test measured on one driver.
#[derive(Serialize)]
pub struct Measurement {
    pub name: String,
    pub driver: &'static str,
    pub numbers: serde_json::Value,
}

/// Collects results and shows them.
pub struct Report {
    started: Instant,
    planned: usize,
    tests: Vec<Test>,
    pub differences: Vec<Difference>,
    pub measurements: Vec<Measurement>,
    /// What the names of results begin with.
    pub label: &'static str,
}

impl Report {
    pub fn new() -> Self {
        Self {
            started: Instant::now(),
            planned: 0,
            tests: Vec::new(),
            differences: Vec::new(),
            measurements: Vec::new(),
            label: "",
        }
    }

    /// Adds to the number of tests that are known to come.
    pub fn plan(&mut self, count: usize) {
        self.planned += count;
    }

    /// Shows what goes on between tests (a build, a boot).
    pub fn note(&self, text: &str) {
        println!("{} {text}", self.progress());
    }

    /// Records a result and shows it.
    pub fn record(&mut self, name: &str, status: Status, seconds: f64) {
        self.tests.push(Test {
            name: format!("{}{name}", self.label),
            status,
            seconds,
        });
        if let Some(test) = self.tests.last() {
            println!(
                "{} {:7} {} ({seconds:.1} s)",
                self.progress(),
                test.status.word(),
                test.name
            );
            if !test.status.reason().is_empty() {
                println!("    {}", test.status.reason());
            }
        }
        // A reader on a pipe should see a result when it is there.
        let _ = std::io::stdout().flush();
    }

    /// Runs `body` and records what it returns under `name`; an error is a failure.
    pub fn time(&mut self, name: &str, body: impl FnOnce() -> Result<Status>) {
        self.note(&format!("running {}{name}", self.label));
        let start = Instant::now();
        let status = body().unwrap_or_else(|error| Status::Failed(format!("{error:#}")));
        self.record(name, status, start.elapsed().as_secs_f64());
    }

    pub fn is_empty(&self) -> bool {
        self.tests.is_empty()
    }

    pub fn all_passed(&self) -> bool {
        self.count("failed") == 0
    }

    /// Repeats what was not passed, then prints the line that is always last.
    pub fn summarise(&self) {
        println!("\n{} in all", clock(self.started.elapsed()));
        for line in self.repeated() {
            println!("{line}");
        }
        println!("{}", self.last_line());
    }

    /// What a reader should not have to look for, the most important last: a log that was cut
    /// short has its end. One result alone was just shown.
    fn repeated(&self) -> Vec<String> {
        let of = |word: &'static str| {
            self.tests
                .iter()
                .filter(move |test| self.tests.len() > 1 && test.status.word() == word)
                .map(move |test| format!("{word} {}: {}", test.name, test.status.reason()))
        };
        let differences = self.differences.iter().map(|difference| {
            let Difference { name, c, rust } = difference;
            format!("differs {name}: C {c}; Rust {rust}")
        });
        of("skipped")
            .chain(differences)
            .chain(of("failed"))
            .collect()
    }

    pub fn write_json(&self, path: &Path) -> Result<()> {
        let tests: Vec<_> = self
            .tests
            .iter()
            .map(|test| {
                json!({
                    "name": test.name,
                    "status": test.status.word(),
                    "seconds": test.seconds,
                    "reason": test.status.reason(),
                })
            })
            .collect();
        let value = json!({
            "passed": self.count("passed"),
            "failed": self.count("failed"),
            "skipped": self.count("skipped"),
            "seconds": self.started.elapsed().as_secs_f64(),
            "tests": tests,
            "differences": self.differences,
            "measurements": self.measurements,
        });
        write_json(path, &value)
    }

    fn last_line(&self) -> String {
        let [passed, failed, skipped] =
            ["passed", "failed", "skipped"].map(|word| self.count(word));
        format!("{passed} passed, {failed} failed, {skipped} skipped")
    }

    fn count(&self, word: &str) -> usize {
        self.tests
            .iter()
            .filter(|test| test.status.word() == word)
            .count()
    }

    fn progress(&self) -> String {
        let done = self.tests.len();
        format!(
            "[{done:3}/{:3} {:>6}]",
            self.planned.max(done),
            clock(self.started.elapsed())
        )
    }
}

pub fn write_json(path: &Path, value: &serde_json::Value) -> Result<()> {
    std::fs::write(path, format!("{value:#}\n"))
        .with_context(|| format!("cannot write {}", path.display()))
}

/// `1m05s`
pub fn clock(time: Duration) -> String {
    format!("{}m{:02}s", time.as_secs() / 60, time.as_secs() % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let mut report = Report::new();
        report.record("a", Status::Passed, 1.0);
        report.record("b", Status::Failed("why".into()), 0.5);
        report.record("c", Status::Skipped("no such part".into()), 0.0);
        report
    }

    #[test]
    fn the_last_line_counts_each_kind() {
        assert_eq!(report().last_line(), "1 passed, 1 failed, 1 skipped");
        assert!(!report().all_passed());
    }

    #[test]
    fn failures_are_repeated_last() {
        let mut report = report();
        report.differences.push(Difference {
            name: "d".into(),
            c: "1".into(),
            rust: "2".into(),
        });
        assert_eq!(
            report.repeated(),
            [
                "skipped c: no such part",
                "differs d: C 1; Rust 2",
                "failed b: why"
            ]
        );
    }

    #[test]
    fn json_has_the_agreed_form() {
        let file = tempfile::NamedTempFile::new().unwrap();
        report().write_json(file.path()).unwrap();
        let value: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(file.path()).unwrap()).unwrap();
        assert_eq!(
            (
                value["passed"].as_u64(),
                value["failed"].as_u64(),
                value["skipped"].as_u64()
            ),
            (Some(1), Some(1), Some(1))
        );
        assert_eq!(
            value["tests"][1],
            json!({"name": "b", "status": "failed", "seconds": 0.5, "reason": "why"})
        );
        assert_eq!(value["differences"], json!([]));
        assert!(value["seconds"].is_number());
    }

    #[test]
    fn an_error_in_a_test_is_a_failure() {
        let mut report = Report::new();
        report.time("x", || anyhow::bail!("broke"));
        assert_eq!(report.last_line(), "0 passed, 1 failed, 0 skipped");
    }
}
