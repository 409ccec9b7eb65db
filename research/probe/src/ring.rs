//! A ring of readings in the memory that the lab sees.
//!
//! Whenever the machine is stopped, the ring's mark shows between which readings that was, or that it
//! was within one. The thread does nothing else between two readings.

use std::sync::atomic::{AtomicU64, Ordering};

use squall_probe::{Reading, Record};

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
    pub fn fill(&mut self, read: impl Fn() -> Reading) {
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
    use crate::layout::Channels;
    use crate::memory::tests::plain;

    #[test]
    fn a_reading_replaces_the_oldest_and_is_marked() {
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
}
