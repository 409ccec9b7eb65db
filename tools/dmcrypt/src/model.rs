//! The results of a run as data: the JSON output, and the source of every table and page.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use squall_tool_base::measure::{Spread, machine};

use crate::rules::{Reason, Verdict};
use crate::spec::Spec;
use crate::{candidates, rules};

/// Name and version of the list's JSON layout; a new layout gets a new number.
pub const LIST_FORMAT: &str = "squall-dmcrypt-list/1";

/// Name and version of the benchmark's JSON layout.
pub const BENCH_FORMAT: &str = "squall-dmcrypt-bench/1";

/// The specifications that a kernel accepts.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct List {
    /// Name and version of the layout.
    #[schemars(extend("const" = LIST_FORMAT))]
    pub format: &'static str,
    /// When the survey ended.
    pub at: Timestamp,
    /// The machine that was surveyed.
    pub machine: CpuAndKernel,
    /// How many tables were loaded or refused.
    pub tried: usize,
    /// Whether all candidates were tried; false if the run was interrupted.
    pub is_complete: bool,
    /// Whether the kernel has dm-integrity; without it, it accepts nothing authenticated.
    pub has_integrity: bool,
    /// Accepted specifications, sorted.
    pub accepted: Vec<Entry>,
}

/// The machine that a report is about.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CpuAndKernel {
    /// The CPU's name.
    pub cpu: String,
    /// The kernel's release.
    pub kernel: String,
    /// squall's version.
    pub squall: String,
    /// Whether the CPU is emulated or the kernel is user-mode Linux, which makes every speed meaningless.
    pub is_emulated: bool,
}

impl CpuAndKernel {
    /// Describes this machine.
    pub fn this() -> CpuAndKernel {
        CpuAndKernel {
            cpu: machine::cpu(),
            kernel: machine::kernel(),
            squall: env!("CARGO_PKG_VERSION").into(),
            is_emulated: machine::is_emulated() || machine::is_user_mode(),
        }
    }
}

/// A specification that the kernel accepts.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Entry {
    #[serde(flatten)]
    pub spec: Spec,
    /// The worst verdict of its reasons; secure if there is none.
    pub verdict: Verdict,
    /// Why it is not secure; empty if it is.
    pub reasons: Vec<Reason>,
    /// The canonical specification that means the same, if this is another name for it.
    pub same_as: Option<Spec>,
}

impl Entry {
    /// Judges `spec`.
    pub fn from_spec(spec: Spec) -> Entry {
        let (verdict, reasons) = rules::judge(&spec);
        Entry {
            same_as: candidates::equivalent(&spec),
            spec,
            verdict,
            reasons,
        }
    }
}

/// The result of a benchmark.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Bench {
    /// Name and version of the layout.
    #[schemars(extend("const" = BENCH_FORMAT))]
    pub format: &'static str,
    /// When the measurement began.
    pub at: Timestamp,
    pub machine: CpuAndKernel,
    /// The device that was encrypted.
    pub backing: Backing,
    /// The number of rounds that the user asked for.
    #[schemars(range(min = 1))]
    pub rounds: usize,
    /// Length of each sample in milliseconds.
    pub sample_ms: u64,
    /// Whether everything was measured; false if the run was interrupted.
    pub is_complete: bool,
    /// The workloads; every list of figures has their order.
    pub workloads: Vec<Workload>,
    /// Figures of the device without encryption.
    pub raw: Vec<Figure>,
    /// Specifications with sectors of 512 bytes and no flags, best first.
    pub ranking: Vec<Measured>,
    /// The best few with other sector sizes and flags, best first.
    pub variants: Vec<Measured>,
    /// Authenticated specifications over dm-integrity, with its journal and without, best first, and
    /// the best of the ranking among them. Each has a part of the device for itself, of equal size, and
    /// sectors of 4096 bytes.
    pub authenticated: Vec<Measured>,
    /// Accepted specifications that were not measured, by reason.
    pub left_out: Vec<LeftOut>,
    /// Specifications whose measurement failed.
    pub failures: Vec<Failed>,
    /// The recommendation; `None` if nothing secure was measured.
    pub recommendation: Option<Recommendation>,
}

/// The device that was encrypted.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Backing {
    /// Whether it is a RAM disk or a drive.
    pub kind: BackingKind,
    /// Its name, as `/dev/ram0`.
    pub name: String,
    /// How many of its bytes were used.
    pub bytes: u64,
    /// Size of its logical sectors in bytes.
    #[schemars(range(min = 512))]
    pub sector: u32,
}

/// The kind of a backing device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BackingKind {
    /// A RAM disk.
    Ram,
    /// A device that the user named.
    Device,
}

/// A pattern of reads or writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Workload {
    /// The name in JSON and CSV, such as `read-sequential-deep`.
    pub name: &'static str,
    /// The name for people, such as `read 1 MiB, 8 at once`.
    pub title: String,
    /// Whether the workload reads or writes.
    pub direction: Direction,
    /// Size of a transfer in bytes.
    #[schemars(range(min = 1))]
    pub block: usize,
    /// Number of transfers in flight.
    #[schemars(range(min = 1))]
    pub depth: usize,
    /// Whether offsets are random.
    pub is_random: bool,
}

