//! Tests how sense data are read, which come from outside.

use super::*;

/// SANITIZE IN PROGRESS in both formats, with the progress 0x1234. Before it comes a descriptor that nobody asked for.
const BUSY: [&[u8]; 2] = [
    &[
        0x70, 0, 2, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x04, 0x1b, 0, 0x80, 0x12, 0x34,
    ],
    &[
        0x72, 2, 0x04, 0x1b, 0, 0, 0, 20, 0x00, 0x0a, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0x02, 0x06,
        0, 0, 0x80, 0x12, 0x34, 0,
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
        0x72, 1, 0, 0x1d, 0, 0, 0, 14, 9, 12, 1, 4, 0xc0, 0x12, 3, 0x34, 4, 0x56, 5, 2, 0x40, 0x50,
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
        for first in 0..=0xff {
            let mut hostile = [0xff; 32];
            hostile[0] = first;
            let _ = Sense::read(&hostile);
        }
    }
    for len in 4..18 {
        let mut fixed = vec![0; len];
        (fixed[0], fixed[2]) = (0x70, 0xb);
        if len > 4 {
            fixed[4] = 0x51;
        }
        let _ = Sense::read(&fixed);
    }
}
