//! What can be said on the command line, and what each argument may be.
//!
//! Parsers say what is wrong with a value and what would be right; they never repeat a seed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use parse_size::{ByteSuffix, Config};
use squall::Engine;
use zeroize::Zeroizing;

/// Length of a seed, in bytes.
pub const SEED_LEN: usize = 32;

/// A seed that is wiped when it is no longer needed.
pub type Seed = Zeroizing<[u8; SEED_LEN]>;

/// Most threads that may be asked for: more would only cost memory.
const MAX_THREADS: usize = 1024;

/// Cryptographic random bytes at the speed of the CPU's AES units.
#[derive(Parser)]
#[command(
    name = "squall",
    version,
    disable_help_subcommand = true,
    after_help = "Examples:
  squall stream --size 32 --format hex              a key of 256 bits
  squall stream --size 4GiB --output noise.bin      a file of random bytes
  squall stream | pv > /dev/null                    how fast?
  squall status                                     what protects randomness here?

See `squall stream --help` for more."
)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Subcommand)]
pub enum Command {
    /// Write random bytes, or the reproducible bytes of a seed
    Stream(StreamArguments),
    /// Show what this machine gives to keep randomness unique, and what is missing
    Status(StatusArguments),
}

#[derive(Args)]
#[command(after_help = "Examples:
  squall stream --size 32 --format hex
      a key of 256 bits, as 64 hexadecimal digits
  squall stream --size 4GiB --progress --output noise.bin
      a file of random bytes
  squall stream --output /dev/sdX --progress
      a disk overwritten: ends with an error when the disk is full
  squall stream --size 32 --format hex > seed
  squall stream --size 1GiB --seed-file seed | sha256sum
      the same gigabyte whenever the same seed is given

The bytes of a seed are AES-256 in counter mode from counter zero, the same with every engine and
any number of threads, and the same as
  openssl enc -aes-256-ctr -K SEED -iv 0 -nosalt -in /dev/zero
Whoever knows the seed knows them all: for keys and tokens give no seed.")]
pub struct StreamArguments {
    /// Random bytes to write, before encoding; endless if not given
    ///
    /// A number with or without a unit: 10, 4KiB, 1.5MiB, 4GiB (powers of 1024), 4GB (powers of
    /// 1000). K, M, G and T alone are powers of 1024, as in head(1).
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub size: Option<u64>,

    /// Threads that generate; chosen by kind of output if not given
    ///
    /// One for raw bytes into a pipe, whose reader is slower than one generator; elsewhere one
    /// for each CPU, up to 16.
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    pub threads: Option<usize>,

    /// How to compute: vaes512, vaes256, aesni, chacha20 or portable; the best if not given
    #[arg(long, value_name = "NAME", value_parser = parse_engine)]
    pub engine: Option<Engine>,

    /// Reproducible bytes from this seed: 64 hexadecimal digits (32 bytes)
    ///
    /// Everyone on this machine can see it in the output of ps(1): prefer --seed-file.
    #[arg(long, value_name = "HEX", value_parser = parse_seed, conflicts_with = "seed_file")]
    pub seed: Option<Seed>,

    /// As --seed, with the digits read from this file; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub seed_file: Option<PathBuf>,

    /// How to write the bytes
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Raw)]
    pub format: Format,

    /// Write here instead of standard output: a file (created or emptied), a device or a FIFO
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Show rate, total and time left on standard error
    ///
    /// A bar while it is a terminal, and one line at the end in any case.
    #[arg(long)]
    pub progress: bool,

    /// Write raw bytes even to a terminal
    #[arg(long)]
    pub force: bool,
}

#[derive(Args)]
pub struct StatusArguments {
    /// One JSON object: stable snake_case keys; what is not known is null
    ///
    /// Keys: version, engine, engines_available, memory, fork_guard, clone_guard, reseed_guard,
    /// kernel_release, cpu_model, hypervisor, is_vm, has_vmgenid, has_vmclock,
    /// has_vdso_getrandom, cpu_random, kernel_generation, reseeds, bytes_discarded, and warnings:
    /// a list of objects with code, problem and advice. New keys may be added.
    #[arg(long)]
    pub json: bool,
}

/// How bytes are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// The bytes themselves
    Raw,
    /// Lower-case hexadecimal digits in one line, as `openssl rand -hex`
    Hex,
    /// Base64 (RFC 4648) in lines of 64 characters, as `openssl rand -base64`
    Base64,
}

fn parse_size(text: &str) -> Result<u64, String> {
    // As head(1) and dd(1) have it: K is 1024, KB is 1000, KiB is 1024.
    let has_bare_prefix = text.ends_with(['k', 'K', 'm', 'M', 'g', 'G', 't', 'T', 'p', 'P']);
    let config = match has_bare_prefix {
        true => Config::new().with_binary(),
        false => Config::new().with_decimal(),
    };
    config
        .with_byte_suffix(ByteSuffix::Allow)
        .parse_size(text)
        .map_err(|_| {
            format!(
                "\"{text}\" is not a size below 16 EiB: use a number and a unit, as 10, 4KiB, \
                 1.5MiB or 4GB"
            )
        })
}

fn parse_threads(text: &str) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|threads| (1..=MAX_THREADS).contains(threads))
        .ok_or_else(|| {
            format!("\"{text}\" is not a number of threads: use one from 1 to {MAX_THREADS}")
        })
}

fn parse_engine(name: &str) -> Result<Engine, String> {
    let engine: Engine = name.parse().map_err(|_| {
        format!(
            "no engine \"{name}\": use one of {}",
            names(Engine::ALL.into_iter())
        )
    })?;
    if engine.is_available() {
        return Ok(engine);
    }
    Err(format!(
        "this CPU cannot run {engine}: use one of {}",
        names(Engine::available())
    ))
}

/// The names of engines, as a list to choose from.
pub fn names(engines: impl Iterator<Item = Engine>) -> String {
    let names: Vec<_> = engines.map(Engine::name).collect();
    names.join(", ")
}

/// Reads a seed of exactly 64 hexadecimal digits.
pub fn parse_seed(digits: &str) -> Result<Seed, String> {
    const DIGITS: usize = 2 * SEED_LEN;
    let right = format!("use exactly {DIGITS} hexadecimal digits ({SEED_LEN} bytes)");
    let given = digits.chars().count();
    if given != DIGITS {
        return Err(format!("a seed of {given} characters: {right}"));
    }
    let mut seed = Seed::default();
    data_encoding::HEXLOWER_PERMISSIVE
        .decode_mut(digits.as_bytes(), &mut seed[..])
        .map_err(|_| format!("a seed with other characters than digits: {right}"))?;
    Ok(seed)
}

#[cfg(test)]
mod tests {
    use super::parse_size;

    #[test]
    fn units_of_sizes() {
        let sizes = [
            ("0", 0),
            ("10", 10),
            ("10B", 10),
            ("1K", 1024),
            ("1k", 1024),
            ("1KB", 1000),
            ("4KiB", 4096),
            ("1.5MiB", 3 << 19),
            ("4G", 4 << 30),
            ("4GB", 4_000_000_000),
            ("4GiB", 4 << 30),
            ("1TiB", 1 << 40),
        ];
        for (text, size) in sizes {
            assert_eq!(parse_size(text), Ok(size), "{text}");
        }
        for text in ["", "x", "-1", "4Gb/s", "16EiB", "1.2.3", "KiB"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }
}
