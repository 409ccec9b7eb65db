//! The sources that are measured, in the order of tables.

mod accumulators;
pub mod doors;
mod entry;
mod keystreams;
pub mod libcrypto;
pub mod libraries;
pub mod memory;
mod pool;
mod rust;
mod squall;
pub mod syscall;
pub mod vdso;

use std::sync::OnceLock;

pub use entry::{Entry, Opened, RunsIn, Setting, in_process};

use crate::report::model::Group;

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
        doors::ENTRIES,
        syscall::ENTRIES,
        pool::ENTRIES,
        rust::ENTRIES,
        libcrypto::ENTRIES,
        libraries::ENTRIES,
        GO,
        accumulators::ENTRIES,
        MORE.get().copied().unwrap_or_default(),
        keystreams::ENTRIES,
        libcrypto::KEYSTREAMS,
        memory::ENTRIES,
        PROGRAMS,
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

/// Bytes that the source named `name` has made and thrown away unused so far, asked by the thread
/// that draws from it; none if that is not counted.
pub fn discarded(name: &str) -> Option<u64> {
    match name {
        "squall" => Some(::squall::status().bytes_discarded),
        "pool-syscall" | "pool-vdso" => Some(pool::discarded()),
        _ => None,
    }
}

/// Go's generators, in a program that is built when it is needed.
const GO: &[Entry] = &[
    Entry {
        name: "go-crypto-rand",
        title: "Go crypto/rand",
        group: Group::Library,
        secure: true,
        caveat: "the kernel's generator",
        explained: "crypto/rand.Read of Go's standard library, in a Go program of its own that \
                    times itself; numbers are reads of 4 and 8 bytes",
        runs_in: RunsIn::GoProgram("crypto"),
        ..Entry::DEFAULT
    },
    Entry {
        name: "go-math-rand",
        title: "Go math/rand/v2",
        caveat: "ChaCha8 of Go's runtime, by its documentation not for secrets",
        explained: "the functions of Go's math/rand/v2 that need no generator, in a Go program of \
                    its own that times itself; buffers are filled by Uint64",
        runs_in: RunsIn::GoProgram("math"),
        ..Entry::DEFAULT
    },
];

/// Whole programs, in workloads that start programs.
const PROGRAMS: &[Entry] = &[
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
        name: "go-math-rand-v1",
        title: "Go math/rand",
        caveat: "predictable after 607 numbers",
        explained: "a generator of Go's first math/rand package with a lock around it, as its functions \
                    without a generator were when the article was written",
        ..PROGRAM
    },
    Entry {
        name: crate::source::NOTHING,
        title: "nothing, the control",
        explained: "what the experiment costs when nobody draws",
        ..PROGRAM
    },
];

const PROGRAM: Entry = Entry {
    runs_in: RunsIn::OtherProgram,
    ..Entry::DEFAULT
};
