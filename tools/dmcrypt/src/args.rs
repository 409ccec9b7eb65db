//! What can be said behind `squall dmcrypt`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use squall_drives::confirm::Consent;
use squall_tools::reports::ReportArguments;
use squall_tools::size;

use crate::spec::Spec;

/// Fewest bytes to measure on: the largest transfers, many times over.
const LEAST_BYTES: u64 = 16 << 20;

/// Longest time of a sample, in milliseconds.
const MOST_MS: u64 = 10_000;

/// Find out which disk encryption is valid here, which is secure, and which is fast.
#[derive(Args, Debug)]
pub struct DmcryptArguments {
    /// What to do.
    #[command(subcommand)]
    pub command: DmcryptCommand,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub enum DmcryptCommand {
    /// Show every cipher, mode, IV, digest and key length that this kernel accepts, with a verdict
    List(ListArguments),
    /// Measure those that are secure on encrypted devices, and say which to use
    Bench(BenchArguments),
}

/// What to list, and how.
#[derive(Args, Debug, Default)]
#[command(
    after_help = "A table is loaded with each specification, and never used: nothing is read, written or
encrypted, and no device is needed. Candidates are what /proc/crypto and the kernel's modules
name, and what Linux ever had. Modules that the kernel loads to answer stay loaded.

Examples:
  squall dmcrypt list
      what there is, and which of it is secure
  squall dmcrypt list --export-csv - | grep ,secure,
      a line a specification

It takes root, with CAP_SYS_ADMIN.

Exit codes: 0 for success, 1 for a failure while running and for a list that was interrupted, 2 for
a wrong argument."
)]
pub struct ListArguments {
    /// Ask about every candidate, even of ciphers and digests that the kernel said it does not have
    ///
    /// For those who do not trust the shortcut: the answer is the same, and takes longer.
    #[arg(long)]
    pub exhaustive: bool,

    /// What is wanted in the place of the table, or besides.
    #[command(flatten)]
    pub reports: ReportArguments,
}

/// What to measure, on what, and how.
#[derive(Args, Debug)]
#[command(
    after_help = "Every specification has a device of dm-crypt with a random key, all over the same memory or
drive, and they take turns with each other and with the device below: 1 MiB after 1 MiB and 4 KiB
here and there, read and written, one at a time and many at once, past the page cache.

Examples:
  squall dmcrypt bench
      the secure ones, over memory: how much of the CPU they cost
  squall dmcrypt bench --device /dev/disk/by-id/nvme-… --size 4GiB
      over a drive, whose first 4 GiB are overwritten
  squall dmcrypt bench --cipher \"aes-xts-plain64 512\" --cipher \"aes-xts-plain64 256\"
      only these

It takes root, with CAP_SYS_ADMIN, and over memory CAP_SYS_MODULE.

Exit codes: 0 for success, 1 for a failure while running and for a run that was interrupted (what
was measured is shown and written all the same, marked as incomplete), 2 for a wrong argument."
)]
pub struct BenchArguments {
    /// Measure over this device, whose data that destroys; over memory if not given
    ///
    /// It must not be in use, and is refused as by `squall wipe`. It must be empty (zeros in what is
    /// overwritten, and at its end), or --yes be given.
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<PathBuf>,

    /// Consent in advance.
    #[command(flatten)]
    pub consent: Consent,

    /// Measure everything that this kernel accepts, and not only what is secure
    #[arg(long, conflicts_with = "cipher")]
    pub all: bool,

    /// Measure only what is secure, which is what is done if nothing else is said
    #[arg(long, conflicts_with_all = ["all", "cipher"])]
    pub secure: bool,

    /// Measure this specification alone, or these, as "aes-xts-plain64 512": the last is the
    /// length of the key in bits
    #[arg(long, value_name = "SPEC")]
    pub cipher: Vec<Spec>,

    /// How often each is measured; the figures are medians
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub rounds: u32,

    /// How long each is measured in a round, for each of the eight ways, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=MOST_MS))]
    pub sample: u64,

    /// Bytes of memory, or from the beginning of the device, to measure on
    ///
    /// More than the CPU's caches hold. Of memory, half of what is free at most.
    #[arg(long, value_name = "SIZE", default_value = "512MiB", value_parser = parse_bytes)]
    pub size: u64,

    /// What is wanted in the place of the table, or besides.
    #[command(flatten)]
    pub reports: ReportArguments,

    /// Write a page with tables and a plot to this file; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub export_html: Option<PathBuf>,
}

impl BenchArguments {
    /// How long each is measured in a round.
    pub fn sample(&self) -> Duration {
        Duration::from_millis(self.sample)
    }
}

fn parse_bytes(text: &str) -> Result<u64, String> {
    match size::parse(text)? {
        bytes if bytes % (1 << 20) != 0 => Err("it must come to whole MiB".into()),
        bytes @ LEAST_BYTES.. => Ok(bytes),
        _ => Err("too few to measure anything: give at least 16MiB".into()),
    }
}
