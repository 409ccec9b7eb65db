//! Estimates π by throwing darts at a square, with the traits of the crate `rand`.
//!
//!     cargo run --release -p squall --example simulation

use rand::RngExt;

const DARTS: u32 = 10_000_000;

/// Estimates the share of a square that its inscribed circle covers.
fn share_in_circle(rng: &mut impl rand::Rng) -> f64 {
    let hits = (0..DARTS)
        .filter(|_| {
            let [x, y]: [f64; 2] = rng.random();
            x * x + y * y < 1.0
        })
        .count();
    hits as f64 / f64::from(DARTS)
}

fn main() {
    // `Rng` is a handle to this thread's generator: it costs nothing to make.
    let pi = 4.0 * share_in_circle(&mut squall::Rng);
    println!("π is about {pi:.4}");

    // It works with everything that takes a generator: ranges, choices, distributions.
    let die = squall::Rng.random_range(1..=6);
    println!("the die shows {die}");
}
