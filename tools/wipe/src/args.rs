//! Arguments of `squall wipe` and `squall verify`.

use std::fmt;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::Serialize;
use squall_drives::confirm::Consent;
use squall_drives::erase::EraseChoice;
use squall_drives::io::Direct;
use squall_tool_base::{Failure, number, size, time};

use crate::record::{ContentKind, Scope};

/// Most passes that may be requested, more than any drive needs.
pub(crate) const MAX_PASSES: usize = 35;

const SECOND: Duration = Duration::from_secs(1);

/// Most transfers in flight for a drive.
const MAX_DEPTH: u32 = 64;

/// Arguments of `squall wipe`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  squall wipe --dry-run /dev/sdb /dev/sdc
      what would be wiped, and whether that is allowed; nothing is written
  squall wipe /dev/disk/by-id/ata-ST4000NM0035_ZC1A2B3C \\
              /dev/disk/by-id/wwn-0x5000c500a1b2c3d4
      overwrites and verifies both at once, after confirmation
  squall wipe --yes --json --serial WD-WX12A3456789 /dev/sdb
      for scripts: the drive with this serial number, without confirmation
  squall wipe --pass random,zero,one --verify-each /dev/sdb
      for contracts that name passes: three, each of them verified
  squall wipe --all --bus usb --except /dev/sdd
      every unused USB drive, but not this one, after one confirmation
  squall wipe --yes --stall 10min --then poweroff /dev/disk/by-id/wwn-0x5000c500a1b2c3d4
      overnight: gives up a drive that stalls, and turns the machine off at the end
  squall wipe --resume /var/lib/squall/wipe/20261122T093000Z-4711.json
      continues after an interruption or a power cut;
      to give up a job, remove its files instead

Every target is checked before anything is written. squall refuses targets that are mounted, used as \
swap, held by another device (RAID, LVM, encryption), the origin of a snapshot, served over NVMe (nvmet), \
read-only, or on a disk of the running system, and those that stand on such a device; devices that \
another process has claimed (O_EXCL) or locked; and files that another process has open or locked. \
The other paths to a drive count, too. Processes that merely have a device open are not detected.

Overwriting does not reach the spare cells of flash. A drive's own erase does: --purge runs it before \
anything is overwritten. The plan says whether a drive supports that. No real drive has run squall's \
commands for it yet.

Exit codes: 0 if every drive was overwritten and verified as requested, 1 if one was not, or was \
plugged in and perhaps meant (--watch), 2 if nothing was written: a wrong argument, or a target that \
was refused.")]
pub struct WipeArguments {
    /// Drives, partitions, loop devices or files
    #[arg(value_name = "TARGET", required_unless_present_any = ["resume", "all", "except", "bus", "watch", "count"])]
    pub targets: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) choice: ChoiceArguments,

    /// What each pass writes, in order: random, zero, one, or a byte such as 0x55
    ///
    /// Random bytes are the keystream of AES-256 under a fresh key for each drive and pass.
    #[arg(
        long = "pass",
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "random",
        conflicts_with = "resume"
    )]
    pub passes: Vec<ContentKind>,

    /// How many times to do all passes, one after the other; at most 35 passes in all
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "resume",
          value_parser = number::in_range("rounds", 1..=MAX_PASSES as u32))]
    pub rounds: u32,

    /// How much to read back and compare after the last pass
    #[arg(long, value_enum, default_value_t = Scope::Full, conflicts_with = "resume")]
    pub verify: Scope,

    /// Read back and compare after each pass, and not only after the last
    #[arg(long, conflicts_with = "resume")]
    pub verify_each: bool,

    /// Have each drive erase itself first
    ///
    /// By sanitizing itself (NVMe, SCSI, ATA), by NVMe's Format NVM, or by a secure discard. Unlike
    /// overwriting, this reaches the spare cells of flash. It erases nothing outside the
    /// targets: NVMe Sanitize, which erases all namespaces, only if all of them are targets or empty.
    /// Targets that do not support it are refused. It cannot be stopped: a drive goes on sanitizing itself
    /// even after a power cut, and --resume waits for it.
    /// squall's commands for this were tried on emulated drives only, so --untried-on-hardware is needed too.
    #[arg(long, value_name = "HOW", value_enum, num_args = 0..=1, require_equals = true,
          default_missing_value = "auto", conflicts_with = "resume")]
    pub purge: Option<EraseChoice>,

    /// With --purge: agree to commands that no real drive has run yet
    #[arg(long)]
    pub untried_on_hardware: bool,

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

    /// Keep the key of the last pass, if it is random, so that `squall verify` can compare later
    #[arg(long, conflicts_with = "resume")]
    pub keep_key: bool,

    #[command(flatten)]
    pub(crate) labels: ReportLabels,

    #[command(flatten)]
    pub(crate) transfer: TransferArguments,

    /// What to do at the end
    ///
    /// squall does this once the reports are on the disk, even if a drive was not wiped as asked; its report says so. squall
    /// does not do it after an interrupt, if a report could not be written, or if no drive was left to wipe. The exit code is
    /// 1 if it fails.
    #[arg(long, value_name = "WHAT", value_enum, conflicts_with_all = ["dry_run", "watch"])]
    pub then: Option<Then>,

    /// Time between two checkpoints, such as 30s or 5min: the most work that a power cut loses
    #[arg(long, value_name = "TIME", default_value = "30s",
          value_parser = time::in_range(SECOND, SECOND..=3600 * SECOND))]
    pub checkpoint: Duration,

    /// Print one JSON object per line on standard output, for programs
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `squall verify`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  squall verify /var/lib/squall/wipe/20261122T093000Z-47-01-WD-WX12A3456789.json
      compares the drive of this report with what was written to it
  squall verify /var/lib/squall/wipe/20261122T093000Z-47-job.json
      compares all drives of a job

