//! The state machine of sanitize operations that the three standards describe (NVM Express Base
//! Specification 2.1, figure 649; SBC-4, section 4.11; ACS-4, section 4.17.10): a model of a drive behind the
//! commands, which gets further with each question about its progress, and can fail, stall and be powered off.

use crate::erase::Action;

/// What the drive is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    Nothing,
    Processing,
    Failure,
    Frozen,
}

/// What becomes of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Succeeds,
    Fails,
    /// It stays at the same place.
    Stalls,
}

/// Why a command is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    InProgress,
    /// In a restricted failure, only a restricted operation may begin.
    Restricted,
    Frozen,
    /// There is no failure to leave.
    NoFailure,
}

#[derive(Debug)]
pub struct Machine {
    pub doing: Doing,
    /// The last operation, and whether its failure may be left by a command.
    pub last: Option<(Action, bool)>,
    pub succeeded: bool,
    pub fate: Fate,
    /// How far the operation is, of 65536.
    pub progress: u16,
    /// How far it gets from one question to the next.
    pub step: u16,
    /// Operations that were begun.
    pub begun: Vec<(Action, bool)>,
}

impl Default for Machine {
    fn default() -> Machine {
        Machine {
            doing: Doing::Nothing,
            last: None,
            succeeded: false,
            fate: Fate::Succeeds,
            progress: 0xffff,
            step: 0x4000,
            begun: Vec::new(),
        }
    }
}

impl Machine {
    /// Begins an operation.
    pub fn begin(&mut self, action: Action, unrestricted: bool) -> Result<(), Refusal> {
        match (self.doing, self.last) {
            (Doing::Processing, _) => return Err(Refusal::InProgress),
            (Doing::Frozen, _) => return Err(Refusal::Frozen),
            (Doing::Failure, Some((_, false))) if unrestricted => return Err(Refusal::Restricted),
            _ => {}
        }
        self.doing = Doing::Processing;
        self.last = Some((action, unrestricted));
        self.succeeded = false;
        self.progress = 0;
        self.begun.push((action, unrestricted));
        Ok(())
    }

    /// Time passes, between two questions.
    pub fn go_on(&mut self) {
        if self.doing != Doing::Processing || self.fate == Fate::Stalls {
            return;
        }
        match self.progress.checked_add(self.step) {
            Some(progress) => self.progress = progress,
            None => {
                self.succeeded = self.fate == Fate::Succeeds;
                self.doing = match self.fate {
                    Fate::Succeeds => Doing::Nothing,
                    _ => Doing::Failure,
                };
            }
        }
    }

    /// Leaves the failure state.
    pub fn leave_failure(&mut self) -> Result<(), Refusal> {
        match (self.doing, self.last) {
            (Doing::Processing, _) => Err(Refusal::InProgress),
            (Doing::Failure, Some((_, true))) => {
                self.doing = Doing::Nothing;
                Ok(())
            }
            (Doing::Failure, _) => Err(Refusal::Restricted),
            _ => Err(Refusal::NoFailure),
        }
    }

    /// Loses power and gets it back: an operation goes on where it was, a failure stays, frozen ends.
    pub fn lose_power(&mut self) {
        if self.doing == Doing::Frozen {
            self.doing = Doing::Nothing;
        }
    }
}
