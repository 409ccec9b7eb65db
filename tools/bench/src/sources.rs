//! The sources that are measured, in the order of tables.

mod accumulators;
pub mod doors;
pub mod glibc;
mod keystreams;
pub mod libcrypto;
mod loaded;
pub mod memory;
mod ours;
mod pool;
mod rust;
pub mod sodium;
pub mod syscall;
pub mod urandom;
pub mod vdso;

use std::sync::OnceLock;

use crate::report::model::Group;
use crate::source::{Draw, Source};

/// A source ready for use, or why it is not there.
pub type Opened = Result<Box<dyn Source>, String>;

/// Where a source runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// In this process.
    Here,
    /// In a process of its own, made of this program: what the source sets holds for a whole
    /// process.
    Child(Setting),
    /// In the Go program, which knows it by this name.
    Go(&'static str),
    /// In programs that do nothing else: it is part of workloads that start programs, and of no
    /// other.
    Program,
}

/// What such a process finds in its environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// Nothing of the source's.
    None,
    /// A variable and its value.
    Variable(&'static str, &'static str),
    /// libsquall-preload.so, for the loader.
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
    pub home: Home,
    /// Makes one, for one thread, in the process that is its home.
    pub open: fn() -> Opened,
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
        ours::ENTRIES,
        doors::ENTRIES,
        syscall::ENTRIES,
        pool::ENTRIES,
        rust::ENTRIES,
        libcrypto::ENTRIES,
        sodium::ENTRIES,
        glibc::ENTRIES,
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

/// Bytes that the source named `name` has made and thrown away unused so far, asked by the thread
/// that draws from it; none if that is not counted.
pub fn discarded(name: &str) -> Option<u64> {
    match name {
        "squall" => Some(squall::status().bytes_discarded),
        "pool-syscall" | "pool-vdso" => Some(pool::discarded()),
        _ => None,
    }
}

/// A source in this process, ready for use.
pub fn here(draw: impl Draw + 'static) -> Opened {
    Ok(Box::new(draw))
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
        home: Home::Go("crypto"),
        open: elsewhere,
    },
    Entry {
        name: "go-math-rand",
        title: "Go math/rand/v2",
        group: Group::Other,
        secure: false,
        caveat: "ChaCha8 of Go's runtime, by its documentation not for secrets",
        explained: "the functions of Go's math/rand/v2 that need no generator, in a Go program of \
                    its own that times itself; buffers are filled by Uint64",
        home: Home::Go("math"),
        open: elsewhere,
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
        name: crate::process::NOTHING,
        title: "nothing, the control",
        explained: "what the experiment costs when nobody draws",
        ..PROGRAM
    },
];

const PROGRAM: Entry = Entry {
    name: "",
    title: "",
    group: Group::Other,
    secure: false,
    caveat: "",
    explained: "",
    home: Home::Program,
    open: elsewhere,
};

fn elsewhere() -> Opened {
    Err("it runs in a program of its own alone".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_plain() {
        let mut seen = HashSet::new();
        for entry in all() {
            assert!(seen.insert(entry.name), "{}", entry.name);
            let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(entry.name.chars().all(is_plain), "{}", entry.name);
            assert!(!entry.explained.is_empty());
        }
    }

    /// Everything that opens here gives bytes, other ones each time, through every door.
    #[test]
    fn sources_of_this_process_give_bytes() {
        let mut found = 0;
        for entry in all().filter(|entry| entry.home == Home::Here) {
            match (entry.open)() {
                Ok(mut source) => {
                    let mut samples = [[0; 64]; 2];
                    for sample in &mut samples {
                        source.sample(sample).unwrap();
                    }
                    let differ = samples[0] != samples[1] || entry.name == "memset";
                    assert!(differ, "{}", entry.name);
                    found += 1;
                }
                Err(reason) => println!("SKIP {}: {reason}", entry.name),
            }
        }
        assert!(found >= 10, "{found}");
    }
}
