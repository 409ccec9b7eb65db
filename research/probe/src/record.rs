//! Records of outputs and inputs with their times, and of readings of the cycle counter.

use crate::Channel;

/// A record of a fixed number of words.
pub trait Record: Sized {
    /// Length of the record in words.
    const WORDS: usize;

    /// The record as words, [`Self::WORDS`] of them.
    fn to_words(&self) -> impl AsRef<[u64]>;

    /// Reads the record from [`Self::WORDS`] words.
    fn from_words(words: &[u64]) -> Self;
}

/// 512 bits that a generator gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output {
    /// The cycle counter before the request.
    pub asked_at: u64,
    /// The cycle counter after it.
    pub given_at: u64,
    /// The kernel RNG's generation after it; 0 if the kernel does not expose it.
    pub generation: u64,
    /// vmclock's generation counter after it; 0 if there is no vmclock.
    pub vm_generation: u64,
    /// The output.
    pub bits: [u64; 8],
}

impl Record for Output {
    const WORDS: usize = 12;

    fn to_words(&self) -> impl AsRef<[u64]> {
        let mut words = [0; Self::WORDS];
        words[..4].copy_from_slice(&[
            self.asked_at,
            self.given_at,
            self.generation,
            self.vm_generation,
        ]);
        words[4..].copy_from_slice(&self.bits);
        words
    }

    fn from_words(words: &[u64]) -> Self {
        Output {
            asked_at: words[0],
            given_at: words[1],
            generation: words[2],
            vm_generation: words[3],
            bits: words[4..Self::WORDS].try_into().expect("eight words"),
        }
    }
}

/// An input of an accumulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input {
    /// The cycle count that went in.
    pub cycles: u64,
    /// Outputs of the accumulator before it.
    pub outputs_before: u64,
    /// Bootstraps that were begun before it.
    pub bootstraps_before: u64,
    /// Its number in this process, from 0, which shows its seed and block.
    pub number: u64,
}

impl Record for Input {
    const WORDS: usize = 4;

    fn to_words(&self) -> impl AsRef<[u64]> {
        [
            self.cycles,
            self.outputs_before,
            self.bootstraps_before,
            self.number,
        ]
    }

    fn from_words(words: &[u64]) -> Self {
        Input {
            cycles: words[0],
            outputs_before: words[1],
            bootstraps_before: words[2],
            number: words[3],
        }
    }
}

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
