//! The sources that are measured, in the order of tables, and what is known of each before it is opened.
//!
//! There is a file for each family of sources.

mod kernel;
pub mod libcrypto;
pub mod libraries;
mod squall;

use std::sync::OnceLock;

use crate::report::model::Group;
use crate::source::{Draw, FilledBy, Source};
pub use kernel::{Vdso, fill_by_system_call};

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
        name: crate::source::NOTHING,
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
