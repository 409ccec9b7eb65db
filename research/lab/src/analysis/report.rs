//! The results of a campaign, as they are written to JSON; whether each experiment is valid, and which claims it
//! disproves.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::Value;
use squall_probe::{Mode, Source};

use super::repeats::{Recurrences, Repeats};
use super::runs::Runs;
use super::uncertainty::Uncertainty;
use super::window::Window;
use crate::vm::{KvmClock, Page, Resets, Signals, Trace};

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
    /// What notifies it of a clone.
    #[serde(skip)]
    pub signals: Signals,
    /// What the probe reported about the machine.
    pub facts: Value,
}

impl Setup {
    /// Whether `source` must never repeat on this machine. Where the kernel shows vmgenid's page or kvm-clock, that
    /// suffices without anything else; where a signal stays the same in a clone, squall believes it, and only
    /// squall that does not see it is guarded.
    pub fn is_guarded(&self, source: Source) -> bool {
        if self.signals.mislead() {
            return source == Source::SquallNoSignal;
        }
        let is_shown =
            self.signals.page == Page::Shown || self.signals.kvm_clock == KvmClock::Renewed;
        source.is_guarded() || is_shown && source == Source::SquallSignalOnly
    }

    /// The sources that must repeat after every reset; otherwise the experiment shows nothing.
    pub fn controls(&self) -> Vec<Source> {
        let copied = (self.signals.page == Page::Copied).then_some(Source::SquallSignalOnly);
        let stale = self.signals.kvm_clock == KvmClock::Stale && self.probe.watches_kvm_clock();
        let stale = stale.then_some(Source::KvmClock);
        let controls = self.probe.controls().iter().copied();
        controls.chain(copied).chain(stale).collect()
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

impl Experiment {
    /// Analyses boots of one machine.
    pub fn of_boots(setup: Setup, boots: &[Trace]) -> Experiment {
        Experiment::judged(Kind::Boot, setup, &Runs::of_boots(boots))
    }

    /// Analyses clones of one snapshot.
    pub fn of_resets(setup: Setup, resets: &Resets) -> Experiment {
        Experiment::judged(Kind::Reset, setup, &Runs::of_resets(resets))
    }

    fn judged(kind: Kind, setup: Setup, runs: &Runs) -> Experiment {
        let is_guarded = |source| setup.is_guarded(source);
        let guarded = Recurrences::of(runs.given(is_guarded));
        let sources = runs.sources().into_iter();
        let experiment = Experiment {
            kind,
            runs: runs.traces.len(),
            verdict: Verdict::default(),
            are_clones: runs.are_clones(),
            sources: sources.map(|s| SourceReport::of(kind, runs, s)).collect(),
            guarded_together: Repeats::of(runs, is_guarded, &guarded),
            uncertainty: Uncertainty::of(runs),
            setup,
        };
        Experiment {
            verdict: verdict(&experiment),
            ..experiment
        }
    }
}

/// Judges `experiment`. After resets, all controls must repeat in every clone; otherwise the clones may
/// not have been clones.
fn verdict(experiment: &Experiment) -> Verdict {
    let objection = missing_output(experiment).or_else(|| match experiment.kind {
        Kind::Boot => None,
        Kind::Reset => different_pasts(experiment).or_else(|| control_without_repeats(experiment)),
    });
    Verdict {
        validity: objection.map_or(Validity::Valid, Validity::Invalid),
        violated: violated_claims(experiment),
    }
}

/// An objection if a guarded source gave no outputs.
fn missing_output(experiment: &Experiment) -> Option<String> {
    if experiment.runs == 0 {
        return Some("no machine ran".into());
    }
    let subject = experiment.setup.probe.subject();
    if sources(experiment, |source| source == subject).count() == 0 {
        return Some(format!("{} was not recorded", subject.name()));
    }
    let is_guarded = |source| experiment.setup.is_guarded(source);
    let silent = sources(experiment, is_guarded).find(|source| source.fewest_outputs == 0);
    let name = silent?.source.name();
    Some(format!("{name} returned no output in at least one machine"))
}

fn different_pasts(experiment: &Experiment) -> Option<String> {
    (!experiment.are_clones).then(|| {
        "the machines are not clones: their records from before the snapshot differ".into()
    })
}

/// An objection if a control did not repeat a whole output in every clone.
fn control_without_repeats(experiment: &Experiment) -> Option<String> {
    experiment.setup.controls().into_iter().find_map(|control| {
        let name = control.name();
        let mut reports = sources(experiment, |source| source == control);
        let Some(SourceReport { repeats, .. }) = reports.next() else {
            return Some(format!("the control {name} was not recorded"));
        };
        let (clones, runs) = (repeats.machines_with_repeats, experiment.runs);
        let is_idle = clones < runs || repeats.repeated_outputs == 0;
        is_idle.then(|| format!("the control {name} repeated in only {clones} of {runs} clones"))
    })
}

fn violated_claims(experiment: &Experiment) -> Vec<String> {
    let is_guarded = |source| experiment.setup.is_guarded(source);
    let repeating: Vec<_> = sources(experiment, is_guarded)
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
    if repeating.is_empty() && together.any() {
        vec![format!(
            "guarded sources share {} words with each other",
            together.repeated_words
        )]
    } else {
        repeating
    }
}

fn sources(
    experiment: &Experiment,
    wanted: impl Fn(Source) -> bool + Clone,
) -> impl Iterator<Item = &SourceReport> + Clone {
    let sources = experiment.sources.iter();
    sources.filter(move |report| wanted(report.source))
}

#[cfg(test)]
mod tests {
    use squall_probe::Mode;

    use super::super::synthetic;
    use super::*;

    fn of(change: impl FnOnce(&mut Resets)) -> Verdict {
        of_signals(Signals::default(), change)
    }

    fn of_page(page: Page, change: impl FnOnce(&mut Resets)) -> Verdict {
        let signals = Signals {
            page,
            ..Signals::default()
        };
        of_signals(signals, change)
    }

    fn of_signals(signals: Signals, change: impl FnOnce(&mut Resets)) -> Verdict {
        let mut setup = synthetic::setup();
        setup.signals = signals;
        let mut resets = synthetic::resets(8);
        change(&mut resets);
        Experiment::of_resets(setup, &resets).verdict
    }

    /// It is valid, and violates nothing.
    #[test]
    fn a_good_experiment_is_good() {
        assert_eq!(of(|_| {}), Verdict::default());
    }

    #[test]
    fn a_control_must_repeat_in_every_clone() {
        let verdict = of(|resets| {
            let mut random = synthetic::Random::new(8);
            let naive = resets.clones[3].outputs.get_mut(&(Source::Naive, 0));
            let after = naive.expect("a channel").iter_mut().skip(20);
            after.for_each(|output| output.bits = random.bits());
        });
        let reason = "the control naive repeated in only 7 of 8 clones";
        assert_eq!(verdict.validity, Validity::Invalid(reason.into()));
        assert!(verdict.violated.is_empty());
    }

    /// Where the kernel shows vmgenid's page, that alone must suffice. Where it shows a copy, squall
    /// that believes it must repeat, and nothing else is claimed of it.
    #[test]
    fn with_the_module_the_page_alone_must_suffice() {
        // The synthetic clones repeat their first outputs of it.
        let shown = of_page(Page::Shown, |_| {});
        assert!(shown.violated[0].starts_with("squall_signal_only repeated "));
        let copied = of_page(Page::Copied, |_| {});
        assert_eq!(copied, Verdict::default());
        let silent = of_page(Page::Copied, without(Source::SquallSignalOnly));
        assert!(matches!(silent.validity, Validity::Invalid(_)));
    }

    /// Where a clone keeps kvm-clock's old records, what is guarded by them must repeat, and nothing else is claimed.
    #[test]
    fn with_stale_records_what_they_guard_must_repeat() {
        let of_clock = |kvm_clock, change: fn(&mut Resets)| {
            let signals = Signals {
                kvm_clock,
                ..Signals::default()
            };
            of_signals(signals, change)
        };
        let recorded: fn(&mut Resets) = |resets| {
            for clone in &mut resets.clones {
                let naive = clone.outputs[&(Source::Naive, 0)].clone();
                clone.outputs.insert((Source::KvmClock, 0), naive);
            }
        };
        let renewed = of_clock(KvmClock::Renewed, recorded).violated;
        let violated = |name| renewed.iter().any(|claim| claim.starts_with(name));
        assert!(violated("kvm_clock repeated ") && violated("squall_signal_only repeated "));
        assert_eq!(of_clock(KvmClock::Stale, recorded), Verdict::default());
        let silent = of_clock(KvmClock::Stale, |_| {});
        assert!(matches!(silent.validity, Validity::Invalid(_)));
    }

    fn is_invalid(change: impl Fn(&mut Resets)) -> bool {
        matches!(of(change).validity, Validity::Invalid(_))
    }

    fn without(source: Source) -> impl Fn(&mut Resets) {
        move |resets| {
            let clones = resets.clones.iter_mut();
            clones.for_each(|clone| clone.outputs.retain(|(other, _), _| *other != source));
        }
    }

    #[test]
    fn an_experiment_without_a_control_is_invalid() {
        for control in Mode::Ticks.controls() {
            assert!(is_invalid(without(*control)), "{}", control.name());
        }
    }

    #[test]
    fn a_guarded_source_without_output_is_invalid() {
        assert!(is_invalid(without(Source::Squall)));
        assert!(is_invalid(|resets| {
            let outputs = &mut resets.clones[2].outputs;
            let child = outputs.get_mut(&(Source::SquallChild, 0));
            child.expect("a channel").truncate(20);
        }));
    }

    #[test]
    fn clones_with_different_pasts_are_invalid() {
        assert!(is_invalid(|resets| {
            let outputs = &mut resets.clones[3].outputs;
            let naive = outputs.get_mut(&(Source::Naive, 0));
            naive.expect("a channel")[4].bits[0] ^= 1;
        }));
        assert!(is_invalid(|resets| resets.clones[1].inputs[0].cycles += 1));
    }

    #[test]
    fn a_repeated_word_violates_a_claim() {
        let verdict = of(|resets| {
            let words = (Source::SquallWords, 0);
            let word = resets.clones[0].outputs[&words][100].bits[3];
            let other = resets.clones[5].outputs.get_mut(&words);
            other.expect("a channel")[200].bits[7] = word;
        });
        let expected = ["squall_words repeated 1 words, and 0 whole outputs"];
        assert_eq!(verdict.violated, expected);
    }

    #[test]
    fn a_word_shared_by_two_guarded_sources_violates_a_claim() {
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
