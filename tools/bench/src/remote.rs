//! Sources in processes of their own: Go's, and those of ours that set what holds for a whole
//! process.
//!
//! The process says `ready`, reads requests, one a line, and times them by its own clock:
//!
//! ```text
//! time fill LENGTH CALLS | time u32 CALLS | time u64 CALLS    nanoseconds a request
//! sample LENGTH                                               `bytes LENGTH`, and so many bytes
//! parallel THREADS LENGTH MILLISECONDS                        time by all requests of all threads
//! ```
//!
//! Its answer is a line: a number, or `error` and why, which it may also say instead of `ready`. It
//! ends with its input, so that none is left behind whatever becomes of this process. One that
//! hangs, dies or answers anything else is killed, with all that it has started, and is not asked
//! again.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::marker::PhantomData;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{ChildStdin, Command, Stdio};
use std::time::Duration;

use rustix::process::{Signal, set_parent_process_death_signal};
use squall_tool_base::Failure;
use squall_tool_base::failure::cause;

use crate::child::Subprocess;
use crate::sources::{Opened, Request, Source};

/// How long an answer may take; no batch is near it.
pub const TIMEOUT: Duration = Duration::from_secs(30);

/// Bytes of a sample that are asked for at once: the process keeps them in memory.
const PIECE: usize = 1 << 20;

/// The longest line that is an answer.
const LINE: u64 = 4096;

/// A source in a process of its own, which ends when this is dropped.
#[derive(Debug)]
pub struct Remote {
    timeout: Duration,
    process: Option<Process>,
    /// Not [`Send`]: processes of ours end with the thread that started them.
    here: PhantomData<*const ()>,
}

/// Why there is no answer.
enum NoAnswer {
    /// The process reports an error, and goes on.
    Error(String),
    /// The process has ended.
    End,
    /// The process did this instead.
    Misconduct(String),
}

impl Remote {
    /// Starts `command`, which serves a source.
    ///
    /// It runs on the CPUs that the calling thread may use: for [`Source::parallel`], that thread
    /// is to be bound to none.
    /// Fails if it cannot be started, or its source cannot be opened.
    pub fn start(command: Command) -> Result<Remote, Failure> {
        Remote::start_within(command, TIMEOUT)
    }

    /// Starts `command`; an answer may take as long as `timeout`.
    pub fn start_within(command: Command, timeout: Duration) -> Result<Remote, Failure> {
        let mut remote = Remote::launch(command, timeout)?;
        remote.ask("", timeout, |process| process.expect("ready"))?;
        Ok(remote)
    }

    fn launch(command: Command, timeout: Duration) -> Result<Remote, Failure> {
        Ok(Remote {
            timeout,
            process: Some(Process::start(command)?),
            here: PhantomData,
        })
    }

    /// What `read` makes of the answer to `request`, which may take as long as `timeout`. The process
    /// goes on if it reported an error itself.
    fn ask<T>(
        &mut self,
        request: &str,
        timeout: Duration,
        read: impl FnOnce(&mut Process) -> Result<T, NoAnswer>,
    ) -> Result<T, Failure> {
        let failure = |why: &str| Err(Failure::Runtime(why.into()));
        let Some(mut process) = self.process.take() else {
            return failure("its process has ended");
        };
        // That nobody reads it is seen where the answer is waited for.
        let _ = process.input.write_all(request.as_bytes());
        let limited = process.output.get_ref().set_read_timeout(Some(timeout));
        limited.expect("the timeout is not zero");
        match read(&mut process) {
            Err(NoAnswer::End) => failure(&process.running.end(None)),
            Err(NoAnswer::Misconduct(what)) => failure(&process.running.end(Some(&what))),
            Err(NoAnswer::Error(why)) => {
                self.process = Some(process);
                failure(&why)
            }
            Ok(answer) => {
                self.process = Some(process);
                Ok(answer)
            }
        }
    }
}

impl Source for Remote {
    fn time(&mut self, request: Request, calls: u64) -> Result<f64, Failure> {
        let line = match request {
            Request::Fill(out) => format!("time fill {} {calls}\n", out.len()),
            Request::U32 => format!("time u32 {calls}\n"),
            Request::U64 => format!("time u64 {calls}\n"),
        };
        self.ask(&line, self.timeout, Process::number)
    }

    fn sample(&mut self, out: &mut [u8]) -> Result<(), Failure> {
        out.chunks_mut(PIECE).try_for_each(|piece| {
            let line = format!("sample {}\n", piece.len());
            self.ask(&line, self.timeout, |process| process.bytes(piece))
        })
    }

    fn parallel(
        &mut self,
        threads: usize,
        len: usize,
        time: Duration,
    ) -> Option<Result<f64, Failure>> {
        let line = format!("parallel {threads} {len} {}\n", time.as_millis());
        Some(self.ask(&line, self.timeout + time, Process::number))
    }
}

/// The one number that `command` prints without being asked. It serves no requests, but reports
/// errors and ends with its input in the same way.
/// Fails if it could not be started, reported an error, or printed something unexpected.
pub fn number_of(command: Command, timeout: Duration) -> Result<f64, Failure> {
    Remote::launch(command, timeout)?.ask("", timeout, Process::number)
}

