//! SMART (ATA/ATAPI Command Set), through the kernel's SG_IO and ATA PASS-THROUGH (SAT).

#![allow(unsafe_code)]

use std::ffi::c_void;
use std::fs::File;

use rustix::ioctl::{Ioctl, IoctlOutput, Opcode};

use super::Health;
use crate::io::Buffer;

/// Length of the data of SMART, in bytes.
const LENGTH: usize = 512;

/// Length of the sense data that is kept, in bytes.
const SENSE: usize = 32;

/// How long the drive may take to answer, in milliseconds.
const TIMEOUT: u32 = 20_000;

/// Values of the register LBA, bits 8 to 23, with which SMART is asked, and with which a drive that expects
/// to fail answers.
const KEY: (u8, u8) = (0x4f, 0xc2);
const FAILING: (u8, u8) = (0xf4, 0x2c);

/// The health of the drive that is open as `file`.
pub fn health(file: &File) -> Option<Health> {
    let data = data(file);
    let healthy = status(file);
    let attributes = data.as_deref().and_then(parsed);
    match (attributes, healthy) {
        (None, None) => None,
        (attributes, healthy) => Some(Health {
            healthy,
            ..attributes.unwrap_or_default()
        }),
    }
}

/// The answer to SMART READ DATA.
fn data(file: &File) -> Option<Buffer> {
    const PIO_IN: u8 = 4;
    /// From the device, in blocks, as many as the register Count says.
    const BLOCKS_IN: u8 = 1 << 3 | 1 << 2 | 2;
    const READ_DATA: u8 = 0xd0;
    let mut data = Buffer::new(LENGTH);
    let asked = send(
        file,
        &smart(PIO_IN, BLOCKS_IN, READ_DATA, 1),
        Some(&mut data),
    );
    asked.map(|_| data)
}

/// The answer to SMART RETURN STATUS: whether the drive finds itself healthy.
fn status(file: &File) -> Option<bool> {
    const NO_DATA: u8 = 3;
    const RETURN_REGISTERS: u8 = 1 << 5;
    const RETURN_STATUS: u8 = 0xda;
    let sense = send(
        file,
        &smart(NO_DATA, RETURN_REGISTERS, RETURN_STATUS, 0),
        None,
    )?;
    match registers(&sense)? {
        KEY => Some(true),
        FAILING => Some(false),
        _ => None,
    }
}

/// ATA PASS-THROUGH (16) of a command of SMART.
fn smart(protocol: u8, flags: u8, feature: u8, blocks: u8) -> [u8; 16] {
    const PASS_THROUGH: u8 = 0x85;
    const SMART: u8 = 0xb0;
    let (middle, high) = KEY;
    let mut command = [0; 16];
    (command[0], command[1], command[2]) = (PASS_THROUGH, protocol << 1, flags);
    (command[4], command[6]) = (feature, blocks);
    (command[10], command[12], command[14]) = (middle, high, SMART);
    command
}

/// Bits 8 to 23 of the register LBA, by sense data in either format.
fn registers(sense: &[u8; SENSE]) -> Option<(u8, u8)> {
    const DESCRIPTORS: u8 = 0x72;
    const FIXED: u8 = 0x70;
    const ATA_STATUS_RETURN: u8 = 0x09;
    match sense[0] & 0x7f {
        DESCRIPTORS if sense[8] == ATA_STATUS_RETURN => Some((sense[17], sense[19])),
        FIXED => Some((sense[10], sense[11])),
        _ => None,
    }
}

/// The attributes in the data of SMART. `None` if its checksum is wrong.
fn parsed(data: &[u8]) -> Option<Health> {
    let sum = data.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    if sum != 0 {
        return None;
    }
    let attributes = data[2..362].chunks_exact(12);
    let raw = |id: u8| {
        let attribute = attributes.clone().find(|attribute| attribute[0] == id)?;
        Some(&attribute[5..11])
    };
    // Some makers keep other figures in the upper two bytes.
    let number = |id: u8| {
        let raw = raw(id)?;
        Some(u32::from_le_bytes([raw[0], raw[1], raw[2], raw[3]]).into())
    };
    let celsius = |id: u8| Some(i64::from(raw(id)?[0].cast_signed()));
    Some(Health {
        celsius: celsius(194).or_else(|| celsius(190)),
        power_on_hours: number(9),
        power_cycles: number(12),
        reallocated_sectors: number(5),
        pending_sectors: number(197),
        uncorrectable_sectors: number(198),
        ..Health::default()
    })
}

