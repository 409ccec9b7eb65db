//! Measures what the run costs: the CPU time of this process, user and system, in all its threads.

use rustix::time::{ClockId, clock_gettime};

/// CPU time since a moment.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    began: f64,
}

impl Cost {
    /// Begins to count.
    pub fn begin() -> Cost {
        Cost { began: cpu() }
    }

    /// CPU seconds since the beginning.
    pub fn seconds(self) -> f64 {
        cpu() - self.began
    }
}

fn cpu() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn work_in_any_thread_is_counted() {
        let cost = Cost::begin();
        let work = || {
            let began = Instant::now();
            let is_over = || cost.seconds() >= 0.1 || began.elapsed() > Duration::from_secs(60);
            while !is_over() {}
        };
        std::thread::scope(|scope| {
            scope.spawn(work);
        });
        assert!(cost.seconds() >= 0.1);
    }
}
