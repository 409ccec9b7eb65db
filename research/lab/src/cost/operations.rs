//! Measures single operations, in nanoseconds.

use std::time::Instant;

use serde::Serialize;
use squall::entropy::whirlwind::{Functions, Whirlwind, WithDaviesMeyer, WithSha256, WithSha512};
use squall_tools::measure::{Effort, Peer, in_turns};

use super::Plan;
use super::buffered;
use super::figures::{Row, Samples};
use super::generators::{Generator, Generators, Peers};
use super::paper::{self, Published};

const UNIT: &str = "ns";

/// The time of each operation, in nanoseconds.
#[derive(Debug, Serialize)]
pub struct Operations {
    /// An event, only counting calls that do not compress: 7 of 8, or 3 of 4 with SHA-256.
    pub add_input_without_compression: Row,
    /// An event, as the mean over all calls including those that compress.
    pub add_input: Row,
    /// The mean time of an interrupt, which the old RNG only mixes into its fast pool.
    pub interrupt: Row,
    pub absorb_16_bytes: Row,
    /// The next three inputs have the size of a field of the robust PRNG. Whirlwind only takes inputs
    /// of 16 bytes.
    pub absorb_61_bytes: Row,
    pub absorb_72_bytes: Row,
    pub absorb_88_bytes: Row,
    pub generate_4_bytes: Row,
    /// The output of one `next` of the robust PRNG.
    pub generate_16_bytes: Row,
    pub generate_64_bytes: Row,
    pub bootstrap: Row,
}

/// Measures all operations.
pub fn measure(generators: &mut Generators, plan: Plan) -> Operations {
    let turns = |peers: Peers, paper| row(peers, plan.operation, paper);
    let wide = generators.wide_inputs();
    let [wide_489, wide_579, wide_705] = wide.map(|peers| turns(peers, paper::NOT_PUBLISHED));
    Operations {
        add_input_without_compression: turns(buffered::events(), paper::NOT_PUBLISHED),
        add_input: turns(generators.events(), paper::ADD_INPUT),
        interrupt: turns(generators.interrupts(), paper::NOT_PUBLISHED),
        absorb_16_bytes: turns(generators.inputs(), paper::NOT_PUBLISHED),
        absorb_61_bytes: wide_489,
        absorb_72_bytes: wide_579,
        absorb_88_bytes: wide_705,
        generate_4_bytes: turns(generators.words(), paper::GENERATE_4_BYTES),
        generate_16_bytes: turns(generators.outputs(16), paper::NOT_PUBLISHED),
        generate_64_bytes: turns(generators.outputs(64), paper::NOT_PUBLISHED),
        bootstrap: bootstraps(plan.bootstraps),
    }
}

/// Nanoseconds per call for each of `peers`, measured in turns.
pub fn samples(peers: Peers, effort: Effort) -> Samples {
    let (names, peers): (Vec<Generator>, Vec<Peer>) = peers.into_iter().unzip();
    names.into_iter().zip(in_turns(peers, effort)).collect()
}

fn row(peers: Peers, effort: Effort, paper: Published) -> Row {
    Row::new(samples(peers, effort), UNIT, paper)
}

/// Bootstraps of new Whirlwinds without any input.
fn bootstraps(count: usize) -> Row {
    type Bootstrap = (Generator, fn() -> f64);
    let bootstraps: [Bootstrap; 3] = [
        (Generator::WhirlwindSha512, bootstrap::<WithSha512>),
        (Generator::WhirlwindSha256, bootstrap::<WithSha256>),
        (
            Generator::WhirlwindDaviesMeyer,
            bootstrap::<WithDaviesMeyer>,
        ),
    ];
    let mut samples = Samples::new();
    for _ in 0..count {
        for (generator, bootstrap) in bootstraps {
            samples.entry(generator).or_default().push(bootstrap());
        }
    }
    Row::new(samples, UNIT, paper::BOOTSTRAP)
}

fn bootstrap<F: Functions>() -> f64 {
    let whirlwind = Whirlwind::<F>::default();
    let clock = Instant::now();
    whirlwind.bootstrap();
    clock.elapsed().as_nanos() as f64
}
