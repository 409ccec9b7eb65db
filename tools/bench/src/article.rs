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
use std::sync::{Barrier, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::bounded;
use squall_tools::Failure;
use squall_tools::measure::contest::Contestant;

use crate::go::Program;
use crate::measure::single;
use crate::remote::TIMEOUT;
use crate::sources::syscall;

/// Strings in a run of the first program: 9,999 by each thread.
pub const VALUES: u64 = 99_990;

/// Bytes of a read in the second program.
pub const READ: u64 = 32;

/// Threads that make strings, and threads that take them.
const PARTIES: u64 = 10;

/// The length of a string is below this.
const BOUND: u32 = 10_000;

/// Go's sources, and their names in the Go program.
const GO: [(&str, &str); 3] = [
    ("go-crypto-rand", "crypto"),
    ("go-math-rand", "math"),
    ("go-math-rand-v1", "math-v1"),
];

type Fill = fn(&mut [u8]);

/// The first program: nanoseconds a string, of `values` strings rounded up to tens.
pub fn pipeline_contestants(go: Option<&Program>, values: u64) -> Vec<Contestant<'_>> {
    let each = values.div_ceil(PARTIES).max(1);
    let wait = Duration::from_millis(values);
    contestants(go, "pipeline", each, wait, move |fill| pipeline(fill, each))
}

/// The second program: nanoseconds a read of [`READ`] bytes, for `slice`, in whole milliseconds.
pub fn rate_contestants(go: Option<&Program>, slice: Duration) -> Vec<Contestant<'_>> {
    let milliseconds = slice.as_millis().max(1) as u64;
    let ours = move |fill| Ok(rate(fill, slice));
    contestants(go, "rate", milliseconds, slice, ours)
}

/// `ours` by sources of this process, and the Go program's `mode` by Go's; an answer of Go may take
/// `wait` longer than any other.
fn contestants<'a>(
    go: Option<&'a Program>,
    mode: &'static str,
    amount: u64,
    wait: Duration,
    ours: impl Fn(Fill) -> Result<f64, Failure> + Copy + 'a,
) -> Vec<Contestant<'a>> {
    let sources: [(_, Fill); 2] = [("squall", squall::fill), ("getrandom", syscall::fill)];
    let here = sources.map(|(source, fill)| single(source, move || ours(fill)));
    let elsewhere = go.into_iter().flat_map(|go| {
        GO.map(|(source, name)| {
            let run = move || go.number(&[mode, name, &amount.to_string()], TIMEOUT + wait);
            single(source, run)
        })
    });
    here.into_iter().chain(elsewhere).collect()
}

/// Ten threads make `each` strings and hand them to ten others.
fn pipeline(fill: Fill, each: u64) -> Result<f64, Failure> {
    let (sender, receiver) = bounded::<Vec<u8>>(0);
    let barrier = &Barrier::new(2 * PARTIES as usize + 1);
    // The first wait ends when all threads are there; then the clock starts, and they begin.
    let begin = move || (barrier.wait(), barrier.wait());
    let (elapsed, strings, letters) = thread::scope(|scope| {
        let consumers: Vec<_> = (0..PARTIES)
            .map(|_| {
                let (sender, receiver) = (sender.clone(), receiver.clone());
                scope.spawn(move || {
                    begin();
                    (0..each).try_for_each(|_| sender.send(text(fill)))
                });
                scope.spawn(move || {
                    begin();
                    let lengths = receiver.iter().map(|text| text.len() as u64);
                    lengths.fold((0, 0), |(count, sum), length| (count + 1, sum + length))
                })
            })
            .collect();
        drop(sender);
        barrier.wait();
        let clock = Instant::now();
        barrier.wait();
        let received = consumers.into_iter().map(|it| it.join().expect("it ends"));
        let (strings, letters) = received.fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
        (clock.elapsed(), strings, letters)
    });
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
    while timer.try_recv().is_err() {
        read += reader.read(black_box(&mut out)).expect("it has no end");
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
