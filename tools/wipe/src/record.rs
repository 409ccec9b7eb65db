//! Defines the record of a job, and with it the plans, purges, passes and outcomes that a job can have.
//!
//! The journal, from which a job is resumed, and the report of each drive have the same layout. A record
//! contains no secrets.
//!
//! All numbers of bytes are exact; times are in UTC.

mod outcome;

use std::path::PathBuf;

use clap::ValueEnum;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use squall_drives::io::QueueKind;
use squall_drives::{Health, Hidden, Identity, Kind, Target, guards};

pub use outcome::{Level, Outcome};
pub use squall_drives::erase::EraseMethod;

use crate::{content, machine};

pub use crate::content::ContentKind;
pub use crate::machine::Machine;
pub use crate::ranges::Extent;

/// Name and version of a report's layout.
pub const FORMAT: &str = "squall-wipe/1";

/// Name and version of a journal's layout: that of a report, with all drives of the job.
pub const JOURNAL: &str = "squall-wipe-journal/1";

/// A job: what was asked for, and the record of each drive.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Job {
    /// Name and version of the layout.
    // That of a journal, which has no schema, is [`JOURNAL`].
    #[schemars(extend("const" = FORMAT))]
    pub format: String,
    /// The program that wiped, and its machine.
    pub tool: Tool,
    /// When the job began, and its process ID; the names of its files begin with this.
    pub id: String,
    /// Who wipes or verifies.
    pub operator: Option<String>,
    /// Whom the drives belong to.
    pub customer: Option<String>,
    /// What was asked for.
    pub plan: Plan,
    /// One record for each target, in the order of the command line.
    pub drives: Vec<Drive>,
}

/// The program, and where it ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// Always `squall`.
    pub name: String,
    /// The program's version.
    pub version: String,
    /// The engine that computed the keystream, such as `vaes512`.
    pub engine: String,
    /// The kernel's release.
    pub kernel: String,
    /// The machine's name.
    pub host: String,
    /// The machine.
    pub machine: Option<Machine>,
}

/// How much is compared.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Every byte
    #[default]
    Full,
    /// A tenth, at random places everywhere, with both ends
    Sample,
    /// Nothing
    None,
}

/// One target, and what happened to it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Drive {
    /// The target's identity.
    pub target: Identity,
    /// Its number in the owner's inventory.
    pub asset: Option<String>,
    /// The job that wiped it, if this is the record of a later verification.
    pub wipe: Option<Wipe>,
    /// What the drive hides from its host, which was not overwritten; `None` if it is no ATA drive, or did not tell.
    pub hidden: Option<Hidden>,
    /// Its length in bytes when its part of the job ended, if that was no longer the target's: then it is incomplete.
    pub size_at_end: Option<u64>,
    /// The finished passes and the one under way.
    pub passes: Vec<Pass>,
    /// The verification, once it has begun.
    pub verification: Option<Verification>,
    /// How the drive ended; `None` while it is under way.
    pub outcome: Option<Outcome>,
    /// The level of sanitization that it has reached: none if it hides something.
    pub level: Option<Level>,
    /// What the drive says of its health.
    pub health: HealthRecord,
    /// The drive's own erase before the first pass, if one was asked for.
    pub purge: Option<Purge>,
    /// How the drive can erase itself, or why it cannot; `None` if it cannot be asked.
    pub own_erase: Option<OwnErase>,
    /// How bytes were transferred; `None` until the drive begins.
    pub transfer: Option<Transfer>,
    /// Remarks: slowness, losses, what overwriting cannot reach.
    pub notes: Vec<Note>,
}

/// What a drive says of its health.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HealthRecord {
    /// Before anything was written to it.
    pub before: Option<Health>,
    /// When its part of the job ended.
    pub after: Option<Health>,
}

/// The job that wiped a drive, in the record of a later verification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Wipe {
    /// The ID of that job.
    pub job: String,
    /// The program that wiped, and its machine.
    pub tool: Tool,
    /// Who wiped.
    pub operator: Option<String>,
}

impl Wipe {
    pub fn from_job(job: &Job) -> Wipe {
        Wipe {
            job: job.id.clone(),
            tool: job.tool.clone(),
            operator: job.operator.clone(),
        }
    }
}

/// One pass over a target.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Pass {
    /// What it writes.
    pub content: ContentKind,
    /// When it began.
    pub began: Timestamp,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// Seconds that it took, without interruptions.
    #[schemars(range(min = 0.0))]
    pub seconds: f64,
    /// Everything before this offset was overwritten or refused, and is flushed.
    pub offset: u64,
    /// Ranges that could not be overwritten.
    pub unwritten: Vec<Extent>,
    /// What was compared after it, if each pass is verified. That of the last pass is the drive's.
    pub verification: Option<Verification>,
}

