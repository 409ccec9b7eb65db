//! The two programs of "Locking in crypto/rand" (S. Mansfield, 2016), in Rust; `go/article.go` has
//! them in Go.
//!
//! The first hands strings of random letters from ten threads to ten others, through one channel
//! without a buffer. The second reads 32 bytes at a time through a buffer of 4 KiB until a timer
//! fires. All sources make strings of the same lengths; the article's math/rand made shorter ones.
//!
//! Threads inherit the CPUs of the calling thread, so it must not be bound to one.

use std::hint::black_box;
use std::io::{self, BufReader, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::bounded;
use squall_tools::Failure;
use squall_tools::measure::contest::{Batch, Contestant};

use super::{Bench, Expected, rounds};
use crate::candidates::{Place, single};
use crate::go::Program;
use crate::remote::TIMEOUT;
use crate::report::model::{Workload, workload};
use crate::sources::fill_by_system_call;

pub const EXPECTED: Expected = Expected(1500, 45000);

/// Strings in a run of the first program: 9,999 by each thread.
const VALUES: u64 = 99_990;

/// Bytes of a read in the second program.
const READ: u64 = 32;

/// Threads that make strings, and threads that take them.
const PARTIES: u64 = 10;

/// The length of a string is below this.
const BOUND: u32 = 10_000;

/// Go's sources, and their names in the Go program. The last shows what its lock costs in the first
/// program, and nothing in the second.
const GO: [(&str, &str); 3] = [
    ("go-crypto-rand", "crypto"),
    ("go-math-rand", "math"),
    ("go-math-rand-v1", "math-v1"),
];

type Fill = fn(&mut [u8]);

pub fn measure(bench: &mut Bench) -> Vec<Workload> {
    const ARTICLE: &str = "from \"Locking in crypto/rand\"";
    let session = &mut bench.session;
    let (effort, kernel) = (session.effort, Some("getrandom"));
    let title = format!("Ten that make strings and ten that take them, {ARTICLE}");
    let mut pipeline = Workload::new(workload::PIPELINE, &title, "a string", "threads", kernel);
    session.step("the Go article's first program", EXPECTED.of(effort) / 9);
    // A fiftieth of the article's strings.
    let strings = pipeline_contestants(bench.go, effort.choose(500, VALUES / 50));
    let budget = rounds(effort.choose(3, 5), Batch::Single);
    let place = Place { at: 10, bytes: 0 };
    let candidates = &bench.candidates;
    candidates.contest(&mut pipeline, place, budget, session, strings);

    let seconds = effort.choose("half a second", "ten seconds");
    let title = format!("Reads of {READ} bytes for {seconds}, {ARTICLE}");
    let mut rate = Workload::new(workload::RATE, &title, "a read", "bytes", kernel);
    let expected = EXPECTED.of(effort) * 8 / 9;
    session.step("the Go article's second program", expected);
    let slice = Duration::from_millis(effort.choose(50, 1000));
    let reads = rate_contestants(bench.go, slice);
    let budget = rounds(10, Batch::Single);
    candidates.contest(&mut rate, Place::of_bytes(READ), budget, session, reads);
    vec![pipeline, rate]
}

/// The first program: nanoseconds a string, of `values` strings rounded up to tens.
pub fn pipeline_contestants(go: Option<&Program>, values: u64) -> Vec<Contestant<'_>> {
    let each = values.div_ceil(PARTIES).max(1);
    let wait = Duration::from_millis(values);
    contestants(go, &GO, ("pipeline", each), wait, move |fill| {
        pipeline(fill, each)
    })
}

/// The second program: nanoseconds a read of 32 bytes, for `slice`, in whole milliseconds.
pub fn rate_contestants(go: Option<&Program>, slice: Duration) -> Vec<Contestant<'_>> {
    let mode = ("rate", slice.as_millis() as u64);
    contestants(go, &GO[..2], mode, slice, move |fill| Ok(rate(fill, slice)))
}

