//! Blocks through a pipe, as with dd: a child draws and writes them one by one, and this process
//! reads and discards them.

use std::fs::File;
use std::hint::black_box;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process::{self, ChildStdout, Command, Stdio};
use std::time::Instant;

use squall_tools::Failure;
use squall_tools::failure::cause;
use squall_tools::measure::lanes::Lane;

use crate::measure::single;

use super::child::{Child, NOTHING};
use super::programs::Program;

/// Lengths of blocks, in bytes.
pub const LENGTHS: [usize; 4] = [512, 4 << 10, 64 << 10, 1 << 20];

/// Length of the buffer that this process reads into, and of what it reads before it looks at the
/// clock: by then the child has started.
const BUFFER_LEN: usize = 1 << 20;

/// A lane for each of `sources`: nanoseconds for a block of `len` bytes, over `bytes` of them in
/// all, by a child that writes each block with as many write(2) as it takes. `nothing` is the
/// control: blocks of zeros.
pub fn lanes(sources: &[&str], len: usize, bytes: u64) -> Vec<Lane<'static>> {
    let of_source = |source: &&str| {
        let child = Child::Pipe((*source).to_owned(), len);
        let is_random = *source != NOTHING;
        single(source, move || {
            Writer::start(child.command(), is_random)?.time(len, bytes)
        })
    };
    sources.iter().map(of_source).collect()
}

/// A lane for each program that is installed and writes random bytes: `dd-urandom`, `openssl-enc`
/// (AES-128 in counter mode over zeros), both in blocks of `len`; and `squall-stream`, this
/// program as `squall stream`, which has one way of writing whatever `len` is.
pub fn program_lanes(len: usize, bytes: u64) -> Vec<Lane<'static>> {
    let all = Program::ALL.into_iter();
    let of_program = |program: Program| {
        single(program.name(), move || {
            Writer::start(program.command(len), true)?.time(len, bytes)
        })
    };
    all.filter(|program| program.is_installed())
        .map(of_program)
        .collect()
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

/// A process that writes without end, and its pipe. It is ended and reaped when this goes.
struct Writer {
    process: Process,
    pipe: ChildStdout,
    buffer: Vec<u8>,
}

impl Writer {
    /// Starts `command` and reads what fills a buffer: it is not one byte over and over, if it
    /// `is_random`.
    fn start(mut command: Command, is_random: bool) -> Result<Writer, Failure> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().map_err(|error| {
            let program = command.get_program().display();
            Failure::Runtime(format!("{program}: {}", cause(&error)))
        })?;
        let pipe = process.stdout.take();
        let mut writer = Writer {
            process: Process(process),
            pipe: pipe.ok_or_else(|| failure("no standard output"))?,
            buffer: vec![0; BUFFER_LEN],
        };
        if let Err(error) = writer.pipe.read_exact(&mut writer.buffer) {
            return Err(writer.failure(&error));
        }
        let is_one_byte = writer.buffer.iter().all(|&byte| byte == writer.buffer[0]);
        match is_random && is_one_byte {
            true => Err(failure("it writes one byte over and over")),
            false => Ok(writer),
        }
    }

    /// Nanoseconds for `len` bytes, over `bytes`.
    fn time(mut self, len: usize, bytes: u64) -> Result<f64, Failure> {
        let clock = Instant::now();
        let got = self.discard(bytes)?;
        Ok(clock.elapsed().as_nanos() as f64 * len as f64 / got as f64)
    }

    /// Reads at least `bytes`; how many it were.
    fn discard(&mut self, bytes: u64) -> Result<u64, Failure> {
        let mut got = 0;
        while got < bytes {
            match self.pipe.read(&mut self.buffer) {
                Ok(0) => return Err(self.failure(&io::ErrorKind::UnexpectedEof.into())),
                Ok(len) => got += len as u64,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failure(&error)),
            }
        }
        Ok(got)
    }

    /// What a failed read means: if the pipe has ended, what the process said.
    fn failure(&mut self, error: &io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => failure(&self.process.last_words()),
            _ => failure(&cause(error)),
        }
    }
}

/// A child that is ended and reaped when this goes.
struct Process(process::Child);

impl Process {
    /// Ends it; what it said on standard error.
    fn last_words(&mut self) -> String {
        self.end();
        let mut said = String::new();
        let read = self
            .0
            .stderr
            .take()
            .map(|mut e| e.read_to_string(&mut said));
        match read {
            Some(Ok(_)) if !said.trim().is_empty() => said.trim().to_owned(),
            _ => "it ended early".into(),
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    /// A process that is not reaped would still be there, as a zombie.
    #[test]
    fn a_writer_is_ended_and_reaped() {
        let writer = Writer::start(shell("exec cat /dev/urandom"), true).unwrap();
        let proc = format!("/proc/{}", writer.process.0.id());
        assert!(Path::new(&proc).exists());
        assert!(writer.time(512, 1 << 20).unwrap() > 0.0);
        assert!(!Path::new(&proc).exists());
    }

    #[test]
    fn zeros_are_not_random() {
        let zeros = || shell("exec cat /dev/zero");
        assert!(Writer::start(zeros(), true).is_err());
        assert!(Writer::start(zeros(), false).is_ok());
    }

    #[test]
    fn a_writer_that_ends_early_is_a_failure() {
        let Err(Failure::Runtime(line)) = Writer::start(shell("echo x; echo why >&2"), true) else {
            panic!("it wrote two bytes");
        };
        assert!(line.ends_with("why"), "{line}");
    }

    #[test]
    fn installed_programs_write() {
        for mut lane in program_lanes(4096, 1 << 20) {
            let ns = (lane.batch)(1).unwrap();
            assert!(ns > 0.0, "{}: {ns}", lane.name);
        }
        let lanes = program_lanes(512, 1);
        assert!(lanes.iter().any(|lane| lane.name == "dd-urandom"));
    }
}
