//! Computes how fast a drive is, how long it will take, and whether it is slow or stalled. The only
//! input is how many bytes it had moved at which time.

use std::collections::VecDeque;
use std::time::Duration;

use squall_tool_base::units;

/// The present rate is that of this last period.
const NOW: Duration = Duration::from_secs(5);

/// No rate is computed over less time.
const LEAST: Duration = Duration::from_secs(1);

/// A drive that moves nothing for this long is stalled; one that moves little for this long is slow.
const WINDOW: Duration = Duration::from_secs(30);

/// A drive's present rate is compared with that of its best minute.
const MINUTE: Duration = Duration::from_secs(60);

/// Shortest time between two samples.
const SPACING: Duration = Duration::from_millis(250);

/// A drive is slow below this share of its best minute. The inner tracks of a disk are half as fast
/// as the outer ones.
const SLOW: f64 = 0.25;

/// From this share on, it has recovered.
const RECOVERED: f64 = 1.0 / 3.0;

/// A best minute with fewer bytes a second is not judged by: single transfers are too rare.
const JUDGED: f64 = 1e6;

/// Longer estimates, in seconds, are not believed.
const LONGEST: f64 = 999.0 * 3600.0;

/// A time, and the bytes that had been moved by then.
type Sample = (Duration, u64);

/// How one drive moves bytes, in its present phase and since its first.
#[derive(Debug, Default)]
pub struct Meter {
    /// The samples of the phase's last minute, oldest first.
    samples: VecDeque<Sample>,
    latest: Sample,
    /// When the first phase began.
    first: Option<Sample>,
    /// When a byte was last moved, or the phase began.
    moved_at: Duration,
    /// Bytes a second in the best minute of the phase.
    best: Option<f64>,
    /// Since when the drive has been slow without a break.
    slow_since: Option<Duration>,
    is_noted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Left {
    Seconds(f64),
    Stalled,
    Unknown,
}

impl Left {
    /// The time for people, without seconds from a minute on.
    pub fn text(self) -> Option<String> {
        match self {
            Left::Stalled => Some("stalled".into()),
            Left::Unknown => None,
            Left::Seconds(seconds @ 60.0..3600.0) => {
                Some(format!("{} min left", (seconds / 60.0).round()))
            }
            Left::Seconds(seconds) => Some(units::duration(seconds) + " left"),
        }
    }
}

/// A drive has become slow. Both rates are in bytes a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slowness {
    /// In the last half minute.
    pub now: f64,
    /// In its best minute.
    pub before: f64,
}

impl Meter {
    /// Begins a phase at time `at`, when `moved` bytes had been moved in all.
    pub fn begin(&mut self, at: Duration, moved: u64) {
        *self = Meter {
            samples: VecDeque::from([(at, moved)]),
            latest: (at, moved),
            first: self.first.or(Some((at, moved))),
            moved_at: at,
            best: None,
            slow_since: None,
            is_noted: false,
        };
    }

    /// Notes that `moved` bytes had been moved in all by time `at`.
    pub fn feed(&mut self, at: Duration, moved: u64) {
        if moved > self.latest.1 {
            self.moved_at = at;
        }
        self.latest = (at, moved);
        let is_due = |&(last, _): &Sample| at.saturating_sub(last) >= SPACING;
        if self.samples.back().is_none_or(is_due) {
            self.samples.push_back(self.latest);
        }
        while let Some(&(second, _)) = self.samples.get(1) {
            if at.saturating_sub(second) < MINUTE {
                break;
            }
            self.samples.pop_front();
        }
        self.best = match (self.whole(MINUTE), self.best) {
            (Some(rate), Some(best)) => Some(rate.max(best)),
            (rate, best) => rate.or(best),
        };
    }

    /// Bytes a second, over the last seconds.
    pub fn now(&self) -> Option<f64> {
        self.recent(NOW)
    }

    /// Bytes a second, since its first phase began.
    pub fn average(&self) -> Option<f64> {
        rate(self.first?, self.latest)
    }

    /// How long `bytes` will take.
    pub fn left(&self, bytes: u64) -> Left {
        if self.is_stalled() {
            return Left::Stalled;
        }
        let seconds = self.recent(MINUTE).map(|rate| bytes as f64 / rate);
        match seconds {
            Some(seconds) if seconds <= LONGEST => Left::Seconds(seconds),
            _ => Left::Unknown,
        }
    }

    /// Whether nothing has been moved for half a minute.
    pub fn is_stalled(&self) -> bool {
        !self.samples.is_empty() && self.latest.0.saturating_sub(self.moved_at) >= WINDOW
    }

    /// Whether the drive has become slow: once, and again only after it has recovered.
    pub fn slowness(&mut self) -> Option<Slowness> {
        let before = self.best.filter(|best| *best >= JUDGED)?;
        let half_minute = self.whole(WINDOW)?;
        if half_minute >= before * RECOVERED {
            self.is_noted = false;
        }
        if self.now()? >= before * SLOW {
            self.slow_since = None;
            return None;
        }
        let since = *self.slow_since.get_or_insert(self.latest.0);
        if self.is_noted || self.latest.0.saturating_sub(since) < WINDOW {
            return None;
        }
        self.is_noted = true;
        let now = half_minute;
        Some(Slowness { now, before })
    }

    /// The rate over the last `time`, if the phase is as old as that.
    fn whole(&self, time: Duration) -> Option<f64> {
        rate(self.before(time)?, self.latest)
    }

