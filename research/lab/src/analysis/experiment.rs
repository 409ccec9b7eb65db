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
    fn emulated_machines_are_called_so() {
        let campaign = synthetic::campaign();
        let is_told = |experiment: &Experiment| experiment.notes.join(" ").contains("emulated");
        let told: Vec<_> = campaign.experiments.iter().map(is_told).collect();
        assert_eq!(told, [false, true]);
    }
}
