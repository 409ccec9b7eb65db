//! Estimates π on all cores by throwing darts at a square, with squall and with the generators of `rand`.
//!
//!     cargo run --release -p squall --example simulation [DARTS]

use std::thread::{available_parallelism, scope};
use std::time::Instant;

use rand::{RngExt, SeedableRng, rngs::ThreadRng};
use rand_pcg::Pcg64Mcg;
use squall::BufferedSimulationRng;

/// Each generator throws this often; the table has the median.
const ROUNDS: usize = 5;

/// Estimates π with a number of darts on each core; returns the estimate and the time in seconds.
type Estimate = fn(u64) -> (f64, f64);

/// Throws darts at a square, and counts those that hit its inscribed circle.
fn hits(darts: u64, rng: &mut impl rand::Rng) -> u64 {
    let throw = |_: &u64| {
        let [x, y]: [f64; 2] = rng.random();
        x * x + y * y < 1.0
    };
    (0..darts).filter(throw).count() as u64
}

/// An [`Estimate`] with these generators, one for each thread.
fn estimate<R: rand::Rng>(darts: u64, generator: fn() -> R) -> (f64, f64) {
    let cores = available_parallelism().map_or(1, usize::from);
    let begun = Instant::now();
    let hits: u64 = scope(|scope| {
        let threads: Vec<_> = (0..cores)
            .map(|_| scope.spawn(|| hits(darts, &mut generator())))
            .collect();
        let counts = threads
            .into_iter()
            .map(|thread| thread.join().expect("a count"));
        counts.sum()
    });
    let thrown = darts * cores as u64;
    (
        4.0 * hits as f64 / thrown as f64,
        begun.elapsed().as_secs_f64(),
    )
}

fn main() {
    let darts = std::env::args().nth(1).map_or(10_000_000, |darts| {
        darts.parse().expect("the number of darts for each core")
    });
    let generators: [(&str, Estimate); 3] = [
        ("squall", |darts| {
            estimate(darts, BufferedSimulationRng::new)
        }),
        ("rand's ThreadRng", |darts| {
            estimate(darts, ThreadRng::default)
        }),
        // A seed for another generator takes one line.
        ("PCG, seeded by squall", |darts| {
            estimate(darts, || Pcg64Mcg::from_rng(&mut squall::Rng))
        }),
    ];
    // They take turns, so that a busy moment does not fall on one alone.
    let mut results = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        for ((_, run), results) in generators.iter().zip(&mut results) {
            results.push(run(darts));
        }
    }
    for ((name, _), mut results) in generators.iter().zip(results) {
        results.sort_by(|(_, one), (_, other)| one.total_cmp(other));
        let (pi, seconds) = results[ROUNDS / 2];
        println!("{name:<22} π ≈ {pi:.4} in {seconds:.3} s");
    }
}
