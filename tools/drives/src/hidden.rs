//! Sectors that an ATA drive has and does not show: behind a host protected area (HPA), or behind a device configuration
//! overlay (DCO). No host reaches them before the area is removed, so overwriting does not reach them either.
//!
//! Commands and fields are those of ACS-2 (INCITS 482-2012: READ NATIVE MAX ADDRESS, DEVICE CONFIGURATION IDENTIFY) and of
//! ACS-3 (INCITS 522-2014: GET NATIVE MAX ADDRESS EXT, which replaces both areas). They change nothing.

use std::time::Duration;

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use squall_tool_base::units::volume;

use crate::Target;
use crate::commands::ata::{Command, words};
use crate::commands::scsi::{Data, Scsi, send};

/// How long a drive may take for a command. One that sleeps must wake up first.
const TIMEOUT: Duration = Duration::from_secs(20);

/// How much a drive hides, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hidden {
    /// Bytes behind a host protected area, or beyond an accessible maximum address.
    pub hpa: u64,
    /// Bytes behind a device configuration overlay; `None` if the drive does not tell.
    pub dco: Option<u64>,
}

impl Hidden {
    /// How much is hidden in all, in bytes.
    pub fn bytes(self) -> u64 {
        self.hpa.saturating_add(self.dco.unwrap_or(0))
    }

    /// How much is hidden, and behind what; `None` if that is nothing.
    pub fn text(self) -> Option<String> {
        let bytes = self.bytes();
        (bytes > 0).then(|| format!("{} ({})", volume(bytes), self.areas()))
    }

    /// What it is hidden behind, in words; empty if nothing is hidden.
    pub fn areas(self) -> &'static str {
        match (self.hpa > 0, self.dco.is_some_and(|bytes| bytes > 0)) {
            (true, true) => "HPA and DCO",
            (true, false) => "HPA",
            (false, true) => "DCO",
            (false, false) => "",
        }
    }
}

/// How much `target` hides; `None` if it is no ATA drive, or cannot be asked.
pub(crate) fn hidden(target: &Target) -> Option<Hidden> {
    ask(&target.open_to_ask(OFlags::empty())?)
}

fn ask(drive: &dyn Scsi) -> Option<Hidden> {
    let identified = IdentifyData::from_data(&read(drive, Command::IDENTIFY_DEVICE)?)?;
    let shown = identified.sectors();
    let native = address(drive, identified.native_max_command())?.checked_add(1)?;
    let bytes = |sectors: u64| sectors.saturating_mul(identified.sector());
    let all = match identified.has_configuration_overlay() {
        true => read(drive, DEVICE_CONFIGURATION_IDENTIFY),
        false => None,
    };
    let all = all.as_ref().and_then(sectors_without_overlay);
    Some(Hidden {
        hpa: bytes(native.saturating_sub(shown)),
        dco: all.map(|all| bytes(all.saturating_sub(native.max(shown)))),
    })
}

/// The data that `command` returns; `None` if the drive refuses it or does not know it.
fn read(drive: &dyn Scsi, command: Command) -> Option<[u8; 512]> {
    let mut data = [0; 512];
    let reply = send(drive, &command.data_in(), Data::In(&mut data), TIMEOUT).ok()?;
    (reply.is_good() && reply.missing == 0).then_some(data)
}

/// The address that `command` returns in the drive's registers; `None` if the drive refuses it or does not know it.
fn address(drive: &dyn Scsi, command: Command) -> Option<u64> {
    let reply = send(drive, &command.non_data(), Data::None, TIMEOUT).ok()?;
    let registers = reply.sense?.registers?;
    let is_answer = registers.is_whole && !registers.is_error();
    is_answer.then(|| match command.is_extended {
        true => registers.lba,
        false => registers.short_address(),
    })
}

const DEVICE_CONFIGURATION_IDENTIFY: Command = Command {
    code: 0xb1,
    feature: 0xc2,
    ..Command::IDENTIFY_DEVICE
};

const READ_NATIVE_MAX_ADDRESS: Command = max_address(0xf8, false);
const READ_NATIVE_MAX_ADDRESS_EXT: Command = max_address(0x27, true);
const GET_NATIVE_MAX_ADDRESS_EXT: Command = max_address(0x78, true);

const fn max_address(code: u8, is_extended: bool) -> Command {
    Command {
        code,
        count: 0,
        is_extended,
        ..Command::IDENTIFY_DEVICE
    }
}

/// The data of IDENTIFY DEVICE.
struct IdentifyData([u16; 256]);

