//! Is the kernel told when this VM is restored from a snapshot?
//!
//! The vmgenid driver (Linux 5.18) reseeds the kernel RNG when the hypervisor gives the VM a new
//! identity, which moves the generation that the vDSO shows. The device's name depends on the
//! hypervisor, so any device bound to the driver counts.

use core::ffi::CStr;
use core::sync::atomic::{AtomicU8, Ordering};

use crate::file::File;
use crate::seam::{self, Seam};

/// Directories of the driver: a platform driver since Linux 6.10, an ACPI driver before.
const DRIVERS: [&CStr; 2] = [
    c"/sys/bus/platform/drivers/vmgenid",
    c"/sys/bus/acpi/drivers/vmgenid",
];

/// Whether a device is bound to the kernel's vmgenid driver. Looked for once a process: it takes
/// as long as a third of a first request.
pub(super) fn is_bound() -> bool {
    const UNKNOWN: u8 = 0;
    const BOUND: u8 = 1;
    const NONE: u8 = 2;
    static FOUND: AtomicU8 = AtomicU8::new(UNKNOWN);
    if seam::is_off(Seam::NoVmgenid) {
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

/// Bound devices are links in the driver's directory; so is the module, if it is one.
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

/// The names of the links in what getdents64(2) returned.
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
