//! Batteries of others, run if they are installed and never required: a stream goes into their
//! standard input, and their verdicts are read from what they print. `squall bench --batteries` runs all of
//! them on each source.
//!
//! They find generators that are broken, and say nothing of security: a keystream whose key
//! everybody knows passes all of them.

mod programs;
pub mod testu01;

pub use programs::dieharder;

use std::io::{Read as _, Write};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{fmt, thread};

use squall_tools::{Failure, Interrupt, output};

use crate::args::BenchArguments;
use crate::candidates::Candidates;
use crate::child::Subprocess;
use crate::go;
use crate::sources::{Entry, MEMORY, RunsIn};

/// A battery of tests.
#[derive(Clone, Copy, Debug)]
pub struct Battery {
    /// Its name.
    pub name: &'static str,
    /// The programs that may run it on so many bytes, in the order to be tried.
    pub programs: fn(u64) -> Vec<Command>,
    /// Counts the results that it prints.
    pub tally: fn(&str) -> Tally,
}

/// `dieharder -a`: every test of R. G. Brown's dieharder, half an hour and more.
pub const DIEHARDER: Battery = Battery {
    name: "dieharder",
    programs: |_| vec![dieharder(&["-a"])],
    tally: programs::tally_dieharder,
};

/// `RNG_test stdin64` of C. Doty-Humphrey's PractRand, which by itself would not end.
pub const PRACTRAND: Battery = Battery {
    name: "PractRand",
    programs: programs::practrand,
    tally: programs::tally_practrand,
};

/// SmallCrush of TestU01 (P. L'Ecuyer, R. Simard). TestU01 has no program that reads a stream, so its
/// library is loaded, in a process of its own: see [`testu01`].
pub const TESTU01: Battery = Battery {
    name: "TestU01 SmallCrush",
    programs: |_| testu01::program().into_iter().collect(),
    tally: testu01::tally,
};

/// All of them.
pub const ALL: [Battery; 3] = [DIEHARDER, PRACTRAND, TESTU01];

/// Results that were counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Results that are not remarkable.
    pub passed: u32,
    /// Results that are rare, and of which some are normal among so many.
    pub suspicious: u32,
    /// The tests that a good source does not fail.
    pub failed: Vec<String>,
    /// Whether that is not all: its time was up.
    pub is_stopped: bool,
}

/// What a battery says of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatteryResult {
    /// Its name.
    pub battery: &'static str,
    /// Its results, or why there are none.
    pub tally: Result<Tally, String>,
}

impl Battery {
    /// Runs it on the stream that `fill` gives, for as long as `time`: what it has said by then is its
    /// result, as a test may wait forever for something that a bad source never gives. `None` if it is
    /// not installed.
    ///
    /// # Errors
    /// The stream has failed. A battery that fails does not: that is a result.
    pub fn run(
        &self,
        time: Duration,
        bytes: u64,
        fill: &mut dyn FnMut(&mut [u8]) -> Result<(), Failure>,
    ) -> Result<Option<BatteryResult>, Failure> {
        for program in (self.programs)(bytes) {
            let (ended, text) = feed(&program, time, fill)?;
            if ended != End::NotFound {
                let (battery, tally) = (self.name, self.tally(ended, &text));
                return Ok(Some(BatteryResult { battery, tally }));
            }
        }
        Ok(None)
    }

    fn tally(&self, ended: End, text: &str) -> Result<Tally, String> {
        let mut tally = (self.tally)(text);
        tally.is_stopped = ended == End::Stopped;
        let count = tally.passed + tally.suspicious + tally.failed.len() as u32;
        match (count, tally.is_stopped) {
            (0, true) => Err("returned no result, stopped at its time limit".into()),
            (0, false) => Err("returned no result".into()),
            _ => Ok(tally),
        }
    }
}

impl BatteryResult {
    /// Whether it rejects the stream.
    pub fn has_failed(&self) -> bool {
        matches!(&self.tally, Ok(tally) if !tally.failed.is_empty())
    }
}

impl fmt::Display for BatteryResult {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let name = self.battery;
        let tally = match &self.tally {
            Ok(tally) => tally,
            Err(why) => return write!(f, "{name}: {why}"),
        };
        let (passed, suspicious, failed) = (tally.passed, tally.suspicious, tally.failed.len());
        write!(
            f,
            "{name}: {passed} passed, {suspicious} suspicious, {failed} failed"
        )?;
        if tally.is_stopped {
            f.write_str(", stopped at its time limit")?;
        }
        match tally.failed.first() {
            Some(first) => write!(f, "; first failed: {first}"),
            None => Ok(()),
        }
    }
}

