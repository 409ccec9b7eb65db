//! What can be said behind `squall run` and `squall openssl-conf`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

/// Run an existing program with squall in the place of the kernel's random bytes.
#[derive(Args, Debug)]
#[command(
    override_usage = "squall run [--counters FILE] [--library PATH] [--] PROGRAM [ARGUMENT]...",
    after_help = "The program is executed with libsquall-preload.so in LD_PRELOAD, before what is there already, and
so are the programs that it starts. getrandom, getentropy, arc4random and its like, and reads of
/dev/urandom and /dev/random by descriptor are then squall's. It is an exec: the same process, its
descriptors and ignored signals, and its exit code.

These are refused, because they would run without squall:
  programs that are linked statically
      link libsquall.a into them, or use a dynamic build
  programs in Go
      use the Go module github.com/squall-rng/squall/go
  programs for musl and other C libraries than glibc
      link libsquall into them, or use a build for glibc
  programs of 32 bits, or for other CPUs
      use a build for this machine
  set-user-ID and set-group-ID programs, and those with capabilities
      run them as who they would run as, or link libsquall

These run, and squall does not see them:
  system calls that a program makes itself; but getrandom by syscall(2) is seen, on x86-64
      link libsquall
  all that a program asks for in a seccomp sandbox that it has entered
      link libsquall, and allow what it takes
  streams on /dev/urandom by fopen(3), which reads within the C library
      open(2) and read(2) are seen; or link libsquall
  OpenSSL's own generators, which stretch what they are given
      use the provider: squall openssl-conf
  programs with gcc's AddressSanitizer do not start, as it wants to be the first library; those
  with ThreadSanitizer report races that are none, as it does not see how squall orders them
      link libsquall
  programs that AppArmor or SELinux give a clean environment
      use the provider, or link libsquall
  programs that a preloaded one starts, if they are of the kinds above
      as above

Examples:
  squall run -- python3 -c 'import os; print(os.urandom(16).hex())'
  squall run --counters counts -- dd if=/dev/urandom of=/dev/null bs=1M count=100
  squall status --counters counts
      how much it drew
  OPENSSL_CONF=/etc/ssl/squall.cnf squall run --counters counts -- nginx -g 'daemon off;'
      a server of TLS, whose OpenSSL has the provider

Exit codes: the program's own; 127 if there is no such program, 126 if it cannot be executed, 2 if
squall would not reach it and for a wrong argument, 1 if there is no library."
)]
pub struct RunArguments {
    /// Count in this new file how much the program draws, and what it starts
    ///
    /// For squall status --counters, at any time. Older counters are replaced, nothing else is. A
    /// process that may not write the file is not counted.
    #[arg(long, value_name = "FILE")]
    pub counters: Option<PathBuf>,

    /// The library to preload; the one that was installed with this command if not given
    ///
    /// Looked for below the folder that bin is in, as lib/libsquall-preload.so and in Debian's
    /// folder for this kind of machine, then beside the command, as it is built.
    #[arg(long, value_name = "PATH")]
    pub library: Option<PathBuf>,

    /// The program, searched in PATH if it has no slash, and its arguments
    #[arg(
        value_name = "PROGRAM",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub program: Vec<OsString>,
}

/// Show the lines of openssl.cnf that make OpenSSL draw from squall, or whether they took effect.
#[derive(Args, Debug)]
#[command(
    after_help = "OpenSSL 3.0 and later reads the file that OPENSSL_CONF names, or else openssl.cnf in its own
folder (openssl version -d), when a program begins to use it.

Examples:
  squall openssl-conf > /etc/ssl/squall.cnf
      a new file: for programs with OPENSSL_CONF=/etc/ssl/squall.cnf
  OPENSSL_CONF=/etc/ssl/squall.cnf squall openssl-conf --check
      what OpenSSL's generators are then

Exit codes: 0 for success, 1 if --check finds that random bytes are not squall's and for a failure
while running, 2 for a wrong argument."
)]
pub struct OpensslConfArguments {
    /// The provider; the one that was installed with this command if not given
    ///
    /// Looked for below the folder that bin is in, as lib/ossl-modules/squall.so and in Debian's
    /// folder for this kind of machine, then beside the command, as it is built.
    #[arg(long, value_name = "PATH", conflicts_with = "check")]
    pub module: Option<PathBuf>,

    /// Have OpenSSL draw in this environment, and show which generators it used
    #[arg(long)]
    pub check: bool,
}
