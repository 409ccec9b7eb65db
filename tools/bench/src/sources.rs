//! What a source of random bytes is to a benchmark, something that times its own requests; the sources that are measured,
//! in the order of tables; and what is known of each before it is opened.
//!
//! The loop over requests is compiled for each source ([`Draw`]), so that what is measured is the
//! source and no virtual call; only batches go through one. There is a file for each family of sources.

mod kernel;
pub mod libcrypto;
pub mod libraries;
mod squall;

use std::collections::HashSet;
use std::hint::black_box;
use std::sync::OnceLock;
use std::time::Duration;

use squall_tool_base::Failure;
use squall_tool_base::measure::time;

use crate::report::model::Group;
pub use kernel::{Vdso, fill_by_system_call};

/// The source that does nothing: what an experiment costs without a source.
pub const NOTHING: &str = "nothing";

/// What is asked for.
#[derive(Debug)]
pub enum Request<'a> {
    /// A buffer filled, whose length is known at run time only.
    Fill(&'a mut [u8]),
    /// A number below 2^32.
    U32,
    /// A number below 2^64.
    U64,
}

/// A source that is ready for use by one thread. Its methods fail if the source does.
pub trait Source {
    /// Nanoseconds a request, over `calls` of them.
    /// Fails also if it did nothing.
    fn time(&mut self, request: Request, calls: u64) -> Result<f64, Failure>;

    /// Fills `out`, by one request where the source is in this process.
    fn fill(&mut self, out: &mut [u8]) -> Result<(), Failure> {
        self.sample(out)
    }

    /// Fills `out` by numbers below 2^32 and then, from its middle on, by numbers below 2^64: what
    /// these requests give, where they are requests of their own.
    fn numbers(&mut self, out: &mut [u8]) -> Result<(), Failure> {
        self.sample(out)
    }

    /// Fills `out` by requests of 1 to 4096 bytes: what it gives, to be looked at.
    fn sample(&mut self, out: &mut [u8]) -> Result<(), Failure>;

    /// Nanoseconds that passed for each request that any of `threads` made, which fill buffers of
    /// `len` bytes for `time`; none if threads of this process are to do that.
    fn parallel(
        &mut self,
        _threads: usize,
        _len: usize,
        _time: Duration,
    ) -> Option<Result<f64, Failure>> {
        None
    }
}

/// A source in this process.
pub trait Draw {
    /// Fills `out`.
    fn fill(&mut self, out: &mut [u8]);

    /// A number below 2^32, in the way a program would ask for one.
    fn u32(&mut self) -> u32 {
        let mut out = [0; 4];
        self.fill(&mut out);
        u32::from_ne_bytes(out)
    }

    /// A number below 2^64, likewise.
    fn u64(&mut self) -> u64 {
        let mut out = [0; 8];
        self.fill(&mut out);
        u64::from_ne_bytes(out)
    }
}

/// A source that is a function.
pub struct FilledBy<F>(pub F);

impl<F: FnMut(&mut [u8])> Draw for FilledBy<F> {
    #[inline]
    fn fill(&mut self, out: &mut [u8]) {
        (self.0)(out);
    }
}

/// Shortest buffer of which two fills are never alike by chance, in bytes.
const TELLING: usize = 16;

impl<D: Draw> Source for D {
    fn time(&mut self, request: Request, calls: u64) -> Result<f64, Failure> {
        match request {
            Request::U32 => Ok(time(calls, &mut || {
                black_box(self.u32());
            })),
            Request::U64 => Ok(time(calls, &mut || {
                black_box(self.u64());
            })),
            Request::Fill(out) => {
                let before: Vec<u8> = out.iter().copied().take(TELLING).collect();
                let end = out.len().saturating_sub(TELLING);
                let last = out[end..].to_vec();
                let ns = time(calls, &mut || Draw::fill(self, black_box(&mut *out)));
                let is_old = out[..before.len()] == before || out[end..] == last;
                if is_old && out.len() >= TELLING {
                    Err(Failure::Runtime("a buffer was left as it was".into()))
                } else {
                    Ok(ns)
                }
            }
        }
    }

