//! What squall is measured against: one file a peer, each with a `fill` that writes a buffer.
//!
//! `rand`'s ThreadRng needs no file: its own interface is what the benchmarks call.

pub mod openssl;
pub mod rustcrypto;
pub mod syscall;
pub mod urandom;
pub mod vdso;

/// Says that `peer` is left out and why.
pub fn skip(peer: &str, reason: &str) {
    println!("SKIP {peer}: {reason}");
}
