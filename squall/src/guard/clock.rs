//! The kernel's clocks, and the age of a state, needed only where the kernel's generation cannot be seen.

use crate::cycle_counter;
use crate::failpoint::{self, Failpoint};

/// The time since a test advanced the clock; 0 before.
#[cfg(feature = "testing")]
static FROZEN: core::sync::atomic::AtomicU64 = core::sync::atomic::AtomicU64::new(0);

/// Seconds since boot, including time suspended, or since some other fixed moment.
pub(crate) fn seconds() -> u64 {
    if failpoint::is_active(Failpoint::FreezeSeedAge) {
        return 1;
    }
    #[cfg(feature = "testing")]
    if let frozen @ 1.. = FROZEN.load(core::sync::atomic::Ordering::Relaxed) {
        return frozen;
    }
    let now = if cycle_counter::may_be_read() {
        read(libc::CLOCK_BOOTTIME)
    } else {
        // The vDSO reads the counter, the system call does not.
        read_by(libc::CLOCK_BOOTTIME, |clock, now| {
            // SAFETY: `now` is writable.
            unsafe { libc::syscall(libc::SYS_clock_gettime, clock, now) as libc::c_int }
        })
    };
    now.map_or(0, |[seconds, _]| seconds)
}

/// Seconds and nanoseconds of a clock; `None` if the kernel does not have it. The vDSO may read the cycle counter.
pub(super) fn read(clock: libc::clockid_t) -> Option<[u64; 2]> {
    // SAFETY: `now` is writable.
    read_by(clock, |clock, now| unsafe {
        libc::clock_gettime(clock, now)
    })
}

fn read_by(
    clock: libc::clockid_t,
    call: impl FnOnce(libc::clockid_t, *mut libc::timespec) -> libc::c_int,
) -> Option<[u64; 2]> {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let status = call(clock, &mut now);
    (status == 0).then_some([now.tv_sec as u64, now.tv_nsec as u64])
}

/// Advances the clock, which stands still from then on.
#[cfg(feature = "testing")]
pub fn advance(by: u64) {
    FROZEN.store(seconds() + by, core::sync::atomic::Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds since boot as /proc shows them, including time suspended.
    fn uptime() -> u64 {
        let uptime = std::fs::read_to_string("/proc/uptime").expect("/proc is mounted");
        let (seconds, _) = uptime.split_once('.').expect("seconds with a fraction");
        seconds.parse().expect("a number")
    }

    /// A single test, because advancing the clock affects the whole process.
    #[test]
    fn seconds_are_those_since_boot_and_what_tests_add() {
        let (before, now, after) = (uptime(), seconds(), uptime());
        assert!((before..=after).contains(&now));
        #[cfg(feature = "testing")]
        {
            advance(5000);
            let later = seconds();
            assert!((now + 5000..=uptime() + 5000).contains(&later));
            advance(7);
            assert_eq!(seconds(), later + 7);
        }
    }
}
