//! The file of counters as its watcher uses it: created in advance, and read at any time.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::layout::{Contents, Count, Interface, LEN, MAGIC, THREAD_GROUPS, ThreadGroup};

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
    use std::io::Read;
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
