//! The state of a generator for OpenSSL: whether it is instantiated, and when it was seeded.
//!
//! Bytes come from squall's state of the calling thread, whichever generator is asked. So any number
//! of threads may use a generator at once, without a lock, and it holds no secret.
//!
//! # Input of the caller
//! Personalization strings, entropy and additional input are accepted and ignored. SP 800-90A leaves
//! all three to the implementation (sections 8.7.1, 8.7.2, and 9.2, by which entropy comes from
//! the source and never from the consuming application), and no promise depends on them. Squall's
//! state is seeded from the kernel and from its own accumulator, each of which suffices. The state
//! belongs to one thread of one process, which is what OpenSSL's own generators use additional input
//! for.

use core::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use squall_binding_base::counters::{self, Interface};

use crate::abi::reason;
use crate::params::Answer;

/// The security strength in bits: that of AES-256 and of the kernel's RNG.
pub const STRENGTH: u32 = 256;

/// The longest request in bytes: it fits in any parameter, and in the `int` of RAND_bytes. squall
/// itself has no limit.
const MAX_REQUEST: u64 = i32::MAX as u64;

/// How often the kernel's RNG is reseeded, and so squall's state, in seconds.
const RESEED_SECONDS: u64 = 60;

/// The length of a nonce in bytes: half the strength (SP 800-90A section 8.6.7).
const NONCE_LEN: usize = STRENGTH as usize / 16;

/// EVP_RAND_STATE_UNINITIALISED of EVP_RAND(3).
const UNINITIALISED: u32 = 0;
/// EVP_RAND_STATE_READY.
const READY: u32 = 1;

/// An error code: one of [`reason`].
pub type ErrorReason = u32;

/// A generator as OpenSSL sees it.
#[derive(Debug, Default)]
pub struct Generator {
    state: AtomicU32,
    /// How often it was instantiated or reseeded.
    seedings: AtomicU32,
    /// The time of the last seeding, in seconds since 1970.
    seeded: AtomicI64,
}

impl Generator {
    /// Makes the generator ready, if squall has randomness of this strength.
    ///
    /// # Errors
    /// The generator is ready already, the strength is more than squall has, or there is no source.
    pub fn instantiate(&self, strength: u32) -> Result<(), ErrorReason> {
        check_strength(strength)?;
        if self.is_ready() {
            return Err(reason::ALREADY_INSTANTIATED);
        }
        // This shows whether there is a source, so that the first request does not fail.
        draw(&mut [0], false)?;
        self.record_seeding();
        self.state.store(READY, Ordering::Relaxed);
        Ok(())
    }

    /// Makes the generator uninitialised until the next request. There is nothing to erase.
    pub fn uninstantiate(&self) {
        self.state.store(UNINITIALISED, Ordering::Relaxed);
    }

    /// Fills `out`. `fresh` answers a request for prediction resistance: a new seed from the
    /// kernel's RNG for this call, in a microsecond or two.
    ///
    /// # Errors
    /// The strength is more than squall has, or there is no source.
    #[inline]
    pub fn generate(&self, out: &mut [u8], strength: u32, fresh: bool) -> Result<(), ErrorReason> {
        self.ensure_ready()?;
        fill_and_count(out, strength, fresh)
    }

    /// Makes sure that the source works. It changes nothing about later bytes: all threads reseed
    /// their state whenever the kernel's RNG does, and [`Generator::generate`] with `fresh` uses no
    /// state.
    ///
    /// # Errors
    /// There is no source.
    pub fn reseed(&self) -> Result<(), ErrorReason> {
        self.ensure_ready()?;
        draw(&mut [0], true)?;
        self.record_seeding();
        Ok(())
    }

    /// The length in bytes of a nonce of this strength, between `least` and `most`.
    ///
    /// # Errors
    /// The strength is more than squall has, no length fits, or there is no source.
    pub fn nonce_len(
        &self,
        strength: u32,
        least: usize,
        most: usize,
    ) -> Result<usize, ErrorReason> {
        self.ensure_ready()?;
        check_strength(strength)?;
        match NONCE_LEN.max(least).min(most) {
            len if len >= least && len > 0 => Ok(len),
            _ => Err(reason::INVALID_SEED_LENGTH),
        }
    }

    /// Fills `out` with a nonce for another generator.
    ///
    /// # Errors
    /// There is no source.
    pub fn nonce(&self, out: &mut [u8]) -> Result<(), ErrorReason> {
        draw(out, false)?;
        counters::served(Interface::OpensslSeed, out.len());
        Ok(())
    }

