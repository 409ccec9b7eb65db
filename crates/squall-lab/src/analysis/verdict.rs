//! Whether an experiment shows anything, and what it shows to be wrong.

use serde::Serialize;
use squall_trace::Source;

use super::report::{Experiment, Kind, SourceReport};

/// What follows from an experiment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Whether it shows anything.
    pub validity: Validity,
    /// Claims that it disproves, valid or not: a repeat is a repeat.
    pub violated: Vec<String>,
}

/// Whether an experiment shows anything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Validity {
    /// It does.
    Valid,
    /// It does not, for this reason.
    Invalid(String),
}

/// The verdict on `experiment`. After resets the controls must repeat in every clone, and there
/// must be one: without, clones may not have been clones.
pub fn verdict(experiment: &Experiment) -> Verdict {
    let validity = match experiment.kind {
        Kind::Boot => Validity::Valid,
        Kind::Reset => controls(experiment),
    };
    Verdict {
        validity,
        violated: violated(experiment),
    }
}

fn controls(experiment: &Experiment) -> Validity {
    let controls = sources(experiment, Source::is_control);
    let silent = controls
        .clone()
        .find(|control| control.repeats.machines_with_repeats < experiment.runs);
    match silent {
        Some(control) => Validity::Invalid(format!(
            "the control {} repeated in {} of {} clones only",
            control.source.name(),
            control.repeats.machines_with_repeats,
            experiment.runs
        )),
        None if controls.count() == 0 || experiment.runs == 0 => {
            Validity::Invalid("no control was recorded".into())
        }
        None => Validity::Valid,
    }
}

fn violated(experiment: &Experiment) -> Vec<String> {
    let guarded = sources(experiment, Source::is_guarded);
    let repeating: Vec<_> = guarded
        .filter(|source| source.repeats.any())
        .map(|source| {
            format!(
                "{} repeated {} words, and {} whole outputs",
                source.source.name(),
                source.repeats.repeated_words,
                source.repeats.repeated_outputs
            )
        })
        .collect();
    let together = &experiment.guarded_together;
    match repeating.is_empty() && together.any() {
        true => vec![format!(
            "guarded sources share {} words with each other",
            together.repeated_words
        )],
        false => repeating,
    }
}

fn sources(
    experiment: &Experiment,
    wanted: fn(Source) -> bool,
) -> impl Iterator<Item = &SourceReport> + Clone {
    let sources = experiment.sources.iter();
    sources.filter(move |report| wanted(report.source))
}

#[cfg(test)]
mod tests {
    use super::super::synthetic;
    use super::*;
    use crate::trace::Resets;

    fn of(change: impl FnOnce(&mut Resets)) -> Verdict {
        let setup = synthetic::campaign().experiments.remove(0).setup;
        let mut resets = synthetic::resets(8);
        change(&mut resets);
        verdict(&Experiment::of_resets(setup, &resets))
    }

    #[test]
    fn as_claimed() {
        let Verdict { validity, violated } = of(|_| {});
        assert_eq!(validity, Validity::Valid);
        assert_eq!(violated, [""; 0]);
    }

    #[test]
    fn a_control_must_repeat_in_every_clone() {
        let verdict = of(|resets| {
            let mut random = synthetic::Random::new(8);
            let naive = resets.clones[3].outputs.get_mut(&(Source::Naive, 0));
            let after = naive.expect("a channel").iter_mut().skip(20);
            after.for_each(|output| output.bits = random.bits());
        });
        let reason = "the control naive repeated in 7 of 8 clones only";
        assert_eq!(verdict.validity, Validity::Invalid(reason.into()));
        assert!(verdict.violated.is_empty());
    }

    #[test]
    fn without_a_control_nothing_is_shown() {
        let verdict = of(|resets| {
            let clones = resets.clones.iter_mut();
            clones.for_each(|clone| clone.outputs.retain(|(source, _), _| !source.is_control()));
        });
        assert!(matches!(verdict.validity, Validity::Invalid(_)));
    }

    #[test]
    fn one_word_is_enough() {
        let Verdict { validity, violated } = of(|resets| {
            let squall = (Source::Squall, 0);
            let word = resets.clones[0].outputs[&squall][100].bits[3];
            let other = resets.clones[5].outputs.get_mut(&squall);
            other.expect("a channel")[200].bits[7] = word;
        });
        assert_eq!(validity, Validity::Valid);
        assert_eq!(violated, ["squall repeated 1 words, and 0 whole outputs"]);
    }

    #[test]
    fn guarded_sources_share_nothing_with_each_other() {
        let verdict = of(|resets| {
            let outputs = &mut resets.clones[0].outputs;
            let bits = outputs[&(Source::Squall, 0)][100].bits;
            let child = outputs.get_mut(&(Source::SquallChild, 0));
            child.expect("a channel")[100].bits = bits;
        });
        assert_eq!(
            verdict.violated,
            ["guarded sources share 8 words with each other"]
        );
    }
}