    /// The rate over the last `time`, or over the phase if it is younger.
    fn recent(&self, time: Duration) -> Option<f64> {
        let from = self.before(time).or(self.samples.front().copied())?;
        rate(from, self.latest)
    }

    /// The last sample that is at least as old as `time`.
    fn before(&self, time: Duration) -> Option<Sample> {
        let limit = self.latest.0.checked_sub(time)?;
        let after = self.samples.partition_point(|&(at, _)| at <= limit);
        self.samples.get(after.checked_sub(1)?).copied()
    }
}

fn rate((from, before): Sample, (to, after): Sample) -> Option<f64> {
    let time = to.checked_sub(from).filter(|time| *time >= LEAST)?;
    Some((after - before) as f64 / time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: f64 = 1e6;

    /// A drive whose meter is fed ten times a second.
    struct Drive {
        meter: Meter,
        tenths: u32,
        moved: f64,
        noted: Vec<Slowness>,
    }

    impl Drive {
        fn new() -> Drive {
            let mut meter = Meter::default();
            meter.begin(Duration::ZERO, 0);
            let (tenths, moved, noted) = (0, 0.0, Vec::new());
            Drive {
                meter,
                tenths,
                moved,
                noted,
            }
        }

        fn at(&self) -> Duration {
            Duration::from_millis(100) * self.tenths
        }

        /// Moves `rate` bytes a second, in transfers of `step` bytes.
        fn run(&mut self, seconds: u32, rate: f64, step: f64) {
            for _ in 0..seconds * 10 {
                self.tenths += 1;
                self.moved += rate / 10.0;
                let moved = (self.moved / step).floor() * step;
                self.meter.feed(self.at(), moved as u64);
                self.noted.extend(self.meter.slowness());
            }
        }
    }

    fn is_about(value: Option<f64>, expected: f64) -> bool {
        value.is_some_and(|value| (value / expected - 1.0).abs() < 0.02)
    }

    #[test]
    fn now_is_five_seconds_and_the_average_everything() {
        let mut drive = Drive::new();
        assert_eq!(drive.meter.now(), None);
        drive.run(40, 100.0 * MB, 1.0);
        drive.run(10, 50.0 * MB, 1.0);
        assert!(is_about(drive.meter.now(), 50.0 * MB));
        assert!(is_about(drive.meter.average(), 90.0 * MB));
        drive.meter.begin(drive.at(), drive.moved as u64);
        assert_eq!(drive.meter.now(), None, "a phase begins anew");
        assert!(is_about(drive.meter.average(), 90.0 * MB));
    }

    #[test]
    fn time_left_is_never_absurd() {
        let mut drive = Drive::new();
        assert_eq!(drive.meter.left(1 << 40), Left::Unknown);
        drive.run(10, 100.0 * MB, 1.0);
        let Left::Seconds(seconds) = drive.meter.left(1_000_000_000) else {
            panic!("it moves");
        };
        assert!((9.9..10.1).contains(&seconds), "{seconds}");
        assert_eq!(drive.meter.left(u64::MAX), Left::Unknown);
        drive.run(29, 0.0, 1.0);
        assert!(!drive.meter.is_stalled());
        drive.run(2, 0.0, 1.0);
        assert_eq!(drive.meter.left(1), Left::Stalled);
        drive.run(1, 100.0 * MB, 1.0);
        assert!(matches!(drive.meter.left(1), Left::Seconds(_)));
    }

    #[test]
    fn a_slow_drive_is_noted_once_until_it_recovers() {
        let mut drive = Drive::new();
        drive.run(120, 150.0 * MB, 1e6);
        drive.run(30, 10.0 * MB, 1e6);
        assert!(drive.noted.is_empty(), "half a minute is waited");
        drive.run(60, 10.0 * MB, 1e6);
        let [noted] = drive.noted[..] else {
            panic!("{:?}", drive.noted)
        };
        assert!(noted.now < 12.0 * MB && is_about(Some(noted.before), 150.0 * MB));
        drive.run(600, 10.0 * MB, 1e6);
        assert_eq!(drive.noted.len(), 1);
        drive.run(8, 150.0 * MB, 1e6);
        drive.run(60, 10.0 * MB, 1e6);
        assert_eq!(drive.noted.len(), 1, "a burst is no recovery");
        drive.run(60, 120.0 * MB, 1e6);
        drive.run(60, 10.0 * MB, 1e6);
        assert_eq!(drive.noted.len(), 2);
    }

    #[test]
    fn inner_tracks_and_other_phases_are_not_slow() {
        let mut drive = Drive::new();
        for percent in (45..=100).rev() {
            drive.run(60, 250.0 * MB * f64::from(percent) / 100.0, 1e6);
        }
        drive.meter.begin(drive.at(), drive.moved as u64);
        drive.run(120, 20.0 * MB, 1e6);
        assert!(drive.noted.is_empty(), "{:?}", drive.noted);
    }

    /// A low rate limit is not slowness, whatever the length of transfers.
    #[test]
    fn a_limit_is_not_slowness() {
        for (rate, step) in [(100.0 * MB, 1e6), (1.0 * MB, 8e6), (0.03 * MB, 4e6)] {
            let mut drive = Drive::new();
            drive.run(900, rate, step);
            assert!(drive.noted.is_empty(), "{rate}: {:?}", drive.noted);
        }
    }
}
