//! Everything that was found out, as a program reads it.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::Value;
use squall_probe::{Mode, Source};

use super::recurrence::Recurrences;
use super::repeats::Repeats;
use super::runs::Runs;
use super::uncertainty::Uncertainty;
use super::verdict::{Verdict, verdict};
use super::window::Window;
use crate::trace::{Resets, Trace};

/// Experiments that were made together.
#[derive(Clone, Debug, Serialize)]
pub struct Campaign {
    /// The day.
    pub date: String,
    /// Versions of what took part, by name.
    pub versions: BTreeMap<String, String>,
    /// The experiments.
    pub experiments: Vec<Experiment>,
}

/// What was done with a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It was booted many times.
    Boot,
    /// It was resumed many times from one snapshot.
    Reset,
}

impl Kind {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Boot => "boot",
            Kind::Reset => "reset",
        }
    }
}

/// What the machine was, and how it ran.
#[derive(Clone, Debug, Serialize)]
pub struct Setup {
    /// The machine's name.
    pub machine: String,
    /// The guest kernel's release.
    pub kernel: String,
    /// QEMU's version.
    pub qemu: String,
    /// QEMU's name for how instructions were run: "kvm" or "tcg".
    pub accelerator: String,
    /// The scenario's name.
    pub mode: String,
    /// What the probe did in it.
    #[serde(skip)]
    pub probe: Mode,
    /// What the probe said of the machine.
    pub facts: Value,
}

/// One machine, booted or resumed many times.
#[derive(Clone, Debug, Serialize)]
pub struct Experiment {
    /// What was done.
    pub kind: Kind,
    /// With what.
    #[serde(flatten)]
    pub setup: Setup,
    /// How many times.
    pub runs: usize,
    /// What follows from it.
    pub verdict: Verdict,
    /// Whether all clones have the same records from before the snapshot; true of boots.
    pub are_clones: bool,
    /// What each generator gave.
    pub sources: Vec<SourceReport>,
    /// Repeats among all guarded sources together, none of which must ever share a word with
    /// another.
    pub guarded_together: Repeats,
    /// What is not known of Whirlwind's inputs and outputs, if enough of them were recorded.
    pub uncertainty: Option<Uncertainty>,
    /// What must be known to read the figures.
    pub notes: Vec<String>,
}

/// What one generator gave, all its instances together.
#[derive(Clone, Debug, Serialize)]
pub struct SourceReport {
    /// Which generator.
    #[serde(serialize_with = "name")]
    pub source: Source,
    /// The fewest outputs that it gave in any machine, in clones after the snapshot.
    pub fewest_outputs: usize,
    /// Its threads or processes with a request under way when the snapshot was taken.
    pub under_way: usize,
    /// What it repeated.
    pub repeats: Repeats,
    /// What it did behind a reset.
    pub window: Option<Window>,
}

impl Experiment {
    /// What boots of one machine show.
    pub fn of_boots(setup: Setup, boots: &[Trace]) -> Experiment {
        Experiment::of(Kind::Boot, setup, &Runs::of_boots(boots))
    }

    /// What clones of one snapshot show.
    pub fn of_resets(setup: Setup, resets: &Resets) -> Experiment {
        Experiment::of(Kind::Reset, setup, &Runs::of_resets(resets))
    }

    fn of(kind: Kind, setup: Setup, runs: &Runs) -> Experiment {
        let sources = runs.sources().into_iter();
        let guarded = Recurrences::of(runs.given(Source::is_guarded));
        let mut experiment = Experiment {
            kind,
            runs: runs.traces.len(),
            verdict: Verdict::default(),
            are_clones: runs.are_clones(),
            sources: sources.map(|s| SourceReport::of(kind, runs, s)).collect(),
            guarded_together: Repeats::of(runs, Source::is_guarded, &guarded),
            uncertainty: Uncertainty::of(runs),
            notes: notes(kind, &setup),
            setup,
        };
        experiment.verdict = verdict(&experiment);
        experiment
    }
}

impl SourceReport {
    fn of(kind: Kind, runs: &Runs, source: Source) -> SourceReport {
        let is_source = |other| other == source;
        let recurrences = Recurrences::of(runs.given(is_source));
        SourceReport {
            source,
            fewest_outputs: runs.fewest(source),
            under_way: runs.under_way(source),
            repeats: Repeats::of(runs, is_source, &recurrences),
            window: match kind {
                Kind::Boot => None,
                Kind::Reset => Window::of(runs, source, &recurrences),
            },
        }
    }
}

fn name<S: Serializer>(source: &Source, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(source.name())
}

fn notes(kind: Kind, setup: &Setup) -> Vec<String> {
    let mut notes = vec![
        "Bits of an event are those of the low end of its cycle count that pass for uniform. \
         Where the counter moves in steps of s cycles, the paper's are up to log2(s) too many; \
         those without a gap leave out up to six of the lowest."
            .into(),
    ];
    if setup.accelerator != "kvm" {
        notes.push(format!(
            "Under {} all events are a software-emulated machine's: their times vary with the \
             emulator and the host, and say nothing of how much they vary on hardware.",
            setup.accelerator
        ));
    }
    if kind == Kind::Reset {
        notes.push(
            "The moment of the resume is taken for the latest record from before the snapshot: \
             times after it are upper bounds. A request that was under way then, asked for at \
             the same cycle in every clone, counts as made before: what it gave is not compared."
                .into(),
        );
        notes.push(
            "Where vmgenid is what tells squall of clones, a u64 may repeat within the tick in \
             which the machine was stopped (SECURITY.md, Late signals), so squall_words and \
             go_squall_words are judged on the other machines only: on 6.12+vmgenid and \
             newest+vmgenid+vmclock they are not."
                .into(),
        );
        notes.push(
            "Whirlwind's inputs are compared by their number since the resume, also where clones \
             began to bootstrap at different ones."
                .into(),
        );
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::super::synthetic;
    use super::*;

    #[test]
    fn keys_are_those_that_programs_read() {
        let campaign = serde_json::to_value(synthetic::campaign()).expect("JSON");
        let reset = &campaign["experiments"][0];
        assert_eq!(reset["kind"], "reset");
        assert_eq!(reset["machine"], "v6.12+vmgenid");
        assert_eq!(reset["facts"]["vmgenid"], true);
        assert_eq!(reset["sources"][0]["source"], "naive");
        assert_eq!(reset["sources"][0]["repeats"]["machines_with_repeats"], 50);
        assert_eq!(reset["sources"][2]["window"]["requests"]["max"], 0);
        assert_eq!(reset["guarded_together"]["repeated_words"], 0);
        assert_eq!(reset["uncertainty"]["trials"], 50);
        assert_eq!(
            campaign["experiments"][1]["sources"][0]["window"],
            Value::Null
        );
    }

    #[test]
    fn emulated_machines_are_called_so() {
        let campaign = synthetic::campaign();
        let is_told = |experiment: &Experiment| experiment.notes.join(" ").contains("emulated");
        let told: Vec<_> = campaign.experiments.iter().map(is_told).collect();
        assert_eq!(told, [false, true]);
    }
}
