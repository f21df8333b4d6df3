// SPDX-License-Identifier: GPL-2.0
//! KTAP, the form in which KUnit prints its results to the kernel log.

/// One case of a suite.
#[derive(Debug, PartialEq, Eq)]
pub struct Case {
    pub suite: String,
    pub name: String,
    pub result: CaseResult,
}

#[derive(Debug, PartialEq, Eq)]
pub enum CaseResult {
    Passed,
    /// With the diagnostic lines printed before the result.
    Failed(String),
    Skipped(String),
}

/// All cases in a kernel log, and what was announced but never reported: a crash ends the log in
/// the middle of a suite, and that must not look like fewer tests.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub cases: Vec<Case>,
    pub missing: Vec<String>,
}

/// A suite whose cases are being read.
struct Open {
    name: String,
    planned: usize,
    seen: usize,
    diagnostics: Vec<String>,
}

/// Reads all KTAP documents of a log. Lines of other origin between them are ignored.
pub fn parse(log: &str) -> Report {
    let mut report = Report::default();
    let mut open: Option<Open> = None;
    for line in log.lines() {
        let line = strip_timestamp(line);
        let depth = line.len() - line.trim_start().len();
        let text = line.trim();
        if let Some(name) = text.strip_prefix("# Subtest: ") {
            close(open.take(), &mut report);
            open = Some(Open {
                name: name.to_string(),
                planned: 0,
                seen: 0,
                diagnostics: Vec::new(),
            });
            continue;
        }
        let Some(suite) = open.as_mut() else { continue };
        if let Some(count) = text.strip_prefix("1..").filter(|_| depth > 0) {
            suite.planned = count.parse().unwrap_or(0);
        } else if let Some((ok, name, directive)) = result_line(text) {
            if depth == 0 {
                close(open.take(), &mut report);
                continue;
            }
            suite.seen += 1;
            let diagnostics = std::mem::take(&mut suite.diagnostics).join("; ");
            let result = match (ok, directive.strip_prefix("SKIP")) {
                (_, Some(reason)) => CaseResult::Skipped(reason.trim().to_string()),
                (true, None) => CaseResult::Passed,
                (false, None) => CaseResult::Failed(diagnostics),
            };
            report.cases.push(Case {
                suite: suite.name.clone(),
                name: name.to_string(),
                result,
            });
        } else if let Some(words) = text.strip_prefix('#') {
            suite.diagnostics.push(words.trim().to_string());
        } else if !suite.diagnostics.is_empty() && depth > 4 {
            suite.diagnostics.push(text.to_string());
        }
    }
    close(open, &mut report);
    report
}

fn close(open: Option<Open>, report: &mut Report) {
    if let Some(suite) = open {
        if suite.seen < suite.planned || suite.planned == 0 {
            report.missing.push(format!(
                "{}: {} of {} cases reported",
                suite.name, suite.seen, suite.planned
            ));
        }
    }
}

/// `ok 1 name # SKIP why` in parts: passed, name, directive.
fn result_line(text: &str) -> Option<(bool, &str, &str)> {
    let (ok, rest) = match text.strip_prefix("not ok ") {
        Some(rest) => (false, rest),
        None => (true, text.strip_prefix("ok ")?),
    };
    let (number, rest) = rest.split_once(' ')?;
    number.parse::<u32>().ok()?;
    let rest = rest.strip_prefix("- ").unwrap_or(rest);
    let (name, directive) = rest.split_once(" # ").unwrap_or((rest, ""));
    Some((ok, name.trim(), directive.trim()))
}

/// `[    3.141592] text` without the time; the indentation after it counts.
fn strip_timestamp(line: &str) -> &str {
    let line = line.trim_end_matches('\r');
    match line
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("] "))
    {
        Some((time, text))
            if time
                .trim()
                .chars()
                .all(|c| c.is_ascii_digit() || ".T ".contains(c)) =>
        {
            text
        }
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
[    2.0] efa: loading out-of-tree module taints kernel.
[    2.1] KTAP version 1
[    2.1] 1..2
[    2.1]     KTAP version 1
[    2.1]     # Subtest: efa_crc
[    2.1]     # module: efa
[    2.1]     1..3
[    2.1]     ok 1 vectors
[    2.2]     # wrap: ASSERTION FAILED at src/x.rs:12
[    2.2]         Expected a == b
[    2.2]     not ok 2 wrap
[    2.2]     ok 3 empty # SKIP no data
[    2.2] # efa_crc: pass:1 fail:1 skip:1 total:3
[    2.2] not ok 1 efa_crc
[    2.3]     KTAP version 1
[    2.3]     # Subtest: efa_cache
[    2.3]     1..1
[    2.3]     ok 1 hit
[    2.3] ok 2 efa_cache
";

    #[test]
    fn every_case_is_found_with_its_result_and_reason() {
        let report = parse(LOG);
        assert_eq!(report.missing, Vec::<String>::new());
        let names: Vec<String> = report
            .cases
            .iter()
            .map(|c| format!("{}.{}", c.suite, c.name))
            .collect();
        assert_eq!(
            names,
            [
                "efa_crc.vectors",
                "efa_crc.wrap",
                "efa_crc.empty",
                "efa_cache.hit"
            ]
        );
        assert!(
            matches!(&report.cases[1].result, CaseResult::Failed(why) if why.contains("ASSERTION FAILED"))
        );
        assert_eq!(
            report.cases[2].result,
            CaseResult::Skipped("no data".into())
        );
        assert_eq!(report.cases[3].result, CaseResult::Passed);
    }

    #[test]
    fn a_suite_cut_off_in_the_middle_is_reported() {
        let cut = LOG.split("not ok 2 wrap").next().unwrap();
        let report = parse(cut);
        assert_eq!(report.cases.len(), 1);
        assert_eq!(report.missing, ["efa_crc: 1 of 3 cases reported"]);
    }

    #[test]
    fn a_log_without_ktap_has_no_cases() {
        assert_eq!(
            parse("[    1.0] ok then\nnot a result\n"),
            Report::default()
        );
    }
}
