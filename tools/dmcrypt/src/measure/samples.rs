//! What a device did: the samples of one workload, and the CPU time of the whole machine that they took. Much of an
//! encryption is done by threads of the kernel, which are no process's, so nothing smaller says what it costs.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use squall_tool_base::measure::machine::Ticks;

/// How long transfers took, in nanoseconds.
#[derive(Clone, Debug)]
pub struct Latencies(Histogram<u32>);

impl Default for Latencies {
    /// No transfer yet. Two digits of each time are kept.
    fn default() -> Latencies {
        Latencies(Histogram::new(2).expect("two digits can be kept"))
    }
}

impl Latencies {
    /// Adds a transfer.
    pub fn add(&mut self, took: Duration) {
        self.0 += u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
    }

    /// Adds the transfers of `other`.
    pub fn extend(&mut self, other: &Latencies) {
        self.0 += &other.0;
    }

    /// The time in nanoseconds that the part `share` of the transfers did not exceed; 0 if there were
    /// none.
    pub fn quantile(&self, share: f64) -> f64 {
        self.0.value_at_quantile(share) as f64
    }

    /// How many transfers there were.
    pub fn count(&self) -> u64 {
        self.0.len()
    }
}

/// One sample.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Bytes per second.
    pub rate: f64,
    /// How many bytes were transferred.
    pub bytes: u64,
    /// Seconds of CPU time that the machine used, with the flush after writes; `None` if the kernel
    /// does not say.
    pub cpu: Option<f64>,
}

/// The samples of a device in one workload, one for each round.
#[derive(Clone, Debug, Default)]
pub struct WorkloadSamples {
    /// The samples.
    pub samples: Vec<Sample>,
    /// How long all their transfers took.
    pub latencies: Latencies,
}

impl WorkloadSamples {
    /// Bytes per second, for each round.
    pub fn rates(&self) -> impl Iterator<Item = f64> {
        self.samples.iter().map(|sample| sample.rate)
    }

    /// Adds a sample and the times of its transfers.
    pub fn add(&mut self, sample: Sample, latencies: &Latencies) {
        self.samples.push(sample);
        self.latencies.extend(latencies);
    }

    /// Appends the rounds of another measurement.
    pub fn extend(&mut self, other: WorkloadSamples) {
        self.samples.extend(other.samples);
        self.latencies.extend(&other.latencies);
    }

    /// Seconds of CPU time for each GB (10^9 bytes); `None` if it came to less than a tenth of a second,
    /// which the kernel's hundredths do not measure.
    pub fn cpu_seconds_per_gb(&self) -> Option<f64> {
        const LEAST: f64 = 0.1;
        let cpu: Option<f64> = self.samples.iter().map(|sample| sample.cpu).sum();
        let bytes: u64 = self.samples.iter().map(|sample| sample.bytes).sum();
        let cpu = cpu.filter(|cpu| *cpu >= LEAST && bytes > 0)?;
        Some(cpu / (bytes as f64 / 1e9))
    }
}

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
    /// The count now; `None` if the kernel does not say.
    pub fn now() -> Option<Count> {
        let ticks = Ticks::now()?;
        Some(Count {
            at: Instant::now(),
            cpus: ticks.cpus,
            unused: ticks.unused as f64 / rustix::param::clock_ticks_per_second() as f64,
        })
    }

    /// Seconds of CPU time used from `self` to `later`. The kernel counts in hundredths of a second, so
    /// a short time may come out as less than nothing; the sum of many is right.
    pub fn used_until(&self, later: &Count) -> f64 {
        let passed = (later.at - self.at).as_secs_f64();
        passed * later.cpus as f64 - (later.unused - self.unused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(cpus: &[Option<f64>]) -> WorkloadSamples {
        let (rate, bytes) = (1e9, 500_000_000);
        let sample = |&cpu: &_| Sample { rate, bytes, cpu };
        WorkloadSamples {
            samples: cpus.iter().map(sample).collect(),
            latencies: Latencies::default(),
        }
    }

    #[test]
    fn cpu_time_is_of_all_rounds_together() {
        let all = samples(&[Some(0.3), Some(-0.01), Some(0.31)]);
        let per_gb = all.cpu_seconds_per_gb().expect("enough");
        assert!((per_gb - 0.4).abs() < 1e-9, "{per_gb}");
        for too_few in [&[Some(0.05), Some(0.04)][..], &[Some(3.0), None], &[]] {
            assert_eq!(samples(too_few).cpu_seconds_per_gb(), None);
        }
    }

    #[test]
    fn latencies_are_right_to_a_percent() {
        let mut one = Latencies::default();
        assert_eq!((one.quantile(0.5), one.count()), (0.0, 0));
        (1..=98).for_each(|micros| one.add(Duration::from_micros(micros)));
        let mut other = Latencies::default();
        other.add(Duration::from_millis(40));
        other.add(Duration::from_secs(5));
        one.extend(&other);
        assert_eq!(one.count(), 100);
        for (share, wanted) in [(0.5, 50e3), (0.98, 98e3), (0.99, 40e6), (1.0, 5e9)] {
            let found = one.quantile(share);
            assert!((found / wanted - 1.0).abs() < 0.011, "{share}: {found}");
        }
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
}