    fn fill(&mut self, out: &mut [u8]) -> Result<(), Failure> {
        Draw::fill(self, out);
        Ok(())
    }

    fn numbers(&mut self, out: &mut [u8]) -> Result<(), Failure> {
        let (first, second) = out.split_at_mut(out.len() / 2);
        for place in first.chunks_mut(size_of::<u32>()) {
            place.copy_from_slice(&self.u32().to_ne_bytes()[..place.len()]);
        }
        for place in second.chunks_mut(size_of::<u64>()) {
            place.copy_from_slice(&self.u64().to_ne_bytes()[..place.len()]);
        }
        Ok(())
    }

    fn sample(&mut self, out: &mut [u8]) -> Result<(), Failure> {
        const LENGTHS: [usize; 6] = [1, 16, 32, 100, 1000, 4096];
        let mut lengths = LENGTHS.into_iter().cycle();
        let mut rest = out;
        while !rest.is_empty() {
            let len = lengths.next().unwrap_or(1).min(rest.len());
            let (part, behind) = rest.split_at_mut(len);
            Draw::fill(self, part);
            rest = behind;
        }
        Ok(())
    }
}

/// Bytes that a check looks at, twice of requests by length and once of numbers.
const LEN: usize = 64 << 10;

/// Length of the blocks that must all differ.
const BLOCK: usize = 16;

/// Why `source` cannot be a source of random bytes; none if it may be one. A source that returns zeros, however
/// fast, is not ranked.
///
/// This is no test of quality: each complaint has a chance below 2^-60 to disqualify a good source.
pub fn check(source: &mut dyn Source) -> Result<Option<String>, Failure> {
    let mut samples = vec![0; 2 * LEN];
    let (first, second) = samples.split_at_mut(LEN);
    source.sample(first)?;
    source.sample(second)?;
    let mut numbers = vec![0; LEN];
    source.numbers(&mut numbers)?;
    let of_numbers = |complaint| format!("numbers: {complaint}");
    Ok(complaint(&samples).or_else(|| complaint(&numbers).map(of_numbers)))
}

fn complaint(bytes: &[u8]) -> Option<String> {
    if let Some(&first) = bytes.first()
        && bytes.iter().all(|&byte| byte == first)
    {
        return Some(format!("all its bytes are {first:#04x}"));
    }
    let mut seen = HashSet::new();
    let (blocks, _) = bytes.as_chunks::<BLOCK>();
    if !blocks.iter().all(|block| seen.insert(block)) {
        return Some(format!("it repeated a block of {BLOCK} bytes"));
    }
    biased(bytes)
}

/// Ones among the bits, if they are further from half than 9 standard deviations.
fn biased(bytes: &[u8]) -> Option<String> {
    let bits = bytes.len() as f64 * 8.0;
    let ones: u32 = bytes.iter().map(|byte| byte.count_ones()).sum();
    let deviations = (f64::from(ones) - bits / 2.0) / (bits.sqrt() / 2.0);
    let percent = f64::from(ones) / bits * 100.0;
    (deviations.abs() > 9.0).then(|| format!("{percent:.1} % of its bits are ones"))
}

/// A source ready for use, or why it is not there.
pub type Opened = Result<Box<dyn Source>, String>;

/// Where a source runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunsIn {
    /// The process that measures.
    ThisProcess,
    /// A process of its own, made of this program: what the source sets holds for a whole process.
    OwnProcess(Setting),
    /// The Go program, which knows it by this name.
    GoProgram(&'static str),
    /// A program that does nothing else: only workloads that start programs use it.
    OtherProgram,
}

/// What such a process finds in its environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// Nothing of the source's.
    None,
    /// A variable and its value.
    Variable(&'static str, &'static str),
    /// libsquall-preload.so, which the loader loads first.
    Preload,
}

/// A source of random bytes that is known.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name on the command line and in reports.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Its family.
    pub group: Group,
    /// Fit for secrets, as `report::model::SourceReport` has it.
    pub secure: bool,
    /// What is to be known of its security, in a few words; empty if nothing.
    pub caveat: &'static str,
    /// What is called, and how.
    pub explained: &'static str,
    /// Where it runs.
    pub runs_in: RunsIn,
    /// Makes one, for one thread, in the process that is its home.
    pub open: fn() -> Opened,
}