impl IdentifyData {
    /// `None` if it is not the data of a drive with sectors.
    pub fn from_data(data: &[u8; 512]) -> Option<IdentifyData> {
        let identified = IdentifyData(words(data));
        (identified.sectors() > 0).then_some(identified)
    }

    /// The number of sectors that the drive shows.
    pub fn sectors(&self) -> u64 {
        match self.has_long_addresses() {
            true => number(&self.0, 100, 4),
            false => number(&self.0, 60, 2),
        }
    }

    /// Bytes per logical sector.
    pub fn sector(&self) -> u64 {
        let is_long = self.has(106, 12);
        match number(&self.0, 117, 2) {
            words @ 1.. if is_long => 2 * words,
            _ => 512,
        }
    }

    /// The command that returns the last address that the drive would show without a host protected area.
    pub fn native_max_command(&self) -> Command {
        match (self.has_accessible_max_address(), self.has_long_addresses()) {
            (true, _) => GET_NATIVE_MAX_ADDRESS_EXT,
            (false, true) => READ_NATIVE_MAX_ADDRESS_EXT,
            (false, false) => READ_NATIVE_MAX_ADDRESS,
        }
    }

    pub fn has_configuration_overlay(&self) -> bool {
        self.has(83, 11)
    }

    fn has_accessible_max_address(&self) -> bool {
        self.has(119, 8)
    }

    fn has_long_addresses(&self) -> bool {
        self.has(83, 10)
    }

    /// Whether a word is valid, as its two highest bits tell, and has this bit.
    fn has(&self, word: usize, bit: u32) -> bool {
        self.0[word] >> 14 == 0b01 && self.0[word] >> bit & 1 == 1
    }
}

/// The number of sectors without an overlay, in the data of DEVICE CONFIGURATION IDENTIFY. `None` if that is not valid.
fn sectors_without_overlay(data: &[u8; 512]) -> Option<u64> {
    /// The low byte of the last word, before a checksum: all bytes add up to zero.
    const SIGNATURE: u8 = 0xa5;
    let sum = data.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    let is_valid = data[510] == SIGNATURE && sum == 0;
    let last = number(&words(data), 3, 4);
    is_valid.then(|| last.checked_add(1)).flatten()
}

/// A number of so many words, the lowest first.
fn number(words: &[u16; 256], from: usize, count: usize) -> u64 {
    let words = words[from..from + count].iter().rev();
    words.fold(0, |number, word| number << 16 | u64::from(*word))
}

#[cfg(test)]
mod tests {
    //! A model of ATA drives behind a translation: old and new ones, with areas and without.

    use super::*;
    use crate::commands::ata::Registers;
    use crate::commands::scsi::Reply;
    use crate::commands::sense::tests::reply_with;

    /// A drive as its registers and data show it.
    struct Model {
        /// Sectors that it shows, that it would show without an area, and that it has.
        sectors: [u64; 3],
        words: Vec<(usize, u16)>,
        /// The codes of the commands that it takes, besides IDENTIFY DEVICE.
        takes: Vec<u8>,
        is_damaged: bool,
        /// Bytes of data that its bridge loses.
        missing: i32,
        /// Whether its bridge has the fixed format of sense data alone.
        is_fixed: bool,
    }

    const VALID: u16 = 1 << 14;
    const LONG: (usize, u16) = (83, VALID | 1 << 10);
    const LONG_WITH_OVERLAY: (usize, u16) = (83, VALID | 1 << 10 | 1 << 11);

    impl Model {
        fn data(&self) -> [u8; 512] {
            let mut data = [0; 512];
            let mut put = |word: usize, value: u16| {
                data[2 * word..2 * word + 2].copy_from_slice(&value.to_le_bytes());
            };
            let shown = self.sectors[0];
            for word in 0..4 {
                put(100 + word, (shown >> (16 * word)) as u16);
            }
            let short = shown.min(0x0fff_ffff);
            put(60, short as u16);
            put(61, (short >> 16) as u16);
            for (word, value) in &self.words {
                put(*word, *value);
            }
            data
        }

        fn configuration(&self) -> [u8; 512] {
            let mut data = [0; 512];
            data[0] = 2;
            data[6..14].copy_from_slice(&(self.sectors[2] - 1).to_le_bytes());
            data[510] = 0xa5;
            let sum = data.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
            data[511] = sum.wrapping_neg();
            if self.is_damaged {
                data[9] ^= 1;
            }
            data
        }
    }

