//! Turns the traces of one machine's runs into the report on its experiment.

use squall_probe::Source;

use super::recurrence::Recurrences;
use super::repeats::Repeats;
use super::report::{Experiment, Kind, Setup, SourceReport, Verdict};
use super::runs::Runs;
use super::uncertainty::Uncertainty;
use super::verdict::verdict;
use super::window::Window;
use crate::trace::{Resets, Trace};

impl Experiment {
    /// Analyses boots of one machine.
    pub fn of_boots(setup: Setup, boots: &[Trace]) -> Experiment {
        Experiment::of(Kind::Boot, setup, &Runs::of_boots(boots))
    }

    /// Analyses clones of one snapshot.
    pub fn of_resets(setup: Setup, resets: &Resets) -> Experiment {
        Experiment::of(Kind::Reset, setup, &Runs::of_resets(resets))
    }

    fn of(kind: Kind, setup: Setup, runs: &Runs) -> Experiment {
        let sources = runs.sources().into_iter();
        let is_guarded = |source| setup.is_guarded(source);
        let guarded = Recurrences::of(runs.given(is_guarded));
        let mut experiment = Experiment {
            kind,
            runs: runs.traces.len(),
            verdict: Verdict::default(),
            are_clones: runs.are_clones(),
            sources: sources.map(|s| SourceReport::of(kind, runs, s)).collect(),
            guarded_together: Repeats::of(runs, is_guarded, &guarded),
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
    fn a_note_says_that_a_machine_is_emulated() {
        let campaign = synthetic::campaign();
        let has_note = |experiment: &Experiment| experiment.notes.join(" ").contains("emulated");
        let told: Vec<_> = campaign.experiments.iter().map(has_note).collect();
        assert_eq!(told, [false, true]);
    }
}
