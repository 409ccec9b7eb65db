//! A sanitize operation: what the three command sets have in common, and one operation from the question whether one is
//! under way to its end.
//!
//! A drive is asked what it can do, is told once to sanitize itself, and goes on alone, whatever becomes of this program
//! or of its power. So an operation that is found under way is waited for; another one is never sent into it.

use std::time::Duration;

/// What a drive does to its medium to sanitize itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It erases every block, as flash does before a block is written again.
    BlockErase,
    /// It replaces the key under which everything on its medium is encrypted.
    CryptoErase,
    /// It writes zeros over its medium, once.
    Overwrite,
}

/// All actions, in the order in which flash is asked for them.
pub const ACTIONS: [Action; 3] = [Action::BlockErase, Action::CryptoErase, Action::Overwrite];

impl Action {
    /// The name to use in sentences.
    pub fn name(self) -> &'static str {
        match self {
            Action::BlockErase => "block erase",
            Action::CryptoErase => "crypto erase",
            Action::Overwrite => "overwrite",
        }
    }
}

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

    fn status(&self) -> Result<Status, String>;

    /// Tells the drive to begin. In unrestricted mode it can leave the failure state; in restricted mode,
    /// which is all that a drive in a restricted failure accepts, only a successful operation ends that.
    fn start(&self, action: Action, mode: Mode) -> Attempt;

    /// Tells a drive whose operation has failed to serve reads and writes again.
    fn leave_failure(&self) -> Attempt;

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
    pub are_known: bool,
}

impl Actions {
    /// Those that a drive tells.
    pub fn known(all: Vec<Action>) -> Actions {
        Actions {
            all,
            are_known: true,
        }
    }
}

/// The actions whose bits are in a drive's `capabilities`; `None` if there is none.
pub fn actions_by_bits(capabilities: u16, bits: [(u16, Action); 3]) -> Option<Actions> {
    let has = bits.into_iter().filter(|(bit, _)| capabilities & bit != 0);
    let actions: Vec<_> = has.map(|(_, action)| action).collect();
    (!actions.is_empty()).then(|| Actions::known(actions))
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
    pub answer: Exchange,
}

/// A command, and what the drive answered, for the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    pub sent: String,
    pub answered: String,
}

/// A command that changes something: what was sent and answered, and whether the drive accepted it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    pub answer: Exchange,
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

/// Time between two questions about the progress.
const POLL: Duration = Duration::from_secs(1);

/// An operation whose progress stays the same for this long is given up, unless the drive itself said
/// that it takes longer.
pub const NO_PROGRESS: Duration = Duration::from_secs(3 * 3600);

/// A drive that does not tell its state for this long is given up.
pub const NO_ANSWER: Duration = Duration::from_secs(10 * 60);

/// What an operation depends on apart from the drive.
pub trait Surroundings {
    /// Time since some fixed moment.
    fn now(&self) -> Duration;

    /// Waits; false if the user wants to stop.
    fn wait(&self, time: Duration) -> bool;

    fn is_attached(&self) -> bool;

    fn record(&self, answer: Exchange);

    /// Records that an operation is under way from now on: begun now, or `found` so.
    fn under_way(&self, found: bool);

    fn progress(&self, progress: u16);
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The drive says that it has sanitized itself.
    Done,
    /// It failed, and the drive serves reads and writes.
    Failed(String),
    /// The drive may still be at work: nothing else can be done with it now.
    Stuck(String),
    /// It failed, and the drive serves no reads and writes until another operation succeeds.
    Locked(String),
    /// The user wants to stop, and the drive goes on.
    Interrupted,
    /// The drive is no longer attached.
    Vanished,
}

pub struct Operation<'a> {
    pub drive: &'a dyn Sanitizer,
    pub surroundings: &'a dyn Surroundings,
    pub action: Action,
}

