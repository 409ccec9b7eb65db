//! ATA commands in SCSI's ATA PASS-THROUGH (16) of SAT-4 (INCITS 491-2018), by the kernel's SG_IO.

#![allow(unsafe_code)]

use std::ffi::c_void;
use std::fs::File;
use std::ptr::null_mut;

use rustix::ioctl::{Ioctl, IoctlOutput, Opcode};

use super::command::{Command, Drive};

/// How long a drive may take for a command, in milliseconds. One that sleeps must wake up first.
const TIMEOUT: u32 = 20_000;

/// Bits of ATA's status register: the drive has failed, or refuses the command.
const DEVICE_FAULT: u8 = 1 << 5;
const ERROR: u8 = 1;

/// A block device that may be an ATA drive, or a bridge to one.
pub struct Generic<'a>(pub &'a File);

impl Drive for Generic<'_> {
    fn read(&self, command: Command, data: &mut [u8; 512]) -> Option<()> {
        /// PIO data-in; so many blocks from the drive as the count says, which is 1.
        const DATA_IN: [u8; 2] = [4 << 1, 0b1110];
        let mut block = pass_through(command, DATA_IN);
        block[6] = 1;
        self.submit(&mut block, data).ok().map(drop)
    }

    fn address(&self, command: Command) -> Option<u64> {
        /// No data; the drive's registers are to be returned as sense data.
        const REGISTERS: [u8; 2] = [3 << 1, 1 << 5];
        let mut block = pass_through(command, REGISTERS);
        let sense = self.submit(&mut block, &mut []).ok()?;
        let registers = registers(&sense)?;
        match registers.status & (DEVICE_FAULT | ERROR) {
            0 => Some(registers.address(command)),
            _ => None,
        }
    }
}

/// The command block; `how` is its protocol and its flags.
fn pass_through(command: Command, how: [u8; 2]) -> [u8; 16] {
    /// Addresses are numbers of sectors.
    const LBA: u8 = 1 << 6;
    let mut block = [0; 16];
    block[0] = 0x85;
    block[1] = how[0] | u8::from(command.is_extended);
    block[2] = how[1];
    block[4] = command.features;
    block[13] = LBA;
    block[14] = command.code;
    block
}

/// The drive's registers after a command.
struct Registers {
    /// From the lowest byte.
    address: [u8; 6],
    device: u8,
    status: u8,
}

impl Registers {
    fn address(&self, command: Command) -> u64 {
        let mut bytes = [0; 8];
        match command.is_extended {
            true => bytes[..6].copy_from_slice(&self.address),
            // The highest four bits of 28 are in the device register.
            false => {
                bytes[..3].copy_from_slice(&self.address[..3]);
                bytes[3] = self.device & 0xf;
            }
        }
        u64::from_le_bytes(bytes)
    }
}

/// The registers in the descriptor ATA Status Return of sense data; `None` if there is none.
fn registers(sense: &[u8]) -> Option<Registers> {
    const DESCRIPTORS: usize = 8;
    const ATA_STATUS_RETURN: [u8; 2] = [0x09, 0x0c];
    // Of current or deferred errors, with descriptors.
    if !matches!(sense.first()? & 0x7f, 0x72 | 0x73) {
        return None;
    }
    let mut rest = sense.get(DESCRIPTORS..)?;
    loop {
        let length = usize::from(*rest.get(1)?) + 2;
        let one = rest.get(..length)?;
        if one[..2] == ATA_STATUS_RETURN {
            return Some(Registers {
                address: [one[7], one[9], one[11], one[6], one[8], one[10]],
                device: one[12],
                status: one[13],
            });
        }
        rest = &rest[length..];
    }
}

impl Generic<'_> {
    /// Submits a command block, and returns the sense data.
    fn submit(&self, block: &mut [u8; 16], data: &mut [u8]) -> Result<Vec<u8>, ()> {
        const FROM_DRIVE: i32 = -3;
        const NO_DATA: i32 = -1;
        /// SCSI's status that comes with sense data.
        const CHECK_CONDITION: u8 = 2;
        let mut sense = [0; 64];
        let request = Request {
            interface: 'S' as i32,
            direction: if data.is_empty() { NO_DATA } else { FROM_DRIVE },
            block_len: block.len() as u8,
            sense_room: sense.len() as u8,
            data_len: data.len() as u32,
            data: data.as_mut_ptr(),
            block: block.as_mut_ptr(),
            sense: sense.as_mut_ptr(),
            timeout: TIMEOUT,
            ..Request::default()
        };
        // SAFETY: the kernel uses only the request and the three buffers, which outlive the call and have
        // these lengths.
        let done = unsafe { rustix::ioctl::ioctl(self.0, SgIo(request)) }.map_err(drop)?;
        let returns_sense = done.status == CHECK_CONDITION;
        let is_whole = done.host_status == 0 && (done.status == 0 || returns_sense);
        let sense = sense[..usize::from(done.sense_len).min(sense.len())].to_vec();
        // Data comes without sense data, unless the command was refused.
        match is_whole && (data.is_empty() || !returns_sense) && done.missing == 0 {
            true => Ok(sense),
            false => Err(()),
        }
    }
}

