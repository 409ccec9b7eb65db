//! Arguments of `squall run` and `squall openssl-conf`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

/// Run an existing program with squall's random bytes instead of the kernel's.
#[derive(Args, Debug)]
#[command(
    override_usage = "squall run [--counters FILE] [--library PATH] [--python] [--] PROGRAM [ARGUMENT]...",
    after_help = "Executes the program with libsquall-preload.so at the front of LD_PRELOAD, which also covers the \
programs that it starts. squall then serves getrandom, getentropy, arc4random and its relatives, and \
reads of /dev/urandom and /dev/random by descriptor. The program replaces squall (exec): the process, \
its descriptors and its ignored signals stay the same, and the exit code is the program's.

These programs are refused, because they would run without squall:
  programs that are linked statically
      link libsquall.a into them, or use a dynamic build
  programs in Go
      use the Go module github.com/squall-rng/squall/go
  programs for musl and other C libraries than glibc
      link libsquall into them, or use a build for glibc
  programs of 32 bits, or for other CPUs
      use a build for this machine
  set-user-ID and set-group-ID programs, and those with capabilities
      link libsquall into them

These are not refused, but squall does not serve them:
  system calls that a program makes itself, except getrandom by syscall(2) on x86-64 and aarch64
      link libsquall
  all requests of a program after it has entered a seccomp sandbox, or switched off the cycle
  counter (PR_SET_TSC) or CPUID (ARCH_SET_CPUID)
      link libsquall, and allow the system calls that it needs
  streams on /dev/urandom by fopen(3), which reads within the C library
      use open(2) and read(2), or link libsquall
  OpenSSL's own generators, which stretch their seeds
      use the provider: squall openssl-conf
  programs with gcc's AddressSanitizer do not start, because it must be the first library; those
  with ThreadSanitizer report false races, because it does not see how squall orders them
      link libsquall
  programs that AppArmor or SELinux start with a clean environment
      use the provider, or link libsquall
  programs that a preloaded one starts, and interpreters of scripts, if they are of the kinds above
      as above

A request whose buffer the program may not write, in whole or in part, ends it with SIGSEGV; the \
kernel would return EFAULT, or fill a part.

Examples:
  squall run -- python3 -c 'import os; print(os.urandom(16).hex())'
  squall run --counters counts -- dd if=/dev/urandom of=/dev/null bs=1M count=100
  squall status --counters counts
      how much the program drew
  squall run --python -- python3 -c 'import random; print(random.random())'
      a number that no fork and no clone repeats
  OPENSSL_CONF=/etc/ssl/squall.cnf squall run --counters counts -- nginx -g 'daemon off;'
      a TLS server whose OpenSSL uses the provider

Exit codes: the program's own; 127 if there is no such program, 126 if it cannot be executed, 2 if \
the library would have no effect on it and for a wrong argument, 1 if the library is not installed."
)]
pub struct RunArguments {
    /// Count in this new file how much the program and its children draw
    ///
    /// squall status --counters shows the counters at any time. An older file of counters is replaced,
    /// any other file is refused. Processes that may not write to the file are not counted.
    #[arg(long, value_name = "FILE")]
    pub counters: Option<PathBuf>,

    /// The library to preload [default: the one that was installed with this command]
    ///
    /// squall looks below the folder that contains bin, for lib/libsquall-preload.so and in Debian's
    /// folder for this architecture, and then next to the command, where a build puts the library.
    #[arg(long, value_name = "PATH")]
    pub library: Option<PathBuf>,

    /// Make Python's random, numpy.random, secrets and os.urandom draw from squall
    ///
    /// Does in this program and in all that it starts what `python -m squall enable` does, by a
    /// sitecustomize.py in PYTHONPATH, which then imports Python's own. A Python without the package squall
    /// ends with one line and the exit code 2. One that ignores PYTHONPATH (-E, -I) or sitecustomize (-S) is
    /// not reached.
    #[arg(long)]
    pub python: bool,

    /// The program, searched in PATH if it has no slash, and its arguments
    #[arg(
        value_name = "PROGRAM",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub program: Vec<OsString>,
}

/// Print the configuration that makes OpenSSL use squall, or check it.
#[derive(Args, Debug)]
#[command(
    after_help = "OpenSSL 3.0 and later reads its configuration when a program begins to use it: the file that \
OPENSSL_CONF names, or otherwise openssl.cnf in its own folder (openssl version -d).

Examples:
  squall openssl-conf > /etc/ssl/squall.cnf
      a new file, for programs with OPENSSL_CONF=/etc/ssl/squall.cnf
  OPENSSL_CONF=/etc/ssl/squall.cnf squall openssl-conf --check
      which generators OpenSSL uses with that file

Exit codes: 0 for success, 1 if --check finds that random bytes do not come from squall and for a \
failure while running, 2 for a wrong argument."
)]
pub struct OpensslConfArguments {
    /// The provider [default: the one that was installed with this command]
    ///
    /// squall looks below the folder that contains bin, for lib/ossl-modules/squall.so and in Debian's
    /// folder for this architecture, and then next to the command, where a build puts the provider.
    #[arg(long, value_name = "PATH", conflicts_with = "check")]
    pub module: Option<PathBuf>,

    /// Draw from OpenSSL in this environment, and show which generators it used
    #[arg(long)]
    pub check: bool,
}
