//! Counts requests and bytes in a file that processes map, separately for each interface. An interface is one of
//! the ways in which programs reach squall; [`Interface`] lists them.
//!
//! Nothing is counted unless the environment variable [`VARIABLE`] names a file: one made by
//! [`create`], or a new one, which the first process makes for its owner alone. Then every process that
//! uses an interface adds to that file, as do its children and the programs that it starts; the counts of
//! killed processes stay. As with the loader's variables, a program with more rights than its caller
//! ignores the variable.
//!
//! Counting costs a comparison when it is off, and about five nanoseconds when it is on. Threads add
//! to different cache lines if their stacks lie far enough apart.

mod shared;

use core::sync::atomic::AtomicU64;
use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

pub use shared::{attach, forwarded, served};

/// The environment variable with the path of the file to count in.
pub const VARIABLE: &str = "SQUALL_COUNTERS";

/// A way in which programs reach squall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Interface {
    /// getrandom(2) of a preloaded program, or of one in Rust with squall-getrandom.
    Getrandom,
    /// getentropy(3) of a preloaded program.
    Getentropy,
    /// arc4random(3) and related functions of a preloaded program.
    Arc4random,
    /// Reads of /dev/random and /dev/urandom by a preloaded program.
    Device,
    /// OpenSSL's requests for random bytes.
    Openssl,
    /// OpenSSL's requests for seeds of other generators.
    OpensslSeed,
    /// libsquall.
    Library,
}

impl Interface {
    /// All interfaces.
    pub const ALL: [Interface; 7] = [
        Interface::Getrandom,
        Interface::Getentropy,
        Interface::Arc4random,
        Interface::Device,
        Interface::Openssl,
        Interface::OpensslSeed,
        Interface::Library,
    ];

    /// The interface's name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Interface::Getrandom => "getrandom",
            Interface::Getentropy => "getentropy",
            Interface::Arc4random => "arc4random",
            Interface::Device => "device",
            Interface::Openssl => "openssl",
            Interface::OpensslSeed => "openssl-seed",
            Interface::Library => "library",
        }
    }
}

/// The number of thread groups; threads use different ones if their stacks lie far enough apart.
const THREAD_GROUPS: usize = 16;

/// The file's first word: a magic number with the version of this layout.
const MAGIC: u64 = u64::from_le_bytes(*b"squallc\x01");

/// The whole file. In a new one every word but the first is zero.
#[repr(C, align(64))]
struct Contents {
    magic: AtomicU64,
    /// How often a library was loaded.
    pub loads: AtomicU64,
    pub thread_groups: [ThreadGroup; THREAD_GROUPS],
}

/// The counts of some of the threads.
#[repr(C, align(64))]
struct ThreadGroup {
    pub interfaces: [Count; Interface::ALL.len()],
}

/// The counts of an interface.
#[repr(C)]
struct Count {
    /// Requests that squall served.
    pub requests: AtomicU64,
    /// Bytes of these requests.
    pub bytes: AtomicU64,
    /// Requests that were left to the kernel.
    pub forwarded: AtomicU64,
}

/// Length of the file, in bytes.
const LEN: usize = size_of::<Contents>();

/// The content of a file of counters.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Totals {
    /// How often one of squall's libraries was loaded: once by each program that a process executed.
    /// Forked children use what their parents loaded, and are not counted.
    pub loads: u64,
    /// The counts of each interface.
    pub interfaces: Vec<Total>,
}

/// The counts of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Total {
    /// The interface's name.
    pub interface: &'static str,
    /// Requests that squall served.
    pub requests: u64,
    /// Bytes of these requests.
    pub bytes: u64,
    /// Requests that were left to the kernel.
    pub forwarded: u64,
}

impl Totals {
    /// The counts of `interface`.
    pub fn count(&self, interface: Interface) -> &Total {
        &self.interfaces[interface as usize]
    }
}

/// Creates a file of counters, all zero, which only its owner may read and write. An existing file of
/// counters is replaced; anything else is left alone.
///
/// # Errors
/// The file cannot be created; `AlreadyExists` if `path` is something else.
pub fn create(path: &Path) -> io::Result<()> {
    // It must be a new file: processes that still count in the old one keep it mapped.
    if is_counter_file(path) {
        std::fs::remove_file(path)?;
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    let mut contents = vec![0; LEN];
    contents[..size_of::<u64>()].copy_from_slice(&MAGIC.to_ne_bytes());
    file.write_all(&contents)
}

/// Whether `path` is a file of counters, and not a link to one.
fn is_counter_file(path: &Path) -> bool {
    let is_file = |path: &Path| std::fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
    is_file(path) && read(path).is_ok()
}

/// Reads a file of counters.
///
/// # Errors
/// The file cannot be read; `InvalidData` if it is not a file of counters.
pub fn read(path: &Path) -> io::Result<Totals> {
    let mut bytes = Vec::new();
    // A pipe without a writer is empty then, and is not waited for.
    let mut options = OpenOptions::new();
    let options = options.read(true).custom_flags(libc::O_NONBLOCK);
    let file = options.open(path)?;
    file.take(LEN as u64 + 1).read_to_end(&mut bytes)?;
    let words: Vec<u64> = bytes
        .chunks_exact(size_of::<u64>())
        .map(|word| u64::from_ne_bytes(word.try_into().expect("a word's length")))
        .collect();
    if bytes.len() != LEN || words[0] != MAGIC {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(Totals {
        loads: words[std::mem::offset_of!(Contents, loads) / size_of::<u64>()],
        interfaces: Interface::ALL
            .map(|interface| total(&words, interface))
            .into(),
    })
}

fn total(words: &[u64], interface: Interface) -> Total {
    let sum = |field: usize| {
        let of_thread_group = |thread_group: usize| {
            let offset = std::mem::offset_of!(Contents, thread_groups)
                + thread_group * size_of::<ThreadGroup>()
                + interface as usize * size_of::<Count>()
                + field;
            words[offset / size_of::<u64>()]
        };
        (0..THREAD_GROUPS).map(of_thread_group).sum()
    };
    Total {
        interface: interface.name(),
        requests: sum(std::mem::offset_of!(Count, requests)),
        bytes: sum(std::mem::offset_of!(Count, bytes)),
        forwarded: sum(std::mem::offset_of!(Count, forwarded)),
    }
}
