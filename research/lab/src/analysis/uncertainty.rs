//! Estimates the uncertainty of Whirlwind's outputs for an attacker who knows everything except cycle
//! counts.
//!
//! There are two counts. The paper's adds up the bits of the inputs between two outputs, and takes the
//! greatest such sum so far, because an attacker who sees the outputs can try out smaller ones one by
//! one. Ours counts only inputs that an output really depends on, with the conservative number of bits
//! for each, and no more in a seed than fits. It adds these up over outputs, for an attacker who does
//! not see them. Both take the trial with the lowest count.
//!
//! Which inputs an output depends on: eight inputs wait in a buffer before they are compressed. Every tenth
//! input goes to the slow seed. That seed is put in use at the hundredth input, at the end of each bootstrap,
//! and with each 50th compression. This models one thread's Whirlwind with one shard; with more shards, more
//! inputs wait.

use serde::Serialize;
use squall_probe::Input;

use super::alpha::{self, Alpha, FEWEST_TRIALS};
use super::runs::Runs;
use super::window::Summary;

/// The analysis uses at most this many events of a trial.
const EVENTS: usize = 400;

/// Size of Whirlwind's two seeds together, and of the fast seed alone, in bits.
pub(super) const BOTH_SEEDS: u32 = 1024;
pub(super) const FAST_SEED: u32 = 512;

/// The uncertainty of an experiment's inputs and outputs since the resume or boot.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Uncertainty {
    /// Machines whose inputs were analysed.
    pub trials: usize,
    /// The bits of each event that all trials have, up to the first 400.
    pub events: Vec<Alpha>,
    /// The first bootstrap. None unless these events contain a whole one.
    pub bootstrap: Option<Bootstrap>,
    /// The outputs that all trials have among these events.
    pub outputs: Vec<OutputUncertainty>,
    /// The first output at which the paper's count is at least 1024.
    pub paper_has_1024: Option<OutputTime>,
    /// The first output with 512 bits in the fast seed.
    pub fast_has_512: Option<OutputTime>,
    /// The first output with 1024 bits in both seeds together.
    pub both_have_1024: Option<OutputTime>,
}

/// The sum of the bits of a bootstrap's 101 inputs, in the trial where it is lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Bootstrap {
    /// Trials with a whole bootstrap among the analysed events.
    pub trials: usize,
    /// By the paper's estimate for each event.
    pub paper: u32,
    /// By the conservative estimate for each event.
    pub conservative: u32,
}

/// The uncertainty of one output, in the trial where it is lowest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OutputUncertainty {
    /// The output's number since the resume or boot, from 1.
    pub output: usize,
    /// Milliseconds since the resume or boot, the median of the trials.
    pub ms: f64,
    /// The paper's count (its κ).
    pub paper: u32,
    /// Bits in the fast seed.
    pub fast: u32,
    /// Bits in the slow seed that is in use.
    pub slow: u32,
    /// Bits in both seeds together.
    pub both: u32,
}

/// An output and its time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OutputTime {
    /// The output's number since the resume or boot, from 1.
    pub output: usize,
    /// Milliseconds since the resume or boot, the median of the trials.
    pub ms: f64,
}

impl Uncertainty {
    /// Estimates the uncertainty of Whirlwind's inputs. None if fewer than 6 machines have inputs,
    /// because then even constants pass for uniform.
    pub(super) fn of(runs: &Runs) -> Option<Uncertainty> {
        let trials = runs.traces.iter().map(|trace| {
            let (before, after) = runs.inputs(trace);
            Trial {
                before,
                after: &after[..after.len().min(EVENTS)],
                start: runs.start(trace),
                cycles_per_ms: trace.cycles_per_ms.max(1) as f64,
            }
        });
        let trials: Vec<_> = trials.filter(|trial| !trial.after.is_empty()).collect();
        if trials.len() < FEWEST_TRIALS {
            return None;
        }
        let cycles: Vec<Vec<u64>> = trials.iter().map(Trial::cycles).collect();
        let events = alpha::alphas(&cycles);
        let of_trials: Vec<_> = trials.iter().map(|trial| trial.outputs(&events)).collect();
        let outputs = outputs(&of_trials);
        let first = |has: fn(&OutputUncertainty) -> bool| {
            let output = outputs.iter().find(|&output| has(output))?;
            let &OutputUncertainty { output, ms, .. } = output;
            Some(OutputTime { output, ms })
        };
        Some(Uncertainty {
            trials: trials.len(),
            bootstrap: bootstrap(&trials, &events),
            paper_has_1024: first(|output| output.paper >= BOTH_SEEDS),
            fast_has_512: first(|output| output.fast >= FAST_SEED),
            both_have_1024: first(|output| output.both >= BOTH_SEEDS),
            events,
            outputs,
        })
    }
}

/// Whirlwind's inputs in one machine.
struct Trial<'a> {
    /// Inputs from before the snapshot, which the attacker knows.
    before: &'a [Input],
    /// Inputs after it, which are the events.
    after: &'a [Input],
    start: u64,
    cycles_per_ms: f64,
}

