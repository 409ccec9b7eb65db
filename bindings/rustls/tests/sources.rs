//! Counts what a handshake draws from squall through rustls, and what `ring` draws from getrandom(2). The
//! preloaded library counts the latter.

use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use rustls::crypto::{CryptoProvider, GetRandomFailed, SecureRandom, ring};
use rustls::version::{TLS12, TLS13};
use squall_bindings::counters::{self, Interface};
use squall_testing::artifacts;
use squall_testing::suite::Test;
use squall_testing::tests;

use crate::handshake::Pair;

pub const TESTS: &[Test] = tests![
    bytes_of_rustls_come_from_squall_and_those_of_ring_from_the_kernel,
    the_provider_changes_nothing_else,
];

/// If this variable is set, this program shakes hands.
const CHILD: &str = "SQUALL_TEST_HANDSHAKE";

/// How many handshakes of each version the child makes.
const HANDSHAKES: u64 = 10;

/// Counts the bytes that rustls draws from a provider.
#[derive(Debug)]
struct Counting {
    provider: &'static dyn SecureRandom,
    bytes: AtomicU64,
}

impl SecureRandom for Counting {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), GetRandomFailed> {
        self.bytes.fetch_add(buffer.len() as u64, Ordering::Relaxed);
        self.provider.fill(buffer)
    }
}

/// Whether this process was started by a test.
pub fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// Shakes hands with squall's provider, or `ring`'s if the variable says so, and prints the number of bytes
/// that rustls drew.
pub fn shake_hands_and_count() {
    let base = ring::default_provider();
    let is_control = std::env::var(CHILD).is_ok_and(|name| name == "ring");
    let provider = if is_control {
        base
    } else {
        squall_rustls::provider(base)
    };
    let counting: &'static Counting = Box::leak(Box::new(Counting {
        provider: provider.secure_random,
        bytes: AtomicU64::new(0),
    }));
    let provider = CryptoProvider {
        secure_random: counting,
        ..provider
    };
    for version in [&TLS12, &TLS13] {
        let pair = Pair::new(provider.clone(), version);
        (0..HANDSHAKES).for_each(|_| pair.shake_hands());
    }
    println!("{}", counting.bytes.load(Ordering::Relaxed));
}

/// The bytes that rustls drew, and those that were drawn by getrandom(2), with this provider.
fn drawn_with(provider: &str) -> (u64, u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("counters");
    counters::create(&file).expect("counters");
    let mut child = Command::new(std::env::current_exe().expect("this program"));
    let output = child
        .env(CHILD, provider)
        .env(counters::VARIABLE, &file)
        .env("LD_PRELOAD", artifacts::preload())
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{output:?}");
    let by_rustls = String::from_utf8_lossy(&output.stdout).trim().parse();
    let by_call = counters::read(&file).expect("counters");
    let by_call = by_call.count(Interface::Getrandom).bytes;
    (by_rustls.expect("a number"), by_call)
}

fn bytes_of_rustls_come_from_squall_and_those_of_ring_from_the_kernel() {
    let (by_rustls, beside_squall) = drawn_with("squall");
    // Two hello messages have 32 random bytes each.
    assert!(by_rustls >= 2 * HANDSHAKES * 64, "{by_rustls}");
    // ring draws two private keys of 32 bytes in each handshake of TLS 1.3.
    assert!(beside_squall >= HANDSHAKES * 64, "{beside_squall}");
    // The control: with ring's provider the bytes of rustls are drawn by the same calls.
    let (by_rustls, beside_ring) = drawn_with("ring");
    assert!(
        beside_ring >= beside_squall + by_rustls / 2,
        "{beside_ring}, {beside_squall} and {by_rustls}"
    );
}

fn the_provider_changes_nothing_else() {
    let base = ring::default_provider();
    let ours = squall_rustls::provider(base.clone());
    assert_eq!(
        format!("{:?}", ours.cipher_suites),
        format!("{:?}", base.cipher_suites)
    );
    assert_eq!(format!("{:?}", ours.secure_random), "Squall");
    assert!(!ours.fips());
    let mut bytes = [0; 32];
    ours.secure_random.fill(&mut bytes).expect("bytes");
    assert_ne!(bytes, [0; 32]);
}
