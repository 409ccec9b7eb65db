//! What the file of counters looks like: numbers of this machine's byte order, aligned.

use core::sync::atomic::AtomicU64;

/// A way into squall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Door {
    /// getrandom(2) of a preloaded program.
    Getrandom,
    /// getentropy(3) of a preloaded program.
    Getentropy,
    /// arc4random(3) and its like, of a preloaded program.
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

impl Door {
    /// All of them.
    pub const ALL: [Door; 7] = [
        Door::Getrandom,
        Door::Getentropy,
        Door::Arc4random,
        Door::Device,
        Door::Openssl,
        Door::OpensslSeed,
        Door::Library,
    ];

    /// Its name for people and programs.
    pub fn name(self) -> &'static str {
        match self {
            Door::Getrandom => "getrandom",
            Door::Getentropy => "getentropy",
            Door::Arc4random => "arc4random",
            Door::Device => "device",
            Door::Openssl => "openssl",
            Door::OpensslSeed => "openssl-seed",
            Door::Library => "library",
        }
    }
}

/// Lanes: threads add to different ones, as far as their stacks lie apart.
pub(super) const THREAD_GROUPS: usize = 16;

/// The file's first word: its name, and the number of this layout.
pub(super) const MAGIC: u64 = u64::from_le_bytes(*b"squallc\x01");

/// The whole file. All of it begins as zeros but the first word.
#[repr(C, align(64))]
pub(super) struct Contents {
    pub magic: AtomicU64,
    /// Times that a library was loaded.
    pub loads: AtomicU64,
    pub thread_groups: [ThreadGroup; THREAD_GROUPS],
}

/// Counts of some threads.
#[repr(C, align(64))]
pub(super) struct ThreadGroup {
    pub doors: [Count; Door::ALL.len()],
}

/// Counts of a door.
#[repr(C)]
pub(super) struct Count {
    /// Requests that squall served.
    pub requests: AtomicU64,
    /// Their bytes.
    pub bytes: AtomicU64,
    /// Requests that were left to the kernel.
    pub forwarded: AtomicU64,
}

/// Length of the file, in bytes.
pub(super) const LEN: usize = size_of::<Contents>();