impl Trial<'_> {
    fn cycles(&self) -> Vec<u64> {
        self.after.iter().map(|input| input.cycles).collect()
    }

    /// The outputs after whose inputs another input follows, which shows that they were made.
    fn outputs(&self, events: &[Alpha]) -> Vec<OutputUncertainty> {
        let mut seeds = Seeds::default();
        self.before.iter().for_each(|input| seeds.add(input, 0));
        let mut outputs = Vec::new();
        let (mut since_output, mut greatest) = (0, 0);
        for (pair, alpha) in self.after.windows(2).zip(events) {
            let [input, next] = [pair[0], pair[1]];
            seeds.add(&input, alpha.conservative);
            since_output += alpha.paper;
            if next.outputs_before != input.outputs_before {
                greatest = since_output.max(greatest);
                since_output = 0;
                outputs.push(OutputUncertainty {
                    output: outputs.len() + 1,
                    ms: input.cycles.saturating_sub(self.start) as f64 / self.cycles_per_ms,
                    paper: greatest,
                    fast: seeds.fast.seed,
                    slow: seeds.published,
                    both: seeds.fast.seed + seeds.published,
                });
            }
        }
        outputs
    }

    /// The bits of the first bootstrap that began after the start: the paper's, and the conservative.
    fn bootstrap(&self, events: &[Alpha]) -> Option<[u32; 2]> {
        let begun = self.before.last().map_or(0, |last| last.bootstraps_before);
        let known = |input: &&Input| input.bootstraps_before <= begun;
        let skipped = self.after.iter().take_while(known).count();
        let inputs = events.get(skipped..skipped + BOOTSTRAP as usize)?;
        let sum = |bits: fn(&Alpha) -> u32| inputs.iter().map(bits).sum();
        Some([sum(|alpha| alpha.paper), sum(|alpha| alpha.conservative)])
    }
}

fn bootstrap(trials: &[Trial], events: &[Alpha]) -> Option<Bootstrap> {
    let trials = trials.iter();
    let sums: Vec<_> = trials.filter_map(|trial| trial.bootstrap(events)).collect();
    Some(Bootstrap {
        trials: sums.len(),
        paper: sums.iter().map(|&[paper, _]| paper).min()?,
        conservative: sums.iter().map(|&[_, conservative]| conservative).min()?,
    })
}

/// For each output that all trials have, the lowest count of each kind.
fn outputs(trials: &[Vec<OutputUncertainty>]) -> Vec<OutputUncertainty> {
    let count = trials.iter().map(Vec::len).min().unwrap_or(0);
    let output = |index: usize| {
        let trials = || trials.iter().map(move |outputs| outputs[index]);
        let least = |bits: fn(OutputUncertainty) -> u32| trials().map(bits).min();
        Some(OutputUncertainty {
            output: index + 1,
            ms: Summary::of(trials().map(|output| output.ms).collect())?.median,
            paper: least(|output| output.paper)?,
            fast: least(|output| output.fast)?,
            slow: least(|output| output.slow)?,
            both: least(|output| output.both)?,
        })
    };
    (0..count).filter_map(output).collect()
}

/// One of this many inputs goes to the slow seed.
const SLOW_EVERY: u64 = 10;

/// Inputs in a block.
const BLOCK: u64 = 8;

/// Compressions into the slow seed from one time that it is put in use to the next.
const PUBLISH_EVERY: u64 = 50;

/// Number of inputs before the slow seed is put in use for the first time.
const FIRST_PUBLISH: u64 = 100;

/// Number of inputs of a bootstrap.
pub(super) const BOOTSTRAP: u64 = 101;

/// Size of a seed in bits, which limits the uncertainty it can hold.
const SEED: u32 = 512;

/// The uncertainty in each seed, in bits.
#[derive(Debug, Default)]
pub(super) struct Seeds {
    fast: Collected,
    slow: Collected,
    /// Bits in the slow seed that is in use.
    published: u32,
    /// Number of the current bootstrap, and its inputs so far.
    bootstrap: u64,
    bootstrap_inputs: u64,
}

/// Uncertainty in a seed and in the buffer before it, in bits.
#[derive(Debug, Default)]
struct Collected {
    seed: u32,
    waiting: u32,
}

impl Collected {
    /// Adds the seed's input with this number. Returns true if it completed and compressed a block.
    fn add(&mut self, number: u64, bits: u32) -> bool {
        self.waiting += bits;
        let is_full = number % BLOCK == BLOCK - 1;
        if is_full {
            self.seed = (self.seed + self.waiting).min(SEED);
            self.waiting = 0;
        }
        is_full
    }
}