impl Operation<'_> {
    /// Carries it out. `accepted` says that an earlier run of this job knew it to be under way.
    pub fn run(&self, accepted: bool) -> End {
        let first = match self.drive.status() {
            Ok(status) => status,
            Err(_) if !self.surroundings.is_attached() => return End::Vanished,
            Err(why) => return End::Stuck(format!("it does not tell its sanitize state: {why}")),
        };
        self.surroundings.record(first.answer.clone());
        match first.state {
            State::Running { action, progress } => {
                if !accepted {
                    self.surroundings.under_way(true);
                }
                match self.wait(progress) {
                    // Another one than was asked for has ended: that one is done now.
                    Ok(_) if action.is_some_and(|action| action != self.action) => {
                        self.start(Mode::Unrestricted)
                    }
                    Ok(last) => self.judge(&last),
                    Err(end) => end,
                }
            }
            State::Idle { last, succeeded } if accepted && is_ours(self.action, last) => {
                match succeeded {
                    Some(false) => self.start(Mode::Unrestricted),
                    _ => End::Done,
                }
            }
            State::Failed { .. } if accepted => self.judge(&first),
            State::Failed { mode } => self.start(mode.unwrap_or(Mode::Unrestricted)),
            State::Idle { .. } => self.start(Mode::Unrestricted),
            State::Frozen => End::Failed(FROZEN.into()),
        }
    }

    fn start(&self, mode: Mode) -> End {
        match self.drive.actions() {
            Ok(actions) if actions.all.contains(&self.action) => {}
            Ok(_) => return End::Failed(format!("it has no {}", self.action.name())),
            Err(why) => return End::Failed(why),
        }
        let mut sent = self.send(mode);
        if sent.result.is_err() && mode == Mode::Unrestricted && self.has_failed() {
            sent = self.send(Mode::Restricted);
        }
        if let Err(why) = sent.result {
            return self.refused(&format!("the drive refuses: {why}"));
        }
        self.surroundings.under_way(false);
        self.wait_and_judge(0)
    }

    /// What the state after a refusal means.
    fn refused(&self, why: &str) -> End {
        match self.drive.status().map(|status| status.state) {
            Ok(State::Failed { .. }) => End::Locked(format!("{why}; {NO_EXIT}")),
            // Somebody else was faster.
            Ok(State::Running { progress, .. }) => {
                self.surroundings.under_way(true);
                self.wait_and_judge(progress)
            }
            _ if !self.surroundings.is_attached() => End::Vanished,
            _ => End::Failed(why.into()),
        }
    }

    fn wait_and_judge(&self, progress: u16) -> End {
        match self.wait(progress) {
            Ok(last) => self.judge(&last),
            Err(end) => end,
        }
    }

    fn send(&self, mode: Mode) -> Attempt {
        let sent = self.drive.start(self.action, mode);
        self.surroundings.record(sent.answer.clone());
        sent
    }

    fn has_failed(&self) -> bool {
        let status = self.drive.status();
        status.is_ok_and(|status| matches!(status.state, State::Failed { .. }))
    }

    /// Waits for the end of an operation that is this far.
    fn wait(&self, mut last: u16) -> Result<Status, End> {
        let limit = self.limit();
        let surroundings = self.surroundings;
        let (mut moved, mut answered) = (surroundings.now(), surroundings.now());
        surroundings.progress(last);
        loop {
            let now = surroundings.now();
            match self.drive.status() {
                Ok(status) => match status.state {
                    State::Running { progress, .. } => {
                        answered = now;
                        if progress != last {
                            (last, moved) = (progress, now);
                            surroundings.progress(progress);
                        }
                    }
                    _ => {
                        surroundings.record(status.answer.clone());
                        return Ok(status);
                    }
                },
                Err(_) if !surroundings.is_attached() => return Err(End::Vanished),
                Err(why) if now.saturating_sub(answered) >= NO_ANSWER => {
                    return Err(End::Stuck(format!(
                        "it has not told its sanitize state for {} minutes: {why}",
                        NO_ANSWER.as_secs() / 60
                    )));
                }
                Err(_) => {}
            }
            if now.saturating_sub(moved) >= limit {
                return Err(End::Stuck(format!(
                    "its sanitize operation has made no progress for {} hours, at {}: power it off and on",
                    limit.as_secs() / 3600,
                    percent(last)
                )));
            }
            if !surroundings.wait(POLL) {
                return Err(End::Interrupted);
            }
        }
    }

    fn limit(&self) -> Duration {
        let estimate = self.drive.estimate(self.action).unwrap_or_default();
        NO_PROGRESS.max(estimate * 2)
    }

    /// What the state after an operation means.
    fn judge(&self, status: &Status) -> End {
        match status.state {
            State::Idle {
                succeeded: Some(false),
                ..
            } => End::Failed("the drive does not say that its sanitize operation succeeded".into()),
            State::Idle { .. } => End::Done,
            State::Frozen => End::Failed(FROZEN.into()),
            State::Running { .. } => End::Stuck("another sanitize operation has begun".into()),
            State::Failed { .. } => {
                let left = self.drive.leave_failure();
                self.surroundings.record(left.answer);
                match left.result {
                    Ok(()) => End::Failed(FAILED.into()),
                    Err(why) => End::Locked(format!(
                        "{FAILED}; it does not leave that state ({why}); {NO_EXIT}"
                    )),
                }
            }
        }
    }
}

const FAILED: &str = "the drive says that its sanitize operation failed";
const NO_EXIT: &str = "until another one succeeds it serves no reads and writes";
pub const FROZEN: &str = "its sanitize commands are frozen until it is powered off; some firmware does that when it starts";

/// Whether the last operation may be the one that was asked for.
fn is_ours(action: Action, last: Option<Action>) -> bool {
    last.is_none_or(|last| last == action)
}
