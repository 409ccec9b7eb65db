//! Arguments of `squall stream`, and the values that they accept.
//!
//! Error messages say what is wrong with a value and what would be right; they never repeat a seed.

use std::num::NonZeroU64;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use squall::Engine;
use squall_drives::confirm::Consent;
use squall_tool_base::{number, size};
use zeroize::Zeroizing;

use crate::version::engine_names;

/// Length of a seed, in bytes.
pub const SEED_LEN: usize = 32;

/// A seed that is wiped when it is no longer needed.
pub type Seed = Zeroizing<[u8; SEED_LEN]>;

/// Maximum number of threads: more would only cost memory.
const MAX_THREADS: usize = 1024;

#[derive(Args)]
#[command(after_help = "Examples:
  squall stream --size 32 --format hex
      a key of 256 bits, as 64 hexadecimal digits
  squall stream --size 4GiB --progress --output noise.bin
      a file of random bytes
  squall stream --size 32 --format hex --output seed
  squall stream --size 1GiB --seed-file seed | sha256sum
      the same gigabyte for the same seed
  squall stream --size 1MiB --offset 1TiB --seed-file seed
      a part of that stream, without making what is before it

The bytes of a seed are AES-256 in counter mode from counter zero. They are the same with every AES \
engine and any number of threads, and the same as N bytes of
  openssl enc -aes-256-ctr -K SEED -iv 00000000000000000000000000000000 \\
    -nosalt -in /dev/zero | head -c N
Whoever knows the seed knows all of them: do not use a seed for keys or tokens.

A pipe is slower than the generator. A program that can read a device gets its bytes faster from \
/dev/squall, if squall's kernel module is loaded: `squall status` says so.

To erase a drive, use `squall wipe`, which also verifies what it wrote. --output refuses a drive that \
is in use (mounted, swap, held by another device, or a disk of the running system), and asks for \
confirmation before it overwrites any other. It also refuses a file that is used as swap or attached \
to a loop device.

Files and drives are synchronised (fdatasync) before the command exits with success.

Exit codes: 0 for success, even if the reader closes the output early, 1 for a failure while \
running, 2 for a wrong argument or an output that was refused.")]
pub struct StreamArguments {
    /// Random bytes to write, before encoding [default: endless, but a regular file needs a size]
    ///
    /// A number with or without a unit: 10, 4KiB, 1.5MiB, 4GiB (powers of 1024), 4GB (powers of
    /// 1000). K, M, G, T, P and E alone are powers of 1024, as in head(1). The size must be a whole
    /// number of bytes.
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub size: Option<u64>,

    /// Begin at this byte of the seed's stream, as with dd's skip
    ///
    /// A number with or without a unit, as for --size. The stream of a seed ends at 16 EiB.
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub offset: Option<u64>,

    /// Most bytes per second before encoding, such as 100MB
    #[arg(long, value_name = "SIZE", value_parser = size::parse_rate)]
    pub rate_limit: Option<NonZeroU64>,

    /// Threads that generate [default: depends on the output]
    ///
    /// The default is one thread for raw bytes into a pipe, because the pipe's reader is slower than
    /// one generator, and otherwise one thread per CPU, up to 16.
    #[arg(long, value_name = "N", value_parser = number::in_range("threads", 1..=MAX_THREADS))]
    pub threads: Option<usize>,

    #[arg(long, value_name = "NAME", value_parser = engine_parser(), hide_possible_values = true, help = engine_help(), long_help = engine_long_help())]
    pub engine: Option<Engine>,

    /// Write the reproducible bytes of this seed: 64 hexadecimal digits (32 bytes)
    ///
    /// Everyone on this machine can see the seed in the output of ps(1): prefer --seed-file.
    #[arg(long, value_name = "HEX", value_parser = parse_seed, conflicts_with = "seed_file")]
    pub seed: Option<Seed>,

    /// Like --seed, but read the digits from this file; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub seed_file: Option<PathBuf>,

    /// Format of the output
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Raw)]
    pub format: Format,

    /// Write to a file (created or emptied), a FIFO, a drive, or `-` for standard output
    ///
    /// The default is standard output. With --format hex and base64, only the owner can read a new
    /// file; an existing file keeps its mode. The seed file is refused.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,

    #[command(flatten)]
    pub consent: Consent,

    /// Show rate, total and time left on standard error
    ///
    /// A terminal shows a bar; a log, or a terminal that cannot draw, gets a line every 30 seconds. When
    /// everything is written, or the reader has closed the output, the command prints one line; after a
    /// signal such as Ctrl-C it prints none.
    #[arg(long)]
    pub progress: bool,

    /// Show progress as numbers for programs, each in a line of standard error: percent, or bytes if endless
    ///
    /// At most one a second, and one at the end, as pv --numeric and for dialog --gauge.
    #[arg(long, conflicts_with = "progress")]
    pub numeric: bool,

    /// Write raw bytes even to a terminal
    #[arg(long)]
    pub force: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// The bytes themselves
    Raw,
    /// Lower-case hexadecimal digits in one line, like `openssl rand -hex`
    Hex,
    /// Base64 (RFC 4648) in lines of 64 characters, like `openssl rand -base64`
    Base64,
}

fn engine_help() -> String {
    let engines = engine_names(Engine::ALL.into_iter());
    format!("Engine to use, one of {engines} [default: the best]")
}

fn engine_long_help() -> String {
    format!(
        "{}\n\nAll engines but chacha20 compute AES and make the same bytes from a seed; chacha20 accepts no seed.",
        engine_help()
    )
}

fn engine_parser() -> impl TypedValueParser<Value = Engine> {
    let names = PossibleValuesParser::new(Engine::ALL.map(Engine::name));
    names.try_map(|name| {
        let engine: Engine = name.parse().expect("one of the names");
        if engine.is_available() {
            return Ok(engine);
        }
        Err(format!(
            "this CPU cannot run {engine}: use one of {}",
            engine_names(Engine::available())
        ))
    })
}

/// Reads a seed of exactly 64 hexadecimal digits.
pub fn parse_seed(digits: &str) -> Result<Seed, String> {
    const DIGITS: usize = 2 * SEED_LEN;
    let advice = format!("use exactly {DIGITS} hexadecimal digits ({SEED_LEN} bytes)");
    let given = digits.chars().count();
    if given != DIGITS {
        return Err(format!("a seed of {given} characters: {advice}"));
    }
    let mut seed = Seed::default();
    data_encoding::HEXLOWER_PERMISSIVE
        .decode_mut(digits.as_bytes(), &mut seed[..])
        .map_err(|_| {
            format!("the seed has characters that are not hexadecimal digits: {advice}")
        })?;
    Ok(seed)
}