impl Entry {
    /// What an entry is if it does not say otherwise: not for secrets, and in this process.
    pub const DEFAULT: Entry = Entry {
        name: "",
        title: "",
        group: Group::Other,
        secure: false,
        caveat: "",
        explained: "",
        runs_in: RunsIn::ThisProcess,
        open: || Err("it runs in a program of its own alone".into()),
    };
}

/// A source in this process, ready for use.
pub fn in_process(draw: impl Draw + 'static) -> Opened {
    Ok(Box::new(draw))
}

/// A source in this process, ready for use, that is a function.
pub fn filled_by(fill: impl FnMut(&mut [u8]) + 'static) -> Opened {
    in_process(FilledBy(fill))
}

static MORE: OnceLock<&[Entry]> = OnceLock::new();

/// Adds the sources of the program that calls it, once, before it runs the benchmark.
pub fn add(entries: &'static [Entry]) {
    let added = MORE.set(entries);
    assert!(added.is_ok(), "sources were added before");
}

/// Every source, in the order of tables.
pub fn all() -> impl Iterator<Item = &'static Entry> {
    [
        squall::ENTRIES,
        kernel::ENTRIES,
        libraries::ENTRIES,
        libcrypto::ENTRIES,
        libraries::OF_OTHER_LANGUAGES,
        squall::ACCUMULATORS,
        MORE.get().copied().unwrap_or_default(),
        squall::KEYSTREAMS,
        libcrypto::KEYSTREAMS,
        OTHERS,
    ]
    .into_iter()
    .flatten()
}

/// The source named `name`.
pub fn find(name: &str) -> Option<&'static Entry> {
    all().find(|entry| entry.name == name)
}

/// Opens the source named `name`, in the process that is its home.
pub fn open(name: &str) -> Opened {
    let entry = find(name).ok_or_else(|| format!("no source {name:?}"))?;
    (entry.open)()
}

/// The memory alone, and whole programs, in workloads that start programs.
const OTHERS: &[Entry] = &[
    Entry {
        name: MEMORY,
        title: "memset, no randomness",
        caveat: "the memory's own speed",
        explained: "a buffer set to one byte, another one each time: what storing alone costs",
        open: memset,
        ..Entry::DEFAULT
    },
    Entry {
        name: "squall-stream",
        title: "squall stream",
        group: Group::Squall,
        secure: true,
        explained: "the command squall stream, which has its own way of writing to a pipe",
        ..PROGRAM
    },
    Entry {
        name: "dd-urandom",
        title: "dd if=/dev/urandom",
        group: Group::Kernel,
        secure: true,
        explained: "the program dd, with blocks of the length that is shown",
        ..PROGRAM
    },
    Entry {
        name: "openssl-enc",
        title: "openssl enc -aes-128-ctr",
        caveat: "the same key, the same bytes",
        explained: "the program openssl, which encrypts /dev/zero with a buffer of the length that is \
                    shown",
        ..PROGRAM
    },
    Entry {
        name: NOTHING,
        title: "nothing, the control",
        explained: "what the experiment costs without a source",
        ..PROGRAM
    },
];

const PROGRAM: Entry = Entry {
    runs_in: RunsIn::OtherProgram,
    ..Entry::DEFAULT
};

/// The source that is allowed to repeat itself.
pub const MEMORY: &str = "memset";

/// Bytes that cost nothing to make, as a bound for all others. Never sets to zero, which some memories do faster than
/// random bytes can be stored. The count in front and at the end is what shows that a request was served.
fn memset() -> Opened {
    let mut count = 0_u64;
    filled_by(move |out| {
        count += 1;
        out.fill(count as u8 | 1);
        if let Some((first, _)) = out.split_first_chunk_mut() {
            *first = count.to_ne_bytes();
        }
        if let Some((_, last)) = out.split_last_chunk_mut() {
            *last = count.to_ne_bytes();
        }
    })
}
