//! `squall bench --statistics`: what each source gives, tested by statistics.

use std::time::Duration;

use squall_tools::{Failure, Interrupt, output};

use crate::args::BenchArguments;
use crate::candidates::{Candidate, Candidates};
use crate::go;
use crate::session::{Effort, Session};
use crate::source::Source;
use crate::sources::{Entry, RunsIn, memory};
use crate::statistics::battery::{self, BatteryResult};
use crate::statistics::{Examination, Findings, table};

/// Bytes that are drawn and looked at together.
const PIECE: usize = 1 << 20;

/// Longest time that a battery may take with one source.
const TIMEOUT: Duration = Duration::from_secs(2 * 3600);

/// What a good pace is, in bytes a second: what time is left is reckoned with.
const PACE: u64 = 200 << 20;

/// Tests the sources that were asked for.
pub fn run(options: &BenchArguments) -> Result<(), Failure> {
    output::check()?;
    let go = go::program("go".as_ref(), true);
    let interrupt = Interrupt::watch("nothing is concluded")?;
    let is_wanted = |entry: &Entry| {
        if options.source.is_empty() {
            entry.runs_in != RunsIn::OtherProgram && entry.name != memory::NAME
        } else {
            options.source.iter().any(|name| name == entry.name)
        }
    };
    let one = Duration::from_secs(options.bytes.div_ceil(PACE));
    let count = crate::sources::all()
        .filter(|entry| is_wanted(entry))
        .count() as u32;
    let mut session = Session::begin(Effort::Full, one * count, interrupt.clone());
    let mut candidates = Candidates::open(is_wanted, &go);
    let mut examined = Vec::new();
    let mut unsound = Vec::new();
    for candidate in &mut candidates.0 {
        let name = candidate.entry.name;
        session.step(name, one);
        let examined_one = examine(candidate, options, &session);
        interrupt.check()?;
        match examined_one {
            Ok(Some(result)) => examined.push(result),
            Ok(None) if options.source.is_empty() => {}
            Ok(None) => unsound.push(format!("{name} is not available: {}", candidate.reason())),
            Err(failure) => unsound.push(format!("{name} failed: {}", failure.into_text())),
        }
    }
    drop(session);
    output::print(&table(&examined))?;
    let failed = examined
        .iter()
        .filter(|(_, findings, _)| !findings.passed());
    unsound.extend(failed.map(|(title, ..)| format!("{title} is not a source of random bytes")));
    if unsound.is_empty() {
        Ok(())
    } else {
        Err(Failure::Runtime(unsound.join("; ")))
    }
}

type Examined = (String, Findings, Vec<BatteryResult>);

/// Tests one source; none if it is not on this machine.
fn examine(
    candidate: &mut Candidate,
    options: &BenchArguments,
    session: &Session,
) -> Result<Option<Examined>, Failure> {
    let name = candidate.entry.name;
    let Some(source) = candidate.source() else {
        return Ok(None);
    };
    let findings = findings(source, options.bytes, session)?;
    let batteries = if options.batteries {
        batteries(source, options.bytes, session)?
    } else {
        Vec::new()
    };
    Ok(Some((name.to_owned(), findings, batteries)))
}

fn findings(source: &mut dyn Source, bytes: u64, session: &Session) -> Result<Findings, Failure> {
    let mut examination = Examination::default();
    let mut piece = vec![0; PIECE];
    let mut left = bytes;
    while left > 0 && !session.is_interrupted() {
        let len = left.min(PIECE as u64);
        let part = &mut piece[..len as usize];
        draw(source, part)?;
        examination.add(part);
        left -= len;
        session.tick();
    }
    examination.finish()
}

/// Clears `out`, then fills it: a cipher would encrypt what was there.
fn draw(source: &mut dyn Source, out: &mut [u8]) -> Result<(), Failure> {
    out.fill(0);
    source.fill(out)
}

fn batteries(
    source: &mut dyn Source,
    bytes: u64,
    session: &Session,
) -> Result<Vec<BatteryResult>, Failure> {
    let mut fill = |out: &mut [u8]| {
        if session.is_interrupted() {
            Err(Failure::Runtime("interrupted".into()))
        } else {
            draw(source, out)
        }
    };
    let all = battery::ALL.iter();
    all.map(|battery| battery.run(TIMEOUT, bytes, &mut fill))
        .collect()
}
