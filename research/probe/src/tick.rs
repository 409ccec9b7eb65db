//! Times the draws: every 500 µs, with a different phase for each process.

use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};
use squall::entropy::{Machine, ThisMachine};

/// Nanoseconds between two ticks.
pub const PERIOD: u64 = 500_000;

const SECOND: u64 = 1_000_000_000;

/// How long the cycle counter is compared with the clock.
const CALIBRATION: Duration = Duration::from_millis(20);

/// Sleeps until the next tick, `phase` nanoseconds after a multiple of the period. Missed ticks are
/// skipped.
pub fn wait(phase: u64) {
    let tick = next(now(), phase);
    let tick = Timespec {
        tv_sec: (tick / SECOND) as i64,
        tv_nsec: (tick % SECOND) as i64,
    };
    while let Err(error) = clock_nanosleep_absolute(ClockId::Monotonic, &tick) {
        assert_eq!(error, Errno::INTR, "clock_nanosleep");
    }
}

fn next(now: u64, phase: u64) -> u64 {
    (now - phase) / PERIOD * PERIOD + PERIOD + phase
}

fn now() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * SECOND + now.tv_nsec as u64
}

/// Measures the cycle counter's cycles per millisecond.
pub fn cycles_per_ms() -> u64 {
    let (cycles, start) = (ThisMachine.cycles(), Instant::now());
    std::thread::sleep(CALIBRATION);
    let passed = u128::from(ThisMachine.cycles() - cycles);
    (passed * 1_000_000 / start.elapsed().as_nanos()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_keep_their_phase_and_missed_ones_are_skipped() {
        let phase = 120_000;
        let first = next(10 * PERIOD, phase);
        assert_eq!(first, 10 * PERIOD + phase);
        assert_eq!(next(first, phase), first + PERIOD);
        assert_eq!(next(first + 3 * PERIOD + 1, phase), first + 4 * PERIOD);
    }
}
