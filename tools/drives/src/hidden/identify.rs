//! The data of IDENTIFY DEVICE and of DEVICE CONFIGURATION IDENTIFY: 256 words of 16 bits, low byte first.

use super::command::{
    GET_NATIVE_MAX_ADDRESS_EXT, READ_NATIVE_MAX_ADDRESS, READ_NATIVE_MAX_ADDRESS_EXT,
};
use crate::commands::ata::{Command, words};

/// The data of IDENTIFY DEVICE.
pub struct Identified([u16; 256]);

impl Identified {
    /// `None` if it is not the data of a drive with sectors.
    pub fn of(data: &[u8; 512]) -> Option<Identified> {
        let identified = Identified(words(data));
        (identified.sectors() > 0).then_some(identified)
    }

    /// The number of sectors that the drive shows.
    pub fn sectors(&self) -> u64 {
        match self.has_long_addresses() {
            true => self.number(100, 4),
            false => self.number(60, 2),
        }
    }

    /// Bytes per logical sector.
    pub fn sector(&self) -> u64 {
        let is_long = self.is_valid(106) && self.bit(106, 12);
        match self.number(117, 2) {
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
        self.is_valid(83) && self.bit(83, 11)
    }

    fn has_accessible_max_address(&self) -> bool {
        self.is_valid(119) && self.bit(119, 8)
    }

    fn has_long_addresses(&self) -> bool {
        self.is_valid(83) && self.bit(83, 10)
    }

    /// Whether a word whose two highest bits tell that is valid.
    fn is_valid(&self, word: usize) -> bool {
        self.0[word] >> 14 == 0b01
    }

    fn bit(&self, word: usize, bit: u32) -> bool {
        self.0[word] >> bit & 1 == 1
    }

    fn number(&self, word: usize, count: usize) -> u64 {
        number(&self.0, word, count)
    }
}

/// The number of sectors without an overlay, in the data of DEVICE CONFIGURATION IDENTIFY. `None` if that is not valid.
pub fn sectors_without_overlay(data: &[u8; 512]) -> Option<u64> {
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
