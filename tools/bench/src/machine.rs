//! The machine that is measured: what it is, how calm it is, and how a thread is bound to one of its CPUs.

use std::fs;
use std::hint::black_box;
use std::time::Instant;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use squall::Status;
use squall_tool_base::measure::Spread;
use squall_tool_base::measure::machine::{self as named, Ticks};

use crate::report::model::{MeasuredMachine, Noise, Version, Workload};
use crate::sources;

/// Describes this machine, with what `squall status` knows of it, and the version of Go if it is there.
pub fn describe(status: &Status, view: View, go: Option<String>) -> MeasuredMachine {
    let program = |of: &str, version| Version {
        of: of.into(),
        version,
    };
    let versions = [
        ("OpenSSL", sources::libcrypto::version()),
        ("libsodium", sources::libraries::sodium_version()),
        ("glibc", sources::libraries::glibc_version()),
        ("rand and chacha20", Some(RAND.into())),
        ("Go", go),
    ];
    MeasuredMachine {
        cpu: named::cpu(),
        cpus: cpus().len(),
        kernel: named::kernel(),
        hypervisor: view.hypervisor,
        governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        pinned: false,
        clock_ns: clock_ns(),
        versions: versions
            .into_iter()
            .filter_map(|(of, version)| Some(program(of, version?)))
            .collect(),
        engine: status.engine.name().into(),
        clone_guard: status.clone_guard.to_string(),
        warnings: view.warnings,
    }
}

/// What `squall status` knows more of this machine.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// The hypervisor's name.
    pub hypervisor: Option<String>,
    /// Codes of its warnings and notes.
    pub warnings: Vec<String>,
}

/// The releases of both that this program is built with.
const RAND: &str = "0.10";

/// The CPUs that this process may use.
pub fn cpus() -> Vec<usize> {
    let allowed = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU)
        .filter(|&cpu| allowed.is_set(cpu))
        .collect();
    if cpus.is_empty() { vec![0] } else { cpus }
}

/// Binds the calling thread to the last of `cpus`, which fewer interrupts go to than to the first.
/// Whether that is allowed.
pub fn pin(cpus: &[usize]) -> bool {
    cpus.last().is_some_and(|&last| allow(&[last]))
}

/// Lets the calling thread run on all of `cpus` again.
pub fn unpin(cpus: &[usize]) {
    allow(cpus);
}

fn allow(cpus: &[usize]) -> bool {
    let mut set = CpuSet::new();
    cpus.iter().for_each(|&cpu| set.set(cpu));
    sched_setaffinity(None, &set).is_ok()
}

/// What reading the clock once costs, in nanoseconds.
fn clock_ns() -> f64 {
    const LOOKS: u32 = 10_000;
    let batch = || {
        let clock = Instant::now();
        for _ in 0..LOOKS {
            black_box(Instant::now());
        }
        clock.elapsed().as_nanos() as f64 / f64::from(LOOKS)
    };
    Spread::of((0..9).map(|_| batch()).collect()).median
}

/// How busy the machine was, from the beginning of a run on.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    load: f64,
    ticks: Option<Ticks>,
}

/// Above which the figures are not to be trusted, in percent.
const CALM_SPREAD: f64 = 8.0;
const CALM_STEAL: f64 = 2.0;

impl Watch {
    pub fn begin() -> Watch {
        let load = line("/proc/loadavg").and_then(|line| line.split(' ').next()?.parse().ok());
        Watch {
            load: load.unwrap_or(0.0),
            ticks: Ticks::now(),
        }
    }

    /// How calm it was until now, by that and by the spread of what was measured.
    pub fn end(self, workloads: &[Workload]) -> Noise {
        let steal = self.ticks.zip(Ticks::now()).map(|(before, now)| {
            let all = (now.all - before.all).max(1) as f64;
            100.0 * now.stolen.saturating_sub(before.stolen) as f64 / all
        });
        let mut noise = Noise {
            spread_percent: spread_percent(workloads),
            steal_percent: steal.unwrap_or(0.0),
            load: self.load,
            warning: None,
        };
        noise.warning = complaint(&noise);
        noise
    }
}

fn complaint(noise: &Noise) -> Option<String> {
    let Noise {
        spread_percent,
        steal_percent,
        load,
        ..
    } = noise;
    let advice = "stop other programs and repeat";
    if *spread_percent > CALM_SPREAD {
        Some(format!(
            "figures spread by {spread_percent:.0} % (calm: {CALM_SPREAD:.0} %): {advice}"
        ))
    } else if *steal_percent > CALM_STEAL {
        Some(format!(
            "the hypervisor gave {steal_percent:.0} % of the time to others: repeat at a calmer time"
        ))
    } else if *load > 1.0 {
        Some(format!(
            "the load average was {load:.1} when it began: {advice}"
        ))
    } else {
        None
    }
}

/// Median, over all points, of the distance of the quartiles as a percentage of the median.
fn spread_percent(workloads: &[Workload]) -> f64 {
    let series = workloads.iter().flat_map(|workload| &workload.series);
    let points = series.flat_map(|series| &series.points);
    let spreads: Vec<f64> = points
        .filter(|point| point.ns.samples.len() >= 3)
        .map(|point| 100.0 * point.ns.relative_spread())
        .collect();
    if spreads.is_empty() {
        0.0
    } else {
        Spread::of(spreads).median
    }
}

/// The first line of a file, if there is something in it.
fn line(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_bound_to_one_cpu_and_freed_again() {
        let all = cpus();
        assert!(pin(&all));
        assert_eq!(cpus(), [*all.last().unwrap()]);
        unpin(&all);
        assert_eq!(cpus(), all);
    }

    #[test]
    fn noise_is_complained_of() {
        let calm = Noise {
            spread_percent: 3.0,
            ..Noise::default()
        };
        assert_eq!(complaint(&calm), None);
        let mut noisy = [calm.clone(), calm.clone(), calm];
        noisy[0].spread_percent = 12.0;
        noisy[1].steal_percent = 5.0;
        noisy[2].load = 2.5;
        for (noise, word) in noisy.iter().zip(["12 %", "5 %", "2.5"]) {
            let complaint = complaint(noise).unwrap();
            assert!(complaint.contains(word), "{complaint}");
        }
    }
}
