//! New processes: the first 32 bytes of one, by its own clock; forks of a process that has drawn, of children
//! that draw and that do not; and blocks through a pipe.
//!
//! Loading the program and the libraries that it opens at run time is not counted as first bytes. Everything that
//! the first call does is: it touches new pages, opens a device, initialises a library. Of OpenSSL it is
//! RAND_bytes alone. A fork is measured as by lmbench's lat_proc ("fork + exit"): the process forks, the child draws
//! or does not and exits at once, and the parent waits for it. Through a pipe it is as by dd: another process draws and
//! writes blocks one by one, and this process reads and discards them.

use std::fs::File;
use std::hint::black_box;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::time::Instant;

use squall_tool_base::failure::cause;
use squall_tool_base::measure::contest::{Batch, Budget, Contestant};
use squall_tool_base::measure::{Spread, fork};
use squall_tool_base::{Failure, is_in_path, units};

use crate::candidates::{Place, single};
use crate::child::{Child, Subprocess, Unopened, Work, this_program};
use crate::remote::{TIMEOUT, number_of};
use crate::report::model::{Workload, workload};
use crate::sources::NOTHING;
use crate::workloads::{Bench, Expected, rounds};

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

/// What is written block by block; `nothing` writes the same block again.
const WRITERS: [&str; 6] = [
    NOTHING,
    "squall",
    "urandom",
    "getrandom",
    "thread-rng",
    "openssl-rand",
];

pub const PIPE_EXPECTED: Expected = Expected(1200, 8000);

/// Measures every length of blocks; in a quick run one of them.
pub fn measure_pipe(bench: &mut Bench) -> Vec<Workload> {
    let session = &mut bench.session;
    let effort = session.effort;
    let (title, kernel) = ("Blocks through a pipe", Some("dd-urandom"));
    let mut workload = Workload::new(workload::PIPE, title, "a block", "bytes", kernel);
    let lengths = effort.choose(&[64 << 10][..], &LENGTHS);
    let bytes = effort.choose(4 << 20, 12 << 20);
    for &len in lengths {
        let place = Place::of_bytes(len as u64);
        let step = format!("blocks of {} through a pipe", units::length(place.at));
        session.step(&step, PIPE_EXPECTED.of(effort) / lengths.len() as u32);
        let mut contestants = pipe_contestants(&WRITERS, len, bytes);
        contestants.extend(program_contestants(len, bytes));
        let budget = rounds(effort.choose(3, 5), Batch::Single);
        let candidates = &bench.candidates;
        candidates.contest(&mut workload, place, budget, session, contestants);
    }
    vec![workload]
}

/// Lengths of blocks, in bytes.
pub const LENGTHS: [usize; 4] = [512, 4 << 10, 64 << 10, 1 << 20];

/// Length of the buffer that this process reads into, and of what it reads before it looks at the
/// clock: by then the child has started.
const BUFFER_LEN: usize = 1 << 20;

/// Nanoseconds for a block of `len` bytes by each of `sources`, over `bytes` of them in all. A child
/// writes each block. [`NOTHING`] writes zeros.
pub fn pipe_contestants(sources: &[&str], len: usize, bytes: u64) -> Vec<Contestant<'static>> {
    let of_source = |source: &&str| {
        let child = Child::new(Work::Pipe, source, len);
        let is_random = *source != NOTHING;
        single(source, move || {
            time_block(&mut child.command(), is_random, len, bytes)
        })
    };
    sources.iter().map(of_source).collect()
}

/// The same for programs that write random bytes, where they are installed: dd of /dev/urandom and
/// OpenSSL's AES-128 in counter mode, in blocks of `len`, and this program as `squall stream`, which
/// chooses its own blocks.
pub fn program_contestants(len: usize, bytes: u64) -> Vec<Contestant<'static>> {
    let mut dd = Command::new("dd");
    dd.args(["if=/dev/urandom", "status=none"]);
    dd.arg(format!("bs={len}"));
    let mut openssl = Command::new("openssl");
    openssl.args(["enc", "-aes-128-ctr", "-nosalt", "-in", "/dev/zero"]);
    openssl.args(["-K", &"5a".repeat(16), "-iv", &"00".repeat(16)]);
    openssl.args(["-bufsize", &len.to_string()]);
    let mut squall = this_program();
    squall.arg("stream");
    let programs = [
        ("dd-urandom", dd, is_in_path("dd")),
        ("openssl-enc", openssl, is_in_path("openssl")),
        ("squall-stream", squall, is_squall()),
    ];
    let installed = programs.into_iter().filter(|(.., is_there)| *is_there);
    let contestant = |(name, mut command, _): (_, Command, _)| {
        single(name, move || time_block(&mut command, true, len, bytes))
    };
    installed.map(contestant).collect()
}

/// Whether this program is the command `squall`, and no test.
fn is_squall() -> bool {
    let program = std::env::current_exe().unwrap_or_default();
    program.file_name().is_some_and(|name| name == "squall")
}

/// Draws blocks of `len` bytes and writes them to standard output, until nobody reads them.
pub(crate) fn write_blocks(source: &mut Unopened, len: usize) -> Result<(), Failure> {
    let failure = |error| Failure::of_write("standard output", &error);
    // A `Stdout` would look for the end of a line.
    let copy = io::stdout().as_fd().try_clone_to_owned();
    let mut output = File::from(copy.map_err(failure)?);
    let mut block = vec![0; len];
    loop {
        source.draw(black_box(&mut block))?;
        output.write_all(&block).map_err(failure)?;
    }
}

/// Nanoseconds for `len` bytes of what `command` writes, over `bytes`. If it `is_random`, it must not
/// write one byte over and over.
fn time_block(
    command: &mut Command,
    is_random: bool,
    len: usize,
    bytes: u64,
) -> Result<f64, Failure> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut process = Subprocess::start(command)?;
    let mut pipe = process.0.stdout.take().expect("it is piped");
    let mut buffer = vec![0; BUFFER_LEN];
    let mut timed = || -> io::Result<f64> {
        pipe.read_exact(&mut buffer)?;
        if is_random && buffer.iter().all(|byte| *byte == buffer[0]) {
            return Err(io::Error::other("writes one byte over and over"));
        }
        let clock = Instant::now();
        let mut got = 0;
        while got < bytes {
            match pipe.read(&mut buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                len => got += len? as u64,
            }
        }
        Ok(clock.elapsed().as_nanos() as f64 * len as f64 / got as f64)
    };
    timed().map_err(|error| {
        let did = match error.kind() {
            io::ErrorKind::UnexpectedEof => None,
            _ => Some(cause(&error)),
        };
        Failure::Runtime(process.end(did.as_deref()))
    })
}