What a random pass wrote can be verified only after --keep-key, anything else at any time. Each drive \
gets a report of the verification.

Exit codes: 0 if everything is as it was written, 1 if not, 2 if nothing was compared.")]
pub struct VerifyArguments {
    /// Reports of `squall wipe`
    #[arg(value_name = "REPORT", required = true)]
    pub reports: Vec<PathBuf>,

    /// How much to read back and compare
    #[arg(long, default_value = "full", value_parser = comparison())]
    pub verify: Scope,

    /// Directory for the reports of the verification [default: that of the first REPORT]
    #[arg(long, value_name = "DIR")]
    pub report: Option<PathBuf>,

    /// Who verifies, for the reports
    #[arg(long, value_name = "NAME", value_parser = report_label)]
    pub operator: Option<String>,

    #[command(flatten)]
    pub(crate) transfer: TransferArguments,

    /// Print one JSON object per line on standard output, for programs
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `squall blank`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  squall blank /dev/sdb /dev/sdc
      reads both to their ends, or until there is data
  squall blank --sample --json /dev/sdb
      reads a tenth, at random places everywhere; one JSON object per drive

A drive is blank if it is one byte, repeated: zeros, ones, or another. Random bytes do not count as \
blank: they look like encrypted data. For a drive that squall wiped, see squall verify.

Exit codes: 0 if every drive is blank, 1 if one is not or could not be read, 2 if nothing was read.")]
pub struct BlankArguments {
    /// Drives, partitions, loop devices or files
    #[arg(value_name = "TARGET", required = true)]
    pub targets: Vec<PathBuf>,

    /// Read a tenth, at random places everywhere, with both ends
    #[arg(long)]
    pub sample: bool,

    #[command(flatten)]
    pub(crate) transfer: TransferArguments,

    /// Print one JSON object per drive, for programs
    #[arg(long)]
    pub json: bool,
}

/// What people write on reports.
#[derive(Args, Clone, Debug)]
pub struct ReportLabels {
    /// Who wipes, for the reports
    #[arg(long, value_name = "NAME", value_parser = report_label, conflicts_with = "resume")]
    pub operator: Option<String>,

    /// Whom the drives belong to, for the reports
    #[arg(long, value_name = "NAME", value_parser = report_label, conflicts_with = "resume")]
    pub customer: Option<String>,

    /// The number of a drive in an inventory, for its report; for each of several drives SERIAL=TAG
    #[arg(long, value_name = "TAG", value_parser = report_label, conflicts_with = "resume")]
    pub asset: Vec<String>,
}

/// Longest text that people write on reports, in characters.
const MAX_LABEL: usize = 100;

/// A text that fits in one line of a report.
fn report_label(text: &str) -> Result<String, String> {
    let text = text.trim();
    match text.chars().count() {
        0 => Err("it is empty".into()),
        _ if text.chars().any(char::is_control) => Err("it is more than one line of text".into()),
        1..=MAX_LABEL => Ok(text.into()),
        _ => Err(format!("it has more than {MAX_LABEL} characters")),
    }
}

/// How bytes are written to a drive and read from it.
#[derive(Args, Clone, Debug)]
pub struct TransferArguments {
    /// Whether transfers bypass the page cache (O_DIRECT)
    #[arg(long, value_enum, default_value_t = Direct::Auto)]
    pub direct: Direct,

