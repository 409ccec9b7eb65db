//! Stops a machine in several ways, each time as briefly as possible, and collects the gaps that these
//! stops leave in the guest's cycle counter.
//!
//! A gap is found by its position in the guest's loop, and not by its size: a counter that stands
//! still while the machine is stopped would hide it. The position is certain only if the stop comes
//! between two readings.
//!
//! Beside it stands the cost of an exit to the hypervisor where this program runs: that of CPUID, which a
//! hypervisor answers in the CPU's place.

use serde::Serialize;
use squall::entropy::{Machine as _, ThisMachine};
use squall_probe::{Mark, Reading};
use squall_tools::Failure;
use squall_tools::measure::machine::{hypervisor, is_emulated};

use super::StopsArguments;
use crate::vm::{Guest, Host, Spec};

/// Number of gaps that are measured before the machine is stopped for the first time.
const UNDISTURBED: usize = 100_000;

/// Most stops in a row that may come within a reading. Emulated, two thirds do.
const MOST_ATTEMPTS: usize = 1000;

/// What was measured.
#[derive(Debug)]
pub struct Measured {
    /// Cycles of the guest's counter per millisecond.
    pub cycles_per_ms: u64,
    /// Gaps without a stop.
    pub undisturbed: Vec<u64>,
    /// Gaps of stops that end at once.
    pub stops: Stops,
    /// Gaps of stops in which a snapshot is written.
    pub snapshots: Stops,
    /// Gaps between a snapshot and its clones in new processes.
    pub clones: Stops,
}

/// The gaps of one kind of stop, in cycles.
#[derive(Debug, Default)]
pub struct Stops {
    pub gaps: Vec<u64>,
    /// Number of stops that came within a reading. The machine went on and was stopped again.
    pub within_a_reading: usize,
    /// Number of stops whose readings were gone before the lab had read them.
    pub overwritten: usize,
}

impl Stops {
    fn add(&mut self, gap: Option<u64>) {
        match gap {
            Some(gap) => self.gaps.push(gap),
            None => self.overwritten += 1,
        }
    }
}

/// Boots a machine and stops it in every way.
pub fn measure(host: &Host, spec: &Spec, counts: &StopsArguments) -> Result<Measured, Failure> {
    let mut guest = spec.boot(host)?;
    let cycles_per_ms = guest.memory().cycles_per_ms()?;
    guest.run()?;
    let undisturbed = undisturbed(&mut guest)?;
    let at_once = stops(&mut guest, counts.stops, |_| Ok(()))?;
    eprintln!("stops: {} done", counts.stops);
    let snapshots = stops(&mut guest, counts.snapshots, |guest| {
        guest.snapshot(host.file("snapshot"))
    })?;
    eprintln!("snapshots: {} done", counts.snapshots);
    let clones = clones(host, spec, guest, counts.clones)?;
    eprintln!("clones: {} done", counts.clones);
    Ok(Measured {
        cycles_per_ms,
        undisturbed,
        stops: at_once,
        snapshots,
        clones,
    })
}

/// The first gaps. The ring has room for many more, so none is lost.
fn undisturbed(guest: &mut Guest) -> Result<Vec<u64>, Failure> {
    let count = UNDISTURBED + 1;
    wait_for_readings(guest, count as u64)?;
    guest.stop()?;
    let readings = guest.memory().readings(0, count)?.unwrap_or_default();
    guest.resume()?;
    let pairs = readings.windows(2);
    pairs
        .map(|pair| cycles_between(&pair[0], &pair[1]))
        .collect()
}

/// Stops the machine, does `meanwhile`, and continues it. What that gives is dropped when the gap was measured.
fn stops<T>(
    guest: &mut Guest,
    count: u32,
    meanwhile: impl Fn(&mut Guest) -> Result<T, Failure>,
) -> Result<Stops, Failure> {
    let mut stops = Stops::default();
    for _ in 0..count {
        let last = stop_between_readings(guest, &mut stops)?;
        let _kept = meanwhile(guest)?;
        guest.resume()?;
        stops.add(gap_after(guest, last)?);
    }
    Ok(stops)
}

/// Ends the machine with a snapshot, and restores that in new machines.
fn clones(host: &Host, spec: &Spec, mut guest: Guest, count: u32) -> Result<Stops, Failure> {
    let mut stops = Stops::default();
    let last = stop_between_readings(&mut guest, &mut stops)?;
    let snapshot = guest.snapshot(host.file("snapshot"))?;
    drop(guest);
    for _ in 0..count {
        let mut clone = spec.load(host, &snapshot)?;
        clone.resume()?;
        stops.add(gap_after(&mut clone, last)?);
    }
    Ok(stops)
}

/// Stops the machine between two readings, and returns the number of the last one before. Stops that
/// come within a reading are counted.
fn stop_between_readings(guest: &mut Guest, stops: &mut Stops) -> Result<u64, Failure> {
    for _ in 0..MOST_ATTEMPTS {
        guest.stop()?;
        let mark = guest.memory().mark()?;
        if let Some(last) = last_before(mark) {
            return Ok(last);
        }
        stops.within_a_reading += 1;
        guest.resume()?;
        wait_for_readings(guest, mark.counted + 1)?;
    }
    Err(Failure::Runtime(format!(
        "{MOST_ATTEMPTS} stops in a row came within a reading of the counter"
    )))
}

/// The gap after reading number `last`, once the machine runs again. None if its readings are gone.
fn gap_after(guest: &mut Guest, last: u64) -> Result<Option<u64>, Failure> {
    wait_for_readings(guest, last + 2)?;
    let around = guest.memory().readings(last, 2)?;
    let cycles = |around: Vec<Reading>| cycles_between(&around[0], &around[1]);
    around.map(cycles).transpose()
}

