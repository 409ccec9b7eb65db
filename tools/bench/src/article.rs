//! The two programs of "Locking in crypto/rand" (S. Mansfield, 2016), in Go and in Rust.
//!
//! **The first**: ten goroutines make strings and hand them to ten others, through one channel
//! without a buffer. A string has a random length below 10,000 and random letters; a run makes
//! [`VALUES`]. By crypto/rand letters are one read for a string, and its bytes modulo 26. By math/rand
//! each letter is drawn, and each draw took one lock, which Go 1.20 has done away with.
//!
//! **The second**: reads of 32 bytes through a buffer of 4 KiB, for ten seconds, with a look at a
//! timer before each. The article's megabytes are of 1,048,576 bytes.
//!
//! What is different here: the article's program by math/rand drew shorter lengths, half as many
//! letters; here all make the same.
//!
//! A lane is one source, asked for one round at a time, so that sources can be measured in turns.
//! A run of the first program takes a second by crypto/rand, and five to twelve by math/rand: a
//! round is to be a part of one, and what is told is the time of one string. Goroutines and threads
//! run on the CPUs that the calling thread may use: it is to be bound to none.

mod pipeline;
mod rate;

use std::time::Duration;

use squall_tools::Failure;
use squall_tools::measure::lanes::Lane;

use crate::go::Program;
use crate::measure::single;
use crate::remote::PATIENCE;
use crate::sources::syscall;

/// Strings in a run of the first program: 9,999 by each of ten.
pub const VALUES: u64 = 99_990;

/// Bytes of a read in the second program.
pub const READ: u64 = 32;

/// Time that an answer of Go may take for each string that is asked for, beyond what any may.
const PATIENCE_A_VALUE: Duration = Duration::from_millis(1);

/// Go's sources: their names, and those that the program knows them by.
const GO: [(&str, &str); 3] = [
    ("go-crypto-rand", "crypto"),
    ("go-math-rand", "math"),
    ("go-math-rand-v1", "math-v1"),
];

/// Sources of this process.
const OURS: [(&str, Fill); 2] = [("squall", squall::fill), ("getrandom", syscall::fill)];

type Fill = fn(&mut [u8]);

/// The first program. A round hands over `values` strings, rounded up to tens; a call gives
/// nanoseconds a string.
pub fn pipeline_lanes(go: Option<&Program>, values: u64) -> Vec<Lane<'_>> {
    let each = values.div_ceil(pipeline::PARTIES as u64).max(1);
    let wait = PATIENCE_A_VALUE.saturating_mul(u32::try_from(values).unwrap_or(u32::MAX));
    lanes(go, "pipeline", each, wait, move |fill| {
        pipeline::run(fill, each)
    })
}

/// The second program. A round goes on for `slice`, of whole milliseconds; a call gives nanoseconds
/// a read of [`READ`] bytes.
pub fn rate_lanes(go: Option<&Program>, slice: Duration) -> Vec<Lane<'_>> {
    let milliseconds = slice.as_millis().max(1) as u64;
    lanes(go, "rate", milliseconds, slice, move |fill| {
        Ok(rate::run(fill, slice))
    })
}

/// `ours` by each source of this process, and the Go program's `mode` by each of Go's, which may
/// take longer than any answer by `wait`.
fn lanes<'a>(
    go: Option<&'a Program>,
    mode: &'static str,
    amount: u64,
    wait: Duration,
    ours: impl Fn(Fill) -> Result<f64, Failure> + Copy + 'a,
) -> Vec<Lane<'a>> {
    let here = OURS
        .iter()
        .map(|&(source, fill)| single(source, move || ours(fill)));
    let elsewhere = go.into_iter().flat_map(|go| {
        GO.iter().map(move |&(source, name)| {
            let run = move || go.number(&[mode, name, &amount.to_string()], PATIENCE + wait);
            single(source, run)
        })
    });
    here.chain(elsewhere).collect()
}
