//! Sense data: what a SCSI drive says about a command or about its state (SPC-5, section 4.4), with the
//! registers of an ATA drive (SAT-4, section 12.2).

use super::ata::Registers;

/// Sense data, as far as squall needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sense {
    pub key: u8,
    /// The additional sense code and its qualifier.
    pub code: (u8, u8),
    /// The progress indication, with the denominator 65536.
    pub progress: Option<u16>,
    /// What an ATA drive returned in its registers.
    pub registers: Option<Registers>,
}

pub mod key {
    pub const NO_SENSE: u8 = 0x0;
    pub const UNIT_ATTENTION: u8 = 0x6;
    pub const ABORTED_COMMAND: u8 = 0xb;
}

/// Additional sense codes, with their qualifiers.
pub mod code {
    pub const NONE: (u8, u8) = (0x00, 0x00);
    pub const ATA_INFORMATION: (u8, u8) = (0x00, 0x1d);
    pub const SANITIZE_IN_PROGRESS: (u8, u8) = (0x04, 0x1b);
    pub const INVALID_OPCODE: (u8, u8) = (0x20, 0x00);
    pub const INVALID_FIELD: (u8, u8) = (0x24, 0x00);
    pub const SANITIZE_FAILED: (u8, u8) = (0x31, 0x03);
}

impl Sense {
    /// Reads sense data in either format; `None` if it is of neither, or cut short.
    pub fn read(bytes: &[u8]) -> Option<Sense> {
        match bytes.first()? & 0x7f {
            0x70 | 0x71 => Sense::fixed(bytes),
            0x72 | 0x73 => Sense::descriptors(bytes),
            _ => None,
        }
    }

    fn fixed(bytes: &[u8]) -> Option<Sense> {
        let byte = |at: usize| bytes.get(at).copied();
        let code = (byte(12)?, byte(13)?);
        let specific = byte(15).filter(|byte| byte & 0x80 != 0);
        let progress = specific.and_then(|_| Some(u16::from_be_bytes([byte(16)?, byte(17)?])));
        let key = byte(2)? & 0xf;
        // The information and the command-specific information hold the registers. If the drive aborted
        // the command, only the error bit of its status tells that.
        let is_aborted = key == key::ABORTED_COMMAND && bytes[4] & 1 != 0;
        let is_from_ata = code == code::ATA_INFORMATION || is_aborted;
        let registers = is_from_ata.then(|| Registers {
            error: bytes[3],
            status: bytes[4],
            device: bytes[5],
            count: bytes[6].into(),
            lba: u32::from_le_bytes([bytes[9], bytes[10], bytes[11], 0]).into(),
            is_whole: false,
        });
        Some(Sense {
            key,
            code,
            progress,
            registers,
        })
    }

    fn descriptors(bytes: &[u8]) -> Option<Sense> {
        const HEADER: usize = 8;
        let byte = |at: usize| bytes.get(at).copied();
        let mut sense = Sense {
            key: byte(1)? & 0xf,
            code: (byte(2)?, byte(3)?),
            progress: None,
            registers: None,
        };
        let end = bytes.len().min(HEADER + usize::from(byte(7)?));
        let mut rest = bytes.get(HEADER..end)?;
        while let [kind, len, ..] = *rest {
            let (descriptor, next) = rest.split_at_checked(2 + usize::from(len))?;
            match (kind, descriptor.len()) {
                // Sense key specific.
                (0x02, 8) if descriptor[4] & 0x80 != 0 => {
                    sense.progress = Some(u16::from_be_bytes([descriptor[5], descriptor[6]]));
                }
                // ATA Status Return.
                (0x09, 14) => {
                    let lba = [7, 9, 11, 6, 8, 10].map(|at: usize| descriptor[at]);
                    sense.registers = Some(Registers {
                        error: descriptor[3],
                        status: descriptor[13],
                        device: descriptor[12],
                        count: u16::from_be_bytes([descriptor[4], descriptor[5]]),
                        lba: lba
                            .into_iter()
                            .rev()
                            .fold(0, |lba, byte| lba << 8 | u64::from(byte)),
                        is_whole: true,
                    });
                }
                _ => {}
            }
            rest = next;
        }
        Some(sense)
    }

