//! A comparison for people.

use std::fmt::{self, Display, Formatter};

use super::{Change, Comparison};
use crate::report::table::aligned;
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
                "\nThe runs differ in more than their figures, which may explain what follows:"
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
            return "Too few sources to tell whether the machine changed or they did.".into();
        };
        let change = common.max(common.recip()) - 1.0;
        if change <= SAME {
            return "The machine is as fast as it was.".into();
        }
        let percent = percent(change);
        let how = if common > 1.0 { "slower" } else { "faster" };
        format!(
            "All sources are {percent} % {how}. That is the machine, and is removed from the \
             changes below."
        )
    }

    /// What did not change, and what a change is.
    fn rest(&self) -> String {
        let changed = self.slower.len() + self.faster.len();
        let all = changed + self.unchanged;
        let threshold = percent(self.threshold);
        let mut text = format!(
            "{} of {all} points did not change. A change is more than {threshold} %, which is \
             more than points scatter between these runs, and the 95 % intervals of the two \
             medians do not overlap.",
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

/// A table of changes; nothing if there are none.
fn section(f: &mut Formatter, title: &str, changes: &[Change]) -> fmt::Result {
    if changes.is_empty() {
        return Ok(());
    }
    let header = ["source", "workload", "at", "before", "now", "change"];
    let rows = changes.iter().map(|change| {
        let [before, now] = change.ns.map(units::time);
        let percent = format!("{:+.1} %", (change.ratio - 1.0) * 100.0);
        let texts = [&change.source, &change.workload, &change.at].map(String::clone);
        Vec::from_iter(texts.into_iter().chain([before, now, percent]))
    });
    write!(f, "\n{title}\n{}", aligned(header, rows))
}

/// A part as a percentage, to a tenth.
fn percent(part: f64) -> String {
    format!("{:.1}", part * 100.0)
}
