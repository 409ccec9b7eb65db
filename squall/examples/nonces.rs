//! Draws the key and the nonces of an authenticated cipher such as AES-256-GCM.
//!
//! A nonce must never come twice under one key. Random nonces need no counter that survives a
//! restart, and squall makes sure that a forked child or a cloned virtual machine draws others.
//!
//!     cargo run --release -p squall --example nonces

use std::collections::HashSet;

/// Messages that one key may protect with random nonces of 96 bits (NIST SP 800-38D, section 8.3).
const MAX_MESSAGES: u64 = 1 << 32;

struct Sender {
    _key: [u8; 32],
    sent: u64,
}

impl Sender {
    fn new() -> Sender {
        Sender {
            _key: squall::array(),
            sent: 0,
        }
    }

    /// The nonce of the next message, and a new key when the old one has protected enough.
    fn next_nonce(&mut self) -> [u8; 12] {
        if self.sent == MAX_MESSAGES {
            *self = Sender::new();
        }
        self.sent += 1;
        squall::array()
    }
}

fn main() {
    let mut sender = Sender::new();
    let nonces: HashSet<[u8; 12]> = (0..100_000).map(|_| sender.next_nonce()).collect();
    assert_eq!(nonces.len() as u64, sender.sent);
    println!("{} messages, no nonce twice", sender.sent);
}