/// `struct sg_io_hdr` of scsi/sg.h.
#[repr(C)]
struct Request {
    interface: i32,
    direction: i32,
    block_len: u8,
    sense_room: u8,
    vectors: u16,
    data_len: u32,
    data: *mut u8,
    block: *mut u8,
    sense: *mut u8,
    timeout: u32,
    flags: u32,
    id: i32,
    user: *mut c_void,
    status: u8,
    masked_status: u8,
    message_status: u8,
    sense_len: u8,
    host_status: u16,
    driver_status: u16,
    missing: i32,
    duration: u32,
    info: u32,
}

impl Default for Request {
    fn default() -> Request {
        Request {
            interface: 0,
            direction: 0,
            block_len: 0,
            sense_room: 0,
            vectors: 0,
            data_len: 0,
            data: null_mut(),
            block: null_mut(),
            sense: null_mut(),
            timeout: 0,
            flags: 0,
            id: 0,
            user: null_mut(),
            status: 0,
            masked_status: 0,
            message_status: 0,
            sense_len: 0,
            host_status: 0,
            driver_status: 0,
            missing: 0,
            duration: 0,
            info: 0,
        }
    }
}

/// SG_IO of scsi/sg.h.
struct SgIo(Request);

// SAFETY: the request takes a pointer to this structure, and writes its results into it.
unsafe impl Ioctl for SgIo {
    type Output = Request;

    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        0x2285
    }

    fn as_ptr(&mut self) -> *mut c_void {
        (&raw mut self.0).cast()
    }

    unsafe fn output_from_ptr(_: IoctlOutput, request: *mut c_void) -> rustix::io::Result<Request> {
        // SAFETY: `request` is what `as_ptr` has returned.
        Ok(unsafe { request.cast::<Request>().read() })
    }
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Request>() == 88);

#[cfg(test)]
mod tests {
    use super::*;

    /// Sense data as libata returns it: an information descriptor may come first.
    #[test]
    fn registers_in_sense_data() {
        let descriptor = [
            0x09, 0x0c, 1, 0, 0, 0, 0xd1, 0xaf, 2, 0x6d, 3, 0x70, 0x40, 0x50,
        ];
        let head = [0x72, 1, 0, 0x1d, 0, 0, 0, 14];
        let other = [0x00, 0x0a, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        for before in [&[][..], &other] {
            let sense = [&head[..], before, &descriptor].concat();
            let found = registers(&sense).expect("registers");
            assert_eq!(found.status, 0x50);
            let long = found.address(Command::READ_NATIVE_MAX_ADDRESS_EXT);
            assert_eq!(long, 0x0302_d170_6daf);
            let short = Registers {
                device: 0x4a,
                ..found
            };
            let short = short.address(Command::READ_NATIVE_MAX_ADDRESS);
            assert_eq!(short, 0x0a70_6daf);
        }
        let fixed = [0x70, 0, 1, 0, 0x50, 0x40, 0, 10, 0, 0xaf, 0x6d, 0x70];
        for none in [
            &[][..],
            &head,
            &[&head[..], &descriptor[..9]].concat(),
            &fixed,
        ] {
            assert!(registers(none).is_none(), "{none:?}");
        }
    }

    #[test]
    fn command_blocks() {
        let block = pass_through(Command::READ_NATIVE_MAX_ADDRESS_EXT, [6, 0x20]);
        let expected = [0x85, 7, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x40, 0x27, 0];
        assert_eq!(block, expected);
        let block = pass_through(Command::DEVICE_CONFIGURATION_IDENTIFY, [8, 0x0e]);
        let expected = [
            0x85, 8, 0x0e, 0, 0xc2, 0, 0, 0, 0, 0, 0, 0, 0, 0x40, 0xb1, 0,
        ];
        assert_eq!(block, expected);
    }
}
