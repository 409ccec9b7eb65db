//! Arguments of `squall dmcrypt`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use squall_drives::confirm::Consent;
use squall_tool_base::reports::ReportArguments;
use squall_tool_base::{number, size, time};

use crate::spec::Spec;

/// Fewest bytes to measure on: many of the largest transfers.
const LEAST_BYTES: u64 = 16 << 20;

const MILLISECOND: Duration = Duration::from_millis(1);

/// Longest time of a sample.
const LONGEST: Duration = Duration::from_secs(10);

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
    /// Measure the secure specifications on encrypted devices, and recommend one
    Bench(BenchArguments),
}

/// Options of `squall dmcrypt list`.
#[derive(Args, Debug, Default)]
#[command(
    after_help = "Loads a table with each specification, but never uses it: nothing is read, written or \
encrypted, and no device is needed. Candidates are made of the ciphers, modes, IVs and digests that \
Linux has or had. Modules that the kernel loads to answer stay loaded.

Examples:
  squall dmcrypt list
      what this kernel accepts, and what of that is secure
  squall dmcrypt list --export-csv - | grep ,secure,
      one line per specification

Requires root, with CAP_SYS_ADMIN.

Exit codes: 0 for success, 1 for a failure while running or an interrupted list, 2 for a wrong \
argument."
)]
pub struct ListArguments {
    /// Outputs besides the table, or instead of it.
    #[command(flatten)]
    pub reports: ReportArguments,
}

/// Options of `squall dmcrypt bench`.
#[derive(Args, Debug)]
#[command(
    after_help = "Gives every specification a dm-crypt device with a random key, all on the same memory or drive. \
They take turns with each other and with the device below: 1 MiB in sequence and 4 KiB at random \
places, read and written, one at a time and many at once, bypassing the page cache. The best are \
measured with other sectors and flags too; then authenticated ones, over dm-integrity.

Examples:
  squall dmcrypt bench
      the secure ones, on memory: how much CPU they cost
  squall dmcrypt bench --device /dev/disk/by-id/nvme-… --size 4GiB
      on a drive, whose first 4 GiB are overwritten
  squall dmcrypt bench --cipher \"aes-xts-plain64 512\" --cipher \"aes-xts-plain64 256\"
      only these

Requires root, with CAP_SYS_ADMIN, and on memory CAP_SYS_MODULE.

Exit codes: 0 for success, 1 for a failure while running or an interrupted run (which still shows and \
writes what it measured, marked as incomplete), 2 for a wrong argument."
)]
pub struct BenchArguments {
    /// Measure on this device; destroys its data [default: memory]
    ///
    /// It must not be in use: `squall wipe` refuses the same devices. Without --yes it must be empty
    /// (zeros in what is overwritten, and at its end).
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<PathBuf>,

    /// Consent in advance.
    #[command(flatten)]
    pub consent: Consent,

    /// Measure all specifications that this kernel accepts, not only the secure ones
    #[arg(long, conflicts_with = "cipher")]
    pub all: bool,

    /// Measure only this specification, such as "aes-xts-plain64 512", where 512 is the length of
    /// the key in bits, or "aes-xts-plain64 512 hmac-sha256", authenticated over dm-integrity; may
    /// be given more than once
    #[arg(long, value_name = "SPEC")]
    pub cipher: Vec<Spec>,

    /// Number of measurements of each specification; the figures are medians
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = number::in_range("rounds", 1..=10_000_u32))]
    pub rounds: u32,

    /// Length of a measurement for each of the eight workloads; a number alone is milliseconds
    #[arg(long, value_name = "TIME", default_value = "30ms", value_parser = time::in_range(MILLISECOND, MILLISECOND..=LONGEST))]
    pub sample: Duration,

    /// Bytes to measure on, of memory or from the beginning of the device
    ///
    /// Use more than the CPU's caches hold. A RAM disk takes at most half of the free memory.
    #[arg(long, value_name = "SIZE", default_value = "512MiB", value_parser = parse_bytes)]
    pub size: u64,

    /// Outputs besides the table, or instead of it.
    #[command(flatten)]
    pub reports: ReportArguments,

    /// Write a page with tables and a plot to this file; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub export_html: Option<PathBuf>,
}

fn parse_bytes(text: &str) -> Result<u64, String> {
    match size::parse(text)? {
        bytes if bytes % (1 << 20) != 0 => Err("it must be a multiple of 1 MiB".into()),
        bytes @ LEAST_BYTES.. => Ok(bytes),
        _ => Err("too few to measure anything: use at least 16MiB".into()),
    }
}
