//! Arguments of `squall wipe` and `squall verify`.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use squall_drives::confirm::Consent;
use squall_drives::io::Direct;
use squall_tools::size;

use crate::choice::ChoiceArguments;
use crate::record::{Method, Scope};

/// Most passes that may be requested, more than any drive needs.
const MAX_PASSES: i64 = 35;

/// Most transfers in flight for a drive.
const MAX_DEPTH: i64 = 64;

/// Arguments of `squall wipe`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  squall wipe --dry-run /dev/sdb /dev/sdc
      what would be wiped, and whether that is allowed; nothing is written
  squall wipe /dev/disk/by-id/ata-ST4000NM0035_ZC1A2B3C /dev/disk/by-id/wwn-0x5000c500a1b2c3d4
      overwrites and verifies both at once, after confirmation
  squall wipe --yes --json --serial WD-WX12A3456789 /dev/sdb
      for scripts: the drive with this serial number, without confirmation
  squall wipe --all --bus usb --except /dev/sdd
      every USB drive that nobody uses, but not this one, after one question for all of them
  squall wipe --resume /var/lib/squall/wipe/20261122T093000Z-4711.json
      continues after an interruption or a power cut; to give up a job, remove its files instead

Every target is checked before anything is written. Refused are targets that are mounted, used as
swap, held by another device (RAID, LVM, encryption), read-only, or on a disk of the running system,
and those that stand on such a device; devices that another process has claimed (O_EXCL) or locked,
and files that another process has open or locked. Processes that merely have a device open are not
detected.

Overwriting does not reach the cells that flash memory keeps aside. A drive's own erase does: --purge
runs it before anything is overwritten. For drives without one, the plan and the report say what to
run instead.

Exit codes: 0 if every drive was overwritten and verified as requested, 1 if one was not, 2 if
nothing was written: a wrong argument, or a target that was refused.")]
pub struct WipeArguments {
    /// Drives, partitions, loop devices or files
    #[arg(value_name = "TARGET", required_unless_present_any = ["resume", "all"])]
    pub targets: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) choice: ChoiceArguments,

    /// What to write
    #[arg(long, value_enum, default_value_t = Method::Random, conflicts_with = "resume")]
    pub method: Method,

    /// How many times to overwrite everything, 1 to 35
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "resume",
          value_parser = clap::value_parser!(u32).range(1..=MAX_PASSES))]
    pub passes: u32,

    /// How much to read back and compare after the last pass
    #[arg(long, value_enum, default_value_t = Scope::Full, conflicts_with = "resume")]
    pub verify: Scope,

    /// Have each drive erase itself first: NVMe's Format NVM, or a secure discard
    ///
    /// Unlike overwriting, this reaches the cells that flash keeps in reserve. It erases nothing
    /// outside the target.
    /// Targets that do not support it are refused. It cannot be interrupted. Without this and without
    /// --yes, squall asks whether to purge flash that supports it.
    #[arg(long, conflicts_with = "resume")]
    pub purge: bool,

    /// Show what would be done, but write nothing
    #[arg(long)]
    pub dry_run: bool,

    #[command(flatten)]
    pub(crate) consent: Consent,

    /// Directory for reports, and for what is needed to resume
    ///
    /// The default is /var/lib/squall/wipe for root, and $XDG_STATE_HOME/squall/wipe
    /// (~/.local/state/squall/wipe) for other users.
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    pub report: Option<PathBuf>,

    /// Continue an interrupted job
    #[arg(long, value_name = "FILE", conflicts_with = "targets")]
    pub resume: Option<PathBuf>,

    /// Keep the keys of random passes, so that `squall verify` can compare later
    #[arg(long, conflicts_with = "resume")]
    pub keep_key: bool,

    #[command(flatten)]
    pub(crate) transfer: TransferArguments,

    /// Give up a drive that has moved nothing for this long, such as 10min
    ///
    /// The job is resumable, and the report says how far the drive got. Time during which squall itself waits,
    /// such as for --rate-limit, and a drive's own erase do not count.
    #[arg(long, value_name = "TIME", value_parser = stall)]
    pub stall: Option<Duration>,

    /// Seconds between two checkpoints: the most work that a power cut loses
    #[arg(long, value_name = "SECONDS", default_value_t = 30,
          value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub checkpoint: u32,

    #[command(flatten)]
    pub(crate) shown: ShownArguments,
}

/// Arguments of `squall verify`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  squall verify /var/lib/squall/wipe/20261122T093000Z-4711-01-WD-WX12A3456789.json
      compares the drive of this report with what was written to it

A pass of zeros can be verified at any time, a random pass only after --keep-key.

Exit codes: 0 if everything is as it was written, 1 if not, 2 if nothing was compared.")]
pub struct VerifyArguments {
    /// Reports of `squall wipe`
    #[arg(value_name = "REPORT", required = true)]
    pub reports: Vec<PathBuf>,

    /// How much to read back and compare
    #[arg(long, value_enum, default_value_t = Scope::Full)]
    pub verify: Scope,

    #[command(flatten)]
    pub(crate) transfer: TransferArguments,

    #[command(flatten)]
    pub(crate) shown: ShownArguments,
}

/// How bytes are written to a drive and read from it.
#[derive(Args, Clone, Debug)]
pub struct TransferArguments {
    /// Whether transfers bypass the page cache (O_DIRECT)
    #[arg(long, value_enum, default_value_t = Direct::Auto)]
    pub direct: Direct,

    /// Transfers of 1 MiB in flight per drive, 1 to 64
    #[arg(long, value_name = "N", default_value_t = 4,
          value_parser = clap::value_parser!(u32).range(1..=MAX_DEPTH))]
    pub depth: u32,

    /// Most bytes per second and drive, such as 100MB
    #[arg(long, value_name = "SIZE", value_parser = size::parse_rate)]
    pub rate_limit: Option<NonZeroU64>,
}

/// How a run is shown.
#[derive(Args, Clone, Debug)]
pub struct ShownArguments {
    /// Print one JSON object per line on standard output, for programs
    #[arg(long)]
    pub json: bool,
}

/// Parses the time of `--stall`.
fn stall(text: &str) -> Result<Duration, String> {
    let example = "use a number and a unit, such as 90s, 10min or 1h";
    let time = humantime::parse_duration(text)
        .map_err(|_| format!("{text:?} is not a time: {example}"))?;
    match time {
        Duration::ZERO => Err(format!("no drive is that fast: {example}")),
        _ => Ok(time),
    }
}

#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  squall drives
      whole drives: size, bus, medium, temperature, model, serial number, what uses them, and what they hide
  squall drives --json --all
      everything that has blocks, for programs

The state of a drive is `free` if squall wipe would take it, or else why it would not.

Exit codes: 0 for success, 1 for a failure, 2 for a wrong argument.")]
pub struct DrivesArguments {
    /// Also show partitions, loop devices, mapped devices, and drives in memory
    #[arg(long)]
    pub all: bool,

    /// Print a JSON array; unknown values are null
    ///
    /// Keys of a drive: path, name (below /dev/disk/by-id), kind, size (bytes), model, serial, bus, flash,
    /// celsius, uses (why it cannot be wiped), hidden (bytes behind hpa and dco), erase. New keys may be added.
    #[arg(long)]
    pub json: bool,
}
