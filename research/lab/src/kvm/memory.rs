//! A guest's memory, mapped here and shown to KVM.

#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ptr::{null_mut, slice_from_raw_parts};

use kvm_bindings::kvm_userspace_memory_region;
use kvm_ioctls::VmFd;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use squall_tool_base::Failure;

use super::guest::{LEN, RECORDS};
use super::machine::Named as _;

/// Bytes of the page with the records.
const PAGE: usize = 4096;

/// Zeros at first. While it is read or written here, no CPU of its machine runs.
#[derive(Debug)]
pub struct Memory(*mut c_void);

impl Memory {
    pub fn new() -> Result<Memory, Failure> {
        map(null_mut(), MapFlags::PRIVATE).map(Memory)
    }

    /// Shows it to the machine, which must be dropped before it.
    pub fn show_to(&self, vm: &VmFd) -> Result<(), Failure> {
        let region = kvm_userspace_memory_region {
            memory_size: LEN as u64,
            userspace_addr: self.0.addr() as u64,
            ..Default::default()
        };
        // SAFETY: the mapping lives as long as the machine.
        unsafe { vm.set_user_memory_region(region) }.named("KVM_SET_USER_MEMORY_REGION")
    }

    /// Puts other memory, of zeros, in its place.
    pub fn replace(&mut self) -> Result<(), Failure> {
        map(self.0, MapFlags::PRIVATE | MapFlags::FIXED).map(drop)
    }

    /// Whether anyone, KVM included, can reach the records.
    pub fn let_records_be_reached(&mut self, can_be: bool) -> Result<(), Failure> {
        let flags = match can_be {
            true => MprotectFlags::READ | MprotectFlags::WRITE,
            false => MprotectFlags::empty(),
        };
        // SAFETY: the page is the mapping's, and nothing reads it here until it can be reached again.
        unsafe { mprotect(self.0.byte_add(RECORDS as usize), PAGE, flags) }.named("mprotect")
    }

    /// All bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping has so many bytes, and no CPU runs that could change them.
        unsafe { &*slice_from_raw_parts(self.0.cast(), LEN) }
    }

    pub fn write(&mut self, at: u64, bytes: &[u8]) {
        let at = at as usize;
        assert!(at + bytes.len() <= LEN);
        // SAFETY: the bytes are within the mapping, and nobody else uses it, as no CPU runs.
        unsafe {
            let place = self.0.cast::<u8>().add(at);
            place.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
    }
}

fn map(at: *mut c_void, flags: MapFlags) -> Result<*mut c_void, Failure> {
    // SAFETY: the place is the kernel's choice, or that of a whole mapping of the same size.
    unsafe { mmap_anonymous(at, LEN, ProtFlags::READ | ProtFlags::WRITE, flags) }.named("mmap")
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: it is the whole mapping, and the machine that had it is gone. Failing, it would only stay.
        let _ = unsafe { munmap(self.0, LEN) };
    }
}

/// The word of 32 bits at this address of a guest.
pub fn word(memory: &[u8], at: u64) -> u32 {
    let at = at as usize;
    let bytes = memory[at..at + 4].try_into().expect("four bytes");
    u32::from_le_bytes(bytes)
}
