//! A model of a SCSI drive, which accepts nothing but blocks that are right in every byte.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use crate::commands::scsi::{Data, Reply, Scsi};
use crate::commands::sense::Sense;

use super::machine::{Doing, Machine, Refusal};
use crate::erase::Action;

pub struct Drive {
    pub machine: RefCell<Machine>,
    /// Service actions of SANITIZE that it has.
    pub services: Vec<u8>,
    /// Which logical units SANITIZE affects (MLU); 0 is "not reported".
    pub units: u8,
    /// Whether its sense data have descriptors.
    pub descriptors: bool,
    /// Whether it tells its progress only to TEST UNIT READY.
    pub is_quiet: bool,
    /// How often it has something else to tell before it carries out a command.
    pub attentions: Cell<u32>,
}

impl Default for Drive {
    fn default() -> Drive {
        Drive {
            machine: RefCell::default(),
            services: vec![1, 2, 3],
            units: 0,
            descriptors: false,
            is_quiet: false,
            attentions: Cell::new(0),
        }
    }
}

const NONE: (u8, u8, u8) = (0, 0, 0);
const IN_PROGRESS: (u8, u8, u8) = (2, 0x04, 0x1b);
const FAILED: (u8, u8, u8) = (3, 0x31, 0x03);
const INVALID_OPCODE: (u8, u8, u8) = (5, 0x20, 0);
const INVALID_FIELD: (u8, u8, u8) = (5, 0x24, 0);

impl Scsi for Drive {
    fn command(&self, block: &[u8], data: Data<'_>, _: Duration) -> Result<Reply, String> {
        let attentions = self.attentions.get();
        if attentions > 0 {
            self.attentions.set(attentions - 1);
            return Ok(self.check((6, 0x29, 0)));
        }
        Ok(match (block, data) {
            ([0x00, rest @ ..], Data::None) => {
                assert_eq!(rest, [0; 5]);
                self.machine.borrow_mut().go_on();
                self.ready()
            }
            ([0x03, rest @ ..], Data::In(data)) => {
                assert_eq!((rest, data.len()), (&[0, 0, 0, 252, 0][..], 252));
                if !self.is_quiet {
                    self.machine.borrow_mut().go_on();
                }
                let sense = match self.trouble() {
                    Some(code) if !self.is_quiet => self.sense(code),
                    _ => self.sense(NONE),
                };
                data[..sense.len()].copy_from_slice(&sense);
                Reply::default()
            }
            ([0x48, rest @ ..], data) => self.sanitize(rest, data),
            ([0xa3, rest @ ..], Data::In(data)) => self.supports(rest, data),
            _ => self.check(INVALID_OPCODE),
        })
    }
}

impl Drive {
    /// What the drive is at or in, which refuses other commands.
    fn trouble(&self) -> Option<(u8, u8, u8)> {
        match self.machine.borrow().doing {
            Doing::Processing => Some(IN_PROGRESS),
            Doing::Failure => Some(FAILED),
            _ => None,
        }
    }

    fn ready(&self) -> Reply {
        self.trouble()
            .map_or_else(Reply::default, |code| self.check(code))
    }

    fn supports(&self, rest: &[u8], data: &mut [u8]) -> Reply {
        // One command, with its service action, and 64 bytes of answer.
        let [0x0c, 0b010, 0x48, 0, service, 0, 0, 0, 64, 0, 0] = *rest else {
            panic!("{rest:02x?}");
        };
        assert_eq!(data.len(), 64);
        if let Some(code) = self.trouble() {
            return self.check(code);
        }
        let support = if self.services.contains(&service) {
            3
        } else {
            1
        };
        data[1] = self.units << 5 | support;
        data[3] = 10;
        Reply::default()
    }

    fn sanitize(&self, rest: &[u8], data: Data<'_>) -> Reply {
        let [flags, 0, 0, 0, 0, 0, high, low, 0] = *rest else {
            panic!("{rest:02x?}");
        };
        let service = flags & 0x1f;
        let parameters = match data {
            Data::None => &[][..],
            Data::Out(bytes) => bytes,
            Data::In(_) => panic!("nothing comes from the drive"),
        };
        assert_eq!(parameters.len(), usize::from(high) << 8 | usize::from(low));
        let mut machine = self.machine.borrow_mut();
        let result = match service {
            0x1f => {
                assert_eq!((flags, parameters), (0x1f, &[][..]));
                machine.leave_failure()
            }
            _ if !self.services.contains(&service) => return self.check(INVALID_FIELD),
            _ => {
                // At once, and no zone is kept as it is.
                assert_eq!(flags & 0xc0, 0x80);
                let unrestricted = flags & 0x20 != 0;
                let action = match service {
                    1 => Action::Overwrite,
                    2 => Action::BlockErase,
                    _ => Action::CryptoErase,
                };
                match action {
                    // One pass, not inverted, with a pattern of as many zeros as it says.
                    Action::Overwrite => {
                        assert_eq!(parameters[..4], [1, 0, 0, 4]);
                        assert_eq!(parameters[4..], [0; 4]);
                    }
                    _ => assert!(parameters.is_empty()),
                }
                machine.begin(action, unrestricted)
            }
        };
        match result {
            Ok(()) | Err(Refusal::NoFailure) => Reply::default(),
            Err(Refusal::InProgress) => self.check_at(IN_PROGRESS, machine.progress),
            Err(_) => self.check(INVALID_FIELD),
        }
    }

    fn check(&self, code: (u8, u8, u8)) -> Reply {
        let progress = self
            .machine
            .try_borrow()
            .map_or(0, |machine| machine.progress);
        self.check_at(code, progress)
    }

    fn check_at(&self, code: (u8, u8, u8), progress: u16) -> Reply {
        let sense = sense(code, progress, self.descriptors);
        Reply {
            status: 2,
            sense: Sense::read(&sense),
            ..Reply::default()
        }
    }

    fn sense(&self, code: (u8, u8, u8)) -> Vec<u8> {
        sense(code, self.machine.borrow().progress, self.descriptors)
    }
}

/// Sense data in one of the two formats. They have a progress if an operation is in progress.
pub fn sense((key, code, qualifier): (u8, u8, u8), progress: u16, descriptors: bool) -> Vec<u8> {
    let is_at_work = (key, code, qualifier) == IN_PROGRESS;
    let [high, low] = progress.to_be_bytes();
    if descriptors {
        let mut sense = vec![0x72, key, code, qualifier, 0, 0, 0, 0];
        // A descriptor that nobody asked for: Information.
        sense.extend([0x00, 0x0a, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 7]);
        if is_at_work {
            sense.extend([0x02, 0x06, 0, 0, 0x80, high, low, 0]);
        }
        sense[7] = (sense.len() - 8) as u8;
        return sense;
    }
    let mut sense = vec![0; 18];
    (sense[0], sense[2], sense[7]) = (0x70, key, 10);
    (sense[12], sense[13]) = (code, qualifier);
    if is_at_work {
        sense[15..].copy_from_slice(&[0x80, high, low]);
    }
    sense
}
