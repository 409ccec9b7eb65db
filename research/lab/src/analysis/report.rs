//! The results of a campaign, as they are written to JSON.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::Value;
use squall_probe::{Mode, Source};

use super::repeats::{Recurrences, Repeats};
use super::runs::Runs;
use super::uncertainty::Uncertainty;
use super::window::Window;
use crate::vm::Page;

/// Experiments that were run together.
#[derive(Clone, Debug, Serialize)]
pub struct Campaign {
    /// The day of the campaign.
    pub date: String,
    /// Versions of the programs that took part, by name.
    pub versions: BTreeMap<String, String>,
    pub experiments: Vec<Experiment>,
}

/// How an experiment's machines were started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The machine was booted many times.
    Boot,
    /// The machine was resumed many times from one snapshot.
    Reset,
}

/// The machine, and how it ran.
#[derive(Clone, Debug, Serialize)]
pub struct Setup {
    /// The machine's name.
    pub machine: String,
    /// The guest kernel's release.
    pub kernel: String,
    /// QEMU's version.
    pub qemu: String,
    /// QEMU's name for how it ran the guest's instructions: "kvm" or "tcg".
    pub accelerator: String,
    /// The scenario's name.
    pub mode: String,
    /// What the probe did in this scenario.
    #[serde(skip)]
    pub probe: Mode,
    /// What its kernel shows of vmgenid's page.
    #[serde(skip)]
    pub page: Page,
    /// What the probe reported about the machine.
    pub facts: Value,
}

impl Setup {
    /// Whether `source` must never repeat on this machine. Where the kernel shows vmgenid's page, that
    /// suffices without anything else; where it shows a copy, squall believes it, and only squall that
    /// does not see it is guarded.
    pub fn is_guarded(&self, source: Source) -> bool {
        match self.page {
            Page::Hidden => source.is_guarded(),
            Page::Shown => source.is_guarded() || source == Source::SquallSignalOnly,
            Page::Copied => source == Source::SquallNoSignal,
        }
    }

    /// The sources that must repeat after every reset; otherwise the experiment shows nothing.
    pub fn controls(&self) -> Vec<Source> {
        let copied = (self.page == Page::Copied).then_some(Source::SquallSignalOnly);
        let controls = self.probe.controls().iter().copied();
        controls.chain(copied).collect()
    }
}

/// One machine, booted or resumed many times.
#[derive(Clone, Debug, Serialize)]
pub struct Experiment {
    /// Whether the machine was booted or reset.
    pub kind: Kind,
    /// The machine and the scenario.
    #[serde(flatten)]
    pub setup: Setup,
    /// The number of boots or resumed clones.
    pub runs: usize,
    /// Whether the experiment is valid, and which claims it disproves.
    pub verdict: Verdict,
    /// Whether all clones have the same records from before the snapshot. Always true for boots.
    pub are_clones: bool,
    /// The results of each generator.
    pub sources: Vec<SourceReport>,
    /// Repeats among all guarded sources together. No two of these may ever share a word.
    pub guarded_together: Repeats,
    /// The uncertainty of Whirlwind's inputs and outputs. None if too few inputs were recorded.
    pub uncertainty: Option<Uncertainty>,
    /// Notes that are needed to read the figures.
    pub notes: Vec<String>,
}

/// The conclusion from an experiment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Whether the experiment can show anything.
    pub validity: Validity,
    /// Claims that the experiment disproves. A repeat disproves a claim even if the experiment is
    /// invalid.
    pub violated: Vec<String>,
}

/// Whether an experiment can show anything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Validity {
    #[default]
    Valid,
    /// It cannot, for this reason.
    Invalid(String),
}

/// The results of one generator, all its instances together.
#[derive(Clone, Debug, Serialize)]
pub struct SourceReport {
    /// The generator.
    #[serde(serialize_with = "name")]
    pub source: Source,
    /// The fewest outputs that the generator gave in any machine, counted after the snapshot for
    /// clones.
    pub fewest_outputs: usize,
    /// The number of its threads or processes with a request in progress when the snapshot was taken.
    pub under_way: usize,
    /// What the generator repeated.
    pub repeats: Repeats,
    /// The window after a reset. None for boots.
    pub window: Option<Window>,
}

fn name<S: Serializer>(source: &Source, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(source.name())
}

impl Experiment {
    /// The results without a verdict.
    pub(super) fn without_verdict(kind: Kind, setup: Setup, runs: &Runs) -> Experiment {
        let sources = runs.sources().into_iter();
        let is_guarded = |source| setup.is_guarded(source);
        let guarded = Recurrences::of(runs.given(is_guarded));
        Experiment {
            kind,
            runs: runs.traces.len(),
            verdict: Verdict::default(),
            are_clones: runs.are_clones(),
            sources: sources.map(|s| SourceReport::of(kind, runs, s)).collect(),
            guarded_together: Repeats::of(runs, is_guarded, &guarded),
            uncertainty: Uncertainty::of(runs),
            notes: notes(kind, &setup),
            setup,
        }
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

fn notes(kind: Kind, setup: &Setup) -> Vec<String> {
    let mut notes = vec![
        "The bits of an event are the low bits of its cycle count that pass a test for uniformity. \
         Where the counter moves in steps of s cycles, the paper's method counts up to log2(s) too \
         many; the count without a gap leaves out up to six of the lowest bits."
            .into(),
    ];
    if setup.accelerator != "kvm" {
        notes.push(format!(
            "Under {} the machine is emulated in software: the times of its events vary with the \
             emulator and the host, and do not show how much they vary on hardware.",
            setup.accelerator
        ));
    }
    if kind == Kind::Reset {
        notes.push(
            "The time of the latest record from before the snapshot is taken as the time of the \
             resume, so times after it are upper bounds. A request that was in progress then began \
             at the same cycle in every clone: it counts as made before the snapshot, and its \
             output is not compared."
                .into(),
        );
        notes.push(
            "Whirlwind's inputs are compared by their number since the resume, even if clones \
             began to bootstrap at different inputs."
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
    fn a_note_says_that_a_machine_is_emulated() {
        let campaign = synthetic::campaign();
        let has_note = |experiment: &Experiment| experiment.notes.join(" ").contains("emulated");
        let noted: Vec<_> = campaign.experiments.iter().map(has_note).collect();
        assert_eq!(noted, [false, true]);
    }
}
