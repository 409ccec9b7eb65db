//! Measures single operations, in nanoseconds, and the speed of output by the length of a request, in MB/s
//! (10^6 bytes).

use std::time::Instant;

use serde::Serialize;
use squall::entropy::whirlwind::{Functions, Whirlwind, WithDaviesMeyer, WithSha256, WithSha512};
use squall_tools::measure::{Effort, Peer, in_turns};

use super::Plan;
use super::figures::{Row, Samples};
use super::generators::{Generator, Generators, Peers};
use super::paper::{self, Published};

const UNIT: &str = "ns";

/// The time of each operation, in nanoseconds.
#[derive(Debug, Serialize)]
pub struct Operations {
    /// An event: the mean over all calls, of which Whirlwind's eighth compresses (with SHA-256 the fourth).
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
fn samples(peers: Peers, effort: Effort) -> Samples {
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

/// Lengths of requests in bytes: those of the paper, and longer ones.
const LENGTHS: [usize; 8] = [4, 16, 64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10];

/// The speed of requests of one length, in MB/s.
#[derive(Debug, Serialize)]
pub struct Speed {
    pub block_bytes: usize,
    #[serde(flatten)]
    pub row: Row,
}

/// Measures every length.
pub fn throughput(generators: &mut Generators, effort: Effort) -> Vec<Speed> {
    let speed = |block_bytes| {
        let mut samples = samples(generators.outputs(block_bytes), effort);
        for sample in samples.values_mut().flatten() {
            *sample = block_bytes as f64 * 1e3 / *sample;
        }
        let row = Row::new(samples, "MB/s", paper::speed(block_bytes));
        Speed { block_bytes, row }
    };
    LENGTHS.map(speed).into()
}
