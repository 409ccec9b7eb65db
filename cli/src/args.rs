//! Arguments of the command line, and the values that they accept.
//!
//! Error messages say what is wrong with a value and what would be right; they never repeat a seed.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use squall::Engine;
use squall_drives::confirm::Consent;
use squall_tools::{number, size, time};
use zeroize::Zeroizing;

use crate::clones::ClonesArguments;
use crate::run::args::{OpensslConfArguments, RunArguments};
use crate::tools::Tool;
use crate::version::{self, engine_names};

/// Length of a seed, in bytes.
pub const SEED_LEN: usize = 32;

/// A seed that is wiped when it is no longer needed.
pub type Seed = Zeroizing<[u8; SEED_LEN]>;

/// Maximum number of threads: more would only cost memory.
const MAX_THREADS: usize = 1024;

const SECOND: Duration = Duration::from_secs(1);

/// Longest interval between seedings.
const MAX_INTERVAL: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// Maximum number of bits of entropy that may be claimed for the 512 that `squall seed` adds.
const MAX_CREDIT: u16 = 512;

/// Cryptographic random bytes at the speed of the CPU's AES units.
#[derive(Parser)]
#[command(
    name = "squall",
    version,
    long_version = version::long(),
    after_help = "Examples:
  squall stream --size 32 --format hex                a key of 256 bits
  squall stream --size 4GiB --output noise.bin        a file of random bytes
  squall stream | pv > /dev/null                      the speed of the generator
  squall status                                       the protections of this machine
  squall seed                                         new entropy for the kernel's generator
  squall clones --exec 'systemctl restart my-agent'   a command to run after each clone of this VM
  squall bench                                        the fastest source on this machine
  squall wipe --dry-run /dev/sdX                      what overwriting a drive would do
  squall dmcrypt bench                                the fastest disk encryption on this machine
  squall run -- nginx                                 an existing program, with squall
  squall openssl-conf > openssl.cnf                   OpenSSL, with squall

Exit codes: 0 for success, even if the reader closes the output early, 1 for a failure while \
running, 2 for a wrong argument, or one that names a missing or unusable file or folder. \
`squall run` exits with the program's code.

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
    /// Show which protections this machine offers, and which are missing
    Status(StatusArguments),
    /// Add entropy to the kernel's pool and make its generator reseed
    Seed(SeedArguments),
    /// Wait for clones of this virtual machine or restores of a process, and run programs after each
    Clones(ClonesArguments),
    #[command(flatten)]
    Tool(Tool),
    /// Run an existing program with squall's random bytes instead of the kernel's
    Run(RunArguments),
    /// Print the configuration that makes OpenSSL use squall, or check it
    OpensslConf(OpensslConfArguments),
    /// Print a shell completion script
    Completions(CompletionsArguments),
    /// Write the manual pages of these commands to a folder, for packages
    #[command(hide = true)]
    Man(ManArguments),
}

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

#[derive(Args)]
pub struct StatusArguments {
    /// Print one JSON object with stable snake_case keys; unknown values are null
    ///
    /// Keys: version, engine, engines_available, memory, fork_guard, clone_guard, reseed_guard,
    /// kernel_release, cpu_model, hypervisor, has_squall_device, squall_device_uses_page, is_vm, has_vmgenid,
    /// has_vmclock, has_vmgenid_page, has_kvm_clock, follows_tick, has_vdso_getrandom, cpu_random, cycle_counter,
    /// kernel_generation, reseeds, bootstraps, bytes_discarded, copy_signals, and warnings and notes: lists of objects, the
    /// first with signal, copy (machine, process or fork), delay (none or milliseconds) and when, the others with code,
    /// problem and advice. New keys may be added. With --counters: loads, and interfaces, a list of objects with interface,
    /// requests, bytes and forwarded.
    #[arg(long)]
    pub json: bool,

    /// Show the counters in this file, which squall run --counters made
    ///
    /// For each interface (a way in which programs reach squall): the requests that squall served, their
    /// bytes, and the requests that were left to the kernel.
    ///
    /// Other programs with libsquall or OpenSSL's provider also count in the file, if the environment
    /// variable SQUALL_COUNTERS holds its absolute path and they may write to it.
    #[arg(long, value_name = "FILE")]
    pub counters: Option<PathBuf>,
}

#[derive(Args)]
#[command(
    after_help = "`make install` and the Debian package install these scripts. By hand:

  squall completions bash > ~/.local/share/bash-completion/completions/squall
  squall completions zsh > ~/.zfunc/_squall
      a folder that is in fpath (~/.zshrc)
  squall completions fish > ~/.config/fish/completions/squall.fish"
)]
pub struct CompletionsArguments {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    pub shell: SupportedShell,
}

/// The shells that completions are installed for.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum SupportedShell {
    Bash,
    Zsh,
    Fish,
}

#[derive(Args)]
pub struct ManArguments {
    /// Folder for squall.1 and a page for each command; created if it is missing
    #[arg(value_name = "DIRECTORY")]
    pub directory: PathBuf,
}

#[derive(Args)]
#[command(
    after_help = "Mixes 512 bits of the Whirlwind generator, bootstrapped from 100 cycle counts, into the \
kernel's pool. Then makes the kernel's generator take a new seed from the pool (ioctls RNDADDENTROPY \
and RNDRESEEDCRNG, see random(4)). The earlier contents of the pool stay in it: without --credit, this \
cannot make the pool weaker.

Requires CAP_SYS_ADMIN. One unit for systemd runs this command at boot, another one seeds again after \
each clone of this virtual machine (squall clones); `make install` and the Debian package install both:
  systemctl enable --now squall-seed.service squall-clones.service

Examples:
  squall seed
      once, for example early at boot, or after this VM was restored from a snapshot
  squall seed --every 1h
      now, and every hour
  squall seed --test
      do this machine's sources work?

Early at boot the kernel's generator may not be ready. Then squall adds the bytes, reports on \
standard error that there was nothing to reseed yet, and exits with success.

Exit codes: 0 for success, 1 for a failure while running, 2 for a wrong argument."
)]
pub struct SeedArguments {
    /// Bits of entropy to claim for the 512, from 0 to 512
    ///
    /// The kernel trusts this number. The number decides how soon the kernel's generator counts as ready
    /// at boot, and since Linux 5.18 nothing else. Whirlwind does not estimate entropy: claim only what
    /// you know about your machine.
    #[arg(long, value_name = "BITS", value_parser = number::in_range("bits", 0..=MAX_CREDIT), default_value_t = 0)]
    pub credit: u16,

    /// Keep running, and seed again after each interval, such as 10min or "1h 30min"
    #[arg(long, value_name = "TIME", value_parser = parse_interval)]
    pub every: Option<Duration>,

    /// Read the sources of seeds many times, and show whether they passed their health tests; seed nothing
    ///
    /// Each line has a source and works, absent or failed: the kernel's generator, the CPU's random
    /// instruction and the cycle counter, the latter two tested by SP 800-90B section 4.4. Needs no
    /// privilege. Exits with 1 if a source has failed.
    #[arg(long, conflicts_with_all = ["credit", "every"])]
    pub test: bool,
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

/// Parses a time from a second to a year.
pub fn parse_interval(text: &str) -> Result<Duration, String> {
    time::in_range(SECOND, SECOND..=MAX_INTERVAL)(text)
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
