//! Threads that ask at the same time, as many as there are CPUs and more: who shares a lock gets
//! slower.
//!
//! Each thread has a source of its own where the source is made for that, and goes on for a fixed
//! time. What is told is the time that passed for each request that any of them made: with twice
//! the threads it is half, if nothing is in the way.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use squall_tools::Failure;
use squall_tools::measure::contest::Contestant;

use super::plan::{Expected, empty, kernel, rounds};
use crate::candidates::{Candidate, Candidates};
use crate::measure::{Place, single};
use crate::report::model::{Group, Workload, workload};
use crate::session::{Effort, Session};
use crate::source::Request;
use crate::sources::{Entry, RunsIn};

/// Of keystreams, squall's variants and generators that differ in rounds alone nothing is learnt.
const LEFT_OUT: [&str; 4] = ["thread-rng-call", "chacha8", "chacha12", "squall-fresh"];

/// How long it takes, for both lengths.
pub const EXPECTED: Expected = Expected(2500, 11000);

/// Measures requests of 32 bytes and of 16 KiB. Each round has all numbers of threads, because it is
/// them that are compared.
pub fn measure(candidates: &mut Candidates, session: &mut Session, cpus: usize) -> [Workload; 2] {
    let workloads = [
        (workload::THREADS_SMALL, "Threads that draw 32 bytes", 32),
        (
            workload::THREADS_LARGE,
            "Threads that draw 16 KiB",
            16 << 10,
        ),
    ];
    workloads.map(|(name, title, len)| {
        session.step(title, EXPECTED.of(session.effort) / 2);
        let kernel = kernel(&candidates.reports());
        let mut workload = empty(name, title, "a request of any thread", "threads", kernel);
        for _ in 0..session.effort.choose(3, 5) {
            for threads in counts(cpus, session.effort) {
                round(candidates, session, &mut workload, threads, len);
            }
        }
        workload
    })
}

/// One, twice as many up to the CPUs, and twice and four times more than there are.
fn counts(cpus: usize, effort: Effort) -> Vec<usize> {
    let doubled = (0..)
        .map(|power| 1 << power)
        .take_while(|&count| count < cpus);
    let mut counts: Vec<usize> = match effort {
        Effort::Quick => vec![1],
        Effort::Full => doubled.collect(),
    };
    counts.push(cpus);
    counts.extend(
        effort
            .choose(&[2][..], &[2, 4])
            .iter()
            .map(|times| times * cpus),
    );
    counts.dedup();
    counts
}

fn round(
    candidates: &mut Candidates,
    session: &Session,
    workload: &mut Workload,
    threads: usize,
    len: usize,
) {
    let window = Duration::from_millis(session.effort.choose(5, 15));
    let measured = candidates
        .0
        .iter_mut()
        .filter(|candidate| is_measured(candidate.entry));
    let contestants = measured
        .filter_map(|candidate| contestant(candidate, threads, len, window))
        .collect();
    let place = Place {
        at: threads as u64,
        bytes: len as u64,
    };
    let failed = workload.measure(place, contestants, rounds(1), session);
    candidates.fail(failed);
}

fn is_measured(entry: &Entry) -> bool {
    let is_made_for_it =
        entry.group != Group::Other || matches!(entry.runs_in, RunsIn::GoProgram(_));
    is_made_for_it
        && !matches!(entry.runs_in, RunsIn::OwnProcess(_))
        && !LEFT_OUT.contains(&entry.name)
}

fn contestant(
    candidate: &mut Candidate,
    threads: usize,
    len: usize,
    window: Duration,
) -> Option<Contestant<'_>> {
    let entry = candidate.entry;
    // One that failed is not there any more.
    candidate.source()?;
    let mut remote = candidate.remote();
    let batch = move || match &mut remote {
        Some(remote) => remote.parallel(threads, len, window),
        None => together(entry, threads, len, window),
    };
    Some(single(entry.name, batch))
}

/// Nanoseconds that passed for each request, of `threads` that went on for `window`.
fn together(entry: &Entry, threads: usize, len: usize, window: Duration) -> Result<f64, Failure> {
    let (begin, is_over, made) = (
        Barrier::new(threads + 1),
        AtomicBool::new(false),
        AtomicU64::new(0),
    );
    let elapsed = thread::scope(|scope| {
        let drawing: Vec<_> = (0..threads)
            .map(|_| scope.spawn(|| draw(entry, len, &begin, &is_over, &made)))
            .collect();
        // Once all are there, before any begins.
        begin.wait();
        let clock = Instant::now();
        begin.wait();
        thread::sleep(window);
        is_over.store(true, Ordering::Relaxed);
        let ended = drawing
            .into_iter()
            .map(|thread| thread.join().expect("a thread that ends"));
        ended.collect::<Result<Vec<()>, Failure>>()?;
        Ok::<_, Failure>(clock.elapsed())
    })?;
    let made = made.into_inner().max(1);
    Ok(elapsed.as_nanos() as f64 / made as f64)
}

/// What one thread does: batches, until it is over.
fn draw(
    entry: &Entry,
    len: usize,
    begin: &Barrier,
    is_over: &AtomicBool,
    made: &AtomicU64,
) -> Result<(), Failure> {
    /// Longest time until a thread notices that it is over.
    const NOTICE: f64 = 100e3;
    let mut out = vec![0; len];
    let opened = (entry.open)()
        .map_err(Failure::Runtime)
        .and_then(|mut source| {
            source.time(Request::Fill(&mut out), 3)?;
            let ns = source.time(Request::Fill(&mut out), 8)?;
            Ok((source, ((NOTICE / ns) as u64).max(1)))
        });
    // The others wait here, also for one that failed.
    begin.wait();
    begin.wait();
    let (mut source, calls) = opened?;
    while !is_over.load(Ordering::Relaxed) {
        source.time(Request::Fill(&mut out), calls)?;
        made.fetch_add(calls, Ordering::Relaxed);
    }
    Ok(())
}
