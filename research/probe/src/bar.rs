//! Finds and maps the memory that is shared with the lab: the BAR of an ivshmem-plain device.
//!
//! The unsafe code of the mapping is here; the rest of the probe gets a slice of atomics.

#![allow(unsafe_code)]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap};
use rustix::param::page_size;
use squall_probe::{LEN, WORD};

use crate::Result;
use crate::memory::Memory;
use crate::system::read;

const DEVICES: &str = "/sys/bus/pci/devices";

/// The device's vendor and number (docs/specs/ivshmem-spec of QEMU).
const VENDOR: &str = "0x1af4";
const DEVICE: &str = "0x1110";

/// The BAR with the shared memory.
const RESOURCE: &str = "resource2";

/// The path of the file that maps the shared memory.
pub fn resource() -> Result<PathBuf> {
    Ok(find()?.join(RESOURCE))
}

/// Finds the device, switches it on and maps its memory.
pub fn map() -> Result<Memory> {
    let device = find()?;
    let failed = |error: std::io::Error| format!("mapping {}: {error}", device.display());
    fs::write(device.join("enable"), "1").map_err(failed)?;
    let resource = File::options()
        .read(true)
        .write(true)
        .open(device.join(RESOURCE))
        .map_err(failed)?;
    let len = resource.metadata().map_err(failed)?.len();
    if len != LEN as u64 {
        return Err(format!("the shared memory has {len} bytes, not {LEN}"));
    }
    map_words(&resource).map(Memory::new).map_err(failed)
}

fn find() -> Result<PathBuf> {
    let devices = fs::read_dir(DEVICES).map_err(|error| format!("reading {DEVICES}: {error}"))?;
    devices
        .flatten()
        .map(|entry| entry.path())
        .find(|device| is_ivshmem(device))
        .ok_or_else(|| format!("no ivshmem device in {DEVICES}"))
}

fn is_ivshmem(device: &Path) -> bool {
    [("vendor", VENDOR), ("device", DEVICE)]
        .into_iter()
        .all(|(file, wanted)| read(&device.join(file).to_string_lossy()).as_deref() == Ok(wanted))
}

/// Maps the `LEN` bytes of `resource`, for as long as the process lives.
fn map_words(resource: &File) -> std::io::Result<&'static [AtomicU64]> {
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    let address = core::ptr::null_mut();
    // SAFETY: the kernel chooses the address of the new mapping, so it overlaps no other.
    let start = unsafe { mmap(address, LEN, protection, MapFlags::SHARED, resource, 0) }?;
    // SAFETY: the kernel has mapped `LEN` bytes there, page-aligned, readable and writable, and nothing
    // unmaps them. Any bits are a valid word. All who share the memory (the lab, through its own
    // mapping, and forked children) access it by whole aligned words.
    Ok(unsafe { core::slice::from_raw_parts(start.cast(), LEN / WORD) })
}

/// Leaves the whole pages of `words` out of children that are forked later. Otherwise the kernel copies
/// the page table entries one by one, 16384 for the whole memory.
pub fn leave_out_of_children(words: &'static [AtomicU64]) -> Result<()> {
    let range = words.as_ptr_range();
    let start = range
        .start
        .wrapping_add(range.start.align_offset(page_size()));
    let len = range.end.addr().saturating_sub(start.addr()) / page_size() * page_size();
    let start = start.cast_mut().cast();
    // SAFETY: nothing changes in this process. A child that touches these words gets a fault, which
    // ends it.
    unsafe { madvise(start, len, Advice::LinuxDontFork) }
        .map_err(|error| format!("madvise: {error}"))
}
