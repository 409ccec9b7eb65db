//! ATA commands in the ATA PASS-THROUGH (16) of the translation that shows an ATA drive as a SCSI drive, and the
//! registers that come back in sense data (SAT-4, section 12.2).

use crate::printable::printable_bytes;

/// A command, by the registers that the host sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Command {
    pub code: u8,
    pub feature: u16,
    /// The number of blocks of 512 bytes, if the command has data.
    pub count: u16,
    pub lba: u64,
    pub device: u8,
    /// Whether it is a command of 48 bits, whose registers have two bytes each.
    pub is_extended: bool,
}

impl Command {
    /// The bit of DEVICE that says that addresses are numbers of sectors.
    pub const LBA: u8 = 1 << 6;

    /// IDENTIFY DEVICE, which returns 512 bytes (ACS-4, section 7.13).
    pub const IDENTIFY_DEVICE: Command = Command {
        code: 0xec,
        feature: 0,
        count: 1,
        lba: 0,
        device: Command::LBA,
        is_extended: false,
    };

    /// The command descriptor block that asks for `count` blocks of data.
    pub fn data_in(&self) -> [u8; 16] {
        const PIO_DATA_IN: u8 = 4 << 1;
        /// The length is in COUNT, in blocks, and the data come from the drive.
        const BLOCKS_IN: u8 = 0b1110;
        self.block(PIO_DATA_IN, BLOCKS_IN)
    }

    /// The command descriptor block without data, which has the registers returned as sense data.
    pub fn non_data(&self) -> [u8; 16] {
        const NON_DATA: u8 = 3 << 1;
        /// The registers are to be returned, whatever they are (CK_COND).
        const REGISTERS: u8 = 1 << 5;
        self.block(NON_DATA, REGISTERS)
    }

    fn block(&self, protocol: u8, flags: u8) -> [u8; 16] {
        const ATA_PASS_THROUGH: u8 = 0x85;
        let [feature_high, feature_low] = self.feature.to_be_bytes();
        let [count_high, count_low] = self.count.to_be_bytes();
        let lba = self.lba.to_le_bytes();
        [
            ATA_PASS_THROUGH,
            protocol | u8::from(self.is_extended),
            flags,
            feature_high,
            feature_low,
            count_high,
            count_low,
            lba[3],
            lba[0],
            lba[4],
            lba[1],
            lba[5],
            lba[2],
            self.device,
            self.code,
            0,
        ]
    }
}

/// The words of the data of a command such as IDENTIFY DEVICE.
pub fn words(data: &[u8; 512]) -> [u16; 256] {
    std::array::from_fn(|word| u16::from_le_bytes([data[2 * word], data[2 * word + 1]]))
}

/// The text in words of the data of IDENTIFY DEVICE: the first of each two characters is in the high byte.
pub fn text(words: &[u16]) -> Option<String> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    printable_bytes(&bytes)
}

/// The registers of a drive after a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    pub status: u8,
    pub error: u8,
    pub device: u8,
    pub count: u16,
    pub lba: u64,
    /// Whether all of `count` and `lba` was passed on. Otherwise they are the lowest 8 and 24 bits.
    pub is_whole: bool,
}

impl Registers {
    /// Whether the drive aborted the command, or failed in it.
    pub fn is_error(&self) -> bool {
        const ERROR: u8 = 1;
        const DEVICE_FAULT: u8 = 1 << 5;
        self.status & (ERROR | DEVICE_FAULT) != 0
    }

    /// The address of 28 bits that a command returned which is not extended: DEVICE has the highest four.
    pub fn short_address(&self) -> u64 {
        u64::from(self.device & 0xf) << 24 | self.lba & 0xff_ffff
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_register_has_its_place_in_the_block() {
        let command = Command {
            code: 0xb4,
            feature: 0x0102,
            count: 0x0304,
            lba: 0x0a09_0807_0605,
            device: 0x40,
            is_extended: true,
        };
        let registers = [1, 2, 3, 4, 8, 5, 9, 6, 10, 7, 0x40, 0xb4, 0];
        let block = command.non_data();
        assert_eq!(
            (&block[..3], &block[3..]),
            (&[0x85, 7, 0x20][..], &registers[..])
        );
        let block = Command::IDENTIFY_DEVICE.data_in();
        let expected = [0x85, 8, 0x0e, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0x40, 0xec, 0];
        assert_eq!(block, expected);
    }
}
