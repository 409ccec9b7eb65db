//! Opens and maps a misc device of Linux whose page changes before a restored VM runs again.
//!
//! Only the kernel's device is accepted. A file in its place might never change; or it could be
//! truncated, and the next draw would end the program by SIGBUS.

use core::ffi::CStr;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, Ordering};
use std::io::Write;

use super::Device;
use crate::failpoint::{self, Failpoint};
use crate::file::{self, File};
use crate::guard::memory::page_size;

/// Opens `device` at `path` for reading, if the kernel's name for what is there is the device's: it is identified by
/// its number, not by its path.
pub(super) fn open(device: &dyn Device, path: &CStr) -> Option<File> {
    // Opening another device could have an effect, and opening a FIFO could block the draw: stat(2) opens
    // neither.
    check(&file::stat_path(path)?, device)?;
    let file = File::open(path, libc::O_NONBLOCK).ok()?;
    check(&file::stat(file.descriptor())?, device)?;
    Some(file)
}

/// Maps the page that an open device shows, for as long as the process lives.
pub(super) fn map(file: &File) -> Option<NonNull<u8>> {
    // SAFETY: a new mapping at an address of the kernel's choice. The devices want exactly one page.
    let page = unsafe {
        libc::mmap(
            core::ptr::null_mut(),
            page_size(),
            libc::PROT_READ,
            libc::MAP_SHARED,
            file.descriptor(),
            0,
        )
    };
    if page == libc::MAP_FAILED {
        return None;
    }
    NonNull::new(page.cast())
}

/// What the file at a device's path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Identity {
    /// The driver's device.
    Expected,
    /// A misc device, like the driver's, that cannot be identified: without /sys, for example.
    Unidentified,
    Other,
}

/// Whether there is a device that may be the expected one but cannot be identified. It is not used, and
/// the machine counts as a VM.
static IS_UNIDENTIFIED: AtomicBool = AtomicBool::new(false);

/// Whether [`open`] has found a device that it could not identify.
pub(in crate::guard) fn is_unidentified() -> bool {
    IS_UNIDENTIFIED.load(Ordering::Relaxed)
}

/// `None` if this is not the device, or cannot be identified.
fn check(stat: &libc::stat, device: &dyn Device) -> Option<()> {
    match identify(stat, |name| device.is_named(name)) {
        Identity::Expected => Some(()),
        Identity::Unidentified => {
            IS_UNIDENTIFIED.store(true, Ordering::Relaxed);
            None
        }
        Identity::Other => failpoint::is_active(Failpoint::SkipCloneDeviceCheck).then_some(()),
    }
}

/// Identifies a misc device by its number.
fn identify(stat: &libc::stat, is_expected_name: impl Fn(&[u8]) -> bool) -> Identity {
    /// The major number of misc devices (Linux Documentation/admin-guide/devices.txt).
    const MISC: u32 = 10;
    if stat.st_mode & libc::S_IFMT != libc::S_IFCHR || libc::major(stat.st_rdev) != MISC {
        return Identity::Other;
    }
    // Room for any number, and the null byte.
    let mut path = [0; 32];
    let minor = libc::minor(stat.st_rdev);
    write!(&mut path[..], "/sys/dev/char/{MISC}:{minor}\0").expect("a number of 32 bits fits");
    let path = CStr::from_bytes_until_nul(&path).expect("it ends with a null byte");
    identity_from_link(file::link_target(path, &mut [0; 256]), is_expected_name)
}

/// Identifies a misc device by the target of its link in sysfs, which ends in its name.
fn identity_from_link(target: Option<&[u8]>, is_expected_name: impl Fn(&[u8]) -> bool) -> Identity {
    let Some(target) = target else {
        return Identity::Unidentified;
    };
    let name = target.rsplit(|&byte| byte == b'/').next();
    if name.is_some_and(is_expected_name) {
        Identity::Expected
    } else {
        Identity::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_fuse(name: &[u8]) -> bool {
        name == b"fuse"
    }

    #[test]
    fn a_device_is_what_its_link_says() {
        let identify = |target: &str| identity_from_link(Some(target.as_bytes()), is_fuse);
        assert_eq!(
            identify("../../devices/virtual/misc/fuse"),
            Identity::Expected
        );
        assert_eq!(identify("fuse"), Identity::Expected);
        for path in ["", "misc/fuse/0", "misc/xfuse", "misc/vmclock0"] {
            assert_eq!(identify(path), Identity::Other, "{path}");
        }
        assert_eq!(identity_from_link(None, is_fuse), Identity::Unidentified);
    }

    #[test]
    fn a_device_without_a_page_has_no_mapping() {
        let file = File::open(c"/dev/null", 0).expect("every system has it");
        assert_eq!(map(&file), None);
    }

    #[test]
    fn other_files_are_not_the_device() {
        let everywhere = [c"/dev/zero", c"/dev/null", c"/proc/self/exe", c"/dev"];
        let misc = [c"/dev/net/tun", c"/dev/kvm", c"/dev/loop-control"];
        for path in everywhere {
            let stat = file::stat_path(path).expect("every system has it");
            assert_eq!(identify(&stat, |_| true), Identity::Other, "{path:?}");
        }
        for path in misc {
            let identity = file::stat_path(path).map(|stat| identify(&stat, is_fuse));
            assert_ne!(identity, Some(Identity::Expected), "{path:?}");
        }
        if let Some(stat) = file::stat_path(c"/dev/fuse") {
            assert_ne!(identify(&stat, is_fuse), Identity::Other);
        }
    }
}
