//! vmgenid's page, which the kernel module in `kernel/` shows, and which the hypervisor changes before a
//! restored VM runs again.
//!
//! The hypervisor writes a new identifier of 16 bytes into the guest's memory before the guest
//! continues ("Virtual Machine Generation ID", Microsoft, 2012); only the interrupt, for which Linux
//! waits, comes later. Some hypervisors also change the identifier when a VM is moved to another host;
//! this costs a reseed.

use core::ffi::CStr;

use super::{CloneSignal, Device, Signal, misc_device};
use crate::file::File;
use crate::guard::memory::page_size;
use crate::guard::signal_address::Layout;

/// Bytes of the identifier.
const ID_LEN: usize = 16;

/// Length of a read from the device: the identifier, then its offset in the page.
const HEAD_LEN: usize = ID_LEN + size_of::<u64>();

pub(super) struct VmgenidPage;

impl Device for VmgenidPage {
    fn path(&self) -> &'static CStr {
        c"/dev/squall-vmgenid"
    }

    fn is_named(&self, name: &[u8]) -> bool {
        name == b"squall-vmgenid"
    }

    fn signal(&self, file: &File) -> Option<CloneSignal> {
        let at = id_at(&read_head(file)?)?;
        Some(CloneSignal {
            signal: Some(Signal::VmgenidPage),
            device: Some(self.path()),
            page: misc_device::map(file)?,
            at,
            layout: Layout::TWO_WORDS,
        })
    }
}

fn read_head(file: &File) -> Option<[u8; HEAD_LEN]> {
    let mut head = [0; HEAD_LEN];
    (file.read(&mut head) == Some(HEAD_LEN)).then_some(head)
}

/// Offset of the identifier in the page; `None` if it is not an aligned place in it.
fn id_at(head: &[u8; HEAD_LEN]) -> Option<usize> {
    let (_, offset) = head.split_last_chunk()?;
    let at = usize::try_from(u64::from_ne_bytes(*offset)).ok()?;
    let last = page_size() - ID_LEN;
    (at % size_of::<u64>() == 0 && at <= last).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_identifier_is_an_aligned_place_in_the_page() {
        let at = |offset: u64| {
            let mut head = [7; HEAD_LEN];
            head[ID_LEN..].copy_from_slice(&offset.to_ne_bytes());
            id_at(&head)
        };
        let last = page_size() as u64 - 16;
        assert_eq!(at(0), Some(0));
        assert_eq!(at(40), Some(40));
        assert_eq!(at(last), Some(last as usize));
        for offset in [4, 41, last + 8, last + 16, u64::MAX, u64::MAX - 7] {
            assert_eq!(at(offset), None, "{offset}");
        }
    }
}