/// What was compared after a pass.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Verification {
    /// How much was to be compared.
    pub scope: Scope,
    /// When it began.
    pub began: Timestamp,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// Seconds that it took, without interruptions.
    #[schemars(range(min = 0.0))]
    pub seconds: f64,
    /// Everything in scope before this offset was compared or is unreadable.
    pub offset: u64,
    /// Bytes that were compared.
    pub compared: u64,
    /// The exact number of bytes that differ.
    pub differing_bytes: u64,
    /// Ranges that differ. Differing bytes with fewer than 16 equal ones between them are one range.
    pub differing: Vec<Extent>,
    /// The number of differing ranges that are not listed.
    pub differing_unlisted: u64,
    /// Ranges that could not be read.
    pub unreadable: Vec<Extent>,
}

impl Verification {
    /// The number of bytes that could not be read.
    pub fn unreadable_bytes(&self) -> u64 {
        self.unreadable.iter().map(|extent| extent.length).sum()
    }
}

/// How bytes went to and from a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Transfer {
    /// Whether transfers went past the page cache.
    pub direct: bool,
    /// `io_uring` or `threads`.
    pub queue: QueueKind,
}

/// A remark about a drive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    /// When it was noted.
    pub at: Timestamp,
    /// The remark, as a sentence.
    pub text: String,
}

impl Job {
    /// Whether this is a report, and not a journal, which may be resumed.
    pub fn is_report(&self) -> bool {
        self.format == FORMAT
    }
}

impl Drive {
    /// The record of a target before anything was done to it.
    pub fn new(target: Identity) -> Drive {
        Drive {
            target,
            asset: None,
            wipe: None,
            hidden: None,
            size_at_end: None,
            passes: Vec::new(),
            verification: None,
            outcome: None,
            level: None,
            health: HealthRecord::default(),
            purge: None,
            own_erase: None,
            transfer: None,
            notes: Vec::new(),
        }
    }

    /// The record of a target that is known, and has remarks on what overwriting cannot reach.
    pub fn from_target(target: &Target) -> Drive {
        let mut drive = Drive::new(target.identity.clone());
        drive.hidden = target.hidden();
        if let Some(hidden) = drive.hidden.and_then(Hidden::text) {
            drive.note(format!(
            "it hides {hidden} from this machine, which is not overwritten: remove the area, for example with \
             `hdparm -N` or `hdparm --dco-restore`, and wipe the drive again"
        ));
        }
        for copy in guards::older_copies(target) {
            drive.note(format!("overwriting does not reach older copies: {copy}"));
        }
        let path = &target.identity.path;
        if let Some(name) =
            machine::copy_on_write_name(path).filter(|_| target.identity.kind == Kind::File)
        {
            drive.note(format!(
            "the file is on {name}, which does not overwrite in place: the old contents may still \
             be there; wipe the whole device"
        ));
        }
        drive
    }

    /// The verifications after its passes, with the drive's last.
    pub fn verifications(&self) -> impl Iterator<Item = &Verification> {
        let of_passes = self.passes.iter().map(|pass| &pass.verification);
        of_passes.chain([&self.verification]).flatten()
    }

    /// How many bytes were found to differ from what was written, after any of the passes.
    pub fn differing_bytes(&self) -> u64 {
        let found = self.verifications();
        found.map(|found| found.differing_bytes).sum()
    }

    /// How many bytes could not be read back, after any of the passes.
    pub fn unreadable_bytes(&self) -> u64 {
        let found = self.verifications();
        found.map(Verification::unreadable_bytes).sum()
    }

    /// Its length in bytes, with what was added to it meanwhile.
    pub fn whole(&self) -> u64 {
        let size = self.target.size;
        self.size_at_end.map_or(size, |end| end.max(size))
    }

    /// Bytes that the last pass did not overwrite: those refused, those not reached, and those added meanwhile.
    pub fn not_overwritten(&self) -> u64 {
        match self.passes.last() {
            Some(pass) => {
                let refused: u64 = pass.unwritten.iter().map(|extent| extent.length).sum();
                self.whole() - pass.offset + refused
            }
            None => self.whole(),
        }
    }

    /// Whether it is known to hide something from its host.
    pub fn hides_something(&self) -> bool {
        self.hidden.is_some_and(|hidden| hidden.bytes() > 0)
    }

