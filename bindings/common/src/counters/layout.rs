//! The layout of a file of counters: aligned numbers in the machine's byte order.

use core::sync::atomic::AtomicU64;

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
pub(super) const THREAD_GROUPS: usize = 16;

/// The file's first word: a magic number with the version of this layout.
pub(super) const MAGIC: u64 = u64::from_le_bytes(*b"squallc\x01");

/// The whole file. In a new one every word but the first is zero.
#[repr(C, align(64))]
pub(super) struct Contents {
    pub magic: AtomicU64,
    /// How often a library was loaded.
    pub loads: AtomicU64,
    pub thread_groups: [ThreadGroup; THREAD_GROUPS],
}

/// The counts of some of the threads.
#[repr(C, align(64))]
pub(super) struct ThreadGroup {
    pub interfaces: [Count; Interface::ALL.len()],
}

/// The counts of an interface.
#[repr(C)]
pub(super) struct Count {
    /// Requests that squall served.
    pub requests: AtomicU64,
    /// Bytes of these requests.
    pub bytes: AtomicU64,
    /// Requests that were left to the kernel.
    pub forwarded: AtomicU64,
}

/// Length of the file, in bytes.
pub(super) const LEN: usize = size_of::<Contents>();
