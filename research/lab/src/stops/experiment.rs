//! Stops a machine in several ways, each time as briefly as possible, and collects the gaps that these
//! stops leave in the guest's cycle counter.

use squall_probe::Reading;
use squall_tools::Failure;

use super::gap::{cycles_between, last_before};
use crate::vm::{Guest, Host, Spec};

/// Number of gaps that are measured before the machine is stopped for the first time.
const UNDISTURBED: usize = 100_000;

/// Most stops in a row that may come within a reading. Emulated, two thirds do.
const MOST_ATTEMPTS: usize = 1000;

/// The number of stops of each kind.
#[derive(Clone, Copy, Debug)]
pub struct StopCounts {
    pub stops: u32,
    pub snapshots: u32,
    pub clones: u32,
}

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
pub fn measure(host: &Host, spec: &Spec, counts: &StopCounts) -> Result<Measured, Failure> {
    let mut guest = spec.boot(host)?;
    let cycles_per_ms = guest.memory().cycles_per_ms()?;
    guest.run()?;
    let undisturbed = undisturbed(&mut guest)?;
    let stops = stops(&mut guest, counts.stops)?;
    eprintln!("stops: {} done", counts.stops);
    let snapshots = snapshots(host, &mut guest, counts.snapshots)?;
    eprintln!("snapshots: {} done", counts.snapshots);
    let clones = clones(host, spec, guest, counts.clones)?;
    eprintln!("clones: {} done", counts.clones);
    Ok(Measured {
        cycles_per_ms,
        undisturbed,
        stops,
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

fn stops(guest: &mut Guest, count: u32) -> Result<Stops, Failure> {
    let mut stops = Stops::default();
    for _ in 0..count {
        let last = stop_between_readings(guest, &mut stops)?;
        guest.resume()?;
        stops.add(gap_after(guest, last)?);
    }
    Ok(stops)
}

fn snapshots(host: &Host, guest: &mut Guest, count: u32) -> Result<Stops, Failure> {
    let mut stops = Stops::default();
    for _ in 0..count {
        let last = stop_between_readings(guest, &mut stops)?;
        let _written = guest.snapshot(host.file("snapshot"))?;
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
