//! Blocks through a pipe, as with dd: another process draws and writes them one by one, and this
//! process reads and discards them.

use std::fs::File;
use std::hint::black_box;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process::{self, ChildStdout, Command, Stdio};
use std::time::Instant;

use squall_tools::Failure;
use squall_tools::failure::cause;
use squall_tools::measure::contest::Contestant;

use super::child::{Child, Experiment, NOTHING, PROGRAM};
use crate::measure::single;

/// Lengths of blocks, in bytes.
pub const LENGTHS: [usize; 4] = [512, 4 << 10, 64 << 10, 1 << 20];

/// Length of the buffer that this process reads into, and of what it reads before it looks at the
/// clock: by then the child has started.
const BUFFER_LEN: usize = 1 << 20;

/// Nanoseconds for a block of `len` bytes by each of `sources`, over `bytes` of them in all. A child
/// writes each block. [`NOTHING`] writes zeros.
pub fn contestants(sources: &[&str], len: usize, bytes: u64) -> Vec<Contestant<'static>> {
    let of_source = |source: &&str| {
        let child = Child {
            experiment: Experiment::Pipe,
            source: (*source).to_owned(),
            bytes: len,
        };
        let is_random = *source != NOTHING;
        let time = move || time(&mut child.command(), is_random, len, bytes);
        single(source, time)
    };
    sources.iter().map(of_source).collect()
}

/// The same for programs that write random bytes, where they are installed: dd of /dev/urandom and
/// OpenSSL's AES-128 in counter mode, in blocks of `len`, and this program as `squall stream`, which
/// chooses its own blocks.
pub fn program_contestants(len: usize, bytes: u64) -> Vec<Contestant<'static>> {
    let mut dd = Command::new("dd");
    dd.args(["if=/dev/urandom", "status=none"]);
    dd.arg(format!("bs={len}"));
    let mut openssl = Command::new("openssl");
    openssl.args(["enc", "-aes-128-ctr", "-nosalt", "-in", "/dev/zero"]);
    openssl.args(["-K", &"5a".repeat(16), "-iv", &"00".repeat(16)]);
    openssl.args(["-bufsize", &len.to_string()]);
    let mut squall = Command::new(PROGRAM);
    squall.arg("stream");
    let programs = [
        ("dd-urandom", dd, is_in_path("dd")),
        ("openssl-enc", openssl, is_in_path("openssl")),
        ("squall-stream", squall, is_squall()),
    ];
    let installed = programs.into_iter().filter(|(.., is_there)| *is_there);
    let contestant = |(name, mut command, _): (_, Command, _)| {
        command.stdin(Stdio::null());
        single(name, move || time(&mut command, true, len, bytes))
    };
    installed.map(contestant).collect()
}

/// Whether this program is the command `squall`, and no test.
fn is_squall() -> bool {
    let program = std::env::current_exe().unwrap_or_default();
    program.file_name().is_some_and(|name| name == "squall")
}

fn is_in_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

/// Draws blocks of `len` bytes and writes them to standard output, until nobody reads them.
pub(super) fn write_blocks(len: usize, draw: &mut dyn FnMut(&mut [u8])) -> Result<(), Failure> {
    // A `Stdout` would look for the end of a line.
    let copy = io::stdout().as_fd().try_clone_to_owned();
    let mut output = File::from(copy.map_err(|error| failure(&cause(&error)))?);
    let mut block = vec![0; len];
    loop {
        draw(black_box(&mut block));
        match output.write_all(&block) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            Err(error) => return Err(failure(&cause(&error))),
        }
    }
}

/// Nanoseconds for `len` bytes of what `command` writes, over `bytes`. If it `is_random`, it must not
/// write one byte over and over.
fn time(command: &mut Command, is_random: bool, len: usize, bytes: u64) -> Result<f64, Failure> {
    let (mut process, mut pipe) = start(command)?;
    let mut buffer = vec![0; BUFFER_LEN];
    if let Err(error) = pipe.read_exact(&mut buffer) {
        return Err(process.failure(&error));
    }
    if is_random && buffer.iter().all(|byte| *byte == buffer[0]) {
        return Err(failure("it writes one byte over and over"));
    }
    let clock = Instant::now();
    let mut got = 0;
    while got < bytes {
        match pipe.read(&mut buffer) {
            Ok(0) => return Err(process.failure(&io::ErrorKind::UnexpectedEof.into())),
            Ok(len) => got += len as u64,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(process.failure(&error)),
        }
    }
    Ok(clock.elapsed().as_nanos() as f64 * len as f64 / got as f64)
}

fn start(command: &mut Command) -> Result<(Process, ChildStdout), Failure> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().map_err(|error| {
        let program = command.get_program().display();
        Failure::Runtime(format!("{program}: {}", cause(&error)))
    })?;
    let pipe = process.stdout.take().expect("it is piped");
    Ok((Process(process), pipe))
}

/// A child that is killed and reaped when this is dropped.
struct Process(process::Child);

impl Process {
    /// What a failed read means: if the pipe has ended, what the process said.
    fn failure(&mut self, error: &io::Error) -> Failure {
        if error.kind() != io::ErrorKind::UnexpectedEof {
            return failure(&cause(error));
        }
        self.end();
        let mut said = String::new();
        let stderr = self.0.stderr.take();
        let _ = stderr.map(|mut stderr| stderr.read_to_string(&mut said));
        match said.trim() {
            "" => failure("it ended early"),
            said => failure(said),
        }
    }

    fn end(&mut self) {
        // Both fail only where it has been reaped already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

fn failure(cause: &str) -> Failure {
    Failure::Runtime(format!("a process that writes to a pipe: {cause}"))
}