    /// The length in bytes of a seed of `entropy` bits, between `least` and `most`.
    ///
    /// # Errors
    /// squall has fewer bits, no length fits, or there is no source.
    pub fn seed_len(&self, entropy: u32, least: usize, most: usize) -> Result<usize, ErrorReason> {
        self.ensure_ready()?;
        check_strength(entropy)?;
        match least.max(entropy.div_ceil(8) as usize) {
            len if len <= most && len > 0 => Ok(len),
            _ => Err(reason::INVALID_SEED_LENGTH),
        }
    }

    /// Fills `out` with a seed for another generator; always fresh, because that one lives on.
    ///
    /// # Errors
    /// There is no source.
    pub fn seed(&self, out: &mut [u8]) -> Result<(), ErrorReason> {
        draw(out, true)?;
        counters::served(Interface::OpensslSeed, out.len());
        Ok(())
    }

    /// The value of the parameter `key`, if it is in [`crate::rand::GETTABLE`].
    #[inline]
    pub fn param(&self, key: &[u8]) -> Option<Answer> {
        // OpenSSL asks for this one on every request.
        if key == b"max_request" {
            return Some(Answer::Number(MAX_REQUEST));
        }
        Some(Answer::Number(match key {
            b"state" => self.state.load(Ordering::Relaxed).into(),
            b"strength" => STRENGTH.into(),
            b"reseed_counter" => self.epoch().into(),
            b"reseed_time" => self.seeded.load(Ordering::Relaxed).max(0) as u64,
            b"reseed_time_interval" => RESEED_SECONDS,
            // State does not age by requests, and input of the caller is not used.
            b"reseed_requests" | b"min_entropylen" | b"max_entropylen" | b"min_noncelen"
            | b"max_noncelen" | b"max_perslen" | b"max_adinlen" => 0,
            _ => return None,
        }))
    }

    /// A number that changes after each seeding, and after each reseed of the kernel's RNG, which a
    /// clone of the machine causes too; never 0. Generators that were seeded from this one compare it
    /// on their requests, and ask for a new seed when it changes.
    fn epoch(&self) -> u32 {
        let kernel = squall::hazmat::kernel_generation().map_or(0, |generation| generation.get());
        let seedings = self.seedings.load(Ordering::Relaxed);
        (kernel as u32).wrapping_add(seedings).max(1)
    }

    /// Whether the generator is instantiated.
    pub fn is_ready(&self) -> bool {
        self.state.load(Ordering::Relaxed) == READY
    }

    /// Instantiates the generator if it is not, as OpenSSL's own do on a request.
    #[inline]
    fn ensure_ready(&self) -> Result<(), ErrorReason> {
        if self.is_ready() {
            Ok(())
        } else {
            self.instantiate_once()
        }
    }

    /// Instantiates the generator, unless another thread's request has done so.
    fn instantiate_once(&self) -> Result<(), ErrorReason> {
        match self.instantiate(STRENGTH) {
            Err(reason::ALREADY_INSTANTIATED) => Ok(()),
            result => result,
        }
    }

    fn record_seeding(&self) {
        // SAFETY: a null pointer is allowed, and nothing is written.
        let now = unsafe { libc::time(core::ptr::null_mut()) };
        self.seeded.store(now, Ordering::Relaxed);
        self.seedings.fetch_add(1, Ordering::Relaxed);
    }
}

/// Fills `out` with bytes of this strength, and counts them.
///
/// # Errors
/// The strength is more than squall has, or there is no source.
#[inline]
pub fn fill_and_count(out: &mut [u8], strength: u32, fresh: bool) -> Result<(), ErrorReason> {
    check_strength(strength)?;
    draw(out, fresh)?;
    counters::served(Interface::Openssl, out.len());
    Ok(())
}

#[inline]
fn check_strength(strength: u32) -> Result<(), ErrorReason> {
    if strength <= STRENGTH {
        Ok(())
    } else {
        Err(reason::INSUFFICIENT_STRENGTH)
    }
}

#[inline]
fn draw(out: &mut [u8], fresh: bool) -> Result<(), ErrorReason> {
    let drawn = if fresh {
        squall::try_fill_fresh(out)
    } else {
        squall::try_fill(out)
    };
    drawn.map_err(|_| reason::RETRIEVING_ENTROPY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_succeeds_if_another_thread_has_just_instantiated_the_generator() {
        let generator = Generator::default();
        generator.instantiate(STRENGTH).unwrap();
        assert_eq!(
            generator.instantiate(STRENGTH),
            Err(reason::ALREADY_INSTANTIATED)
        );
        assert_eq!(generator.instantiate_once(), Ok(()));
    }
}
