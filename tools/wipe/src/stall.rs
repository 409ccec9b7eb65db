//! Notices that a drive has stalled: that it has moved nothing for a time, although something was asked of it.

use std::time::{Duration, Instant};

/// What a drive has done at a moment; `None` if nothing was asked of it.
pub type Sign = Option<[u64; 3]>;

/// Watches one drive.
#[derive(Debug)]
pub struct Stall {
    limit: Duration,
    last: Sign,
    since: Instant,
}

impl Stall {
    /// Begins to watch at time `now`. The drive stalls if it does nothing for `limit`.
    pub fn new(limit: Duration, now: Instant) -> Stall {
        Stall {
            limit,
            last: None,
            since: now,
        }
    }

    /// Why the drive is given up once it has stalled.
    pub fn reason(&self) -> String {
        let time = humantime::format_duration(self.limit);
        format!("it stalled: nothing moved for {time}")
    }

    /// Whether the drive has stalled, if it shows this sign at time `now`.
    pub fn is_over(&mut self, now: Instant, sign: Sign) -> bool {
        if sign.is_none() || sign != self.last {
            self.last = sign;
            self.since = now;
        }
        sign.is_some() && now.duration_since(self.since) >= self.limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn only_a_drive_that_is_waited_for_stalls() {
        let begun = Instant::now();
        let mut stall = Stall::new(10 * SECOND, begun);
        let mut at = |seconds: u32, sign| stall.is_over(begun + seconds * SECOND, sign);
        assert!(!at(5, None));
        assert!(!at(60, None), "it was asked for nothing");
        assert!(!at(61, Some([3, 0, 0])));
        assert!(!at(70, Some([3, 0, 0])));
        assert!(!at(70, Some([3, 4096, 0])), "it moves");
        assert!(!at(79, Some([3, 4096, 0])));
        assert!(!at(79, Some([3, 4096, 512])), "it refuses");
        assert!(!at(80, None), "it waits for us");
        assert!(!at(85, Some([3, 4096, 512])));
        assert!(at(95, Some([3, 4096, 512])));
    }
}
