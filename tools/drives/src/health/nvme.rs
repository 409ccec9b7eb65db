//! The log page SMART / Health Information (NVM Express Base Specification, Get Log Page 02h).

#![allow(unsafe_code)]

use std::ffi::c_void;
use std::fs::File;

use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, opcode};

use super::Health;
use crate::io::Buffer;

/// Length of the log page, in bytes.
const LENGTH: usize = 512;

/// The health of the controller of the namespace that is open as `file`.
pub fn health(file: &File) -> Option<Health> {
    const GET_LOG_PAGE: u8 = 0x02;
    const HEALTH: u32 = 0x02;
    const ALL_NAMESPACES: u32 = u32::MAX;
    let mut page = Buffer::new(LENGTH);
    let command = Command {
        opcode: GET_LOG_PAGE,
        namespace: ALL_NAMESPACES,
        data: page.as_mut_ptr() as u64,
        data_len: LENGTH as u32,
        // The number of double words, less one, above the page's identifier.
        word_10: (LENGTH as u32 / 4 - 1) << 16 | HEALTH,
        ..Command::default()
    };
    // SAFETY: the kernel reads `command`, and writes `LENGTH` bytes to `page`, which outlives this call.
    let status = unsafe { rustix::ioctl::ioctl(file, Admin(command)) };
    (status == Ok(0)).then(|| parsed(&page))
}

fn parsed(page: &[u8]) -> Health {
    const KELVIN: i64 = 273;
    let number = |at: usize| {
        page[at..at + 8]
            .iter()
            .rev()
            .fold(0, |n, byte| n << 8 | u64::from(*byte))
    };
    let kelvin = i64::from(u16::from_le_bytes([page[1], page[2]]));
    Health {
        healthy: Some(page[0] == 0),
        celsius: (kelvin > 0).then_some(kelvin - KELVIN),
        power_on_hours: Some(number(128)),
        power_cycles: Some(number(112)),
        critical_warning: Some(page[0]),
        percentage_used: Some(page[5]),
        available_spare: Some(page[3]),
        media_errors: Some(number(160)),
        bytes_written: Some(number(48).saturating_mul(512_000)),
        ..Health::default()
    }
}

/// `struct nvme_admin_cmd` of linux/nvme_ioctl.h.
#[repr(C)]
#[derive(Default)]
struct Command {
    opcode: u8,
    flags: u8,
    _reserved: u16,
    namespace: u32,
    words_2_and_3: [u32; 2],
    metadata: u64,
    data: u64,
    metadata_len: u32,
    data_len: u32,
    word_10: u32,
    words_11_to_15: [u32; 5],
    timeout: u32,
    result: u32,
}

/// NVME_IOCTL_ADMIN_CMD; gives a status.
struct Admin(Command);

// SAFETY: the request takes a pointer to this structure, writes its `result` alone, and returns a status.
unsafe impl Ioctl for Admin {
    type Output = u32;

    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        opcode::read_write::<Command>(b'N', 0x41)
    }

    fn as_ptr(&mut self) -> *mut c_void {
        (&raw mut self.0).cast()
    }

    unsafe fn output_from_ptr(status: IoctlOutput, _: *mut c_void) -> rustix::io::Result<u32> {
        Ok(status as u32)
    }
}

const _: () = assert!(size_of::<Command>() == 72);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_where_the_specification_has_them() {
        let mut page = [0; LENGTH];
        (page[0], page[3], page[5]) = (0b101, 97, 12);
        page[1..3].copy_from_slice(&310_u16.to_le_bytes());
        for (at, value) in [(48, 2_000_000_u64), (112, 7), (128, 21_900), (160, 3)] {
            page[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        let expected = Health {
            healthy: Some(false),
            celsius: Some(37),
            power_on_hours: Some(21_900),
            power_cycles: Some(7),
            critical_warning: Some(5),
            percentage_used: Some(12),
            available_spare: Some(97),
            media_errors: Some(3),
            bytes_written: Some(1_024_000_000_000),
            ..Health::default()
        };
        assert_eq!(parsed(&page), expected);
        assert_eq!(parsed(&[0; LENGTH]).celsius, None);
    }
}
