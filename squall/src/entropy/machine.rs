//! The values that an accumulator reads from the machine, behind a trait that tests and models can
//! implement.

use super::cpu;
use crate::failpoint::{self, Failpoint};

/// Length of the output of [`Machine::random`], in bytes.
pub const HARDWARE_LEN: usize = 32;

/// The machine under an accumulator.
pub trait Machine: Send + Sync {
    /// The cycle counter. [`ThisMachine`] reads the time-stamp counter of x86 or the virtual counter
    /// of ARM, and returns 0 once it has failed its health test.
    fn cycles(&self) -> u64;

    /// The cycle counter at an event that is not evenly spaced from the last: a sample of noise,
    /// whose health may be tested.
    fn noise(&self) -> u64 {
        self.cycles()
    }

    /// The process id.
    fn process(&self) -> u32;

    /// The number of the CPU that runs this thread, 0 if it is not known.
    fn cpu(&self) -> u32;

    /// Writes words of the CPU's random instruction, zeros where it has none.
    fn random(&self, out: &mut [u8; HARDWARE_LEN]);
}

/// The machine this program runs on.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThisMachine;

impl Machine for ThisMachine {
    #[inline]
    fn cycles(&self) -> u64 {
        cpu::cycles()
    }

    fn noise(&self) -> u64 {
        cpu::noise()
    }

    fn process(&self) -> u32 {
        if failpoint::is_active(Failpoint::ZeroProcessAndCpuNumbers) {
            0
        } else {
            std::process::id()
        }
    }

    fn cpu(&self) -> u32 {
        if failpoint::is_active(Failpoint::ZeroProcessAndCpuNumbers) {
            0
        } else {
            cpu::current_cpu()
        }
    }

    fn random(&self, out: &mut [u8; HARDWARE_LEN]) {
        for word in out.as_chunks_mut().0 {
            *word = cpu::random_word().unwrap_or(0).to_be_bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// A machine that does not override `noise`.
    struct ConstantCounter;

    impl Machine for ConstantCounter {
        fn cycles(&self) -> u64 {
            7
        }
        fn process(&self) -> u32 {
            0
        }
        fn cpu(&self) -> u32 {
            0
        }
        fn random(&self, out: &mut [u8; HARDWARE_LEN]) {
            out.fill(0);
        }
    }

    #[test]
    fn noise_defaults_to_the_cycle_counter() {
        assert_eq!(ConstantCounter.noise(), 7);
    }

    #[test]
    fn this_machine_reads_the_real_one() {
        let moves = |count: fn(&ThisMachine) -> u64| {
            let start = count(&ThisMachine);
            (0..1000).any(|_| count(&ThisMachine) != start)
        };
        assert!(moves(Machine::cycles) && moves(Machine::noise));
        assert_eq!(ThisMachine.process(), std::process::id());
    }

    #[test]
    fn the_cpu_is_the_one_that_runs_the_thread() {
        cpu::tests::on_each_cpu(|cpu| assert_eq!(ThisMachine.cpu() as usize, cpu));
    }

    #[test]
    fn random_words_come_from_the_instruction() {
        let draw = |_| {
            let mut out = [0; HARDWARE_LEN];
            ThisMachine.random(&mut out);
            let words = out.as_chunks().0.iter().copied();
            words.collect::<HashSet<[u8; 8]>>()
        };
        // Zeros stand for a word that the instruction did not return; it is then left out for a while.
        let is_whole = |words: HashSet<[u8; 8]>| words.len() == 4 && !words.contains(&[0; 8]);
        match cpu::random_state() {
            cpu::NoiseSource::Absent => assert_eq!(draw(0), [[0; 8]].into()),
            cpu::NoiseSource::Works => assert!((0..10_000).map(draw).any(is_whole)),
            _ => {}
        }
    }
}