    impl Scsi for Model {
        fn command(&self, block: &[u8], data: Data<'_>, _: Duration) -> Result<Reply, String> {
            // No address is sent, and LBA is set in DEVICE.
            let (code, rest) = (block[14], [block[0], block[15]]);
            assert_eq!(
                (rest, &block[7..14]),
                ([0x85, 0], &[0, 0, 0, 0, 0, 0, 0x40][..])
            );
            let is_taken = code == 0xec || self.takes.contains(&code);
            match (&block[1..7], code, data) {
                ([8, 0x0e, 0, 0, 0, 1], 0xec, Data::In(data)) => data.copy_from_slice(&self.data()),
                ([8, 0x0e, 0, 0xc2, 0, 1], 0xb1, Data::In(data)) => {
                    data.copy_from_slice(&self.configuration());
                }
                ([7, 0x20, 0, 0, 0, 0], 0x27 | 0x78, Data::None) => {
                    return Ok(self.address(is_taken, true));
                }
                ([6, 0x20, 0, 0, 0, 0], 0xf8, Data::None) => {
                    return Ok(self.address(is_taken, false));
                }
                _ => panic!("{block:02x?}"),
            }
            Ok(Reply {
                status: if is_taken { 0 } else { 2 },
                missing: self.missing,
                ..Reply::default()
            })
        }
    }

    impl Model {
        /// The registers with the last address, even if the command is not taken.
        fn address(&self, is_taken: bool, is_extended: bool) -> Reply {
            let lba = self.sectors[1] - 1;
            let (lba, device) = match is_extended {
                true => (lba, 0x40),
                false => (lba & 0xff_ffff, 0x40 | (lba >> 24) as u8),
            };
            let (status, error) = match is_taken {
                true => (0x50, 0),
                false => (0x51, 4),
            };
            let registers = Registers {
                status,
                error,
                device,
                lba,
                ..Registers::default()
            };
            reply_with(registers, self.is_fixed)
        }
    }

    fn model(sectors: [u64; 3], words: &[(usize, u16)], takes: &[u8]) -> Model {
        Model {
            sectors,
            words: words.to_vec(),
            takes: takes.to_vec(),
            is_damaged: false,
            missing: 0,
            is_fixed: false,
        }
    }

    const SECTORS: u64 = 7_814_037_168;

    #[test]
    fn areas_are_found_by_the_command_that_the_drive_has() {
        let hidden = |hpa, dco| Some(Hidden { hpa, dco });
        let long_sectors = [LONG, (106, VALID | 1 << 12), (117, 2048), (118, 0)];
        let overlay = [LONG_WITH_OVERLAY];
        let accessible = [LONG, (119, VALID | 1 << 8)];
        let [less, more] = [SECTORS - 1, SECTORS + 1];
        let hpa = [SECTORS - 100, SECTORS, SECTORS];
        let both = [SECTORS - 100, SECTORS - 10, SECTORS];
        let plain = || model([SECTORS; 3], &[LONG], &[0x27]);
        let whole = || model([SECTORS; 3], &overlay, &[0x27, 0xb1]);
        for (drive, expected) in [
            // Without any area, and with one or both.
            (plain(), hidden(0, None)),
            (model(hpa, &[LONG], &[0x27]), hidden(51_200, None)),
            (whole(), hidden(0, Some(0))),
            (
                model(both, &overlay, &[0x27, 0xb1]),
                hidden(46_080, Some(5120)),
            ),
            // An overlay that is frozen, or whose data are damaged, is not known.
            (
                model([SECTORS, SECTORS, more], &overlay, &[0x27]),
                hidden(0, None),
            ),
            (
                Model {
                    is_damaged: true,
                    ..whole()
                },
                hidden(0, None),
            ),
            // An old drive, with addresses of 28 bits.
            (
                model([20_000_000, 20_000_064, 0], &[], &[0xf8]),
                hidden(32_768, None),
            ),
            // A new one, with an accessible maximum address.
            (
                model([less, SECTORS, 0], &accessible, &[0x78]),
                hidden(512, None),
            ),
            // Sectors of 4096 bytes.
            (
                model([less, SECTORS, 0], &long_sectors, &[0x27]),
                hidden(4096, None),
            ),
            // It knows no such command, or is no drive.
            (model([SECTORS; 3], &[LONG], &[]), None),
            (model([0; 3], &[LONG], &[0x27]), None),
            // Bridges that lose data, or a part of the registers.
            (
                Model {
                    missing: 2,
                    ..plain()
                },
                None,
            ),
            (
                Model {
                    is_fixed: true,
                    ..plain()
                },
                None,
            ),
        ] {
            assert_eq!(ask(&drive), expected);
        }
    }
}
