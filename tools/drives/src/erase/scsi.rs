//! SANITIZE of SCSI drives, whose progress REQUEST SENSE tells (SBC-4, sections 4.11 and 5.30; SPC-5).

use std::time::Duration;

use super::sanitize::{Action, Actions, Attempt, Exchange, Mode, Sanitizer, State, Status};
use crate::commands::scsi::{self, Data, Reply, Scsi};
use crate::commands::sense::{Sense, code, key};

/// Time for a command. What takes longer goes on after its command has ended.
const TIMEOUT: Duration = Duration::from_secs(5 * 60);

pub fn send(drive: &dyn Scsi, block: &[u8], data: Data<'_>) -> Result<Reply, String> {
    scsi::send(drive, block, data, TIMEOUT)
}

/// A page of vital product data; `None` if the drive has no such page.
pub fn vital_product_data(drive: &dyn Scsi, page: u8) -> Option<Vec<u8>> {
    const INQUIRY: u8 = 0x12;
    const ENABLE_VITAL_PRODUCT_DATA: u8 = 1;
    const LEN: u16 = 572;
    let mut data = vec![0; LEN.into()];
    let [high, low] = LEN.to_be_bytes();
    let block = [INQUIRY, ENABLE_VITAL_PRODUCT_DATA, page, high, low, 0];
    let reply = send(drive, &block, Data::In(&mut data)).ok()?;
    (reply.is_good() && data[1] == page).then_some(data)
}

/// Bytes as pairs of hexadecimal digits.
pub fn digits(bytes: &[u8]) -> String {
    let digits: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.join(" ")
}

/// Operation codes.
mod opcode {
    pub const TEST_UNIT_READY: u8 = 0x00;
    pub const REQUEST_SENSE: u8 = 0x03;
    pub const SANITIZE: u8 = 0x48;
    pub const MAINTENANCE_IN: u8 = 0xa3;
}

/// Service actions of SANITIZE.
mod service {
    pub const OVERWRITE: u8 = 0x01;
    pub const BLOCK_ERASE: u8 = 0x02;
    pub const CRYPTOGRAPHIC_ERASE: u8 = 0x03;
    pub const EXIT_FAILURE_MODE: u8 = 0x1f;
}

/// Bits beside the service action of SANITIZE: the drive answers at once and goes on (IMMED), and the
/// failure state can be left by a command (AUSE).
const IMMEDIATE: u8 = 1 << 7;
const UNRESTRICTED: u8 = 1 << 5;

/// Parameters of an overwrite: one pass (OVERWRITE COUNT) of a pattern of four zeros.
const PARAMETERS: [u8; 8] = [1, 0, 0, 4, 0, 0, 0, 0];

/// A logical unit.
pub struct LogicalUnit<'a>(pub &'a dyn Scsi);

impl LogicalUnit<'_> {
    /// Whether the drive has a service action of SANITIZE, by REPORT SUPPORTED OPERATION CODES. `None` if it does not
    /// tell before it has sanitized itself.
    fn has(&self, service: u8) -> Result<Option<bool>, String> {
        const REPORT_SUPPORTED_OPERATION_CODES: u8 = 0x0c;
        const ONE_COMMAND_WITH_SERVICE_ACTION: u8 = 0b010;
        const LEN: u8 = 64;
        let mut data = [0; LEN as usize];
        let block = [
            opcode::MAINTENANCE_IN,
            REPORT_SUPPORTED_OPERATION_CODES,
            ONE_COMMAND_WITH_SERVICE_ACTION,
            opcode::SANITIZE,
            0,
            service,
            0,
            0,
            0,
            LEN,
            0,
            0,
        ];
        let reply = send(self.0, &block, Data::In(&mut data))?;
        match (reply.is_good(), reply.sense) {
            (true, _) => {}
            (false, Some(sense)) if is_of_sanitize(&sense) => return Ok(None),
            (false, _) => return Err("it does not report whether it has SANITIZE".into()),
        }
        /// Whether it is supported (SUPPORT), and which logical units it affects (MLU).
        const SUPPORTED: u8 = 0b011;
        const OTHERS: u8 = 0b10;
        let (support, units) = (data[1] & 0b111, data[1] >> 5 & 0b11);
        if support == SUPPORTED && units & OTHERS != 0 {
            return Err("its SANITIZE reaches other logical units, too".into());
        }
        Ok(Some(support == SUPPORTED))
    }

    fn send(&self, service: u8, flags: u8, parameters: &[u8]) -> Attempt {
        let [high, low] = (parameters.len() as u16).to_be_bytes();
        let block = [
            opcode::SANITIZE,
            flags | service,
            0,
            0,
            0,
            0,
            0,
            high,
            low,
            0,
        ];
        let data = match parameters {
            [] => Data::None,
            bytes => Data::Out(bytes),
        };
        let reply = send(self.0, &block, data);
        let answered = match &reply {
            Ok(reply) => reply.text(),
            Err(why) => why.clone(),
        };
        let result = match reply {
            Ok(reply) if reply.is_good() => Ok(()),
            _ => Err(answered.clone()),
        };
        let mut sent = format!("SANITIZE, CDB {}", digits(&block));
        if !parameters.is_empty() {
            sent += &format!(", parameters {}", digits(parameters));
        }
        let answer = Exchange { sent, answered };
        Attempt { answer, result }
    }

    /// The sense data that the drive has about its own state.
    fn own_sense(&self) -> Result<Sense, String> {
        const LEN: u8 = 252;
        let mut data = [0; LEN as usize];
        let block = [opcode::REQUEST_SENSE, 0, 0, 0, LEN, 0];
        let reply = send(self.0, &block, Data::In(&mut data))?;
        let sense = match reply.is_good() {
            true => Sense::read(&data),
            false => reply.sense,
        };
        sense.ok_or_else(|| format!("REQUEST SENSE: {}", reply.text()))
    }
}

