//! Sense data: what a SCSI drive says about a command or about its state (SPC-5, section 4.4), with the
//! registers of an ATA drive (SAT-4, section 12.2).

use super::ata::Registers;

/// Sense data, as far as squall needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sense {
    /// The sense key.
    pub key: u8,
    /// The additional sense code and its qualifier.
    pub code: (u8, u8),
    /// The progress indication, with the denominator 65536.
    pub progress: Option<u16>,
    /// What an ATA drive returned in its registers.
    pub registers: Option<Registers>,
}

/// Sense keys.
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
mod tests;
