//! Findings for the terminal: a line a source, and below it what it failed and what batteries say.

use super::battery::BatteryResult;
use super::findings::{FALSE_ALARM, Findings};

/// The findings of each source, by its title.
pub fn table(findings: &[(String, Findings, Vec<BatteryResult>)]) -> String {
    let titles = findings.iter().map(|(title, ..)| title.chars().count());
    let width = titles.max().unwrap_or(0);
    let mut text = String::new();
    for (title, findings, batteries) in findings {
        text += &format!("{title:width$}  {}\n", verdict(findings));
        let failed = findings
            .failed()
            .map(|test| format!("{}: {} (p {:.0e})", test.name, test.detail, test.p_value));
        for line in failed.chain(batteries.iter().map(BatteryResult::to_string)) {
            text += &format!("{:width$}    {line}\n", "");
        }
    }
    let runs = 1.0 / FALSE_ALARM;
    text + &format!(
        "\nA good source fails less than once in {runs:.0} runs. Passing says nothing about \
         security: a keystream whose key is known passes too.\n"
    )
}

fn verdict(findings: &Findings) -> String {
    let tests = findings.tests.len();
    let mebibytes = findings.bytes as f64 / f64::from(1 << 20);
    match findings.failed().count() {
        0 => format!("passed  {tests} tests of {mebibytes:.0} MiB"),
        failed => format!("FAILED  {failed} of {tests} tests of {mebibytes:.0} MiB"),
    }
}