/// `ours` by sources of this process, and by Go's the Go program in this mode, whose answer may take
/// `wait` longer than any other.
fn contestants<'a>(
    go: Option<&'a Program>,
    sources: &'static [(&str, &str)],
    (mode, amount): (&'static str, u64),
    wait: Duration,
    ours: impl Fn(Fill) -> Result<f64, Failure> + Copy + 'a,
) -> Vec<Contestant<'a>> {
    let here: [(_, Fill); 2] = [("squall", squall::fill), ("getrandom", fill_by_system_call)];
    let here = here.map(|(source, fill)| single(source, move || ours(fill)));
    let in_go = go.into_iter().flat_map(|go| {
        sources.iter().map(move |(source, name)| {
            let run = move || go.number(&[mode, name, &amount.to_string()], TIMEOUT + wait);
            single(source, run)
        })
    });
    here.into_iter().chain(in_go).collect()
}

/// Ten threads make `each` strings and hand them to ten others.
fn pipeline(fill: Fill, each: u64) -> Result<f64, Failure> {
    let (sender, receiver) = bounded::<Vec<u8>>(0);
    let barrier = &Barrier::new(2 * PARTIES as usize + 1);
    // The first wait ends when all threads are there; then the clock starts, and they begin.
    let begin = move || (barrier.wait(), barrier.wait());
    let (strings, letters) = (&AtomicU64::new(0), &AtomicU64::new(0));
    let clock = thread::scope(|scope| {
        for _ in 0..PARTIES {
            let (sender, receiver) = (sender.clone(), receiver.clone());
            scope.spawn(move || {
                begin();
                (0..each).try_for_each(|_| sender.send(text(fill)))
            });
            scope.spawn(move || {
                begin();
                let lengths: Vec<u64> = receiver.iter().map(|text| text.len() as u64).collect();
                strings.fetch_add(lengths.len() as u64, Ordering::Relaxed);
                letters.fetch_add(lengths.iter().sum(), Ordering::Relaxed);
            });
        }
        drop(sender);
        barrier.wait();
        let clock = Instant::now();
        barrier.wait();
        clock
    });
    let elapsed = clock.elapsed();
    let [strings, letters] = [strings, letters].map(|sum| sum.load(Ordering::Relaxed));
    let expected = u64::from(BOUND / 2) * strings;
    let is_plausible = strings < 1000 || letters.abs_diff(expected) < expected / 5;
    if strings == each * PARTIES && is_plausible {
        Ok(elapsed.as_nanos() as f64 / strings as f64)
    } else {
        let text = "strings are missing, or their lengths are not random";
        Err(Failure::Runtime(text.into()))
    }
}

/// A string: first its length is drawn, then all its letters at once.
fn text(fill: Fill) -> Vec<u8> {
    let mut length = [0; 4];
    fill(&mut length);
    let mut text = vec![0; (u32::from_le_bytes(length) % BOUND) as usize];
    fill(&mut text);
    text.iter_mut().for_each(|byte| *byte = b'A' + *byte % 26);
    text
}

/// Reads until a timer fires. The timer is a channel, as in Go.
fn rate(fill: Fill, slice: Duration) -> f64 {
    let mut reader = BufReader::with_capacity(4096, Filled(fill));
    let mut out = [0; READ as usize];
    let mut read = 0;
    let (sender, timer) = mpsc::channel();
    let clock = Instant::now();
    thread::spawn(move || {
        thread::sleep(slice);
        sender.send(())
    });
    // At least once, however late the first read is.
    loop {
        read += reader.read(black_box(&mut out)).expect("it has no end");
        if timer.try_recv().is_ok() {
            break;
        }
    }
    clock.elapsed().as_nanos() as f64 * out.len() as f64 / read as f64
}

struct Filled(Fill);

impl Read for Filled {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        (self.0)(out);
        Ok(out.len())
    }
}
