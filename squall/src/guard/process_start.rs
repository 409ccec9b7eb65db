//! The process's part of the clone generation, which changes when the process was restored from a checkpoint (CRIU).
//!
//! A restored process is a new one to the kernel: it has another start time, or runs in another boot. So does a forked
//! child, which is no copy of this kind: handlers of `pthread_atfork` ask before the fork, and note the child's own start in
//! the child. A child by raw clone(2) counts as a copy.
//!
//! No process is checkpointed and restored within one [tick](super::tick), so the kernel is asked once in each.

use core::ffi::CStr;
use core::sync::atomic::{AtomicU64, Ordering};

use super::{errno, fork, freshness};
use crate::file::File;

/// What [`start`] said first in this process, or would have said in the process's place of its ancestor that asked first.
static FIRST: AtomicU64 = AtomicU64::new(NOT_ASKED);

/// What it said last.
static LAST: AtomicU64 = AtomicU64::new(NOT_ASKED);
const NOT_ASKED: u64 = 0;

/// The tick in which it was asked last.
static ASKED_IN: AtomicU64 = AtomicU64::new(u64::MAX);

/// A number that changes when the process has been restored; 0 until then.
#[inline]
pub fn number() -> u64 {
    let tick = freshness::tick();
    if tick.is_none_or(|tick| tick != ASKED_IN.load(Ordering::Acquire)) {
        ask(tick.unwrap_or_default());
    }
    let last = LAST.load(Ordering::Acquire);
    last.wrapping_sub(FIRST.load(Ordering::Acquire))
}

/// Whether a restore would be noticed.
pub fn is_known() -> bool {
    number();
    LAST.load(Ordering::Acquire) != NOT_ASKED
}

#[cold]
fn ask(tick: u64) {
    let before = LAST.load(Ordering::Acquire);
    if let Some(now) = start() {
        let _ = FIRST.compare_exchange(NOT_ASKED, now, Ordering::AcqRel, Ordering::Relaxed);
        // A thread that read an older value changes nothing.
        let _ = LAST.compare_exchange(before, now, Ordering::AcqRel, Ordering::Relaxed);
    }
    ASKED_IN.store(tick, Ordering::Release);
}

/// Asks, so that a child has the number of a parent that was restored and has not asked since. Async-signal-safe.
pub extern "C" fn before_fork() {
    if LAST.load(Ordering::Relaxed) != NOT_ASKED {
        number();
    }
}

/// Keeps the parent's number in a child that the C library has forked. Async-signal-safe.
pub fn begin_in_child() {
    let parent = LAST.load(Ordering::Relaxed);
    if parent != NOT_ASKED
        && let Some(child) = start()
    {
        FIRST.fetch_add(child.wrapping_sub(parent), Ordering::Relaxed);
        LAST.store(child, Ordering::Relaxed);
    }
}

/// A number of the time when this process started, and of the boot in which it did; `None` if /proc does not show them.
/// gVisor restores both.
fn start() -> Option<u64> {
    /// 2^64 divided by the golden ratio: spreads the numbers, so that a sum with another changes with either.
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    if fork::is_gvisor() {
        return None;
    }
    errno::keep(|| {
        let time = start_time(&read(c"/proc/self/stat")?)?;
        let boot = read(c"/proc/sys/kernel/random/boot_id")?;
        let boot = core::str::from_utf8(&boot[..8]).ok()?;
        let boot = u64::from_str_radix(boot, 16).ok()?;
        Some((boot << 32).wrapping_add(time).wrapping_mul(FACTOR))
    })
}

/// The first bytes of a file in /proc, then zeros.
fn read(path: &CStr) -> Option<[u8; 512]> {
    let mut text = [0; 512];
    File::open(path, 0).ok()?.read(&mut text)?;
    Some(text)
}

/// The start time in hundredths of a second since boot, of what /proc/self/stat says (proc_pid_stat(5)).
fn start_time(stat: &[u8]) -> Option<u64> {
    /// The number of its field. The second field is the program's name in parentheses, and may hold anything.
    const FIELD: usize = 22;
    let name_ends = stat.iter().rposition(|&byte| byte == b')')?;
    let mut fields = stat[name_ends..].split(|&byte| byte == b' ');
    let time = fields.nth(FIELD - 2)?;
    core::str::from_utf8(time).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_time_is_found_behind_any_name() {
        let rest = " S 1 2 2 0 -1 4194560 93 0 0 0 1 2 0 0 20 0 1 0 3609600 25575424 4206";
        for name in ["squall", "a) S 1 (b", ") ) )"] {
            let stat = format!("4711 ({name}){rest}");
            assert_eq!(start_time(stat.as_bytes()), Some(3_609_600), "{name}");
        }
        for stat in ["", "4711 (squall)", "4711 (squall) S 1", "4711 (squall"] {
            assert_eq!(start_time(stat.as_bytes()), None, "{stat}");
        }
    }

    #[test]
    fn a_process_that_was_not_restored_has_no_number() {
        assert!(is_known(), "/proc is mounted");
        assert_eq!(number(), 0);
        assert_ne!(start(), None);
        assert_eq!(start(), start());
    }
}