/// The direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From the device.
    Read,
    /// To the device.
    Write,
}

impl Direction {
    pub fn verb(self) -> &'static str {
        match self {
            Direction::Read => "read",
            Direction::Write => "write",
        }
    }
}

/// A specification with options, measured.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Measured {
    #[serde(flatten)]
    pub spec: Spec,
    /// The options of its table.
    pub options: Options,
    /// The verdict on it, secure or not.
    pub verdict: Verdict,
    /// Specifications that this one was measured for: they differ only in ESSIV's digest, or in a
    /// key length that AES does not have.
    pub stands_for: Vec<Spec>,
    /// Figures, one for each workload.
    pub figures: Vec<Figure>,
    /// Geometric mean of the medians of the ratios to the raw device, over all workloads.
    #[schemars(range(min = 0.0))]
    pub score: f64,
}

/// Options of a dm-crypt table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
pub struct Options {
    /// Size of the encrypted sectors in bytes.
    #[schemars(extend("enum" = [512, 1024, 2048, 4096]))]
    pub sector_size: u32,
    /// Whether transfers are encrypted in the context that submits them instead of in work queues
    /// (`no_read_workqueue`, `no_write_workqueue`).
    pub no_workqueues: bool,
    /// Whether a work queue encrypts on the CPU that submitted the transfer (`same_cpu_crypt`).
    pub same_cpu: bool,
    /// Whether dm-integrity below writes through its journal; null without dm-integrity.
    pub journal: Option<bool>,
}

impl Options {
    /// dm-crypt's defaults, which every specification is measured with first.
    pub const PLAIN: Options = Options {
        sector_size: 512,
        no_workqueues: false,
        same_cpu: false,
        journal: None,
    };

    /// dm-crypt's words for its flags, from which other programs have made theirs.
    pub fn flags(&self) -> impl Iterator<Item = &'static str> {
        let flags = [
            (self.same_cpu, "same_cpu_crypt"),
            (self.no_workqueues, "no_read_workqueue"),
            (self.no_workqueues, "no_write_workqueue"),
        ];
        let set = flags.into_iter().filter(|(is_set, _)| *is_set);
        set.map(|(_, flag)| flag)
    }
}

/// The figures of one device for one workload.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Figure {
    /// Bytes per second.
    pub rate: Spread,
    /// The ratio to the raw device in the same round; 1 for the raw device itself.
    pub ratio: Spread,
    /// Bytes per second, an entry for each round.
    #[schemars(length(min = 1), inner(range(min = 0.0)))]
    pub samples: Vec<f64>,
    /// Seconds of CPU time of the whole machine for each GB (10^9 bytes), with the flush after writes;
    /// null if it came to less than a tenth of a second, because the kernel counts in hundredths.
    #[schemars(range(min = 0.0))]
    pub cpu_seconds_per_gb: Option<f64>,
    /// How long transfers took, with what they waited for each other.
    pub latency: Latency,
}

/// How long transfers took, in nanoseconds, to a percent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Latency {
    /// Half of the transfers took no longer.
    #[schemars(range(min = 0.0))]
    pub p50_ns: f64,
    /// Of a hundred transfers, 99 took no longer.
    #[schemars(range(min = 0.0))]
    pub p99_ns: f64,
}

/// Specifications that were not measured, all for the same reason.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LeftOut {
    #[serde(flatten)]
    pub reason: Reason,
    /// How many specifications; each is counted only under its first reason.
    #[schemars(range(min = 1))]
    pub count: usize,
    /// The modes and ciphers, such as `ctr(twofish)`, sorted.
    pub algorithms: Vec<String>,
}

/// A specification whose measurement failed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Failed {
    /// The specification, such as `aes-xts-plain64 512`, and its options.
    pub name: String,
    /// Why the measurement failed.
    pub reason: String,
}

/// The recommended specification, with lines for swap and for a volume.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Recommendation {
    #[serde(flatten)]
    pub spec: Spec,
    /// The options of its table.
    pub options: Options,
    /// The reason for the choice, in a sentence.
    pub why: String,
    /// The line of crypttab(5) for swap with a new key at each boot.
    pub swap: String,
    /// The command that creates a LUKS2 volume.
    pub luks_format: String,
    /// The command that opens the volume and stores the flags in its header.
    pub luks_open: String,
    /// The line of crypttab(5) that opens the volume at boot.
    pub luks_crypttab: String,
    /// Warnings and requirements, a sentence each.
    pub notes: Vec<String>,
}

/// Groups the `entries` that have a reason against them by their first reason. The largest group comes
/// first; groups of equal size are sorted by the rule's name.
pub fn by_reason<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Vec<(Reason, Vec<&'a Spec>)> {
    let mut by_rule: BTreeMap<&str, (Reason, Vec<&Spec>)> = BTreeMap::new();
    for entry in entries {
        if let Some(&reason) = entry.reasons.first() {
            let group = by_rule.entry(reason.rule);
            let (_, specs) = group.or_insert_with(|| (reason, Vec::new()));
            specs.push(&entry.spec);
        }
    }
    let mut groups: Vec<_> = by_rule.into_values().collect();
    groups.sort_by_key(|(_, specs)| Reverse(specs.len()));
    groups
}
