//! What one machine recorded, out of the memory it shared with the lab.

use std::collections::BTreeMap;

use squall_probe::{Input, Output, Source};

/// A source, and which of several it is.
pub type Name = (Source, u64);

/// The records of one machine.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Cycles of the guest's counter in a millisecond.
    pub cycles_per_ms: u64,
    /// What each generator gave, in order.
    pub outputs: BTreeMap<Name, Vec<Output>>,
    /// What went into Whirlwind, in order.
    pub inputs: Vec<Input>,
}

/// How many records of each channel there were when a snapshot was taken.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Of each generator.
    pub outputs: BTreeMap<Name, usize>,
    /// Of Whirlwind's inputs.
    pub inputs: usize,
    /// Of the generators' channels, how many records fit.
    pub room: BTreeMap<Name, usize>,
}

/// One snapshot and the machines that were resumed from it.
#[derive(Clone, Debug, Default)]
pub struct Resets {
    /// What was recorded when the snapshot was taken: the same in every clone.
    pub before: Counts,
    /// The clones, each with the records from before the snapshot at the beginning.
    pub clones: Vec<Trace>,
}
