//! `squall-lab`: models of old random number generators, attacks on them, and what accumulators
//! cost.

fn main() {}
