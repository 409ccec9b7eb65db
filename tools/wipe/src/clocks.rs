//! Notices that the wall clock was set, so that the times of day in a record do not fit together. Its durations come from
//! a clock that nobody sets.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rustix::time::{ClockId, clock_gettime};

/// Both clocks at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Clocks {
    wall: Timestamp,
    /// Since the machine started, with the time in which it was suspended.
    uptime: Duration,
}

impl Clocks {
    pub fn now() -> Clocks {
        let uptime = clock_gettime(ClockId::Boottime);
        Clocks {
            wall: Timestamp::now(),
            uptime: Duration::new(uptime.tv_sec as u64, uptime.tv_nsec as u32),
        }
    }

    /// What is to be noted at `now`; `None` if the wall clock has gone on as it should. A clock that is only slewed drifts
    /// by less than a part in a thousand (adjtime(3)).
    pub fn note(&self, now: &Clocks) -> Option<String> {
        let elapsed = SignedDuration::try_from(now.uptime.saturating_sub(self.uptime)).ok()?;
        let set = now.wall.duration_since(self.wall) - elapsed;
        let direction = match set.is_negative() {
            true => "back",
            false => "forward",
        };
        let tolerated = SignedDuration::from_secs(2) + elapsed / 1000;
        (set.abs() > tolerated).then(|| {
            format!(
                "the clock was set {direction} by {} s meanwhile: times of day in this record do not fit together; its \
                 durations are those of another clock",
                set.abs().as_secs()
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clock_that_was_set_is_noted() {
        let clocks = |wall, uptime| Clocks {
            wall: Timestamp::from_second(wall).expect("a time"),
            uptime: Duration::from_secs(uptime),
        };
        let begun = clocks(1_000_000, 5000);
        for (wall, expected) in [
            (1_010_000, None),
            (1_010_012, None),
            (1_009_988, None),
            (1_013_600, Some("forward by 3600 s")),
            (10_000, Some("back by 1000000 s")),
        ] {
            let note = begun.note(&clocks(wall, 15_000));
            assert_eq!(note.is_some(), expected.is_some(), "{note:?}");
            let words = expected.unwrap_or_default();
            assert!(note.unwrap_or_default().contains(words), "{words}");
        }
    }
}
