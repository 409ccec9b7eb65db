//! Threads that ask at the same time, as many as there are CPUs and more: sources that share a lock
//! get slower.
//!
//! Each thread has a source of its own where the source is made for that, and goes on for a fixed
//! time. What is reported is the time that passed for each request that any of them made: with twice
//! the threads it is half, if nothing is in the way.

use std::iter::successors;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use squall_tool_base::Failure;
use squall_tool_base::measure::contest::Batch;

use super::{Bench, Expected, rounds};
use crate::candidates::Place;
use crate::report::model::{Group, Workload, workload};
use crate::session::Effort;
use crate::source::Request;
use crate::sources::{Entry, RunsIn};

/// Of keystreams, squall's variants and generators that differ in rounds alone nothing is learnt.
const LEFT_OUT: [&str; 4] = ["thread-rng-call", "chacha8", "chacha12", "squall-fresh"];

/// How long it takes, for both lengths.
pub const EXPECTED: Expected = Expected(2500, 11000);

/// Measures requests of 32 bytes and of 16 KiB.
pub fn measure(bench: &mut Bench) -> Vec<Workload> {
    let (small, large) = ("Threads that draw 32 bytes", "Threads that draw 16 KiB");
    vec![
        measure_length(bench, workload::THREADS_SMALL, small, 32),
        measure_length(bench, workload::THREADS_LARGE, large, 16 << 10),
    ]
}

/// Each round has all numbers of threads, because it is them that are compared.
fn measure_length(bench: &mut Bench, name: &str, title: &str, len: usize) -> Workload {
    let (session, cpus) = (&mut bench.session, bench.cpus.len());
    let effort = session.effort;
    session.step(title, EXPECTED.of(effort) / 2);
    let (operation, kernel) = ("a request of any thread", bench.candidates.kernel());
    let mut workload = Workload::new(name, title, operation, "threads", kernel);
    let window = Duration::from_millis(effort.choose(5, 15));
    for _ in 0..effort.choose(3, 5) {
        for threads in counts(cpus, effort) {
            let (at, bytes) = (threads as u64, len as u64);
            bench.candidates.measure(
                &mut workload,
                Place { at, bytes },
                rounds(1, Batch::Single),
                session,
                is_measured,
                |entry, source, _| {
                    let elsewhere = source.parallel(threads, len, window);
                    elsewhere.unwrap_or_else(|| together(entry, threads, len, window))
                },
            );
        }
    }
    workload
}

/// One, twice as many up to the CPUs, and twice and four times more than there are.
fn counts(cpus: usize, effort: Effort) -> Vec<usize> {
    let doubled = successors(Some(1), |count| Some(2 * count));
    let below = doubled.take_while(|&count| count < effort.choose(2, cpus));
    let mut counts: Vec<usize> = below.collect();
    counts.extend(
        effort
            .choose(&[1, 2][..], &[1, 2, 4])
            .iter()
            .map(|times| times * cpus),
    );
    counts.dedup();
    counts
}

fn is_measured(entry: &Entry) -> bool {
    let is_made_for_it =
        entry.group != Group::Other || matches!(entry.runs_in, RunsIn::GoProgram(_));
    is_made_for_it
        && !matches!(entry.runs_in, RunsIn::OwnProcess(_))
        && !LEFT_OUT.contains(&entry.name)
}

/// Nanoseconds that passed for each request, of `threads` that went on for `window`.
fn together(entry: &Entry, threads: usize, len: usize, window: Duration) -> Result<f64, Failure> {
    let begin = Barrier::new(threads + 1);
    let (is_over, made) = (AtomicBool::new(false), AtomicU64::new(0));
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
        let mut ended = drawing.into_iter().map(|thread| thread.join());
        ended.try_for_each(|ended| ended.expect("a thread that ends"))?;
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
