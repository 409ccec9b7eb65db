//! The report: a table that compares the gaps with squall's GAP, and the same as JSON.

use std::fmt::Write;

use serde::Serialize;
use squall_tools::columns::{columns, lines};

use super::experiment::{Exit, Measured, Stops, least, median};

/// `GAP` of squall/src/guard/stop.rs: in fewer cycles a machine cannot have been stopped.
const SQUALL_GAP: u64 = 1000;

/// What was stopped, and when.
#[derive(Debug, Serialize)]
pub struct Setup {
    pub date: String,
    pub machine: String,
    pub kernel: String,
    pub qemu: String,
    pub accelerator: &'static str,
}

/// The complete report, as it is written to JSON.
#[derive(Debug, Serialize)]
pub struct StopsReport {
    #[serde(flatten)]
    setup: Setup,
    cycles_per_ms: u64,
    squall_gap: u64,
    kinds: [Kind; 3],
    undisturbed: WithoutStops,
    exit: Exit,
}

/// The gaps of one kind of stop, in cycles.
#[derive(Debug, Serialize)]
struct Kind {
    kind: &'static str,
    #[serde(skip)]
    title: &'static str,
    stops: usize,
    within_a_reading: usize,
    overwritten: usize,
    shorter_than_squall_gap: usize,
    least: Option<u64>,
    median: Option<u64>,
}

/// The gaps of a machine that is not stopped, in cycles.
#[derive(Debug, Serialize)]
struct WithoutStops {
    gaps: usize,
    least: Option<u64>,
    median: Option<u64>,
}

impl StopsReport {
    pub fn new(setup: Setup, measured: &Measured, exit: Exit) -> StopsReport {
        StopsReport {
            setup,
            cycles_per_ms: measured.cycles_per_ms,
            squall_gap: SQUALL_GAP,
            kinds: [
                Kind::new("stop", "stopped and continued", &measured.stops),
                Kind::new("snapshot", "stopped for a snapshot", &measured.snapshots),
                Kind::new("clone", "clone of a snapshot", &measured.clones),
            ],
            undisturbed: WithoutStops {
                gaps: measured.undisturbed.len(),
                least: least(&measured.undisturbed),
                median: median(&measured.undisturbed),
            },
            exit,
        }
    }

    /// The report as text.
    pub fn text(&self) -> String {
        let setup = &self.setup;
        let mut text = format!(
            "{}, machine {}, Linux {}, QEMU {}, {}; {} cycles per ms\n\n",
            setup.date,
            setup.machine,
            setup.kernel,
            setup.qemu,
            setup.accelerator,
            self.cycles_per_ms
        );
        let mut table = columns(None);
        let figures = ["number", "least", "median", "below GAP", "within", "lost"];
        table.set_header(["gaps in cycles"].iter().chain(&figures));
        let mut add = |title: &str, counts: &[usize], least, median| {
            let [least, median] = [least, median].map(shown);
            let mut row: Vec<String> = counts.iter().map(usize::to_string).collect();
            row.splice(1..1, [least, median]);
            table.add_row([title.to_owned()].into_iter().chain(row));
        };
        for kind in &self.kinds {
            let lost = [
                kind.shorter_than_squall_gap,
                kind.within_a_reading,
                kind.overwritten,
            ];
            let counts = [&[kind.stops][..], &lost].concat();
            add(kind.title, &counts, kind.least, kind.median);
        }
        let without = &self.undisturbed;
        add("no stop", &[without.gaps], without.least, without.median);
        text += &lines(&mut table, 3, |column| column > 0);
        let _ = write!(
            text,
            "\nsquall's GAP is {SQUALL_GAP} cycles. \"Within\": further stops that came within a reading and \
             are not\ncounted, because their position is not certain. \"Lost\": overwritten before they were read.\n\n"
        );
        text + &exit_line(&self.exit)
    }
}

impl Kind {
    fn new(kind: &'static str, title: &'static str, stops: &Stops) -> Kind {
        let is_short = |cycles: &&u64| **cycles < SQUALL_GAP;
        Kind {
            kind,
            title,
            stops: stops.gaps.len(),
            overwritten: stops.overwritten,
            within_a_reading: stops.within_a_reading,
            shorter_than_squall_gap: stops.gaps.iter().filter(is_short).count(),
            least: least(&stops.gaps),
            median: median(&stops.gaps),
        }
    }
}

fn exit_line(exit: &Exit) -> String {
    let what = "One exit to the hypervisor and back, by CPUID, where this command ran";
    let (Some(times), Some(name)) = (exit.times, &exit.hypervisor) else {
        let why = exit.skipped.unwrap_or("nothing was measured");
        return format!("{what}: skipped: {why}.\n");
    };
    format!(
        "{what} (a guest of {name}):\nleast {}, median {} cycles in {times} tries. A stop takes at least \
         one exit, and the work of the virtual machine monitor.\n",
        shown(exit.least),
        shown(exit.median),
    )
}

fn shown(cycles: Option<u64>) -> String {
    cycles.map_or("–".into(), |cycles| cycles.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gap_is_the_one_in_the_library() {
        let library = include_str!("../../../../squall/src/guard/stop.rs");
        let line = format!("const GAP: u64 = {SQUALL_GAP};");
        assert!(library.contains(&line));
    }

    #[test]
    fn gaps_are_summarised() {
        let stops = Stops {
            gaps: vec![5000, 999, 7000],
            within_a_reading: 2,
            overwritten: 4,
        };
        let kind = Kind::new("stop", "stopped", &stops);
        assert_eq!((kind.least, kind.median), (Some(999), Some(5000)));
        let counts = (kind.stops, kind.within_a_reading, kind.overwritten);
        assert_eq!(counts, (3, 2, 4));
        assert_eq!(kind.shorter_than_squall_gap, 1);
        let nothing = Kind::new("clone", "clone", &Stops::default());
        assert_eq!((nothing.least, nothing.median), (None, None));
    }
}
