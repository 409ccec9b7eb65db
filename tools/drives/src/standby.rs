//! Puts a drive into standby: its medium stops, and starts again when it is used.
//!
//! Commands are STANDBY IMMEDIATE (ACS-4, section 7.53) and START STOP UNIT (SBC-4, section 5.31).

use std::time::Duration;

use crate::commands::ata::Command;
use crate::commands::scsi::{Data, Scsi, send};

/// How long a drive may take to write its cache and to stop.
const TIMEOUT: Duration = Duration::from_secs(60);

const STANDBY_IMMEDIATE: Command = Command {
    code: 0xe0,
    count: 0,
    ..Command::IDENTIFY_DEVICE
};

/// START STOP UNIT with the power condition STANDBY.
const START_STOP_UNIT: [u8; 6] = [0x1b, 0, 0, 0, 3 << 4, 0];

/// Puts `drive` into standby. Tries the ATA command first if the drive may be one that `takes_ata_commands`. The error is
/// the reason why the drive refused.
pub(crate) fn standby(drive: &dyn Scsi, takes_ata_commands: bool) -> Result<(), String> {
    if !takes_ata_commands {
        return by_scsi(drive);
    }
    by_ata(drive).or_else(|why| by_scsi(drive).map_err(|_| why))
}

fn by_ata(drive: &dyn Scsi) -> Result<(), String> {
    let reply = send(drive, &STANDBY_IMMEDIATE.non_data(), Data::None, TIMEOUT)?;
    match reply.sense.and_then(|sense| sense.registers) {
        Some(registers) if !registers.is_error() => Ok(()),
        None if reply.is_good() => Ok(()),
        _ => Err(format!("STANDBY IMMEDIATE: {}", reply.text())),
    }
}

fn by_scsi(drive: &dyn Scsi) -> Result<(), String> {
    let reply = send(drive, &START_STOP_UNIT, Data::None, TIMEOUT)?;
    match reply.is_good() {
        true => Ok(()),
        false => Err(format!("START STOP UNIT: {}", reply.text())),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::commands::ata::Registers;
    use crate::commands::scsi::{Reply, model};
    use crate::commands::sense::Sense;
    use crate::commands::sense::tests::reply_with;

    const ATA: &[u8] = &[0x85, 6, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x40, 0xe0, 0];
    const SCSI: &[u8] = &[0x1b, 0, 0, 0, 0x30, 0];

    /// Drives that take some of the commands, behind translations that return registers or do not.
    #[test]
    fn drives_stop_by_the_commands_that_they_have() {
        let ata = "STANDBY IMMEDIATE: ";
        let scsi = "START STOP UNIT: ";
        for (has_registers, (asked_by_ata, takes_ata, takes_scsi, commands, refusal)) in [
            (true, true, false, vec![ATA], None),
            // A bridge that passes no ATA commands on.
            (true, false, true, vec![ATA, SCSI], None),
            (true, false, false, vec![ATA, SCSI], Some(ata)),
            (false, false, true, vec![SCSI], None),
            (false, true, false, vec![SCSI], Some(scsi)),
        ]
        .into_iter()
        .flat_map(|case| [true, false].map(|has_registers| (has_registers, case.clone())))
        {
            let sent = RefCell::new(Vec::new());
            let registers = |status, error| Registers {
                status,
                error,
                ..Registers::default()
            };
            let drive = model(|block, _| {
                sent.borrow_mut().push(block.to_vec());
                match (block == ATA, takes_ata) {
                    (true, true) if has_registers => reply_with(registers(0x50, 0), false),
                    (true, true) => Reply::default(),
                    // The drive aborts the command.
                    (true, false) if has_registers => reply_with(registers(0x51, 4), false),
                    (false, _) if takes_scsi => Reply::default(),
                    _ => Reply {
                        status: Reply::CHECK_CONDITION,
                        sense: Sense::read(&[0x72, 5, 0x20, 0, 0, 0, 0, 0]),
                        ..Reply::default()
                    },
                }
            });
            let stopped = standby(&drive, asked_by_ata);
            drop(drive);
            assert_eq!(sent.into_inner(), commands);
            match (stopped, refusal) {
                (Err(why), Some(start)) => assert!(why.starts_with(start), "{why}"),
                (stopped, refusal) => assert!(stopped.is_ok() && refusal.is_none()),
            }
        }
    }
}
