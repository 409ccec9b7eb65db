//! Findings for the terminal: a line a source, and below it what it failed and what batteries say.

use std::fmt::Write as _;

use super::battery::BatteryResult;
use super::findings::{FALSE_ALARM, Findings, Test};

/// The findings of each source, by its title.
pub fn table(findings: &[(String, Findings, Vec<BatteryResult>)]) -> String {
    let titles = findings.iter().map(|(title, ..)| title.chars().count());
    let width = titles.max().unwrap_or(0);
    let mut text = String::new();
    for (title, findings, batteries) in findings {
        let _ = writeln!(text, "{title:width$}  {}", verdict(findings));
        for test in findings.failed() {
            let _ = writeln!(text, "{:width$}    {}", "", failure(test));
        }
        for result in batteries {
            let _ = writeln!(
                text,
                "{:width$}    {}: {}",
                "", result.battery, result.summary
            );
        }
    }
    text + &note()
}

fn verdict(findings: &Findings) -> String {
    let tests = findings.tests.len();
    let mebibytes = findings.bytes as f64 / f64::from(1 << 20);
    match findings.failed().count() {
        0 => format!("passed  {tests} tests of {mebibytes:.0} MiB"),
        failed => format!("FAILED  {failed} of {tests} tests of {mebibytes:.0} MiB"),
    }
}

fn failure(test: &Test) -> String {
    format!("{}: {} (p {:.0e})", test.name, test.detail, test.p_value)
}

fn note() -> String {
    let runs = 1.0 / FALSE_ALARM;
    format!(
        "\nA good source fails less than once in {runs:.0} runs. Passing says nothing about \
         security: a keystream whose key is known passes too.\n"
    )
}
