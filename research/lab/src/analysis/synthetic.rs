//! Synthetic traces for tests.

use serde_json::json;
use squall_probe::{Input, Mode, Output, Source};

use super::report::Setup;
use crate::vm::{Counts, Name, Resets, Signals, Trace};

/// A generator for tests (splitmix64).
pub(super) struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    pub fn bits(&mut self) -> [u64; 8] {
        std::array::from_fn(|_| self.word())
    }
}

/// Cycles of a synthetic machine per millisecond.
pub(super) const CYCLES_PER_MS: u64 = 1_000_000;

/// Requests come every 500 µs, in cycles.
const TICK: u64 = CYCLES_PER_MS / 2;

/// An output at the end of the tick with this index.
pub(super) fn output(tick: u64, generation: u64, bits: [u64; 8]) -> Output {
    let given_at = (tick + 1) * TICK;
    Output {
        asked_at: given_at - 1000,
        given_at,
        generation,
        vm_generation: 0,
        bits,
    }
}

/// A trace with one channel.
pub(super) fn channel(name: Name, outputs: Vec<Output>) -> Trace {
    Trace {
        cycles_per_ms: CYCLES_PER_MS,
        outputs: [(name, outputs)].into(),
        inputs: Vec::new(),
    }
}

/// Clones with one channel, of which the first `before` records are from before the snapshot.
pub(super) fn clones(name: Name, before: usize, clones: &[Vec<Output>]) -> Resets {
    let clones = clones.iter().cloned();
    staggered(Resets {
        before: Counts {
            outputs: [(name, before)].into(),
            ..Counts::default()
        },
        clones: clones.map(|outputs| channel(name, outputs)).collect(),
    })
}

/// Shifts times so that no two clones ask at the same cycle.
fn staggered(mut resets: Resets) -> Resets {
    for (clone, later) in resets.clones.iter_mut().zip(0..) {
        for (name, outputs) in &mut clone.outputs {
            let own = outputs.iter_mut().skip(resets.before.outputs[name]);
            own.for_each(|output| output.asked_at += later);
        }
    }
    resets
}

/// Whirlwind's inputs and outputs on a machine: a bootstrap, then two inputs per tick.
pub(super) struct Inputs<'a> {
    pub random: &'a mut Random,
    /// Every event is delayed by less than 2^`jitter` cycles.
    pub jitter: u32,
    pub inputs: Vec<Input>,
    pub outputs: u64,
    pub bootstraps: u64,
    pub now: u64,
}

impl Inputs<'_> {
    pub fn bootstrap(&mut self) {
        self.bootstraps += 1;
        (0..101).for_each(|_| self.add(1000));
    }

    pub fn output(&mut self) {
        self.add(TICK);
        self.outputs += 1;
        self.add(500);
    }

    fn add(&mut self, later: u64) {
        self.now += later + self.random.word() % (1 << self.jitter);
        self.inputs.push(Input {
            cycles: self.now,
            outputs_before: self.outputs,
            bootstraps_before: self.bootstraps,
            number: self.inputs.len() as u64,
        });
    }
}

/// Boots on which Whirlwind bootstraps and then gives `outputs` outputs.
pub(super) fn boots(count: usize, outputs: usize, jitter: u32) -> Vec<Trace> {
    let mut random = Random::new(6);
    let boot = |_| {
        let mut inputs = Inputs {
            random: &mut random,
            jitter,
            inputs: Vec::new(),
            outputs: 0,
            bootstraps: 0,
            now: 30 * CYCLES_PER_MS,
        };
        inputs.bootstrap();
        (0..outputs).for_each(|_| inputs.output());
        let inputs = inputs.inputs;
        let outputs = (0..outputs as u64).map(|tick| output(tick, 1, random.bits()));
        Trace {
            inputs,
            ..channel((Source::Squall, 0), outputs.collect())
        }
    };
    (0..count).map(boot).collect()
}

/// Clones of a machine with every source. Each source makes a different number of requests in the
/// window.
pub(super) fn resets(count: usize) -> Resets {
    let windows = [
        (Source::Naive, 480),
        (Source::Getrandom, 12),
        (Source::Squall, 0),
        (Source::SquallWords, 0),
        (Source::SquallNoSignal, 0),
        (Source::SquallUnguarded, 60),
        (Source::SquallSignalOnly, 12),
        (Source::Whirlwind, 1),
        (Source::SquallChild, 0),
        (Source::SquallChildren, 0),
    ];
    let (before, after) = (20, 500);
    let mut random = Random::new(7);
    let mut original = boots(1, before, 8).remove(0);
    let common: Vec<[u64; 8]> = (0..1000).map(|_| random.bits()).collect();
    let mut clone = |_| {
        let mut inputs = Inputs {
            random: &mut random,
            jitter: 8,
            inputs: original.inputs.clone(),
            outputs: before as u64,
            bootstraps: 1,
            now: original.inputs.last().expect("inputs").cycles,
        };
        inputs.output();
        inputs.bootstrap();
        (0..120).for_each(|_| inputs.output());
        let mut trace = Trace {
            inputs: std::mem::take(&mut inputs.inputs),
            ..Trace::default()
        };
        for (source, window) in windows {
            let late = random.word() as usize % (1 + window / 3);
            let outputs = (0..before + after).map(|tick| {
                let is_old = tick < before + window - late;
                // Sources share nothing, so each source has its own words.
                let mark = |word: u64| word.wrapping_mul(2 * source as u64 + 1);
                let bits = if is_old {
                    common[tick].map(mark)
                } else {
                    random.bits()
                };
                output(tick as u64 + 60, 1 + u64::from(!is_old), bits)
            });
            trace.outputs.insert((source, 0), outputs.collect());
        }
        trace.cycles_per_ms = CYCLES_PER_MS;
        trace
    };
    let clones: Vec<Trace> = (0..count).map(&mut clone).collect();
    let names = clones[0].outputs.keys();
    let outputs = names.map(|&name| (name, before)).collect();
    let inputs = std::mem::take(&mut original.inputs).len();
    let before = Counts {
        outputs,
        inputs,
        ..Counts::default()
    };
    staggered(Resets { before, clones })
}

/// A machine that is notified of clones, on which every source draws at ticks.
pub(super) fn setup() -> Setup {
    Setup {
        machine: "v6.12+vmgenid".into(),
        kernel: "6.12.1-test".into(),
        qemu: "7.2".into(),
        accelerator: "kvm".into(),
        mode: "ticks".into(),
        probe: Mode::Ticks,
        signals: Signals::default(),
        facts: json!({ "vmgenid": true }),
    }
}
