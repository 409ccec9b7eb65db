//! The answer about one target, for programs and for people.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use squall_drives::{Identity, shown};
use squall_tool_base::text::in_a_line;
use squall_tool_base::units;

use super::contents::{BlockKind, Contents, Signature};
use crate::record::Extent;
use crate::text::grouped_digits;

/// Name and version of this layout.
pub const FORMAT: &str = "squall-blank/1";

/// What a target holds: a line of `squall blank --json`. New keys may be added while the number of the format
/// stays.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer {
    #[schemars(extend("const" = FORMAT))]
    pub format: &'static str,
    /// When the target was read to its end, or as far as was needed.
    pub at: Timestamp,
    /// The name on the command line.
    pub given: PathBuf,
    /// What it names; null if it is missing.
    pub target: Option<Identity>,
    /// Whether everything that was to be read was read and is one byte, repeated.
    pub blank: bool,
    pub verdict: Verdict,
    /// Why the target was not read to its end, or to data.
    pub reason: Option<String>,
    /// The repeated byte of a verdict `zeros`, `ones` or `byte`.
    pub byte: Option<u8>,
    /// The offset of the first byte that is not as at the beginning. If the beginning is random, or only a
    /// sample was read, the change may be earlier.
    pub first: Option<u64>,
    /// Whether only a sample was to be read.
    pub sample: bool,
    /// Bytes that were read: fewer than asked for if data was found early.
    pub read: u64,
    /// Signatures at the beginning.
    pub signatures: Vec<Signature>,
    /// Ranges that could not be read.
    pub unreadable: Vec<Extent>,
}

/// What was read looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Zeros only.
    Zeros,
    /// Bytes 0xff only.
    Ones,
    /// Another byte only.
    Byte,
    /// Random bytes, or what cannot be told from them: encrypted, and some compressed data.
    Random,
    /// Parts that are one byte each, or random, but no data.
    Mixed,
    /// Data.
    Data,
    /// Nothing is known of the contents: nothing could be read, or the reading ended early, as `reason` tells.
    Unread,
}

impl Answer {
    /// The answer about `given`, which names `target` and has these contents.
    pub fn new(
        given: &Path,
        target: Option<Identity>,
        contents: Contents,
        signatures: Vec<Signature>,
    ) -> Answer {
        let (verdict, byte, first) = match contents {
            Contents::Unknown => (Verdict::Unread, None, None),
            Contents::Uniform(BlockKind::Same(0)) => (Verdict::Zeros, Some(0), None),
            Contents::Uniform(BlockKind::Same(0xff)) => (Verdict::Ones, Some(0xff), None),
            Contents::Uniform(BlockKind::Same(byte)) => (Verdict::Byte, Some(byte), None),
            Contents::Uniform(BlockKind::Random) => (Verdict::Random, None, None),
            Contents::Uniform(BlockKind::Data) => (Verdict::Data, None, Some(0)),
            Contents::Mixed(first) => (Verdict::Mixed, None, Some(first)),
            Contents::Data(first) => (Verdict::Data, None, Some(first)),
        };
        Answer {
            format: FORMAT,
            at: Timestamp::now(),
            given: given.into(),
            target,
            blank: byte.is_some(),
            verdict,
            reason: None,
            byte,
            first,
            sample: false,
            read: 0,
            signatures,
            unreadable: Vec::new(),
        }
    }

    /// The answer about `given`, of which nothing is known, as the message `why` says.
    pub fn unread(given: &Path, target: Option<Identity>, why: &str) -> Answer {
        let named = target.as_ref().map_or(given, |target| &target.path);
        let reason = why.strip_prefix(&format!("{}: ", shown(named)));
        Answer {
            reason: Some(reason.unwrap_or(why).to_owned()),
            ..Answer::new(given, target, Contents::Unknown, Vec::new())
        }
    }

    /// The answer as a line, for programs as `json`.
    pub fn text(&self, json: bool) -> String {
        let line = match json {
            true => serde_json::to_string(self).expect("text keys"),
            false => self.line(),
        };
        line + "\n"
    }

    pub fn line(&self) -> String {
        let name = shown(&self.given);
        let serial = self.target.as_ref().and_then(Identity::lasting_serial);
        let serial = serial.map_or(String::new(), |serial| format!(" ({})", in_a_line(serial)));
        let answer = match (self.blank, self.verdict) {
            (true, _) => "blank",
            (false, Verdict::Unread) => "not read",
            (false, _) => "not blank",
        };
        let mut line = format!("{name}{serial}: {answer}: {}", self.contents());
        let unreadable: u64 = self.unreadable.iter().map(|extent| extent.length).sum();
        if unreadable > 0 {
            line += &format!("; {} could not be read", units::volume(unreadable));
        }
        let what = match self.sample {
            true => "a sample, ",
            false => "",
        };
        line + &format!(" ({what}{} read)", units::volume(self.read))
    }

    fn contents(&self) -> String {
        let first = grouped_digits(self.first.unwrap_or(0));
        match self.verdict {
            Verdict::Zeros => "zeros".into(),
            Verdict::Ones => "ones".into(),
            Verdict::Byte => format!("bytes {:#04x}", self.byte.unwrap_or(0)),
            Verdict::Random => "it looks random: wiped with random bytes, or encrypted".into(),
            Verdict::Mixed => format!("no data, but it changes at byte {first}"),
            Verdict::Data => {
                let mut names: Vec<_> = self.signatures.iter().map(|found| found.name).collect();
                names.dedup();
                match names[..] {
                    [] => format!("data from byte {first} on"),
                    _ => format!("data from byte {first} on: {}", names.join(", ")),
                }
            }
            Verdict::Unread => {
                let reason = self.reason.as_deref().map(in_a_line);
                reason.unwrap_or_else(|| "nothing could be read".into())
            }
        }
    }
}
