//! What the CPU gives: its random instruction and its cycle counter.
//!
//! The random instruction is never trusted alone. It is left out if it fails a test at start:
//! some CPUs have returned the same word for ever after a resume from suspend.

use core::sync::atomic::{AtomicU8, Ordering};

use crate::seam::{self, Seam};

#[cfg(target_arch = "x86_64")]
use crate::cpuid::{Features, has};

/// The cycle counter: the time-stamp counter of x86, the virtual counter of ARM.
#[inline]
pub(crate) fn cycles() -> u64 {
    if seam::is_off(Seam::CpuRandomness) {
        return 0;
    }
    #[cfg(target_arch = "x86_64")]
    // SAFETY: RDTSC exists on every x86-64 CPU; Linux lets processes use it unless they asked
    // for the opposite by prctl(PR_SET_TSC).
    return unsafe { core::arch::x86_64::_rdtsc() };
    #[cfg(target_arch = "aarch64")]
    {
        let count: u64;
        // SAFETY: Linux lets processes read the virtual counter.
        unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) count, options(nomem, nostack)) };
        return count;
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let mut now = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: `now` is writable.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
        return (now.tv_sec as u64)
            .wrapping_mul(1_000_000_000)
            .wrapping_add(now.tv_nsec as u64);
    }
}

/// The number of the CPU that runs this thread; 0 if it cannot be known.
pub(crate) fn number() -> u32 {
    // SAFETY: sched_getcpu has no preconditions.
    u32::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(0)
}

/// A word of the CPU's random instruction; `None` if there is none or it does not work.
#[inline]
pub(crate) fn random_word() -> Option<u64> {
    if works() { instruction() } else { None }
}

/// Whether the CPU has a random instruction that passed the test at start.
pub(crate) fn works() -> bool {
    if seam::is_off(Seam::CpuRandomness) {
        return false;
    }
    const UNKNOWN: u8 = 0;
    const WORKS: u8 = 1;
    const FAILS: u8 = 2;
    static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);
    match STATE.load(Ordering::Relaxed) {
        UNKNOWN => {
            let works = is_present() && passes_test(instruction);
            STATE.store(if works { WORKS } else { FAILS }, Ordering::Relaxed);
            works
        }
        state => state == WORKS,
    }
}

/// Four words that are there and differ from each other: a good source fails by chance once in
/// 2^61 starts, a stuck one always.
fn passes_test(mut source: impl FnMut() -> Option<u64>) -> bool {
    let words: [Option<u64>; 4] = core::array::from_fn(|_| source());
    words.iter().all(Option::is_some) && (0..words.len()).all(|i| !words[..i].contains(&words[i]))
}

fn is_present() -> bool {
    #[cfg(target_arch = "x86_64")]
    return has(Features::RDRAND);
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// One word; all zeros and all ones count as failures, as AMD's errata ask.
#[inline]
fn instruction() -> Option<u64> {
    #[cfg(target_arch = "x86_64")]
    {
        /// Tries before RDRAND counts as failed (Intel's Digital Random Number Generator
        /// Software Implementation Guide, section 5.2.1).
        const TRIES: u32 = 10;
        #[target_feature(enable = "rdrand")]
        fn rdrand() -> Option<u64> {
            let mut word = 0;
            (0..TRIES)
                .any(|_| core::arch::x86_64::_rdrand64_step(&mut word) == 1)
                .then_some(word)
        }
        // SAFETY: called only after `is_present`.
        unsafe { rdrand() }.filter(|&word| word != 0 && word != u64::MAX)
    }
    #[cfg(not(target_arch = "x86_64"))]
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stuck_or_failing_source_is_left_out() {
        assert!(!passes_test(|| Some(5)));
        assert!(!passes_test(|| None));
        let mut count = 0;
        let mut counter = || {
            count += 1;
            Some(count)
        };
        assert!(passes_test(&mut counter));
        let mut stuck_later = [1, 2, 3, 3].into_iter();
        assert!(!passes_test(|| stuck_later.next()));
    }

    #[test]
    fn the_cycle_counter_moves() {
        let start = cycles();
        assert!((0..1000).any(|_| cycles() != start));
    }
}
