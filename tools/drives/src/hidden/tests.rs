//! A model of ATA drives: old and new ones, with areas and without.

use super::*;

/// A drive as its registers and data show it.
#[derive(Clone)]
struct Model {
    /// Sectors that it shows, that it would show without an area, and that it has.
    sectors: [u64; 3],
    words: Vec<(usize, u16)>,
    /// The codes of the commands that it takes, besides IDENTIFY DEVICE.
    takes: Vec<u8>,
    is_damaged: bool,
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

impl Drive for Model {
    fn read(&self, command: Command, data: &mut [u8; 512]) -> Option<()> {
        match command {
            Command::IDENTIFY_DEVICE => *data = self.data(),
            Command::DEVICE_CONFIGURATION_IDENTIFY if self.takes.contains(&command.code) => {
                *data = self.configuration();
            }
            _ => return None,
        }
        Some(())
    }

    fn address(&self, command: Command) -> Option<u64> {
        let is_taken = self.takes.contains(&command.code);
        is_taken.then(|| self.sectors[1] - 1)
    }
}

fn model(sectors: [u64; 3], words: &[(usize, u16)], takes: &[u8]) -> Model {
    Model {
        sectors,
        words: words.to_vec(),
        takes: takes.to_vec(),
        is_damaged: false,
    }
}

const SECTORS: u64 = 7_814_037_168;

#[test]
fn areas_are_found_by_the_command_that_the_drive_has() {
    let hidden = |hpa, dco| Some(Hidden { hpa, dco });
    let long_sectors = [(106, VALID | 1 << 12), (117, 2048), (118, 0)];
    for (drive, expected) in [
        // Without any area, and with one or both.
        (model([SECTORS; 3], &[LONG], &[0x27]), hidden(0, None)),
        (
            model([SECTORS - 100, SECTORS, SECTORS], &[LONG], &[0x27]),
            hidden(51_200, None),
        ),
        (
            model([SECTORS; 3], &[LONG_WITH_OVERLAY], &[0x27, 0xb1]),
            hidden(0, Some(0)),
        ),
        (
            model(
                [SECTORS - 100, SECTORS - 10, SECTORS],
                &[LONG_WITH_OVERLAY],
                &[0x27, 0xb1],
            ),
            hidden(46_080, Some(5120)),
        ),
        // An overlay that is frozen is not told.
        (
            model(
                [SECTORS, SECTORS, SECTORS + 1],
                &[LONG_WITH_OVERLAY],
                &[0x27],
            ),
            hidden(0, None),
        ),
        // An old drive, with addresses of 28 bits.
        (
            model([1_000_000, 1_000_064, 0], &[], &[0xf8]),
            hidden(32_768, None),
        ),
        // A new one, with an accessible maximum address.
        (
            model(
                [SECTORS - 1, SECTORS, 0],
                &[LONG, (119, VALID | 1 << 8)],
                &[0x78],
            ),
            hidden(512, None),
        ),
        // Sectors of 4096 bytes.
        (
            model(
                [SECTORS - 1, SECTORS, 0],
                &[&[LONG][..], &long_sectors].concat(),
                &[0x27],
            ),
            hidden(4096, None),
        ),
        // It knows no such command, or is no drive.
        (model([SECTORS; 3], &[LONG], &[]), None),
        (model([0; 3], &[LONG], &[0x27]), None),
    ] {
        assert_eq!(ask(&drive), expected);
    }
}

#[test]
fn damaged_data_tells_nothing() {
    let whole = model([SECTORS; 3], &[LONG_WITH_OVERLAY], &[0x27, 0xb1]);
    let damaged = Model {
        is_damaged: true,
        ..whole.clone()
    };
    assert_eq!(ask(&whole).unwrap().dco, Some(0));
    assert_eq!(ask(&damaged).unwrap().dco, None);
}

#[test]
fn areas_have_names() {
    let of = |hpa, dco| Hidden { hpa, dco };
    assert_eq!((of(0, None).areas(), of(0, Some(0)).bytes()), ("", 0));
    assert_eq!((of(5, None).areas(), of(5, None).bytes()), ("HPA", 5));
    assert_eq!(of(0, Some(5)).areas(), "DCO");
    assert_eq!(
        (of(5, Some(5)).areas(), of(5, Some(5)).bytes()),
        ("HPA and DCO", 10)
    );
}
