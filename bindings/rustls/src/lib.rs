//! rustls draws its random bytes from [squall](https://docs.rs/squall).
//!
//! ```
//! let provider = squall_rustls::provider(rustls::crypto::ring::default_provider());
//! provider.install_default().expect("no provider was installed before");
//! ```
//!
//! This takes rustls with the feature `ring`. With its default features, write
//! `rustls::crypto::aws_lc_rs::default_provider()`.
//!
//! # What it reaches
//! The bytes that rustls itself draws: the random values of hello messages, session identifiers, the nonces
//! and age offsets of TLS 1.3's tickets, the order of extensions, and the values of Encrypted Client Hello.
//!
//! It does not reach what the cryptography of the base provider draws for itself: the private keys of key
//! exchange, the nonces of signatures, and the keys of session tickets. `ring` and `aws-lc-rs` offer no way to
//! replace their generators. `squall run` reaches those of `ring` in a dynamically linked program, without a
//! change to it.

#![deny(missing_docs)]

use rustls::crypto::{CryptoProvider, GetRandomFailed, SecureRandom};

/// `base` with squall as the source of random bytes. Everything else is that of `base`.
///
/// # Errors
/// None here. Where there is no source of randomness at all, a handshake fails with
/// [`rustls::Error::FailedToGetRandomBytes`].
///
/// # Security, forks and clones
/// Same as [`squall::try_fill`]. The provider says of itself that it is not validated for FIPS 140.
pub fn provider(base: CryptoProvider) -> CryptoProvider {
    CryptoProvider {
        secure_random: &Squall,
        ..base
    }
}

#[derive(Debug)]
struct Squall;

impl SecureRandom for Squall {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), GetRandomFailed> {
        squall::try_fill(buffer).map_err(|_| GetRandomFailed)
    }
}

/// The README's example is compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
