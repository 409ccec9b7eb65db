//! What came of a run, as data: what JSON is made of, and every table and page.

use jiff::Timestamp;
use serde::Serialize;
use squall_tools::measure::{Spread, machine};

use crate::spec::Spec;
use crate::verdict::{Reason, Verdict};
use crate::{equivalence, rules};

/// What the layout of a list is called; another number is another layout.
pub const LIST_FORMAT: &str = "squall-dmcrypt-list/1";

/// What the layout of a measurement is called.
pub const BENCH_FORMAT: &str = "squall-dmcrypt-bench/1";

/// What a kernel accepts.
#[derive(Clone, Debug, Serialize)]
pub struct List {
    /// [`LIST_FORMAT`].
    pub format: &'static str,
    /// When it was found out.
    pub at: Timestamp,
    /// Where.
    pub machine: Machine,
    /// Tables that were loaded, or refused.
    pub tried: usize,
    /// Whether all were tried: a run that was interrupted knows a part.
    pub is_complete: bool,
    /// What was accepted, sorted.
    pub accepted: Vec<Entry>,
}

/// The machine.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// The CPU's name.
    pub cpu: String,
    /// The kernel's release.
    pub kernel: String,
    /// squall's version.
    pub squall: String,
    /// Whether its CPU is a program: speeds mean nothing then.
    pub is_emulated: bool,
}

impl Machine {
    /// This one.
    pub fn this() -> Machine {
        Machine {
            cpu: machine::cpu(),
            kernel: machine::kernel(),
            squall: env!("CARGO_PKG_VERSION").into(),
            is_emulated: machine::is_emulated(),
        }
    }
}

/// A specification that the kernel accepts.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// It.
    #[serde(flatten)]
    pub spec: Spec,
    /// What it is fit for: the worst of its reasons.
    pub verdict: Verdict,
    /// Why it is not secure; none if it is.
    pub reasons: Vec<Reason>,
    /// The specification that means the same, if this is another name of it.
    pub same_as: Option<Spec>,
}

impl Entry {
    /// What is told of `spec`.
    pub fn of(spec: Spec) -> Entry {
        let (verdict, reasons) = rules::judge(&spec);
        Entry {
            same_as: equivalence::equivalent(&spec),
            spec,
            verdict,
            reasons,
        }
    }
}

/// What was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Bench {
    /// [`BENCH_FORMAT`].
    pub format: &'static str,
    /// When it began.
    pub at: Timestamp,
    /// Where.
    pub machine: Machine,
    /// On what.
    pub backing: Backing,
    /// Rounds that were asked for.
    pub rounds: usize,
    /// Milliseconds of each sample.
    pub sample_ms: u64,
    /// Whether all of it was done: a run that was interrupted has a part.
    pub is_complete: bool,
    /// What was done, in order: every list of figures has this order.
    pub workloads: Vec<Workload>,
    /// The device without encryption.
    pub raw: Vec<Figure>,
    /// What was measured with sectors of 512 bytes and without flags, the best first.
    pub ranking: Vec<Measured>,
    /// The best few with other sizes of sectors and flags, the best first.
    pub variants: Vec<Measured>,
    /// What the kernel accepts and was not measured, and why.
    pub left_out: Vec<LeftOut>,
    /// What could not be measured, and why.
    pub failures: Vec<Failed>,
    /// What to use; none if nothing secure was measured.
    pub recommendation: Option<Recommendation>,
}

/// What is encrypted.
#[derive(Clone, Debug, Serialize)]
pub struct Backing {
    /// Memory, or a drive.
    pub kind: BackingKind,
    /// Its name, as `/dev/ram0`.
    pub name: String,
    /// Bytes of it that were used.
    pub bytes: u64,
    /// Its logical sectors, in bytes.
    pub sector: u32,
}

/// Memory, or a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BackingKind {
    /// A RAM disk.
    Ram,
    /// A device that was named.
    Device,
}

/// A way to read or write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Workload {
    /// Its name in data, as `read-sequential-deep`.
    pub name: &'static str,
    /// Its name for people, as `read 1 MiB, 8 at once`.
    pub title: String,
    /// Whether it reads or writes.
    pub direction: Direction,
    /// Bytes of a transfer.
    pub block: usize,
    /// Transfers in flight.
    pub depth: usize,
    /// Whether offsets are random.
    pub is_random: bool,
}

/// Where bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From the device.
    Read,
    /// To it.
    Write,
}

/// A specification with options, measured.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// It.
    #[serde(flatten)]
    pub spec: Spec,
    /// Options of its table.
    pub options: Options,
    /// What it is fit for.
    pub verdict: Verdict,
    /// Other specifications that were not measured because they differ only in ESSIV's digest, or
    /// in a length of key that AES does not have.
    pub stands_for: Vec<Spec>,
    /// One for each workload.
    pub figures: Vec<Figure>,
    /// Geometric mean of the medians of the ratios to the raw device, over all workloads.
    pub score: f64,
}

/// Options of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Options {
    /// Bytes of a sector of encryption.
    pub sector_size: u32,
    /// Whether transfers are encrypted where they come from, and not in work queues
    /// (`no_read_workqueue`, `no_write_workqueue`).
    pub no_workqueues: bool,
}

impl Options {
    /// None: how every specification is measured first.
    pub const PLAIN: Options = Options {
        sector_size: 512,
        no_workqueues: false,
    };
}

/// A workload's figures of one device.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// Bytes a second.
    pub rate: Spread,
    /// Its ratio to the raw device in the same round; 1 of that itself.
    pub ratio: Spread,
    /// Bytes a second, an entry a round.
    pub samples: Vec<f64>,
}

/// What was not measured for one reason.
#[derive(Clone, Debug, Serialize)]
pub struct LeftOut {
    /// Why.
    #[serde(flatten)]
    pub reason: Reason,
    /// How many specifications, each of which is counted under its first reason only.
    pub count: usize,
    /// Mode and cipher of each, as `ctr(twofish)`, sorted.
    pub algorithms: Vec<String>,
}

/// What could not be measured.
#[derive(Clone, Debug, Serialize)]
pub struct Failed {
    /// Its name, as `aes-xts-plain64 512`.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// What to use, for swap and for a volume.
#[derive(Clone, Debug, Serialize)]
pub struct Recommendation {
    /// The specification.
    #[serde(flatten)]
    pub spec: Spec,
    /// Options of its table.
    pub options: Options,
    /// Why this one, in a sentence.
    pub why: String,
    /// The line of crypttab(5) for swap under a key of its own at each boot.
    pub swap: String,
    /// The command that makes a LUKS2 volume.
    pub luks_format: String,
    /// The command that opens it, and keeps the flags in its header.
    pub luks_open: String,
    /// The line of crypttab(5) that opens it at boot.
    pub luks_crypttab: String,
    /// What to look out for, a sentence each.
    pub notes: Vec<String>,
}