    /// Transfers of 1 MiB in flight per drive, 1 to 64; fewer if memory is short
    #[arg(long, value_name = "N", default_value_t = 4,
          value_parser = number::in_range("transfers", 1..=MAX_DEPTH))]
    pub depth: u32,

    /// Most bytes per second and drive, such as 100MB
    #[arg(long, value_name = "SIZE", value_parser = size::parse_rate)]
    pub rate_limit: Option<NonZeroU64>,

    /// Give up a drive that has moved nothing for this long, such as 10min
    ///
    /// The others go on, and squall ends without it. squall says how far the drive got; a wipe is resumable. Time during
    /// which squall itself waits, such as for --rate-limit, and a drive's own erase do not count.
    #[arg(long, value_name = "TIME",
          value_parser = time::in_range(SECOND, Duration::from_millis(1)..=Duration::MAX))]
    pub stall: Option<Duration>,
}

/// Parses how much `squall verify` compares: not nothing.
fn comparison() -> impl TypedValueParser<Value = Scope> {
    let scopes = [Scope::Full, Scope::Sample];
    PossibleValuesParser::new(scopes.iter().flat_map(Scope::to_possible_value))
        .map(|name| Scope::from_str(&name, false).expect("a scope's name"))
}

#[cfg(test)]
pub mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Blank {
        #[command(flatten)]
        arguments: BlankArguments,
    }

    /// The arguments in `line`, which are separated by spaces.
    pub fn blank_arguments(line: &str) -> BlankArguments {
        let words = ["blank"].into_iter().chain(line.split_whitespace());
        Blank::parse_from(words).arguments
    }
}

/// The most drives that `--count` takes, more than a machine has.
const MAX_COUNT: usize = 100_000;

/// Options that choose drives instead of naming them.
#[derive(Args, Clone, Debug, Default)]
pub struct ChoiceArguments {
    /// Wipe every unused drive, after one confirmation
    ///
    /// These are whole drives on a bus of this machine, as `squall drives` shows them; never partitions, loop
    /// devices, mapped devices, optical drives or drives reached over a network. Drives that are left out are
    /// listed with the reason.
    /// With --yes, --bus and --count are needed too.
    #[arg(long, conflicts_with_all = ["targets", "resume"])]
    pub all: bool,

    /// With --all: leave out these drives, by whatever path, given by a name in /dev or by serial number
    #[arg(long, value_name = "DRIVE", num_args = 1..)]
    pub except: Vec<String>,

    /// With --all: only drives on this bus; may be given more than once
    #[arg(long, value_name = "BUS", value_enum)]
    pub bus: Vec<Bus>,

    /// With --all and --bus: also wipe drives that are plugged in later, without another question
    ///
    /// One question at the beginning covers all of them. The key q ends the watch, and the run ends with its last
    /// drive; an interrupt ends both. squall checks a drive once, when you plug it in. It skips a drive that something
    /// mounts at that moment, that this run has wiped, or that was left out before, whatever its name is now.
    #[arg(long)]
    pub watch: bool,

    /// With --all: refuse unless exactly so many drives would be wiped
    #[arg(long, value_name = "N", value_parser = number::in_range("drives", 1..=MAX_COUNT))]
    pub count: Option<usize>,
}

impl ChoiceArguments {
    /// The names of the chosen buses, for a sentence.
    pub fn bus_names(&self) -> String {
        names(&self.bus)
    }

    /// Fails if drives are named and chosen at once.
    pub fn check(&self) -> Result<(), Failure> {
        let given = [
            ("--except", !self.except.is_empty()),
            ("--bus", !self.bus.is_empty()),
            ("--watch", self.watch),
            ("--count", self.count.is_some()),
        ];
        if self.all && self.watch && self.bus.is_empty() {
            return Err(Failure::Usage(
                "--watch: it would wipe whatever is plugged in: nothing was written: add --bus, such as --bus usb".into(),
            ));
        }
        match given.iter().find(|(_, is_given)| *is_given && !self.all) {
            Some((option, _)) => Err(Failure::Usage(format!(
                "{option} goes with --all, which chooses drives: add --all, or leave {option} out and name the drives"
            ))),
            None => Ok(()),
        }
    }
}

/// What a drive is attached by, as `squall drives` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Bus {
    Mmc,
    Nvme,
    Sata,
    Scsi,
    Usb,
    Virtio,
}

impl Bus {
    /// The name in `squall drives`.
    pub fn name(self) -> String {
        let name = self.to_possible_value();
        name.expect("each has a name").get_name().to_owned()
    }
}

pub(crate) fn names(buses: &[Bus]) -> String {
    let names: Vec<_> = buses.iter().map(|bus| bus.name()).collect();
    names.join(" or ")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Then {
    /// Turn the machine off: by `systemctl poweroff`, or by `poweroff` where systemd does not run
    Poweroff,
    /// Put each drive into standby, until it is used again; only for drives on SATA, SAS (SCSI) and USB
    Standby,
}

impl fmt::Display for Then {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Then::Poweroff => "--then poweroff",
            Then::Standby => "--then standby",
        })
    }
}
