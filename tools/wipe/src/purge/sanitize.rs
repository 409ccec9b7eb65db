//! What the three command sets have in common: a drive is asked what it can do, is told once to
//! sanitize itself, goes on alone, and tells how far it is.

use std::time::Duration;

use crate::record::Action;

/// A fraction of a sanitize operation is reported as a numerator of this.
pub const WHOLE: u32 = 1 << 16;

/// A drive that can be asked to sanitize itself.
pub trait Sanitizer {
    /// The actions that the drive has. Fails with the reason if it has none, or if one would reach
    /// something that is not to be erased.
    fn actions(&self) -> Result<Actions, String>;

    /// The drive's own model and serial number, where the kernel may show those of an adapter; otherwise `None`.
    fn own_name(&self) -> Result<Option<String>, String> {
        Ok(None)
    }

    /// Asks for the state.
    fn status(&self) -> Result<Status, String>;

    /// Tells the drive to begin. In unrestricted mode it can leave the failure state; in restricted mode,
    /// which is all that a drive in a restricted failure accepts, only a successful operation ends that.
    fn start(&self, action: Action, mode: Mode) -> Sent;

    /// Tells a drive whose operation has failed to serve reads and writes again.
    fn leave_failure(&self) -> Sent;

    /// How long the drive says that an operation takes.
    fn estimate(&self, _action: Action) -> Option<Duration> {
        None
    }
}

/// The actions that a drive has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actions {
    /// Those that it has, or may have if it does not tell.
    pub all: Vec<Action>,
    /// Whether the drive tells them. A SCSI drive that is sanitizing itself, or has failed in it, may tell nothing else.
    pub are_told: bool,
}

impl Actions {
    /// Those that a drive tells.
    pub fn told(all: Vec<Action>) -> Actions {
        Actions {
            all,
            are_told: true,
        }
    }
}

/// How a failed operation can be left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// By a command, too.
    Unrestricted,
    /// Only by an operation that succeeds.
    Restricted,
}

/// A state and the answer that tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    pub state: State,
    /// The command that asked, and what the drive answered.
    pub answer: Answered,
}

/// A command, and what the drive answered, for the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    pub sent: String,
    pub answered: String,
}

/// A command that changes something: what was sent and answered, and whether the drive accepted it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    pub answer: Answered,
    pub result: Result<(), String>,
}

/// What a drive is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing; the last operation was of this kind and ended like this, if the drive tells.
    Idle {
        last: Option<Action>,
        succeeded: Option<bool>,
    },
    /// It sanitizes itself, and is this far (of [`WHOLE`]).
    Running {
        action: Option<Action>,
        progress: u16,
    },
    /// Its last operation failed; it serves no reads and writes. In this mode, if the drive tells.
    Failed { mode: Option<Mode> },
    /// It accepts no sanitize command until it is powered off.
    Frozen,
}

/// A fraction for people.
pub fn percent(progress: u16) -> String {
    format!("{} %", u32::from(progress) * 100 / WHOLE)
}
