//! Reads the cycle counter without pause, on one CPU, into a ring in the memory that the lab sees.
//!
//! Wherever the machine is stopped, the ring's mark tells between which readings that was, or that it
//! was within one. Nothing else is done between two readings.

#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU64, Ordering};

use rustix::thread::{CpuSet, sched_setaffinity};
use squall_probe::{Reading, Record};

use crate::Result;
use crate::layout::Channels;

/// The CPU that reads. The kernel's own work is rather on the first.
const CPU: usize = 1;

/// Records until the lab ends it.
pub fn record(channels: &Channels) -> Result<()> {
    stay_on_one_cpu()?;
    let mut ring = channels.memory.ring(0, &channels.table()[0]);
    while channels.memory.is_running() {
        ring.fill(read_counter);
    }
    Ok(())
}

fn stay_on_one_cpu() -> Result<()> {
    let mut cpus = CpuSet::new();
    cpus.set(CPU);
    sched_setaffinity(None, &cpus).map_err(|error| format!("staying on CPU {CPU}: {error}"))
}

/// The counter and the number of its CPU, in one instruction.
#[inline(always)]
fn read_counter() -> Reading {
    let mut cpu = 0;
    // SAFETY: the lab gives its machines a CPU with all features, of which RDTSCP is one.
    let cycles = unsafe { core::arch::x86_64::__rdtscp(&mut cpu) };
    Reading {
        cycles,
        cpu: cpu.into(),
    }
}

/// Writes readings, each in the place of the oldest.
#[derive(Debug)]
pub struct Ring {
    words: &'static [AtomicU64],
    begun: &'static AtomicU64,
    counted: &'static AtomicU64,
    number: u64,
}

impl Ring {
    /// An empty ring in `words`, whose mark is in the two words behind.
    pub fn new(
        words: &'static [AtomicU64],
        begun: &'static AtomicU64,
        counted: &'static AtomicU64,
    ) -> Ring {
        Ring {
            words,
            begun,
            counted,
            number: 0,
        }
    }

    /// Fills the ring once, from its first place.
    fn fill(&mut self, read: impl Fn() -> Reading) {
        let (places, _) = self.words.as_chunks::<{ Reading::WORDS }>();
        for [cycles, cpu] in places {
            self.begun
                .store((self.number + 1).to_le(), Ordering::Release);
            let reading = read();
            cycles.store(reading.cycles.to_le(), Ordering::Release);
            cpu.store(reading.cpu.to_le(), Ordering::Release);
            self.number += 1;
            self.counted.store(self.number.to_le(), Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use squall_probe::{Channel, Mark, Mode};

    use super::*;
    use crate::memory::tests::plain;

    #[test]
    fn a_reading_takes_the_place_of_the_oldest_and_is_marked() {
        let memory = plain();
        let channels = Channels::lay_out(memory, Mode::Stops);
        let channel = channels.table()[0];
        let mut ring = memory.ring(0, &channel);
        let capacity = channel.capacity as u64;
        let marked = Channel::place(0) + Mark::COUNTED;
        let cycles = Cell::new(100);
        for lap in 0..2 {
            ring.fill(|| {
                let number = cycles.get() - 100;
                // `counted`, then `begun`: the reading that is under way is marked.
                assert_eq!(memory.words(marked), [number, number + 1]);
                cycles.set(cycles.get() + 1);
                Reading {
                    cycles: cycles.get() - 1,
                    cpu: lap,
                }
            });
            assert_eq!(memory.words(channel.first), [100 + lap * capacity, lap]);
            assert_eq!(memory.words(marked), [(lap + 1) * capacity; 2]);
        }
    }

    #[test]
    fn the_counter_does_not_go_back_on_one_cpu() {
        let in_order = |_| {
            let (first, second) = (read_counter(), read_counter());
            first.cpu == second.cpu && first.cycles < second.cycles
        };
        assert!((0..1000).any(in_order));
    }
}