impl Seeds {
    /// Adds the next input, which has `bits` bits of uncertainty.
    pub fn add(&mut self, input: &Input, bits: u32) {
        let number = input.number;
        let slow = number / SLOW_EVERY;
        if number.is_multiple_of(SLOW_EVERY) {
            let compressions = (slow + 1) / BLOCK;
            if self.slow.add(slow, bits) && compressions.is_multiple_of(PUBLISH_EVERY) {
                self.published = self.slow.seed;
            }
        } else {
            self.fast.add(number - slow - 1, bits);
        }
        if self.ends_bootstrap(input) || number == FIRST_PUBLISH - 1 {
            self.published = self.slow.seed;
        }
    }

    fn ends_bootstrap(&mut self, input: &Input) -> bool {
        if input.bootstraps_before != self.bootstrap {
            self.bootstrap = input.bootstraps_before;
            self.bootstrap_inputs = 0;
        }
        self.bootstrap_inputs += 1;
        self.bootstrap > 0 && self.bootstrap_inputs == BOOTSTRAP
    }
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::{boots, resets};
    use super::*;

    #[test]
    fn boots_with_known_jitter_have_as_many_bits() {
        let traces = boots(50, 100, 12);
        let uncertainty = Uncertainty::of(&Runs::of_boots(&traces)).expect("trials");
        assert_eq!((uncertainty.trials, uncertainty.events.len()), (50, 301));
        assert_eq!(uncertainty.outputs.len(), 100);
        let bits: Vec<_> = uncertainty.events.iter().map(|event| event.paper).collect();
        assert!(bits.iter().all(|bits| (8..=13).contains(bits)), "{bits:?}");
        let bootstrap = uncertainty.bootstrap.expect("a bootstrap");
        let inputs = uncertainty.events[..101].iter();
        assert_eq!(
            bootstrap.paper,
            inputs.map(|event| event.paper).sum::<u32>()
        );
        let first = uncertainty.outputs[0];
        // The bootstrap and the output's own first input.
        assert_eq!(first.paper, bootstrap.paper + bits[101]);
        assert_eq!(first.fast, FAST_SEED);
        assert!((60..=8 * 13).contains(&first.slow));
        assert_eq!(first.both, first.fast + first.slow);
        assert!((30.5..31.5).contains(&first.ms));
    }

    /// Inputs from before the snapshot are known; the bootstrap after it counts.
    #[test]
    fn only_inputs_after_a_reset_count() {
        let resets = resets(20);
        let uncertainty = Uncertainty::of(&Runs::of_resets(&resets)).expect("trials");
        let [first, second] = [0, 1].map(|index| uncertainty.outputs[index]);
        assert_eq!(first.output, 1);
        assert!(first.paper <= 10 && first.fast <= 10 && first.slow == 0);
        let bootstrap = uncertainty.bootstrap.expect("a bootstrap");
        assert!(second.paper >= bootstrap.paper && second.fast > 300 && second.slow > 0);
    }

    fn input(number: u64, bootstraps_before: u64) -> Input {
        Input {
            cycles: 0,
            outputs_before: 0,
            bootstraps_before,
            number,
        }
    }

    /// Of 101 inputs, 90 go to the fast seed, and 88 of these are compressed. The slow seed gets 11, of
    /// which 8 are compressed.
    #[test]
    fn a_bootstrap_leaves_inputs_in_the_buffers() {
        let mut seeds = Seeds::default();
        for number in 0..BOOTSTRAP {
            assert_eq!(seeds.published, if number < 100 { 0 } else { 8 });
            seeds.add(&input(number, 1), 1);
        }
        assert_eq!((seeds.fast.seed, seeds.published), (88, 8));
    }

    /// After inputs without uncertainty, the seeds contain only what came later. The slow seed is put
    /// in use at the end of the bootstrap, not before.
    #[test]
    fn a_second_bootstrap_publishes_at_its_end() {
        let mut seeds = Seeds::default();
        (0..BOOTSTRAP + 4).for_each(|number| seeds.add(&input(number, 1), 0));
        for number in 0..BOOTSTRAP {
            assert_eq!(seeds.published, 0);
            seeds.add(&input(BOOTSTRAP + 4 + number, 2), 3);
        }
        // Slow inputs are numbers 110 to 200. Numbers 160, 170 and so on still wait.
        assert_eq!(seeds.published, 3 * 5);
        assert_eq!(seeds.fast.seed, 3 * 90);
    }

    #[test]
    fn without_bootstraps_the_slow_seed_is_published_at_input_4000() {
        let mut seeds = Seeds::default();
        (0..=3990).for_each(|number| {
            assert_eq!(seeds.published, if number < 100 { 0 } else { 8 });
            seeds.add(&input(number, 0), 1);
        });
        assert_eq!((seeds.fast.seed, seeds.published), (SEED, 400));
    }

    #[test]
    fn too_few_trials_give_no_estimate() {
        assert!(Uncertainty::of(&Runs::of_boots(&boots(5, 10, 6))).is_none());
        assert!(Uncertainty::of(&Runs::of_boots(&boots(6, 10, 6))).is_some());
    }
}
