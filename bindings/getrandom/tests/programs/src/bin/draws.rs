//! Draws 16 bytes by each of three crates, and prints whether squall-getrandom says that it is reached.

use std::collections::HashMap;

fn main() {
    assert_eq!(uuid::Uuid::new_v4().get_version_num(), 4);
    getrandom_03::fill(&mut [0; 16]).expect("there is a source of randomness");
    assert!(HashMap::<u8, u8>::new().is_empty());
    println!("{}", squall_getrandom::is_active());
}
