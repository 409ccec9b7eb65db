//! Runs Whirlwind on a machine that records every cycle count that Whirlwind reads.
//!
//! Whirlwind reads a cycle count for each input, and one more for the time of an output. They are
//! distinguished by their order, which is checked: either all inputs are recorded, or the probe fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use squall::entropy::HARDWARE_LEN;
use squall::entropy::whirlwind::{Whirlwind, WithSha512};
use squall::entropy::{Machine, ThisMachine};
use squall::testing::generations_for_testing;
use squall_probe::Input;

use crate::generator::{Bits, Generator, words};
use crate::memory::Writer;

/// Number of cycle counts of a bootstrap, all of them inputs.
const BOOTSTRAP_COUNTS: u64 = 101;

/// Number of cycle counts of an output, and the index of the one that is its time and no input.
const OUTPUT_COUNTS: u64 = 3;
const OUTPUT_TIME_INDEX: u64 = 1;

/// Number of inputs of an output.
const OUTPUT_INPUTS: u64 = OUTPUT_COUNTS - 1;

/// A Whirlwind whose inputs are recorded.
///
/// It has one shard and one thread, so an input's number shows in which buffer it waits.
pub struct RecordedWhirlwind {
    whirlwind: Whirlwind<WithSha512, RecordingMachine, 1>,
    log: Arc<InputLog>,
}

impl RecordedWhirlwind {
    /// A new Whirlwind after its bootstrap, whose inputs are recorded by `inputs`.
    pub fn bootstrapped(inputs: Writer) -> RecordedWhirlwind {
        let log = Arc::new(InputLog::new(inputs));
        let recorded = RecordedWhirlwind {
            whirlwind: Whirlwind::new(RecordingMachine(Arc::clone(&log))),
            log,
        };
        recorded.bootstrap();
        recorded
    }

    fn bootstrap(&self) {
        self.log.bootstraps.fetch_add(1, Ordering::Relaxed);
        self.log.begin(NO_OUTPUT_TIME);
        self.whirlwind.bootstrap();
        self.log.end(BOOTSTRAP_COUNTS);
    }

    fn generate(&self) -> Bits {
        let mut bytes = [0; size_of::<Bits>()];
        self.log.begin(OUTPUT_TIME_INDEX);
        self.whirlwind.generate(&mut bytes);
        self.log.end(OUTPUT_COUNTS);
        words(&bytes)
    }

    /// Whether this many more inputs can be recorded.
    fn has_room_for(&self, inputs: u64) -> bool {
        self.log.inputs.room() as u64 >= inputs
    }
}

/// A [`RecordedWhirlwind`] that bootstraps again when the machine may have been cloned, like the library's root.
pub struct ReseedingWhirlwind {
    recorded: RecordedWhirlwind,
    /// The generations of the kernel and the VM at the last check.
    seen: (u64, u64),
}

impl ReseedingWhirlwind {
    /// Starts to watch. The process must have drawn from squall before, which finds out what can be
    /// watched.
    pub fn new(recorded: RecordedWhirlwind) -> ReseedingWhirlwind {
        ReseedingWhirlwind {
            recorded,
            seen: generations_for_testing(),
        }
    }
}

impl Generator for ReseedingWhirlwind {
    fn draw(&mut self) -> Option<Bits> {
        let generations = generations_for_testing();
        let may_be_clone = generations != self.seen;
        let inputs = if may_be_clone {
            BOOTSTRAP_COUNTS + OUTPUT_INPUTS
        } else {
            OUTPUT_INPUTS
        };
        if !self.recorded.has_room_for(inputs) {
            return None;
        }
        if may_be_clone {
            self.seen = generations;
            self.recorded.bootstrap();
        }
        Some(self.recorded.generate())
    }
}

/// The current task has no cycle count that is the time of an output.
const NO_OUTPUT_TIME: u64 = u64::MAX;

/// The recorded inputs. Only one thread uses it, but a machine must be shareable.
struct InputLog {
    inputs: Writer,
    number: AtomicU64,
    outputs: AtomicU64,
    bootstraps: AtomicU64,
    /// Number of cycle counts in the current task, and the index of the one that is an output's time.
    counts: AtomicU64,
    output_time: AtomicU64,
}