fn wait_for_readings(guest: &mut Guest, count: u64) -> Result<(), Failure> {
    guest.wait("the guest to read its counter", |guest| {
        Ok(guest.memory().mark()?.counted >= count)
    })
}

/// The number of the last reading before the stop at which the guest had come as far as `mark`. None if
/// there is none, or if the stop came within a reading, so that nobody can tell whether the counter had
/// been read already.
fn last_before(mark: Mark) -> Option<u64> {
    let is_between = mark.begun == mark.counted;
    mark.counted.checked_sub(1).filter(|_| is_between)
}

/// The cycles from one reading to the next, without a sign as squall compares them: a counter that went
/// back gives a huge number. Fails if the readings are of different CPUs.
fn cycles_between(first: &Reading, second: &Reading) -> Result<u64, Failure> {
    if first.cpu != second.cpu {
        let reason = "the thread that reads the counter has changed its CPU";
        return Err(Failure::Runtime(reason.into()));
    }
    Ok(second.cycles.wrapping_sub(first.cycles))
}

const TIMES: usize = 20_000;

/// The cycles of an exit and the way back, or why they were not measured.
#[derive(Debug, Default, Serialize)]
pub struct Exit {
    /// The hypervisor's name.
    pub hypervisor: Option<String>,
    pub times: Option<usize>,
    pub least: Option<u64>,
    pub median: Option<u64>,
    /// Why nothing was measured.
    pub skipped: Option<&'static str>,
}

/// Measures on this machine.
pub fn measure_exit() -> Exit {
    let hypervisor = hypervisor();
    let skipped = if hypervisor.is_none() {
        Some("this machine reports no hypervisor")
    } else if is_emulated() {
        Some("the CPU is emulated, so CPUID causes no exit")
    } else if cpuid().is_none() {
        Some("the CPU has no CPUID")
    } else {
        None
    };
    if skipped.is_some() {
        return Exit {
            hypervisor,
            skipped,
            ..Exit::default()
        };
    }
    let cycles: Vec<_> = (0..TIMES).filter_map(|_| cpuid()).collect();
    Exit {
        hypervisor,
        times: Some(cycles.len()),
        least: least(&cycles),
        median: median(&cycles),
        skipped: None,
    }
}

/// The cycles that CPUID takes. It waits for everything before it, so nothing is counted twice.
#[cfg(target_arch = "x86_64")]
fn cpuid() -> Option<u64> {
    let before = ThisMachine.cycles();
    std::hint::black_box(std::arch::x86_64::__cpuid(0));
    Some(ThisMachine.cycles().wrapping_sub(before))
}

#[cfg(not(target_arch = "x86_64"))]
fn cpuid() -> Option<u64> {
    None
}

/// The least of `cycles`. None if there are none.
pub fn least(cycles: &[u64]) -> Option<u64> {
    cycles.iter().min().copied()
}

/// The upper median of `cycles`. None if there are none.
pub fn median(cycles: &[u64]) -> Option<u64> {
    let mut sorted = cycles.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The guest's steps for each reading, in order.
    #[derive(Clone, Copy, PartialEq)]
    enum Step {
        Begin,
        Read,
        Count,
    }

    const STEPS: [Step; 3] = [Step::Begin, Step::Read, Step::Count];

    const READINGS: usize = 5;

    /// What a guest records that is stopped before its step number `stop`. Its counter stands still
    /// meanwhile, and each gap without a stop is longer than the one with it. Also returns the number of
    /// the last reading that was taken before the stop.
    fn stopped_before(stop: usize) -> (Mark, Vec<Reading>, Option<u64>) {
        let mut mark = Mark {
            begun: 0,
            counted: 0,
        };
        let mut readings: Vec<Reading> = Vec::new();
        let (mut at_stop, mut taken) = (mark, None);
        let (mut cycles, mut is_stopped) = (0, false);
        for number in 0..STEPS.len() * READINGS {
            if number == stop {
                (at_stop, is_stopped) = (mark, true);
                taken = (readings.len() as u64).checked_sub(1);
            }
            match STEPS[number % STEPS.len()] {
                Step::Begin => mark.begun += 1,
                Step::Read => {
                    cycles += if is_stopped { 7 } else { 100 };
                    is_stopped = false;
                    readings.push(Reading { cycles, cpu: 1 });
                }
                Step::Count => mark.counted += 1,
            }
        }
        (at_stop, readings, taken)
    }

    #[test]
    fn a_stop_between_two_readings_is_found() {
        for stop in 1..STEPS.len() * (READINGS - 1) {
            let (mark, readings, taken) = stopped_before(stop);
            let is_between = STEPS[stop % STEPS.len()] == Step::Begin;
            assert_eq!(last_before(mark), taken.filter(|_| is_between), "{stop}");
            if let Some(last) = last_before(mark) {
                let last = last as usize;
                let cycles = cycles_between(&readings[last], &readings[last + 1]);
                assert_eq!(cycles.unwrap(), 7);
            }
        }
    }

    #[test]
    fn a_counter_that_goes_back_has_no_short_gap() {
        let [first, second] = [1000, 999].map(|cycles| Reading { cycles, cpu: 1 });
        assert_eq!(cycles_between(&first, &second).unwrap(), u64::MAX);
    }

    #[test]
    fn readings_of_two_cpus_give_no_gap() {
        let [first, second] = [0, 1].map(|cpu| Reading { cycles: 1000, cpu });
        assert!(cycles_between(&first, &second).is_err());
    }
}
