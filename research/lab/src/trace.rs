//! The records of one machine, read from the memory that it shares with the lab.

use std::collections::BTreeMap;

use squall_probe::{Input, Output, Source};

/// A source, and the index of its instance.
pub type Name = (Source, u64);

/// The records of one machine.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Cycles of the guest's counter per millisecond.
    pub cycles_per_ms: u64,
    /// The outputs of each channel, in order.
    pub outputs: BTreeMap<Name, Vec<Output>>,
    /// Whirlwind's inputs, in order.
    pub inputs: Vec<Input>,
}

/// The number of records in each channel, for example when a snapshot was taken.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// The number of outputs of each generator.
    pub outputs: BTreeMap<Name, usize>,
    /// The number of Whirlwind's inputs.
    pub inputs: usize,
    /// The capacity of each generator's channel, in records.
    pub room: BTreeMap<Name, usize>,
}

/// One snapshot and the machines that were resumed from it.
#[derive(Clone, Debug, Default)]
pub struct Resets {
    /// The counts when the snapshot was taken, which are the same in every clone.
    pub before: Counts,
    /// The clones. Each begins with the records from before the snapshot.
    pub clones: Vec<Trace>,
}
