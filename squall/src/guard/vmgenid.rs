//! Finds out whether the kernel is notified when this VM is restored from a snapshot.
//!
//! The vmgenid driver (Linux 5.18) reseeds the kernel RNG when the hypervisor gives the VM a new
//! identity, which changes the generation that the vDSO shows. The device's name depends on the
//! hypervisor, so any device bound to the driver counts.

use core::ffi::CStr;
use core::sync::atomic::{AtomicU8, Ordering};

use crate::failpoint::{self, Failpoint};
use crate::file::File;

/// Directories of the driver: a platform driver since Linux 6.10, an ACPI driver before.
const DRIVERS: [&CStr; 2] = [
    c"/sys/bus/platform/drivers/vmgenid",
    c"/sys/bus/acpi/drivers/vmgenid",
];

/// Whether a device is bound to the kernel's vmgenid driver. Looked up once per process, because it
/// takes a third as long as a first request.
pub(super) fn is_bound() -> bool {
    const UNKNOWN: u8 = 0;
    const BOUND: u8 = 1;
    const NONE: u8 = 2;
    static FOUND: AtomicU8 = AtomicU8::new(UNKNOWN);
    if failpoint::is_active(Failpoint::PretendVmgenid) {
        return true;
    }
    match FOUND.load(Ordering::Relaxed) {
        UNKNOWN => {
            let is_bound = DRIVERS.into_iter().any(has_device);
            FOUND.store(if is_bound { BOUND } else { NONE }, Ordering::Relaxed);
            is_bound
        }
        found => found == BOUND,
    }
}

/// Bound devices are links in the driver's directory; a driver that is a module has another link.
fn has_device(driver: &CStr) -> bool {
    let Ok(directory) = File::open(driver, libc::O_DIRECTORY) else {
        return false;
    };
    let mut buffer = [0u8; 1024];
    // SAFETY: the buffer is writable for its length. A raw call, because readdir allocates.
    let filled = unsafe {
        libc::syscall(
            libc::SYS_getdents64,
            directory.descriptor(),
            buffer.as_mut_ptr(),
            buffer.len(),
        )
    };
    let entries = &buffer[..usize::try_from(filled).unwrap_or(0)];
    links(entries).any(|name| name != c"module")
}

/// The names of the links among the entries that getdents64(2) returned.
fn links(entries: &[u8]) -> impl Iterator<Item = &CStr> {
    const LENGTH_AT: usize = 16;
    const TYPE_AT: usize = 18;
    const NAME_AT: usize = 19;
    let mut rest = entries;
    core::iter::from_fn(move || {
        let length = rest.get(LENGTH_AT..TYPE_AT)?;
        let length = usize::from(u16::from_ne_bytes([length[0], length[1]]));
        let (entry, behind) = rest.split_at_checked(length)?;
        rest = behind;
        Some((
            entry[TYPE_AT],
            CStr::from_bytes_until_nul(&entry[NAME_AT..]).ok()?,
        ))
    })
    .filter_map(|(kind, name)| (kind == libc::DT_LNK).then_some(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::fs;
    use std::os::unix::fs::symlink;

    /// The bytes that getdents64(2) returns for these names and kinds.
    fn entries(names: &[(&str, u8)]) -> Vec<u8> {
        let entry = |&(name, kind): &(&str, u8)| {
            let length = (19 + name.len() + 1).next_multiple_of(8);
            let mut entry = vec![0xff; 16];
            entry.extend((length as u16).to_ne_bytes());
            entry.push(kind);
            entry.extend(name.as_bytes());
            entry.resize(length, 0);
            entry
        };
        names.iter().flat_map(entry).collect()
    }

    #[test]
    fn links_are_found_among_other_entries() {
        let entries = entries(&[
            (".", libc::DT_DIR),
            ("first", libc::DT_LNK),
            ("uevent", libc::DT_REG),
            ("the-second", libc::DT_LNK),
        ]);
        let found: Vec<&CStr> = links(&entries).collect();
        assert_eq!(found, [c"first", c"the-second"]);
        assert_eq!(links(&entries[..entries.len() - 1]).count(), 1, "cut short");
        assert_eq!(links(&[]).count(), 0);
    }

    #[test]
    fn a_device_is_a_link_that_is_not_the_module() {
        let directory = std::env::temp_dir().join(format!("squall-vmgenid-{}", std::process::id()));
        // A process that was killed may have had this number, and left the directory.
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir(&directory).expect("a temporary directory");
        let path = CString::new(directory.as_os_str().as_encoded_bytes()).unwrap();
        let has_device = || has_device(&path);
        assert!(!has_device());
        fs::write(directory.join("bind"), "").unwrap();
        symlink("nowhere", directory.join("module")).unwrap();
        assert!(!has_device());
        symlink("nowhere", directory.join("VMGENCTR:00")).unwrap();
        assert!(has_device());
        fs::remove_dir_all(&directory).unwrap();
        assert!(!has_device());
    }

    #[test]
    fn the_answer_is_cached() {
        let is_bound_now = DRIVERS.into_iter().any(has_device);
        assert_eq!([is_bound(), is_bound()], [is_bound_now; 2]);
    }
}
