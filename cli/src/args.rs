//! The command line: squall's commands. Each command owns its arguments.

use clap::{Parser, Subcommand};

use crate::clones::ClonesArguments;
use crate::completions::CompletionsArguments;
use crate::man::ManArguments;
use crate::run::RunArguments;
use crate::run::openssl::OpensslConfArguments;
use crate::seed::SeedArguments;
use crate::status::StatusArguments;
use crate::stream::args::StreamArguments;
use crate::tools::Tool;
use crate::version;

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