/// Bytes that are asked for at a time: what a pipe holds.
const CHUNK: usize = 1 << 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    ByItself,
    /// Its time was up.
    Stopped,
    NotFound,
}

/// Runs `program` on the stream from `fill` by timeout(1), which ends it after `time`: how it ended,
/// and what it printed.
///
/// # Errors
/// The stream failed, or timeout(1) did not start.
fn feed(
    program: &Command,
    time: Duration,
    fill: &mut dyn FnMut(&mut [u8]) -> Result<(), Failure>,
) -> Result<(End, String), Failure> {
    let mut command = Command::new("timeout");
    command.arg(time.as_secs().to_string());
    command.arg(program.get_program()).args(program.get_args());
    let variables = program.get_envs();
    command.envs(variables.filter_map(|(name, value)| Some((name, value?))));
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut process = Subprocess::start(&mut command)?;
    let stdin = process.0.stdin.take().expect("a pipe");
    let mut stdout = process.0.stdout.take().expect("a pipe");
    let reader = thread::spawn(move || {
        let mut text = Vec::new();
        // What was read before an error is what there is.
        let _ = stdout.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    });
    write(stdin, fill)?;
    let text = reader.join().unwrap_or_default();
    let ended = match process.0.wait().ok().and_then(|status| status.code()) {
        Some(124) => End::Stopped,
        Some(127) => End::NotFound,
        _ => End::ByItself,
    };
    Ok((ended, text))
}

/// Writes until the reader has gone.
fn write(
    mut stdin: impl Write,
    fill: &mut dyn FnMut(&mut [u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut chunk = vec![0; CHUNK];
    loop {
        fill(&mut chunk)?;
        if stdin.write_all(&chunk).is_err() {
            return Ok(());
        }
    }
}

/// Longest time that a battery may take with one source.
const TIMEOUT: Duration = Duration::from_secs(2 * 3600);

/// Tests the sources that were asked for, and prints each result when it is there.
///
/// # Errors
/// A source failed, is missing although it was named, or a battery rejected it; or no battery is installed.
pub fn run_all(options: &BenchArguments) -> Result<(), Failure> {
    output::check()?;
    let go = go::program("go".as_ref(), true);
    let interrupt = Interrupt::watch("nothing more is tested")?;
    let is_named = !options.source.is_empty();
    let is_wanted = |entry: &Entry| {
        let is_testable = entry.runs_in != RunsIn::OtherProgram && entry.name != MEMORY;
        options.asks_for(entry.name) && (is_named || is_testable)
    };
    let mut candidates = Candidates::open(is_wanted, &go);
    let mut missing = Vec::new();
    let mut unsound = Vec::new();
    for candidate in &mut candidates.0 {
        let name = candidate.entry.name;
        let Some(source) = candidate.source() else {
            if is_named {
                unsound.push(format!("{name} is not available: {}", candidate.reason()));
            }
            continue;
        };
        let mut fill = |out: &mut [u8]| {
            interrupt.check()?;
            // A cipher would encrypt what was there.
            out.fill(0);
            source.fill(out)
        };
        for battery in &ALL {
            if missing.contains(&battery.name) {
                continue;
            }
            let result = battery.run(TIMEOUT, options.bytes, &mut fill);
            interrupt.check()?;
            match result {
                Ok(Some(result)) => {
                    output::print(&format!("{name}, {result}\n"))?;
                    if result.has_failed() {
                        unsound.push(format!("{name} failed {}", battery.name));
                    }
                }
                Ok(None) => {
                    output::print(&format!("{}: not installed\n", battery.name))?;
                    missing.push(battery.name);
                }
                Err(failure) => {
                    unsound.push(format!("{name} failed: {}", failure.into_text()));
                    break;
                }
            }
        }
        if missing.len() == ALL.len() {
            return Err(Failure::Runtime(
                "no battery is installed: install dieharder, PractRand or TestU01 (libtestu01-0)"
                    .into(),
            ));
        }
    }
    output::print(
        "Passing says nothing about security: a keystream whose key is known passes too.\n",
    )?;
    if unsound.is_empty() {
        Ok(())
    } else {
        Err(Failure::Runtime(unsound.join("; ")))
    }
}
