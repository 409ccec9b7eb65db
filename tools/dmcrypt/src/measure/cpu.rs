//! CPU time of the whole machine. Much of an encryption is done by threads of the kernel, which are no
//! process's, so nothing smaller tells what it costs.

use std::fs;
use std::time::Instant;

/// The kernel's count at one moment: the time that CPUs were idle, waited for drives, or were given to
/// other virtual machines. The rest was used.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    at: Instant,
    cpus: usize,
    /// Seconds, of all CPUs together.
    unused: f64,
}

impl Count {
    /// The count now; `None` if the kernel does not tell.
    pub fn now() -> Option<Count> {
        let text = fs::read_to_string("/proc/stat").ok()?;
        let (cpus, ticks) = parse(&text)?;
        Some(Count {
            at: Instant::now(),
            cpus,
            unused: ticks as f64 / rustix::param::clock_ticks_per_second() as f64,
        })
    }

    /// Seconds of CPU time used from `self` to `later`. The kernel counts in hundredths of a second, so
    /// a short time may come out as less than nothing; the sum of many is right.
    pub fn used_until(&self, later: &Count) -> f64 {
        let passed = (later.at - self.at).as_secs_f64();
        passed * later.cpus as f64 - (later.unused - self.unused)
    }
}

/// The number of CPUs, and the ticks in which they were not used, in the text of /proc/stat (proc(5)).
fn parse(text: &str) -> Option<(usize, u64)> {
    const UNUSED: [usize; 3] = [3, 4, 7]; // idle, iowait, steal
    let mut lines = text.lines().take_while(|line| line.starts_with("cpu"));
    let all: Vec<&str> = lines
        .next()?
        .strip_prefix("cpu ")?
        .split_whitespace()
        .collect();
    let unused = UNUSED.map(|field| all.get(field)?.parse::<u64>().ok());
    Some((lines.count(), unused.into_iter().sum::<Option<u64>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_used_is_idle_waiting_or_stolen() {
        let text = "cpu  10 1 20 3000 400 5 6 70 8 0\ncpu0 5 1 10 1500 200 2 3 35 4 0\n\
                    cpu1 5 0 10 1500 200 3 3 35 4 0\nintr 1234 5 6\n";
        assert_eq!(parse(text), Some((2, 3470)));
        assert_eq!(parse("cpu  10 1 20 3000"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn used_time_is_what_remains() {
        let at = Instant::now();
        let count = |seconds, unused| Count {
            at: at + std::time::Duration::from_secs(seconds),
            cpus: 2,
            unused,
        };
        let used = count(0, 100.0).used_until(&count(3, 104.5));
        assert!((used - 1.5).abs() < 1e-9, "{used}");
    }

    /// A thread that computes for a while is in the count.
    #[test]
    fn this_kernel_counts() {
        let before = Count::now().expect("a count");
        let clock = Instant::now();
        while clock.elapsed().as_millis() < 300 {
            std::hint::spin_loop();
        }
        let after = Count::now().expect("a count");
        assert!(before.cpus > 0 && after.unused >= 0.0);
        assert!(before.used_until(&after).is_finite());
    }
}
