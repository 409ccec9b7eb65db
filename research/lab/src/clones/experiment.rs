//! Runs the experiments: starts machines, stops them, and keeps their records.

use std::thread::sleep;
use std::time::Duration;

use squall_probe::{Mode, Source};
use squall_tool_base::Failure;

use crate::vm::{Counts, Name, Resets, Trace};
use crate::vm::{Guest, Host, Snapshot, Spec};

/// Requests of each source with a timer before the snapshot: 0.3 s of them.
const REQUESTS_BEFORE_SNAPSHOT: usize = 600;

/// Requests of each source with a timer after a boot, which is more than the analysis of inputs uses.
const REQUESTS_AFTER_BOOT: usize = 500;

/// Requests of each source with a timer after a resume, which take most of a second.
const REQUESTS_AFTER_RESET: usize = 1500;

/// Requests after a resume where constant forking slows everything down.
const REQUESTS_AFTER_RESET_WITH_FORKS: usize = 500;

/// Requests after a resume for programs that answer requests one after the other.
const REQUESTS_AFTER_RESET_OF_PROGRAMS: usize = 800;

/// Interpreters answer slowly, because QEMU translates them again in each clone.
const REQUESTS_AFTER_RESET_OF_INTERPRETERS: usize = 200;

/// Slow sources make fewer requests by this factor.
const SLOW_SOURCE_FACTOR: usize = 4;

/// How long threads draw before the snapshot, and after the resume.
const THREADS_DRAW_FOR: Duration = Duration::from_millis(200);

/// Number of clones that are resumed at the same time.
const CLONES_TOGETHER: usize = 4;

/// The order in which clones are resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// One clone after the other.
    OneByOne,
    /// Several at the same time.
    Together,
}

/// Boots the machine once and records its sources' first outputs. Also returns the probe's facts.
pub fn boot(host: &Host, spec: &Spec) -> Result<(Trace, String), Failure> {
    let (guest, facts) = stopped_after(host, spec, REQUESTS_AFTER_BOOT)?;
    Ok((guest.memory().trace()?, facts))
}

/// Boots the machine, and stops it when each source has made so many requests. Also returns the probe's facts.
fn stopped_after<'host>(
    host: &'host Host,
    spec: &Spec,
    requests: usize,
) -> Result<(Guest<'host>, String), Failure> {
    let mut guest = spec.boot(host)?;
    let facts = guest.memory().message()?;
    guest.run()?;
    record(&mut guest, spec.mode, &Counts::default(), requests)?;
    guest.stop()?;
    Ok((guest, facts))
}

/// A snapshot, and the number of records when it was taken.
#[derive(Debug)]
pub struct SnapshotOfSources {
    snapshot: Snapshot,
    before: Counts,
    /// What the probe reported about the machine, as JSON.
    pub facts: String,
}

/// Boots the machine and takes a snapshot while its sources draw.
pub fn snapshot(host: &Host, spec: &Spec) -> Result<SnapshotOfSources, Failure> {
    let (mut guest, facts) = stopped_after(host, spec, REQUESTS_BEFORE_SNAPSHOT)?;
    let before = guest.memory().counts()?;
    check_room(&before)?;
    let snapshot = guest.snapshot(host.file("snapshot"))?;
    Ok(SnapshotOfSources {
        snapshot,
        before,
        facts,
    })
}

/// Resumes `runs` clones of `original`, reports each to `progress`, and returns their records.
pub fn resets(
    host: &Host,
    spec: &Spec,
    original: &SnapshotOfSources,
    order: Order,
    runs: usize,
    mut progress: impl FnMut(usize),
) -> Result<Resets, Failure> {
    let at_once = match order {
        Order::OneByOne => 1,
        Order::Together => CLONES_TOGETHER,
    };
    let mut clones = Vec::with_capacity(runs);
    while clones.len() < runs {
        let batch = at_once.min(runs - clones.len());
        clones.extend(batch_of_clones(host, spec, original, batch)?);
        progress(clones.len());
    }
    Ok(Resets {
        before: original.before.clone(),
        clones,
    })
}

/// Resumes a batch of clones at the same time.
fn batch_of_clones(
    host: &Host,
    spec: &Spec,
    original: &SnapshotOfSources,
    count: usize,
) -> Result<Vec<Trace>, Failure> {
    let mut guests = (0..count)
        .map(|_| spec.load(host, &original.snapshot))
        .collect::<Result<Vec<Guest>, _>>()?;
    for guest in &mut guests {
        guest.resume()?;
    }
    let requests = match spec.mode {
        Mode::Forks => REQUESTS_AFTER_RESET_WITH_FORKS,
        Mode::Programs => REQUESTS_AFTER_RESET_OF_PROGRAMS,
        Mode::Sandbox => REQUESTS_AFTER_RESET_OF_INTERPRETERS,
        _ => REQUESTS_AFTER_RESET,
    };
    for guest in &mut guests {
        record(guest, spec.mode, &original.before, requests)?;
    }
    for guest in &mut guests {
        guest.stop()?;
    }
    guests.iter().map(|guest| guest.memory().trace()).collect()
}

/// Lets the machine record `requests` more than `before` of every source with a timer. Threads, which
/// fill their channels, run for a fixed time.
fn record(guest: &mut Guest, mode: Mode, before: &Counts, requests: usize) -> Result<(), Failure> {
    let requests = if mode == Mode::Threads { 1 } else { requests };
    let recorded = guest.wait("the sources to draw", |guest| {
        Ok(lagging(&guest.memory().counts()?, before, requests).is_empty())
    });
    recorded.map_err(|failure| with_lagging(failure, guest, before, requests))?;
    if mode == Mode::Threads {
        sleep(THREADS_DRAW_FOR);
    }
    Ok(())
}

/// The sources that draw on their own and still have fewer than `requests` new records since `before`.
/// Slow sources need fewer.
fn lagging(now: &Counts, before: &Counts, requests: usize) -> Vec<Name> {
    let count = |counts: &Counts, name: &Name| counts.outputs.get(name).copied().unwrap_or(0);
    let wanted = |source: Source| {
        if source.is_slow() {
            requests / SLOW_SOURCE_FACTOR
        } else {
            requests
        }
    };
    let is_lagging = |name: &&Name| {
        let due = count(before, name) + wanted(name.0);
        name.0 != Source::SquallChildren && count(now, name) < due
    };
    now.outputs.keys().filter(is_lagging).copied().collect()
}

/// Adds to a failure which sources had too few records.
fn with_lagging(failure: Failure, guest: &Guest, before: &Counts, requests: usize) -> Failure {
    let (Failure::Runtime(message), Ok(now)) = (&failure, guest.memory().counts()) else {
        return failure;
    };
    let names = lagging(&now, before, requests);
    let names = names.iter().map(|name| {
        let (source, instance) = name;
        let (count, room) = (now.outputs[name], now.room[name]);
        format!("{} {instance} ({count} of {room})", source.name())
    });
    let names = names.collect::<Vec<_>>().join(", ");
    Failure::Runtime(format!("{message}; still waiting for {names}"))
}

/// Fails if a channel is full, because it cannot record anything of the clones.
fn check_room(before: &Counts) -> Result<(), Failure> {
    let full = before
        .outputs
        .iter()
        .find(|(name, count)| before.room.get(name) == Some(count));
    full.map_or(Ok(()), |((source, instance), count)| {
        Err(Failure::Runtime(format!(
            "{} {instance} filled its channel ({count} outputs) before the snapshot, so its clones cannot record anything",
            source.name()
        )))
    })
}
