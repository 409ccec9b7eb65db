//! A model of the old Linux RNG: a baseline to measure against and a target to attack. Never a
//! source of randomness.
//!
//! Timer events are mixed into an input pool, and an estimator guesses how much entropy each brought.
//! Two output pools draw on it: the blocking one (/dev/random) gives out no more than the
//! estimator has credited, the nonblocking one (/dev/urandom) gives out any amount. Output is
//! extracted from a pool by SHA-1, ten bytes at a time.
//!
//! The design is that of Linux 2.6 to 4.7, the details are those of 3.6 to 3.12. From 3.13 on, credit is in
//! fractions of a bit and is lower for a fuller pool, the taps differ, and no event is dropped. From 4.8 on,
//! /dev/urandom is ChaCha20.
//!
//! Written from a description (A. Everspaugh et al.: Not-So-Random Numbers in Virtualized Linux
//! and the Whirlwind RNG, IEEE S&P 2014; Y. Dodis et al.: Security Analysis of Pseudo-Random
//! Number Generators with Input: /dev/random is not Robust, CCS 2013), as it is on x86: bytes are
//! signed and words are little-endian. The model is simpler than kernels, or fills in gaps of the
//! description, in these points:
//!
//! - One lock for everything. Kernels had one per pool.
//! - One device and one CPU: one history of timer events, one hash of `get_random_int`.
//! - No interrupts. Since 3.6, kernels collected them in a fast pool of each CPU, and credited one bit for
//!   64 of them or for a second's.
//! - No random instruction, which kernels asked for `get_random_int` and XORed to all output.
//! - Jiffies are 32 bits, so a timer event is 12 bytes. 64-bit kernels mixed in 16.
//! - Events always go to the input pool, where kernels gave the first ones to the nonblocking pool.
//! - A read of /dev/random asks again for what is missing until there is no more, where the
//!   kernel's returned what it had.
//! - The secret of `get_random_int` is zero until [`Legacy::draw_int_secret`], which a kernel does
//!   late in its boot.

#![deny(unsafe_code)]

mod estimator;
mod ints;
mod pool;
mod state;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub use state::{EntropyCounts, TRICKLE_THRESHOLD};

use pool::EXTRACT_LEN;
use state::State;

/// The old Linux RNG. Threads share it, and each step of each of them takes the one lock.
pub struct Legacy {
    state: Mutex<State>,
}

impl Legacy {
    /// A generator with `initial` mixed into each pool without credit, as a kernel mixes in the time
    /// and the machine's name at boot. If `initial` is empty, all pools are zero.
    pub fn new(initial: &[u8]) -> Legacy {
        Legacy {
            state: Mutex::new(State::new(initial)),
        }
    }

    /// Adds a timer event: a key press, a mouse movement, or the end of a disk operation. While more
    /// than [`TRICKLE_THRESHOLD`] bits are credited, all but one of 4096 events are dropped. Other
    /// events are mixed in, and credited with the estimate from their time in jiffies.
    pub fn add_timer_event(&self, jiffies: u32, cycles: u32, num: u32) {
        self.lock().add_timer_event(jiffies, cycles, num);
    }

    /// Mixes `bytes` into the input pool, without credit.
    pub fn mix(&self, bytes: &[u8]) {
        self.lock().input.mix(bytes);
    }

    /// A read of /dev/urandom: fills `out`, whatever is in the pool.
    pub fn urandom(&self, out: &mut [u8]) {
        self.lock().prepare_urandom(out.len());
        for chunk in out.chunks_mut(EXTRACT_LEN) {
            let block = self.lock().extract_nonblocking();
            chunk.copy_from_slice(&block[..chunk.len()]);
        }
    }

    /// A read of /dev/random. Returns the number of bytes of `out` that it filled before it would have
    /// to wait.
    pub fn random(&self, out: &mut [u8]) -> usize {
        let mut given = 0;
        while given < out.len() {
            let rest = &mut out[given..];
            let allowed = self.lock().prepare_random(rest.len());
            if allowed == 0 {
                break;
            }
            for chunk in rest[..allowed].chunks_mut(EXTRACT_LEN) {
                let block = self.lock().extract_blocking();
                chunk.copy_from_slice(&block[..chunk.len()]);
            }
            given += allowed;
        }
        given
    }

    /// The number that `get_random_int` gives a process at a time: MD5 with a secret. It uses no
    /// entropy of its own.
    pub fn get_random_int(&self, pid: u32, jiffies: u32, cycles: u32) -> u32 {
        self.lock().ints.next(pid, jiffies, cycles)
    }

    /// Draws the secret of `get_random_int` from the nonblocking pool.
    pub fn draw_int_secret(&self) {
        let mut secret = [0; ints::SECRET_LEN];
        self.urandom(&mut secret);
        self.lock().ints.set_secret(secret);
    }

    /// The credit of each pool, in bits.
    pub fn entropy_count(&self) -> EntropyCounts {
        self.lock().entropy_count()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Every step leaves a valid state, even if a later step of its caller panics.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Copies the whole state, which an attacker who saw it once has too.
impl Clone for Legacy {
    fn clone(&self) -> Legacy {
        Legacy {
            state: Mutex::new(self.lock().clone()),
        }
    }
}

impl fmt::Debug for Legacy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Legacy")
            .field("entropy_count", &self.entropy_count())
            .finish_non_exhaustive()
    }
}
