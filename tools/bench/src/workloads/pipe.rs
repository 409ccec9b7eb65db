//! Blocks through a pipe, as by dd: another process draws and writes them one by one, and this
//! process reads and discards them.

use std::fs::File;
use std::hint::black_box;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::time::Instant;

use squall_tool_base::failure::cause;
use squall_tool_base::measure::contest::{Batch, Contestant};
use squall_tool_base::{Failure, is_in_path, units};

use super::{Bench, Expected, rounds};
use crate::candidates::{Place, single};
use crate::child::{Child, Subprocess, Unopened, Work, this_program};
use crate::report::model::{Workload, workload};
use crate::source::NOTHING;

/// What is written block by block; `nothing` writes the same block again.
const WRITERS: [&str; 6] = [
    NOTHING,
    "squall",
    "urandom",
    "getrandom",
    "thread-rng",
    "openssl-rand",
];

pub const EXPECTED: Expected = Expected(1200, 8000);

/// Measures every length of blocks; in a quick run one of them.
pub fn measure(bench: &mut Bench) -> Vec<Workload> {
    let session = &mut bench.session;
    let effort = session.effort;
    let (title, kernel) = ("Blocks through a pipe", Some("dd-urandom"));
    let mut workload = Workload::new(workload::PIPE, title, "a block", "bytes", kernel);
    let lengths = effort.choose(&[64 << 10][..], &LENGTHS);
    let bytes = effort.choose(4 << 20, 12 << 20);
    for &len in lengths {
        let place = Place::of_bytes(len as u64);
        let step = format!("blocks of {} through a pipe", units::length(place.at));
        session.step(&step, EXPECTED.of(effort) / lengths.len() as u32);
        let mut contestants = contestants(&WRITERS, len, bytes);
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
pub fn contestants(sources: &[&str], len: usize, bytes: u64) -> Vec<Contestant<'static>> {
    let of_source = |source: &&str| {
        let child = Child::new(Work::Pipe, source, len);
        let is_random = *source != NOTHING;
        single(source, move || {
            time(&mut child.command(), is_random, len, bytes)
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
        single(name, move || time(&mut command, true, len, bytes))
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
fn time(command: &mut Command, is_random: bool, len: usize, bytes: u64) -> Result<f64, Failure> {
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
