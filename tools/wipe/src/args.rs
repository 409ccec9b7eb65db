//! What can be said to `squall wipe` and `squall verify`.

use std::num::NonZeroU64;
use std::path::PathBuf;

use clap::Args;
use squall_drives::confirm::Consent;
use squall_drives::io::Direct;
use squall_tools::size;

use crate::record::{Method, Scope};

/// Most passes: thirty-five, which no drive ever needed.
const MAX_PASSES: i64 = 35;

/// Most transfers in flight for a drive.
const MAX_DEPTH: i64 = 64;

/// What can be said to `squall wipe`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  squall wipe --dry-run /dev/sdb /dev/sdc
      what would be wiped, and whether it may be; nothing is written
  squall wipe /dev/disk/by-id/ata-ST4000NM0035_ZC1A2B3C /dev/disk/by-id/wwn-0x5000c500a1b2c3d4
      overwrites and verifies both at once, after a question
  squall wipe --yes --json --serial WD-WX12A3456789 /dev/sdb
      for scripts: the drive with this serial number, without a question
  squall wipe --resume /var/lib/squall/wipe/20261122T093000Z-4711.json
      goes on after an interruption or a power cut; to give a job up, remove its files instead

Every named target is looked at before anything is written. Refused are those that are mounted,
swapped to, held by another device (RAID, LVM, encryption), read-only, or on a disk of the running
system, and those that stand on such a device; devices that somebody else has claimed (O_EXCL) or
locked, and files that somebody else has open or locked. Who merely has a device open is not seen.

Overwriting does not reach what flash memory keeps aside. A drive's own erase does: --purge asks for
it before anything is overwritten. For what has none, plan and report say what to run instead.

Exit codes: 0 if every drive was overwritten and verified as asked, 1 if one was not, 2 if nothing
was written: a wrong argument, or a target that was refused.")]
pub struct WipeArguments {
    /// Drives, partitions, loop devices or files
    #[arg(value_name = "TARGET", required_unless_present = "resume")]
    pub targets: Vec<PathBuf>,

    /// What is written
    #[arg(long, value_enum, default_value_t = Method::Random, conflicts_with = "resume")]
    pub method: Method,

    /// How often everything is overwritten, 1 to 35
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "resume",
          value_parser = clap::value_parser!(u32).range(1..=MAX_PASSES))]
    pub passes: u32,

    /// How much is read back after the last pass and compared
    #[arg(long, value_enum, default_value_t = Scope::Full, conflicts_with = "resume")]
    pub verify: Scope,

    /// Have each drive erase itself first: NVMe's Format NVM, or a secure discard
    ///
    /// That reaches what flash keeps aside, as overwriting does not, and nothing outside the target.
    /// Targets that cannot do it are refused. It cannot be interrupted. Without this and without
    /// --yes, flash that can do it is asked about.
    #[arg(long, conflicts_with = "resume")]
    pub purge: bool,

    /// Show what would be done, and write nothing
    #[arg(long)]
    pub dry_run: bool,

    #[command(flatten)]
    pub(crate) consent: Consent,

    /// Where reports go, and what is needed to resume
    ///
    /// /var/lib/squall/wipe for root, and $XDG_STATE_HOME/squall/wipe
    /// (~/.local/state/squall/wipe) for others.
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    pub report: Option<PathBuf>,

    /// Go on with an interrupted job
    #[arg(long, value_name = "FILE", conflicts_with = "targets")]
    pub resume: Option<PathBuf>,

    /// Keep the keys of random passes, so that `squall verify` can compare later
    #[arg(long, conflicts_with = "resume")]
    pub keep_key: bool,

    #[command(flatten)]
    pub(crate) transfer: TransferArguments,

    /// Seconds between two checkpoints: the most that a power cut costs
    #[arg(long, value_name = "SECONDS", default_value_t = 30,
          value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub checkpoint: u32,

    #[command(flatten)]
    pub(crate) shown: ShownArguments,
}

/// What can be said to `squall verify`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  squall verify /var/lib/squall/wipe/20261122T093000Z-4711-01-WD-WX12A3456789.json
      compares the drive of this report with what was written to it

A pass of zeros can be verified at any time; a random one only if it was wiped with --keep-key.

Exit codes: 0 if all is as it was written, 1 if not, 2 if nothing was compared.")]
pub struct VerifyArguments {
    /// Reports of `squall wipe`
    #[arg(value_name = "REPORT", required = true)]
    pub reports: Vec<PathBuf>,

    /// How much is read back and compared
    #[arg(long, value_enum, default_value_t = Scope::Full)]
    pub verify: Scope,

    #[command(flatten)]
    pub(crate) transfer: TransferArguments,

    #[command(flatten)]
    pub(crate) shown: ShownArguments,
}

/// How bytes go to a drive and come from it.
#[derive(Args, Clone, Debug)]
pub struct TransferArguments {
    /// Whether transfers go past the page cache (O_DIRECT)
    #[arg(long, value_enum, default_value_t = Direct::Auto)]
    pub direct: Direct,

    /// Transfers in flight for a drive, each of 1 MiB, 1 to 64
    #[arg(long, value_name = "N", default_value_t = 4,
          value_parser = clap::value_parser!(u32).range(1..=MAX_DEPTH))]
    pub depth: u32,

    /// Bytes a second for a drive, at most, as 100MB
    #[arg(long, value_name = "SIZE", value_parser = parse_rate)]
    pub rate_limit: Option<NonZeroU64>,
}

/// How a run is shown.
#[derive(Args, Clone, Debug)]
pub struct ShownArguments {
    /// One JSON object a line on standard output, for programs
    #[arg(long)]
    pub json: bool,
}

fn parse_rate(text: &str) -> Result<NonZeroU64, String> {
    NonZeroU64::new(size::parse(text)?)
        .ok_or_else(|| "0 bytes a second would never end: give more, as 100MB".into())
}