    /// Why the drive's own erase failed, if it did.
    pub fn purge_failure(&self) -> Option<&str> {
        self.purge.as_ref()?.failure.as_deref()
    }

    /// Whether there is something left to resume.
    pub fn is_resumable(&self) -> bool {
        self.outcome.as_ref().is_none_or(Outcome::is_resumable)
    }

    /// Adds a note.
    pub fn note(&mut self, text: String) {
        let at = Timestamp::now();
        self.notes.push(Note { at, text });
    }
}

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// What each pass writes, in order.
    #[schemars(length(min = 1))]
    pub passes: Vec<ContentKind>,
    /// How much is read back and compared.
    pub verify: Scope,
    /// Whether it is read back after each pass, and not only after the last.
    pub verify_each: bool,
    /// Whether the keys are kept after the job.
    pub keep_key: bool,
}

impl Plan {
    /// What is done, in words.
    pub fn text(&self) -> String {
        let when = match self.verify_each {
            true => "after each pass",
            false => "then",
        };
        let verification = match self.verify {
            Scope::Full => format!("{when} every byte is read back and compared"),
            Scope::Sample => format!("{when} a tenth, at random places, is read back and compared"),
            Scope::None => "nothing is read back".into(),
        };
        format!(
            "overwritten {}; {verification}",
            content::in_words(&self.passes)
        )
    }

    /// The number of passes.
    pub fn count(&self) -> u32 {
        self.passes.len() as u32
    }

    /// What pass `number` writes, counted from 1.
    pub fn content(&self, number: u32) -> Option<ContentKind> {
        self.passes.get(number.checked_sub(1)? as usize).copied()
    }

    /// Whether one of its passes has a key. Then each has one.
    pub fn has_keys(&self) -> bool {
        self.passes.contains(&ContentKind::Keystream)
    }

    /// Whether what is on the drive in the end can only be compared with a key.
    pub fn ends_with_key(&self) -> bool {
        self.passes.last() == Some(&ContentKind::Keystream)
    }
}

/// A drive's own erase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Purge {
    /// How the drive erases itself. If it was found at that and does not tell how, this is what was asked for until it
    /// ends, and then a sanitize operation that is not told.
    pub means: EraseMethod,
    /// Whether no real drive had run squall's commands for it when it was asked for: they were tried on emulated drives
    /// only.
    pub untried_on_hardware: bool,
    /// When it began.
    pub began: Option<Timestamp>,
    /// When it ended, successfully or not.
    pub ended: Option<Timestamp>,
    /// Why it failed, if it did.
    pub failure: Option<String>,
    /// The number of the drive in this job, counted from 0, whose erase reaches this drive too: both
    /// are namespaces of one NVM subsystem. `None` if this drive is erased by itself.
    pub with: Option<usize>,
    /// What was sent and answered, if the means is a sanitize operation.
    pub sanitize: Option<Sanitize>,
}

/// What a drive told of its own erase before it was overwritten.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum OwnErase {
    /// `squall wipe --purge` has it erase itself.
    Supported {
        means: EraseMethod,
        /// The targets to name: all namespaces of the job that the erase reaches, or the drive alone.
        targets: Vec<PathBuf>,
    },
    /// `squall wipe --purge` would refuse the drive.
    Unsupported { reason: String },
}

/// A sanitize operation, which a drive carries out by itself after it has accepted the command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sanitize {
    /// Whether the operation was already under way when it was first asked about, and not begun by this job.
    pub found_under_way: bool,
    /// When the drive accepted the command, or was found at work.
    pub accepted: Option<Timestamp>,
    /// Model and serial number as the drive itself told them, if it is an ATA drive: those of the target may be an
    /// adapter's.
    pub own_name: Option<String>,
    /// Every command that changes something, and the answers about the state that decided.
    pub exchanges: Vec<Exchange>,
}

/// A command and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Exchange {
    /// When it was answered.
    pub at: Timestamp,
    /// The command's name, and its bytes or words in hexadecimal digits.
    pub sent: String,
    /// What the drive answered.
    pub answered: String,
}

impl Purge {
    /// An erase that is asked for and has not begun.
    pub fn asked(means: EraseMethod) -> Purge {
        Purge {
            means,
            untried_on_hardware: true,
            began: None,
            ended: None,
            failure: None,
            with: None,
            sanitize: None,
        }
    }

    /// How the drive erased itself, if it did.
    pub fn done(&self) -> Option<EraseMethod> {
        (self.ended.is_some() && self.failure.is_none()).then_some(self.means)
    }
}