    /// The sense data for people: the key and the code as numbers, and the name of the code.
    pub fn text(&self) -> String {
        let name = match self.code {
            code::NONE => " (no additional sense information)",
            code::ATA_INFORMATION => " (ATA PASS THROUGH INFORMATION AVAILABLE)",
            code::SANITIZE_IN_PROGRESS => " (SANITIZE IN PROGRESS)",
            code::INVALID_OPCODE => " (INVALID COMMAND OPERATION CODE)",
            code::INVALID_FIELD => " (INVALID FIELD IN CDB)",
            code::SANITIZE_FAILED => " (SANITIZE COMMAND FAILED)",
            _ => "",
        };
        let (code, qualifier) = self.code;
        let mut text = format!("sense {:x}/{code:02x}/{qualifier:02x}{name}", self.key);
        if let Some(progress) = self.progress {
            text += &format!(", progress 0x{progress:04x}");
        }
        text
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::commands::scsi::Reply;

    /// The reply of a translation that returns `registers` in a descriptor or, if it `is_fixed`, in the fixed format.
    pub(crate) fn reply_with(registers: Registers, is_fixed: bool) -> Reply {
        let Registers {
            status,
            error,
            device,
            count,
            lba,
            ..
        } = registers;
        let [lba0, lba1, lba2, lba3, lba4, lba5, ..] = lba.to_le_bytes();
        let [count_high, count_low] = count.to_be_bytes();
        let (key, code) = match registers.is_error() {
            true => (key::ABORTED_COMMAND, code::NONE),
            false => (1, code::ATA_INFORMATION),
        };
        let bytes = match is_fixed {
            true => vec![
                0x70, 0, key, error, status, device, count_low, 10, 0, lba0, lba1, lba2, code.0,
                code.1, 0, 0, 0, 0,
            ],
            false => vec![
                0x72, key, code.0, code.1, 0, 0, 0, 14, 0x09, 0x0c, 1, error, count_high,
                count_low, lba3, lba0, lba4, lba1, lba5, lba2, device, status,
            ],
        };
        Reply {
            status: Reply::CHECK_CONDITION,
            sense: Sense::read(&bytes),
            ..Reply::default()
        }
    }

    /// SANITIZE IN PROGRESS in both formats, with the progress 0x1234. Before it comes a descriptor that nobody asked for.
    pub(crate) const BUSY: [&[u8]; 2] = [
        &[
            0x70, 0, 2, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x04, 0x1b, 0, 0x80, 0x12, 0x34,
        ],
        &[
            0x72, 2, 0x04, 0x1b, 0, 0, 0, 20, 0x00, 0x0a, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0x02,
            0x06, 0, 0, 0x80, 0x12, 0x34, 0,
        ],
    ];

    #[test]
    fn both_formats_are_read() {
        for bytes in BUSY {
            let busy = Sense::read(bytes).unwrap();
            let expected = Sense {
                key: 2,
                code: (0x04, 0x1b),
                progress: Some(0x1234),
                registers: None,
            };
            assert_eq!(busy, expected, "{bytes:02x?}");
            assert_eq!(
                busy.text(),
                "sense 2/04/1b (SANITIZE IN PROGRESS), progress 0x1234"
            );
        }
        // Without a progress.
        let mut fixed = BUSY[0].to_vec();
        fixed[15] = 0;
        for idle in [&fixed, &[0x72, 0, 0, 0, 0, 0, 0, 0][..]] {
            assert_eq!(Sense::read(idle).unwrap().progress, None);
        }
    }

    #[test]
    fn registers_of_ata_are_read() {
        let described = [
            0x72, 1, 0, 0x1d, 0, 0, 0, 14, 9, 12, 1, 4, 0xc0, 0x12, 3, 0x34, 4, 0x56, 5, 2, 0x40,
            0x50,
        ];
        let expected = Registers {
            status: 0x50,
            error: 4,
            device: 0x40,
            count: 0xc012,
            lba: 0x0504_0302_5634,
            is_whole: true,
        };
        let sense = Sense::read(&described).unwrap();
        assert_eq!(sense.registers, Some(expected));
        let mut fixed = [0; 18];
        fixed[0] = 0x70;
        (fixed[2], fixed[7], fixed[13]) = (1, 10, 0x1d);
        fixed[3..7].copy_from_slice(&[4, 0x50, 0x40, 0x12]);
        fixed[9..12].copy_from_slice(&[0x34, 0x56, 2]);
        let only_low = Registers {
            count: 0x12,
            lba: 0x02_5634,
            is_whole: false,
            ..expected
        };
        assert_eq!(Sense::read(&fixed).unwrap().registers, Some(only_low));
        // A command that was aborted, by the drive and not by somebody before it.
        (fixed[2], fixed[13]) = (0xb, 0);
        assert_eq!(Sense::read(&fixed).unwrap().registers, None);
        fixed[4] = 0x51;
        assert!(Sense::read(&fixed).unwrap().registers.is_some());
    }

    /// However few bytes there are, nothing is read beyond them.
    #[test]
    fn short_sense_data_are_not_read_beyond_their_end() {
        assert_eq!(Sense::read(&[]), None);
        assert_eq!(Sense::read(&[0x7f; 20]), None);
        for whole in BUSY {
            for len in 0..whole.len() {
                let read = Sense::read(&whole[..len]);
                let progress = read.and_then(|sense| sense.progress);
                assert_eq!(progress, None, "{len}");
            }
        }
        for first in 0..=0xff {
            for len in 1..=32 {
                // Other bytes than these say that a command was aborted.
                for (key, other) in [(0xff, 0xff), (0xb, 0x51), (0, 0)] {
                    let mut hostile = vec![other; len];
                    hostile[0] = first;
                    if let Some(place) = hostile.get_mut(2) {
                        *place = key;
                    }
                    let _ = Sense::read(&hostile);
                }
            }
        }
    }
}