#[derive(Debug)]
struct Process {
    running: Subprocess,
    input: ChildStdin,
    /// A socket, whose reads have a timeout.
    output: BufReader<UnixStream>,
}

impl Process {
    fn start(mut command: Command) -> Result<Process, Failure> {
        let pair = UnixStream::pair();
        let (output, of_child) =
            pair.map_err(|error| Failure::Runtime(format!("socketpair(2): {}", cause(&error))))?;
        command.stdin(Stdio::piped()).stderr(Stdio::piped());
        command.stdout(OwnedFd::from(of_child));
        let mut running = Subprocess::start(&mut command)?;
        Ok(Process {
            input: running.0.stdin.take().expect("a pipe"),
            running,
            output: BufReader::new(output),
        })
    }

    fn number(&mut self) -> Result<f64, NoAnswer> {
        let line = self.line()?;
        match line.parse::<f64>() {
            Ok(number) if number.is_finite() && number > 0.0 => Ok(number),
            _ => Err(no_answer(&line)),
        }
    }

    fn bytes(&mut self, out: &mut [u8]) -> Result<(), NoAnswer> {
        self.expect(&format!("bytes {}", out.len()))?;
        let read = self.output.read_exact(out);
        read.map_err(|error| self.unread(&error))
    }

    fn expect(&mut self, line: &str) -> Result<(), NoAnswer> {
        match self.line()? {
            answer if answer == line => Ok(()),
            answer => Err(no_answer(&answer)),
        }
    }

    fn line(&mut self) -> Result<String, NoAnswer> {
        let mut line = Vec::new();
        let read = (&mut self.output).take(LINE).read_until(b'\n', &mut line);
        read.map_err(|error| self.unread(&error))?;
        match line.split_last() {
            Some((b'\n', line)) => Ok(String::from_utf8_lossy(line).into_owned()),
            _ if line.len() as u64 == LINE => Err(no_answer(&String::from_utf8_lossy(&line[..80]))),
            _ => Err(NoAnswer::End),
        }
    }

    fn unread(&self, error: &io::Error) -> NoAnswer {
        let timeout = self.output.get_ref().read_timeout().ok().flatten();
        match (error.kind(), timeout) {
            (io::ErrorKind::WouldBlock, Some(timeout)) => {
                let seconds = timeout.as_secs_f64();
                NoAnswer::Misconduct(format!("did not answer within {seconds} s"))
            }
            _ => NoAnswer::End,
        }
    }
}

/// What a line says that is no answer.
fn no_answer(line: &str) -> NoAnswer {
    match line.strip_prefix("error ") {
        Some(why) => NoAnswer::Error(why.into()),
        None => NoAnswer::Misconduct(format!("answered {line:?}")),
    }
}

/// Serves the source `opened` on standard input and output until the input ends, or the thread that
/// started this process does. Of threads it knows nothing.
/// Fails if input or output has failed; an error of the source is an answer.
pub fn serve(opened: Opened) -> Result<(), Failure> {
    // A source that hangs would not see the end of its input.
    let bound = set_parent_process_death_signal(Some(Signal::KILL));
    bound.map_err(|error| Failure::Runtime(format!("prctl(2): {error}")))?;
    let mut output = io::stdout().lock();
    let mut write = |answer: &[u8]| {
        let written = output.write_all(answer).and_then(|()| output.flush());
        written.map_err(|error| Failure::of_write("output", &error))
    };
    let mut source = match opened {
        Ok(source) => source,
        Err(reason) => return write(&error_line(&reason)),
    };
    write(b"ready\n")?;
    // Kept from one request to the next, as it is where sources of this process are measured.
    let mut buffer = Vec::new();
    for line in io::stdin().lines() {
        let line = line.map_err(|error| Failure::Runtime(format!("input: {}", cause(&error))))?;
        let answer = answer(&line, source.as_mut(), &mut buffer);
        write(&answer.unwrap_or_else(|failure| error_line(&failure.into_text())))?;
    }
    Ok(())
}

fn answer(line: &str, source: &mut dyn Source, buffer: &mut Vec<u8>) -> Result<Vec<u8>, Failure> {
    let wrong = || Failure::Usage(format!("no such request: {line}"));
    let number = |word: &str| word.parse::<usize>().map_err(|_| wrong());
    let words: Vec<&str> = line.split(' ').collect();
    let ns = match words[..] {
        ["time", "fill", len, calls] => {
            let len = number(len)?;
            if buffer.len() != len {
                // Not zero, or its pages would be mapped while it is timed.
                *buffer = vec![1; len];
            }
            source.time(Request::Fill(buffer), number(calls)? as u64)?
        }
        ["time", "u32", calls] => source.time(Request::U32, number(calls)? as u64)?,
        ["time", "u64", calls] => source.time(Request::U64, number(calls)? as u64)?,
        ["sample", len] => {
            let mut out = vec![0; number(len)?];
            source.sample(&mut out)?;
            let head = format!("bytes {len}\n").into_bytes();
            return Ok([head, out].concat());
        }
        _ => return Err(wrong()),
    };
    Ok(format!("{ns}\n").into_bytes())
}

/// The answer that reports an error: one line.
fn error_line(why: &str) -> Vec<u8> {
    format!("error {}\n", why.replace('\n', " ")).into_bytes()
}
