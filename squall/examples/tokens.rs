//! Makes a session token for a web server to hand out, and keys for it to store.
//!
//!     cargo run --release -p squall --example tokens

use std::fmt::Write;

/// A token that nobody can guess: 256 random bits in hexadecimal digits.
fn token() -> String {
    let bytes: [u8; 32] = squall::array();
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes all text");
        text
    })
}

fn main() {
    println!("session={}", token());

    // Arrays can have any length. Equal arrays would mean a broken generator.
    let signing_key: [u8; 64] = squall::array();
    assert_ne!(signing_key, squall::array());
    println!("a signing key of {} bytes", signing_key.len());

    // A key that is used for years may come from a seed that the kernel gives for it alone.
    let mut root_key = [0; 32];
    squall::fill_fresh(&mut root_key);
    println!("a root key of {} bytes", root_key.len());
}