/// Sends `command`, which gives `data` if it has any. Returns the sense data, which is empty after a command
/// with data. `None` if the command failed.
fn send(file: &File, command: &[u8; 16], data: Option<&mut Buffer>) -> Option<[u8; SENSE]> {
    /// `SG_DXFER_NONE` and `SG_DXFER_FROM_DEV` of scsi/sg.h.
    const NONE: i32 = -1;
    const FROM_DEVICE: i32 = -3;
    const GOOD: u8 = 0;
    const CHECK_CONDITION: u8 = 2;
    /// The sense key and code of "ATA pass through information available".
    const RECOVERED: u8 = 1;
    let mut sense = [0; SENSE];
    let has_data = data.is_some();
    let (pointer, length) = match data {
        Some(data) => (data.as_mut_ptr().cast(), LENGTH as u32),
        None => (std::ptr::null_mut(), 0),
    };
    let header = Header {
        interface: 'S' as i32,
        direction: if has_data { FROM_DEVICE } else { NONE },
        command_len: 16,
        sense_len: SENSE as u8,
        data_len: length,
        data: pointer,
        command: command.as_ptr(),
        sense: sense.as_mut_ptr(),
        timeout: TIMEOUT,
        ..Header::default()
    };
    // SAFETY: the kernel reads `header` and `command`, and writes at most the given lengths to `data` and
    // `sense`, all of which outlive this call.
    let header = unsafe { rustix::ioctl::ioctl(file, Request(header)) }.ok()?;
    let key = match sense[0] & 0x7f {
        0x72 => sense[1] & 0xf,
        _ => sense[2] & 0xf,
    };
    let is_done = match header.status {
        GOOD => has_data,
        CHECK_CONDITION => !has_data && key <= RECOVERED,
        _ => false,
    };
    (is_done && header.host_status == 0).then_some(sense)
}

/// `struct sg_io_hdr` of scsi/sg.h.
#[repr(C)]
struct Header {
    interface: i32,
    direction: i32,
    command_len: u8,
    sense_len: u8,
    parts: u16,
    data_len: u32,
    data: *mut c_void,
    command: *const u8,
    sense: *mut u8,
    timeout: u32,
    flags: u32,
    pack: i32,
    user: *mut c_void,
    status: u8,
    masked_status: u8,
    message_status: u8,
    sense_written: u8,
    host_status: u16,
    driver_status: u16,
    residue: i32,
    duration: u32,
    info: u32,
}

impl Default for Header {
    fn default() -> Header {
        let (data, user) = (std::ptr::null_mut(), std::ptr::null_mut());
        Header {
            interface: 0,
            direction: 0,
            command_len: 0,
            sense_len: 0,
            parts: 0,
            data_len: 0,
            data,
            command: std::ptr::null(),
            sense: std::ptr::null_mut(),
            timeout: 0,
            flags: 0,
            pack: 0,
            user,
            status: 0,
            masked_status: 0,
            message_status: 0,
            sense_written: 0,
            host_status: 0,
            driver_status: 0,
            residue: 0,
            duration: 0,
            info: 0,
        }
    }
}

/// SG_IO; gives the header with the results.
struct Request(Header);

// SAFETY: the request takes a pointer to this structure, and writes its results into it.
unsafe impl Ioctl for Request {
    type Output = Header;

    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        /// SG_IO of scsi/sg.h.
        const SG_IO: Opcode = 0x2285;
        SG_IO
    }

    fn as_ptr(&mut self) -> *mut c_void {
        (&raw mut self.0).cast()
    }

    unsafe fn output_from_ptr(_: IoctlOutput, header: *mut c_void) -> rustix::io::Result<Header> {
        // SAFETY: it is the pointer of `as_ptr`, to a header that is not used any more.
        Ok(unsafe { header.cast::<Header>().read() })
    }
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Header>() == 88);

#[cfg(test)]
mod tests {
    use super::*;

    /// SMART data with these attributes, each with its raw value.
    fn smart_data(attributes: &[(u8, [u8; 6])]) -> Vec<u8> {
        let mut data = vec![0; LENGTH];
        for (index, (id, raw)) in attributes.iter().enumerate() {
            let at = 2 + 12 * index;
            data[at] = *id;
            data[at + 5..at + 11].copy_from_slice(raw);
        }
        let sum = data.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
        data[LENGTH - 1] = sum.wrapping_neg();
        data
    }

    #[test]
    fn attributes_are_read_by_their_numbers() {
        let data = smart_data(&[
            (5, [8, 1, 0, 0, 0, 0]),
            (9, [0x10, 0x27, 0, 0, 0x33, 0x44]),
            (194, [36, 0, 18, 0, 51, 0]),
            (197, [2, 0, 0, 0, 0, 0]),
        ]);
        let health = parsed(&data).expect("attributes");
        assert_eq!(health.reallocated_sectors, Some(264));
        assert_eq!(health.power_on_hours, Some(10_000));
        assert_eq!(health.celsius, Some(36));
        assert_eq!(health.pending_sectors, Some(2));
        assert_eq!(health.uncorrectable_sectors, None);
        let airflow = smart_data(&[(190, [29, 0, 0, 0, 0, 0])]);
        assert_eq!(parsed(&airflow).and_then(|health| health.celsius), Some(29));
        let mut damaged = data;
        damaged[7] ^= 1;
        assert_eq!(parsed(&damaged), None);
    }

    #[test]
    fn registers_come_in_either_format() {
        let mut sense = [0; SENSE];
        (sense[0], sense[8], sense[17], sense[19]) = (0x72, 0x09, 0xf4, 0x2c);
        assert_eq!(registers(&sense), Some(FAILING));
        let mut sense = [0; SENSE];
        (sense[0], sense[10], sense[11]) = (0x70, 0x4f, 0xc2);
        assert_eq!(registers(&sense), Some(KEY));
        assert_eq!(registers(&[0; SENSE]), None);
    }
}