impl Sanitizer for LogicalUnit<'_> {
    fn actions(&self) -> Result<Actions, String> {
        let mut actions = Actions::known(Vec::new());
        for (action, service) in [
            (Action::BlockErase, service::BLOCK_ERASE),
            (Action::CryptoErase, service::CRYPTOGRAPHIC_ERASE),
            (Action::Overwrite, service::OVERWRITE),
        ] {
            let answer = self.has(service)?;
            actions.are_known &= answer.is_some();
            if answer.unwrap_or(true) {
                actions.all.push(action);
            }
        }
        match actions.all.is_empty() {
            true => Err("it has no SANITIZE".into()),
            false => Ok(actions),
        }
    }

    fn status(&self) -> Result<Status, String> {
        let mut asked = "REQUEST SENSE";
        let mut sense = self.own_sense()?;
        if !is_of_sanitize(&sense) {
            // A drive that is at work, or has failed, tells it here at the latest.
            let block = [opcode::TEST_UNIT_READY, 0, 0, 0, 0, 0];
            let reply = send(self.0, &block, Data::None)?;
            (asked, sense) = match (reply.is_good(), reply.sense) {
                (true, _) => (asked, IDLE),
                (false, Some(sense)) => ("TEST UNIT READY", sense),
                (false, None) => return Err(format!("TEST UNIT READY: {}", reply.text())),
            };
        }
        let state = match sense.code {
            code::SANITIZE_IN_PROGRESS => State::Running {
                action: None,
                progress: sense.progress.unwrap_or(0),
            },
            code::SANITIZE_FAILED => State::Failed { mode: None },
            _ if sense == IDLE => State::Idle {
                last: None,
                succeeded: None,
            },
            _ => return Err(sense.text()),
        };
        let answer = Exchange {
            sent: asked.into(),
            answered: sense.text(),
        };
        Ok(Status { state, answer })
    }

    fn start(&self, action: Action, mode: Mode) -> Attempt {
        let flags = match mode {
            Mode::Unrestricted => IMMEDIATE | UNRESTRICTED,
            Mode::Restricted => IMMEDIATE,
        };
        match action {
            Action::BlockErase => self.send(service::BLOCK_ERASE, flags, &[]),
            Action::CryptoErase => self.send(service::CRYPTOGRAPHIC_ERASE, flags, &[]),
            Action::Overwrite => self.send(service::OVERWRITE, flags, &PARAMETERS),
        }
    }

    fn leave_failure(&self) -> Attempt {
        self.send(service::EXIT_FAILURE_MODE, 0, &[])
    }
}

/// Whether a drive that sends this is at work or has failed.
fn is_of_sanitize(sense: &Sense) -> bool {
    [code::SANITIZE_IN_PROGRESS, code::SANITIZE_FAILED].contains(&sense.code)
}

/// What a drive has to say that is ready.
const IDLE: Sense = Sense {
    key: key::NO_SENSE,
    code: code::NONE,
    progress: None,
    registers: None,
};