impl InputLog {
    fn new(inputs: Writer) -> InputLog {
        InputLog {
            inputs,
            number: AtomicU64::new(0),
            outputs: AtomicU64::new(0),
            bootstraps: AtomicU64::new(0),
            counts: AtomicU64::new(0),
            output_time: AtomicU64::new(NO_OUTPUT_TIME),
        }
    }

    /// Starts a task, whose cycle count number `output_time` is the time of an output.
    fn begin(&self, output_time: u64) {
        self.counts.store(0, Ordering::Relaxed);
        self.output_time.store(output_time, Ordering::Relaxed);
    }

    fn end(&self, expected: u64) {
        let counts = self.counts.load(Ordering::Relaxed);
        assert_eq!(counts, expected, "Whirlwind's cycle counts");
    }

    fn record(&self, cycles: u64) {
        let count = self.counts.fetch_add(1, Ordering::Relaxed);
        if count == self.output_time.load(Ordering::Relaxed) {
            self.outputs.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.inputs.write(&Input {
            cycles,
            outputs_before: self.outputs.load(Ordering::Relaxed),
            bootstraps_before: self.bootstraps.load(Ordering::Relaxed),
            number: self.number.fetch_add(1, Ordering::Relaxed),
        });
    }
}

/// This machine, with a log that records its cycle counts.
struct RecordingMachine(Arc<InputLog>);

impl Machine for RecordingMachine {
    fn cycles(&self) -> u64 {
        let cycles = ThisMachine.cycles();
        self.0.record(cycles);
        cycles
    }

    fn noise(&self) -> u64 {
        ThisMachine.noise()
    }

    fn process(&self) -> u32 {
        ThisMachine.process()
    }

    fn cpu(&self) -> u32 {
        ThisMachine.cpu()
    }

    fn random(&self, out: &mut [u8; HARDWARE_LEN]) {
        ThisMachine.random(out);
    }
}

#[cfg(test)]
mod tests {
    use squall_probe::{Channel, RECORDS, Record, Source};

    use super::*;
    use crate::memory::Memory;
    use crate::memory::tests::plain;

    fn recorded(capacity: usize) -> (Memory, RecordedWhirlwind) {
        let memory = plain();
        let channel = Channel {
            source: Source::WhirlwindInputs,
            instance: 0,
            first: RECORDS,
            capacity,
        };
        memory.lay_out(&[channel]);
        let recorded = RecordedWhirlwind::bootstrapped(memory.writer(0, &channel));
        (memory, recorded)
    }

    fn input(memory: Memory, number: u64) -> Input {
        let first = RECORDS + number as usize * Input::WORDS;
        Input::from_words(&memory.words::<{ Input::WORDS }>(first))
    }

    #[test]
    fn every_input_is_recorded_in_order() {
        let (memory, recorded) = recorded(1000);
        assert_ne!(recorded.generate(), recorded.generate());
        recorded.bootstrap();
        let counts: [u64; 1] = memory.words(Channel::place(0) + Channel::COUNT);
        assert_eq!(counts, [2 * BOOTSTRAP_COUNTS + 2 * OUTPUT_INPUTS]);
        let mut last = 0;
        for number in 0..counts[0] {
            let input = input(memory, number);
            let outputs_before = (number + 1).saturating_sub(BOOTSTRAP_COUNTS) / 2;
            assert_eq!(input.number, number);
            assert_eq!(input.outputs_before, outputs_before.min(2));
            let is_second = number >= BOOTSTRAP_COUNTS + 2 * OUTPUT_INPUTS;
            assert_eq!(input.bootstraps_before, 1 + u64::from(is_second));
            assert!(input.cycles >= last);
            last = input.cycles;
        }
    }

    #[test]
    fn a_full_channel_ends_the_generator_before_an_input_is_lost() {
        let (_, recorded) = recorded(BOOTSTRAP_COUNTS as usize + 5);
        let mut watchful = ReseedingWhirlwind::new(recorded);
        let drawn = std::iter::from_fn(|| watchful.draw()).count();
        assert_eq!(drawn, 2);
    }
}
