//! The first 32 bytes of a new process: what they cost there, and what the process costs.
//!
//! A program that calls [`serve_child`] first in its `main` is its own child when it is run as
//! `PROGRAM first-bytes SOURCE`: it draws once, prints how many nanoseconds that took by
//! CLOCK_MONOTONIC, and ends.

use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::peers::syscall;

const MARK: &str = "first-bytes";

/// Where a child's first bytes come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// [`squall::fill`].
    Squall,
    /// getrandom(2).
    Getrandom,
    /// Nowhere: what the process and the clock cost.
    Nothing,
}

impl Source {
    /// Every source.
    pub const ALL: [Source; 3] = [Source::Squall, Source::Getrandom, Source::Nothing];

    /// The source's name on the child's command line.
    pub fn name(self) -> &'static str {
        match self {
            Source::Squall => "squall",
            Source::Getrandom => "getrandom",
            Source::Nothing => "nothing",
        }
    }

    fn fill(self, out: &mut [u8]) {
        match self {
            Source::Squall => squall::fill(out),
            Source::Getrandom => syscall::fill(out),
            Source::Nothing => {}
        }
    }
}

/// What one start cost, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// Around the call, by the child's own clock.
    pub inside: f64,
    /// From before the child was made to after it was reaped.
    pub wall: f64,
}

/// Starts `program` once as a child that draws from `source`.
pub fn start(program: &Path, source: Source) -> Start {
    let clock = Instant::now();
    let output = Command::new(program)
        .args([MARK, source.name()])
        .output()
        .expect("the child can be started");
    let wall = clock.elapsed().as_nanos() as f64;
    let inside = std::str::from_utf8(&output.stdout)
        .ok()
        .and_then(|line| line.trim().parse().ok())
        .expect("the child prints nanoseconds");
    Start { inside, wall }
}

/// Draws, reports and ends the process, if it was started as such a child.
pub fn serve_child() {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() != Some(MARK) {
        return;
    }
    let name = arguments.next().unwrap_or_default();
    let Some(source) = Source::ALL.into_iter().find(|s| s.name() == name) else {
        eprintln!("first-bytes: no source is named {name:?}");
        std::process::exit(2);
    };
    println!("{}", first_bytes(source));
    std::process::exit(0);
}

/// Nanoseconds for the first 32 bytes of this process.
fn first_bytes(source: Source) -> u128 {
    let mut out = [0; 32];
    // The clock's own first use maps the vDSO's data, which is not the source's doing.
    black_box(Instant::now());
    let clock = Instant::now();
    source.fill(black_box(&mut out));
    let elapsed = clock.elapsed();
    black_box(&out);
    elapsed.as_nanos()
}
