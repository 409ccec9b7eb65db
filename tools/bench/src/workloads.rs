//! What sources are asked to do. Here are requests on one thread (numbers, and buffers of 1 byte to 256 MiB, with the
//! lengths of `openssl speed` among them), and on several; the workloads of other processes have their own file.
//!
//! Threads ask at the same time, as many as there are CPUs and more: sources that share a lock get slower.
//! Each thread has a source of its own where the source is made for that, and goes on for a fixed
//! time. What is reported is the time that passed for each request that any of them made: with twice
//! the threads it is half, if nothing is in the way.

pub mod processes;

use std::cell::RefCell;
use std::iter::successors;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use squall_tool_base::Failure;
use squall_tool_base::measure::BATCH;
use squall_tool_base::measure::contest::{Batch, Budget};

use crate::candidates::{Candidates, Place};
use crate::go::Program;
use crate::machine;
use crate::report::model::{Group, Workload, workload};
use crate::session::{Effort, Session};
use crate::sources::{Entry, Request, RunsIn};

/// A kind of workload, as it is named on the command line; in the order of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// One u32, one u64
    Words,
    /// Requests by their length
    Fill,
    /// One thread and more of them
    Threads,
    /// Blocks through a pipe
    Pipe,
    /// The first bytes of a new process
    Start,
    /// Forks
    Fork,
}

type Measure = fn(&mut Bench) -> Vec<Workload>;

impl Kind {
    pub fn expected(self, effort: Effort) -> Duration {
        self.plan().0.of(effort)
    }

    /// How long it takes, and what measures it.
    fn plan(self) -> (Expected, Measure) {
        match self {
            Kind::Words => (WORDS_EXPECTED, measure_words),
            Kind::Fill => (FILL_EXPECTED, measure_fill),
            Kind::Threads => (THREADS_EXPECTED, measure_threads),
            Kind::Pipe => (processes::PIPE_EXPECTED, processes::measure_pipe),
            Kind::Start => (processes::EXPECTED, processes::measure_starts),
            Kind::Fork => (processes::EXPECTED, processes::measure_forks),
        }
    }

    /// Whether it is about one thread, which is best alone on a CPU.
    fn is_of_one_thread(self) -> bool {
        !matches!(self, Kind::Threads | Kind::Pipe)
    }
}

/// Everything that workloads are measured with.
pub struct Bench<'a> {
    pub candidates: Candidates,
    pub session: Session,
    pub go: Option<&'a Program>,
    pub cpus: Vec<usize>,
    /// Whether the thread that measures was bound to a CPU.
    pub pinned: bool,
}

impl Bench<'_> {
    /// Measures workloads of `kind`; none if the run is interrupted.
    pub fn measure(&mut self, kind: Kind) -> Vec<Workload> {
        if self.session.is_interrupted() {
            return Vec::new();
        }
        if kind.is_of_one_thread() {
            self.pinned = machine::pin(&self.cpus)
        } else {
            machine::unpin(&self.cpus)
        }
        kind.plan().1(self)
    }
}

/// How many milliseconds a workload takes, about: in a quick run, and in a full one.
#[derive(Clone, Copy)]
pub struct Expected(u64, u64);

impl Expected {
    pub fn of(self, effort: Effort) -> Duration {
        Duration::from_millis(effort.choose(self.0, self.1))
    }
}

fn many_rounds(effort: Effort) -> Budget {
    Budget {
        least: effort.choose(3, 5),
        most: effort.choose(7, 61),
        time: Duration::from_millis(effort.choose(120, 1000)),
        batch: Batch::Time(BATCH),
    }
}

/// This many rounds of batches, however long they take.
fn rounds(count: usize, batch: Batch) -> Budget {
    Budget {
        least: count,
        most: count,
        time: Duration::ZERO,
        batch,
    }
}

const WORDS_EXPECTED: Expected = Expected(600, 2400);

fn measure_words(bench: &mut Bench) -> Vec<Workload> {
    let session = &mut bench.session;
    let kernel = bench.candidates.kernel();
    let mut workload = Workload::new(workload::WORDS, "One number", "a number", "bytes", kernel);
    session.step("numbers", WORDS_EXPECTED.of(session.effort));
    for bytes in [4, 8] {
        let request = || match bytes {
            4 => Request::U32,
            _ => Request::U64,
        };
        bench.candidates.measure(
            &mut workload,
            Place { at: bytes, bytes },
            many_rounds(session.effort),
            session,
            |_| true,
            |_, source, calls| source.time(request(), calls),
        );
    }
    vec![workload]
}

/// Lengths in bytes, as powers of two. `openssl speed` has 16, 64, 256, 1024, 8192 and 16384.
const LENGTHS: [u32; 14] = [0, 3, 4, 5, 6, 8, 10, 12, 13, 14, 16, 20, 24, 28];
const QUICK_LENGTHS: [u32; 8] = [4, 5, 6, 8, 10, 13, 14, 20];

/// The longest request that is measured of all.
const LONG: u64 = 16 << 20;

/// A source that takes no longer than this for a byte of a long request, in nanoseconds, is asked for longer
/// ones too: the others show nothing new there, and take seconds.
const FAST: f64 = 0.4;

const FILL_EXPECTED: Expected = Expected(4000, 24000);

fn measure_fill(bench: &mut Bench) -> Vec<Workload> {
    let session = &mut bench.session;
    let title = "Requests by their length";
    let kernel = bench.candidates.kernel();
    let mut workload = Workload::new(workload::FILL, title, "a request", "bytes", kernel);
    let lengths = session.effort.choose(&QUICK_LENGTHS[..], &LENGTHS);
    for len in lengths.iter().map(|&power| 1 << power) {
        let expected = FILL_EXPECTED.of(session.effort) / lengths.len() as u32;
        session.step(&format!("requests of {len} bytes"), expected);
        let mut budget = many_rounds(session.effort);
        if len >= LONG {
            budget.least = 3;
        }
        let fast = fast(&workload);
        // Not zero, or its pages would be mapped while the first source is timed.
        let buffer = RefCell::new(vec![1; len as usize]);
        bench.candidates.measure(
            &mut workload,
            Place::of_bytes(len),
            budget,
            session,
            |entry| len <= LONG || fast.iter().any(|name| name == entry.name),
            |_, source, calls| source.time(Request::Fill(&mut buffer.borrow_mut()), calls),
        );
    }
    vec![workload]
}

/// The sources that are fast with long requests.
fn fast(workload: &Workload) -> Vec<String> {
    let is_fast = |source: &str| {
        let point = workload.point(source, LONG);
        point.is_some_and(|point| point.ns.median < FAST * LONG as f64)
    };
    let names = workload.series.iter().map(|series| series.source.clone());
    names.filter(|name| is_fast(name)).collect()
}

/// Of keystreams, squall's variants and generators that differ in rounds alone nothing is learnt.
const LEFT_OUT: [&str; 4] = ["thread-rng-call", "chacha8", "chacha12", "squall-fresh"];

/// How long it takes, for both lengths.
const THREADS_EXPECTED: Expected = Expected(2500, 11000);

/// Measures requests of 32 bytes and of 16 KiB.
fn measure_threads(bench: &mut Bench) -> Vec<Workload> {
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
    session.step(title, THREADS_EXPECTED.of(effort) / 2);
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
