//! New processes: the first 32 bytes of one, by its own clock, and forks of a process that has drawn, of children
//! that draw and that do not.
//!
//! Loading the program and the libraries that it opens at run time is not counted as first bytes. Everything that
//! the first call does is: it touches new pages, opens a device, initialises a library. Of OpenSSL it is
//! RAND_bytes alone. A fork is measured as by lmbench's lat_proc ("fork + exit"): the process forks, the child draws
//! or does not and exits at once, and the parent waits for it.

use std::hint::black_box;
use std::time::Instant;

use squall_tool_base::Failure;
use squall_tool_base::failure::cause;
use squall_tool_base::measure::contest::{Batch, Budget, Contestant};
use squall_tool_base::measure::{Spread, fork};

use super::{Bench, Expected};
use crate::candidates::{Place, single};
use crate::child::{Child, Unopened, Work};
use crate::remote::{TIMEOUT, number_of};
use crate::report::model::{Workload, workload};
use crate::source::NOTHING;

const STARTS: [&str; 9] = [
    NOTHING,
    "squall",
    "getrandom",
    "vdso",
    "urandom",
    "thread-rng",
    "openssl-rand",
    "libsodium",
    "arc4random",
];

const LEN: usize = 32;

pub const EXPECTED: Expected = Expected(700, 4000);

/// Starts processes, and Go's too.
pub fn measure_starts(bench: &mut Bench) -> Vec<Workload> {
    let session = &mut bench.session;
    let effort = session.effort;
    let (title, kernel) = ("The first 32 bytes of a new process", Some("getrandom"));
    let mut workload = Workload::new(workload::START, title, "a process", "bytes", kernel);
    session.step(title, EXPECTED.of(effort));
    let mut contestants = contestants(Work::FirstBytes, &STARTS, LEN);
    if let Some(go) = bench.go {
        contestants.push(single("go-crypto-rand", || go.first("crypto")));
    }
    let budget = Budget {
        least: effort.choose(11, 51),
        most: effort.choose(31, 301),
        time: EXPECTED.of(effort),
        batch: Batch::Single,
    };
    let place = Place::of_bytes(LEN as u64);
    let candidates = &bench.candidates;
    candidates.contest(&mut workload, place, budget, session, contestants);
    vec![workload]
}

const FORKERS: [&str; 5] = [NOTHING, "squall", "getrandom", "thread-rng", "openssl-rand"];

/// Measures both kinds of children. What counts is the fork, so bytes say nothing.
pub fn measure_forks(bench: &mut Bench) -> Vec<Workload> {
    let session = &mut bench.session;
    let effort = session.effort;
    let title = "A fork of a process that has drawn, by the bytes that the child draws";
    let kernel = Some("getrandom");
    let mut workload = Workload::new(workload::FORK, title, "a fork", "bytes", kernel);
    session.step(title, EXPECTED.of(effort));
    let budget = Budget {
        least: effort.choose(3, 9),
        most: effort.choose(5, 31),
        time: EXPECTED.of(effort) / 2,
        batch: Batch::Single,
    };
    for (at, drawn) in [(0, 0), (32, 32)] {
        let contestants = contestants(Work::Forks, &FORKERS, drawn);
        let place = Place { at, bytes: 0 };
        let candidates = &bench.candidates;
        candidates.contest(&mut workload, place, budget, session, contestants);
    }
    vec![workload]
}

/// Nanoseconds by each of `sources`, of draws of `bytes`: the first of a new process
/// ([`Work::FirstBytes`]), or a fork whose child makes one ([`Work::Forks`]).
pub fn contestants(work: Work, sources: &[&str], bytes: usize) -> Vec<Contestant<'static>> {
    let contestant = |source: &&str| {
        let child = Child::new(work, source, bytes);
        single(source, move || number_of(child.command(), TIMEOUT))
    };
    sources.iter().map(contestant).collect()
}

/// Readings of the clock, whose median is its cost.
const READINGS: usize = 31;

/// Nanoseconds that the first draw takes, less what the clock costs.
pub fn time_first_draw(source: &mut Unopened, bytes: usize) -> Result<f64, Failure> {
    // This is also the clock's own first use.
    let reading = |_| Instant::now().elapsed().as_nanos() as f64;
    let clock_cost = Spread::of((0..READINGS).map(reading).collect()).median;
    let mut out = vec![0; bytes];
    let clock = Instant::now();
    let drawn = source.draw(black_box(&mut out));
    let elapsed = clock.elapsed().as_nanos() as f64;
    drawn?;
    if !source.is_nothing() && black_box(out).iter().all(|&byte| byte == 0) {
        return Err(Failure::Runtime("it returned no bytes".into()));
    }
    // The clock's resolution is a nanosecond.
    Ok((elapsed - clock_cost).max(1.0))
}

/// Forks of a process that are not counted, and that are.
const WARM_UP: usize = 5;
const FORKS: usize = 50;

/// The median of forks of this process, in nanoseconds.
pub fn time_forks(source: &mut Unopened, bytes: usize) -> Result<f64, Failure> {
    // A first request may be served on its own; the next ones fill a buffer.
    for _ in 0..4 {
        source.draw(black_box(&mut [0; 32]))?;
    }
    let mut out = vec![0; bytes];
    let mut fork_once = |_| {
        let clock = Instant::now();
        let forked = fork::fork(|| out.is_empty() || source.draw(black_box(&mut out)).is_ok());
        forked?.wait().map(|()| clock.elapsed().as_nanos() as f64)
    };
    let times = (0..WARM_UP + FORKS).map(&mut fork_once);
    let times: Result<Vec<f64>, _> = times.collect();
    let times = times.map_err(|error| Failure::Runtime(format!("fork: {}", cause(&error))))?;
    Ok(Spread::of(times[WARM_UP..].to_vec()).median)
}
