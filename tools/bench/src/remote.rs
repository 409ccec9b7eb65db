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

mod answers;
mod serve;

pub use serve::{serve, serve_on};

use std::io::Write;
use std::marker::PhantomData;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use squall_tools::Failure;
use squall_tools::failure::cause;

use crate::source::{Request, Source};
use answers::{Answers, Trouble, last_words};

/// How long an answer may take; no batch is near it.
pub const TIMEOUT: Duration = Duration::from_secs(30);

/// Bytes of a sample that are asked for at once: the process keeps them in memory.
const PIECE: usize = 1 << 20;

/// A source in a process of its own, which ends when this is dropped.
#[derive(Debug)]
pub struct Remote {
    timeout: Duration,
    process: Option<Process>,
    /// Not [`Send`]: processes of ours end with the thread that started them.
    here: PhantomData<*const ()>,
}

impl Remote {
    /// Starts `command`, which serves a source.
    ///
    /// It runs on the CPUs that the calling thread may use: for [`Remote::parallel`], that thread
    /// is to be bound to none.
    ///
    /// # Errors
    /// It cannot be started, or its source cannot be opened.
    pub fn start(command: Command) -> Result<Remote, Failure> {
        Remote::start_within(command, TIMEOUT)
    }

    /// Starts `command`; an answer may take as long as `timeout`.
    ///
    /// # Errors
    /// As those of [`Remote::start`].
    pub fn start_within(command: Command, timeout: Duration) -> Result<Remote, Failure> {
        let mut remote = Remote::launch(command, timeout)?;
        remote.exchange(timeout, |process, timeout| process.answers.ready(timeout))?;
        Ok(remote)
    }

    fn launch(command: Command, timeout: Duration) -> Result<Remote, Failure> {
        Ok(Remote {
            timeout,
            process: Some(Process::start(command)?),
            here: PhantomData,
        })
    }

    /// Nanoseconds that passed for each request that any of `threads` made, which fill buffers of
    /// `len` bytes for `time`.
    ///
    /// # Errors
    /// The source or its process has failed.
    pub fn parallel(&mut self, threads: usize, len: usize, time: Duration) -> Result<f64, Failure> {
        let line = format!("parallel {threads} {len} {}", time.as_millis());
        self.exchange(self.timeout + time, |process, timeout| {
            process.ask(&line);
            process.answers.number(timeout)
        })
    }

    /// What `exchange` with the process gives. The process goes on if it told of an error itself.
    fn exchange<T>(
        &mut self,
        timeout: Duration,
        exchange: impl FnOnce(&mut Process, Duration) -> Result<T, Trouble>,
    ) -> Result<T, Failure> {
        let mut process = self
            .process
            .take()
            .ok_or_else(|| failure("its process has ended"))?;
        match exchange(&mut process, timeout) {
            Err(Trouble::Told(why)) => {
                self.process = Some(process);
                Err(failure(&why))
            }
            Err(trouble) => Err(failure(&process.end(&trouble))),
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
            Request::Fill(out) => format!("time fill {} {calls}", out.len()),
            Request::U32 => format!("time u32 {calls}"),
            Request::U64 => format!("time u64 {calls}"),
        };
        self.exchange(self.timeout, |process, timeout| {
            process.ask(&line);
            process.answers.number(timeout)
        })
    }

    fn sample(&mut self, out: &mut [u8]) -> Result<(), Failure> {
        out.chunks_mut(PIECE).try_for_each(|piece| {
            self.exchange(self.timeout, |process, timeout| {
                process.ask(&format!("sample {}", piece.len()));
                process.answers.bytes(piece, timeout)
            })
        })
    }
}

/// The one number that `command` prints without being asked. It serves no requests, but reports
/// errors and ends with its input in the same way.
///
/// # Errors
/// It could not be started, reported an error, or printed something unexpected.
pub fn number_of(command: Command, timeout: Duration) -> Result<f64, Failure> {
    let mut remote = Remote::launch(command, timeout)?;
    remote.exchange(timeout, |process, timeout| process.answers.number(timeout))
}

#[derive(Debug)]
struct Process {
    child: Child,
    input: ChildStdin,
    answers: Answers,
}

impl Process {
    /// It has a process group of its own: an interrupt from the terminal is for this process alone.
    fn start(mut command: Command) -> Result<Process, Failure> {
        command.stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.process_group(0).spawn().map_err(|error| {
            let program = command.get_program().display();
            failure(&format!("{program}: {}", cause(&error)))
        })?;
        let input = child.stdin.take().expect("a pipe");
        let answers = Answers::new(child.stdout.take().expect("a pipe"));
        Ok(Process {
            child,
            input,
            answers,
        })
    }

    fn ask(&mut self, line: &str) {
        // That nobody reads it is seen where the answer is waited for.
        let _ = self.input.write_all(format!("{line}\n").as_bytes());
    }

    /// Ends it, and says what was wrong.
    fn end(mut self, trouble: &Trouble) -> String {
        let status = self.stop();
        let words = self.child.stderr.take().map(last_words);
        let words = words.unwrap_or_default();
        match trouble {
            Trouble::Ended => format!("its process ended early, {status}{words}"),
            other => format!("its process {other}, and was ended{words}"),
        }
    }

    /// Kills it, with all that it has started, and gives what it ended with.
    fn stop(&mut self) -> String {
        // Its number stays its own until it has been waited for.
        let group = Pid::from_child(&self.child);
        let _ = kill_process_group(group, Signal::KILL);
        match self.child.wait() {
            Ok(status) => status.to_string(),
            Err(error) => cause(&error),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop();
    }
}

fn failure(why: &str) -> Failure {
    Failure::Runtime(why.into())
}
