//! What is known of a job: the same in the journal, from which it is resumed, and in the report of
//! each drive. No secret is in it.
//!
//! All numbers of bytes are exact; times are in UTC.

use clap::ValueEnum;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use squall_drives::Identity;
use squall_drives::io::QueueKind;

/// What the layout of a report is called; another number is another layout.
pub const FORMAT: &str = "squall-wipe/1";

/// What the layout of a journal is called: that of a report, with all drives of the job.
pub const JOURNAL: &str = "squall-wipe-journal/1";

/// Everything known of a job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// [`FORMAT`] or [`JOURNAL`].
    pub format: String,
    /// What wiped.
    pub tool: Tool,
    /// When it began, as its files are called.
    pub id: String,
    /// What was asked for.
    pub plan: Plan,
    /// A record a target, in the order of the command line.
    pub drives: Vec<Drive>,
}

/// The program, and where it ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// `squall`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// How keystream was computed, as `vaes512`.
    pub engine: String,
    /// The kernel's release.
    pub kernel: String,
    /// The machine's name.
    pub host: String,
}

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// What is written.
    pub method: Method,
    /// How often.
    pub passes: u32,
    /// How much of it is compared.
    pub verify: Scope,
    /// Whether the keys outlive the job.
    pub keep_key: bool,
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Keystream of AES-256 under a key that is drawn for each drive and pass
    Random,
    /// Zeros
    Zero,
    /// Zeros, and verified: Clear of NIST SP 800-88 Rev. 1
    Clear,
}

impl Method {
    /// What a pass writes.
    pub fn content(self) -> ContentKind {
        match self {
            Method::Random => ContentKind::Keystream,
            Method::Zero | Method::Clear => ContentKind::Zeros,
        }
    }

    /// Whether each of its passes has a key.
    pub fn has_keys(self) -> bool {
        self.content() == ContentKind::Keystream
    }
}

/// How much is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Every byte
    Full,
    /// A tenth, spread as NIST SP 800-88 Rev. 1 asks for, with both ends
    Sample,
    /// Nothing
    None,
}

/// What a pass writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContentKind {
    /// Byte `i` of the target is byte `i` of [`squall::Stream`] under the pass's key.
    Keystream,
    /// Zeros.
    Zeros,
}

/// One target: what it is, and what became of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Drive {
    /// What it is.
    pub target: Identity,
    /// Its passes, the finished ones and the one under way.
    pub passes: Vec<Pass>,
    /// What was compared, if that has begun.
    pub verification: Option<Verification>,
    /// How it ended; nothing while it is under way.
    pub outcome: Option<Outcome>,
    /// Its own erase before the first pass, if that was asked for.
    pub purge: Option<Purge>,
    /// Whether transfers went past the page cache, and by what.
    pub transfer: Option<Transfer>,
    /// What else is to be known: slowness, losses, what overwriting cannot reach.
    pub notes: Vec<Note>,
}

/// A drive's own erase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Purge {
    /// By what.
    pub means: Means,
    /// When it began.
    pub began: Option<Timestamp>,
    /// When it ended, well or not.
    pub ended: Option<Timestamp>,
    /// Why it failed, if it did.
    pub failure: Option<String>,
}

impl Purge {
    /// One that is asked for.
    pub fn asked(means: Means) -> Purge {
        Purge {
            means,
            began: None,
            ended: None,
            failure: None,
        }
    }

    /// By what the drive erased itself, if it did.
    pub fn done(&self) -> Option<Means> {
        (self.ended.is_some() && self.failure.is_none()).then_some(self.means)
    }
}

/// By what a drive erases itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Means {
    /// Format NVM of NVM Express, with User Data Erase.
    NvmeFormat,
    /// The kernel's secure discard.
    SecureDiscard,
}

impl Means {
    /// As it stands in sentences.
    pub fn name(self) -> &'static str {
        match self {
            Means::NvmeFormat => "Format NVM with User Data Erase",
            Means::SecureDiscard => "secure discard",
        }
    }
}

/// One pass over a target.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pass {
    /// What it writes.
    pub content: ContentKind,
    /// When it began.
    pub began: Timestamp,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// Time it took, without interruptions, in seconds.
    pub seconds: f64,
    /// Everything before this offset is dealt with and flushed.
    pub offset: u64,
    /// What could not be overwritten.
    pub unwritten: Vec<Extent>,
}

/// What was compared after the last pass.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Verification {
    /// How much was to be.
    pub scope: Scope,
    /// When it began.
    pub began: Timestamp,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// Time it took, without interruptions, in seconds.
    pub seconds: f64,
    /// Everything before this offset is dealt with.
    pub offset: u64,
    /// Bytes that were compared.
    pub compared: u64,
    /// Bytes that differ, exactly.
    pub differing_bytes: u64,
    /// Where they are: differing bytes with fewer than 16 equal ones between them are one range.
    pub differing: Vec<Extent>,
    /// Ranges that differ beyond those that are listed.
    pub differing_unlisted: u64,
    /// What could not be read.
    pub unreadable: Vec<Extent>,
}

/// A range of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    /// The first.
    pub offset: u64,
    /// How many.
    pub length: u64,
}

/// How bytes went to and from a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transfer {
    /// Whether past the page cache.
    pub direct: bool,
    /// `io_uring` or `threads`.
    pub queue: QueueKind,
}

/// How a drive's part of a job ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// All of it was overwritten, and everything compared is as it was written.
    Verified,
    /// All of it was overwritten; nothing was compared, as asked.
    Overwritten,
    /// Some of it could not be overwritten, or could not be read back, or its own erase failed.
    Incomplete,
    /// What is on it is not what was written.
    Differs,
    /// Its user ended the job.
    Interrupted,
    /// It disappeared.
    Vanished,
    /// It could not go on.
    Failed {
        /// Why.
        reason: String,
    },
    /// It was given up, as one that has died.
    Dead {
        /// Why.
        reason: String,
    },
}

impl Outcome {
    /// Whether everything that was asked for was done.
    pub fn is_success(&self) -> bool {
        matches!(self, Outcome::Verified | Outcome::Overwritten)
    }

    /// Whether there is something left to resume.
    pub fn is_resumable(&self) -> bool {
        matches!(
            self,
            Outcome::Interrupted | Outcome::Vanished | Outcome::Failed { .. }
        )
    }
}

/// Something else to be known of a drive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// When it was noted.
    pub at: Timestamp,
    /// A sentence.
    pub text: String,
}

impl Job {
    /// Whether this is no journal, from which something could be resumed.
    pub fn is_report(&self) -> bool {
        self.format == FORMAT
    }
}

impl Drive {
    /// A target to which nothing was done yet.
    pub fn new(target: Identity) -> Drive {
        Drive {
            target,
            passes: Vec::new(),
            verification: None,
            outcome: None,
            purge: None,
            transfer: None,
            notes: Vec::new(),
        }
    }

    /// Bytes that the last pass did not overwrite: refused ones, and those it did not come to.
    pub fn not_overwritten(&self) -> u64 {
        match self.passes.last() {
            Some(pass) => {
                let refused: u64 = pass.unwritten.iter().map(|extent| extent.length).sum();
                self.target.size - pass.offset + refused
            }
            None => self.target.size,
        }
    }

    /// Why its own erase failed, if it did.
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
