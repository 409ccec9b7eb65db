//! Readings of the cycle counter, and how far a ring of them has come.

use crate::{Channel, Record};

/// A reading of the cycle counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The counter.
    pub cycles: u64,
    /// The number of the CPU whose counter it is.
    pub cpu: u64,
}

impl Record for Reading {
    const WORDS: usize = 2;

    fn to_words(&self) -> impl AsRef<[u64]> {
        [self.cycles, self.cpu]
    }

    fn from_words(words: &[u64]) -> Self {
        Reading {
            cycles: words[0],
            cpu: words[1],
        }
    }
}

/// How many readings of a ring were begun and how many are in it, both since its start. Where the ring
/// is full, a new reading takes the place of the oldest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Written just before the counter is read.
    pub begun: u64,
    /// Written when the reading is in the ring.
    pub counted: u64,
}

impl Mark {
    /// The index of `begun` among the words of the ring's channel.
    pub const BEGUN: usize = Channel::COUNT + 1;

    /// The index of `counted`.
    pub const COUNTED: usize = Channel::COUNT;
}
