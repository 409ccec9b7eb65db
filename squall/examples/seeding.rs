//! Seeds the generators of `rand` from squall, and makes a UUID.
//!
//! Whoever asks for a generator takes `squall::Rng` itself. Seeding another one is worth it where numbers
//! must come again.
//!
//!     cargo run --release -p squall --example seeding

use rand::rngs::{SmallRng, StdRng};
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

fn main() {
    // A small, fast generator that is not cryptographic.
    let mut small = SmallRng::from_rng(&mut squall::Rng);
    println!("SmallRng: {}", small.random_range(1..=6));

    // ChaCha12. The seed is kept, so that the same numbers can be had again.
    let seed = squall::array();
    let (mut first, mut again) = (StdRng::from_seed(seed), StdRng::from_seed(seed));
    assert_eq!(first.random::<u64>(), again.random::<u64>());

    // Whatever takes a generator takes squall.
    let colours = ["red", "green", "blue"];
    println!(
        "colour: {}",
        colours.choose(&mut squall::Rng).expect("three")
    );

    // `Uuid::new_v4` makes a system call; this does not.
    let uuid = uuid::Builder::from_random_bytes(squall::array()).into_uuid();
    println!("UUID: {uuid}");
    assert_eq!(uuid.get_version_num(), 4);
}
