//! A comparison for people.

use std::fmt::{self, Display, Formatter};

use super::{Change, Comparison};
use squall_tools::units;

/// A change of the machine that is not worth a word, in parts.
const SAME: f64 = 0.01;

impl Display for Comparison {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let [before, now] = &self.dates;
        writeln!(f, "before: {before}; now: {now}")?;
        if !self.apart.is_empty() {
            writeln!(
                f,
                "\nThese runs are not alike, and what follows may be due to that:"
            )?;
            self.apart
                .iter()
                .try_for_each(|line| writeln!(f, "  {line}"))?;
        }
        writeln!(f, "\n{}", self.machine())?;
        section(f, "Slower than before", &self.slower)?;
        section(f, "Faster than before", &self.faster)?;
        writeln!(f, "\n{}", self.rest())
    }
}

impl Comparison {
    /// What all sources have in common.
    fn machine(&self) -> String {
        let Some(common) = self.common else {
            return "Too few sources to tell a change of the machine from one of theirs.".into();
        };
        let change = common.max(common.recip()) - 1.0;
        if change <= SAME {
            return "The machine is as fast as it was.".into();
        }
        let percent = percent(change);
        let how = if common > 1.0 { "slower" } else { "faster" };
        format!("All sources are {percent} % {how}: that is the machine, and taken off below.")
    }

    /// What did not change, and what a change is.
    fn rest(&self) -> String {
        let changed = self.slower.len() + self.faster.len();
        let all = changed + self.unchanged;
        let threshold = percent(self.threshold);
        let mut text = format!(
            "{} of {all} points did not change. A change is more than {threshold} %, beyond what \
             points scatter from one run to the other, and more than the samples of each run do: \
             the 95 % intervals of the medians do not overlap.",
            self.unchanged
        );
        for (count, run) in self.only.iter().zip(["before", "now"]) {
            if *count > 0 {
                text += &format!(" Measured only {run}: {count}.");
            }
        }
        text
    }
}

/// Changes with their columns aligned; nothing if there are none.
fn section(f: &mut Formatter, title: &str, changes: &[Change]) -> fmt::Result {
    if changes.is_empty() {
        return Ok(());
    }
    writeln!(f, "\n{title}")?;
    let lines: Vec<[String; 6]> = changes.iter().map(line).collect();
    let width = |column: usize| {
        let cells = lines.iter().map(|line| line[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths: [usize; 6] = std::array::from_fn(width);
    for [source, workload, at, before, now, change] in &lines {
        let [a, b, c, d, e, g] = widths;
        writeln!(
            f,
            "  {source:a$}  {workload:b$}  {at:>c$}  {before:>d$} → {now:>e$}  {change:>g$}"
        )?;
    }
    Ok(())
}

fn line(change: &Change) -> [String; 6] {
    let [before, now] = change.ns.map(units::time);
    [
        change.source.clone(),
        change.workload.clone(),
        change.at.clone(),
        before,
        now,
        format!("{:+.1} %", (change.ratio - 1.0) * 100.0),
    ]
}

/// A part as a percentage, to a tenth.
fn percent(part: f64) -> String {
    format!("{:.1}", part * 100.0)
}
