//! What a process answers, waited for no longer than there is timeout.

use std::fmt::{self, Display};
use std::io::Read;
use std::os::fd::AsFd;
use std::process::{ChildStderr, ChildStdout};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Longest line that is an answer.
const LINE: usize = 4096;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The process says so, and goes on.
    Told(String),
    Ended,
    Hangs(Duration),
    Nonsense(String),
}

impl Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Trouble::Told(why) => write!(f, "says: {why}"),
            Trouble::Ended => f.write_str("ended early"),
            Trouble::Hangs(timeout) => {
                write!(f, "did not answer within {} s", timeout.as_secs_f64())
            }
            Trouble::Nonsense(answer) => write!(f, "answered {answer:?}"),
        }
    }
}

#[derive(Debug)]
pub(super) struct Answers {
    output: ChildStdout,
    /// What was read and is not used yet.
    read: Vec<u8>,
}

impl Answers {
    pub(super) fn new(output: ChildStdout) -> Answers {
        let read = Vec::new();
        Answers { output, read }
    }

    pub(super) fn ready(&mut self, timeout: Duration) -> Result<(), Trouble> {
        self.expected("ready", &Deadline::after(timeout))
    }

    pub(super) fn number(&mut self, timeout: Duration) -> Result<f64, Trouble> {
        let line = self.line(&Deadline::after(timeout))?;
        match line.parse::<f64>() {
            Ok(number) if number.is_finite() && number > 0.0 => Ok(number),
            _ => Err(told(line)),
        }
    }

    pub(super) fn bytes(&mut self, out: &mut [u8], timeout: Duration) -> Result<(), Trouble> {
        let deadline = Deadline::after(timeout);
        self.expected(&format!("bytes {}", out.len()), &deadline)?;
        while self.read.len() < out.len() {
            self.more(&deadline)?;
        }
        out.copy_from_slice(&self.read[..out.len()]);
        self.read.drain(..out.len());
        Ok(())
    }

    fn expected(&mut self, line: &str, deadline: &Deadline) -> Result<(), Trouble> {
        let answer = self.line(deadline)?;
        if answer == line {
            Ok(())
        } else {
            Err(told(answer))
        }
    }

    fn line(&mut self, deadline: &Deadline) -> Result<String, Trouble> {
        loop {
            if let Some(end) = self.read.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=end).collect();
                return Ok(String::from_utf8_lossy(&line[..end]).into_owned());
            }
            if self.read.len() > LINE {
                let begin = String::from_utf8_lossy(&self.read[..80]);
                return Err(Trouble::Nonsense(begin.into_owned()));
            }
            self.more(deadline)?;
        }
    }

    fn more(&mut self, deadline: &Deadline) -> Result<(), Trouble> {
        if !is_readable(&self.output, deadline.left()) {
            return Err(Trouble::Hangs(deadline.timeout));
        }
        let mut part = [0; 1 << 16];
        match self.output.read(&mut part) {
            Ok(0) | Err(_) => Err(Trouble::Ended),
            Ok(len) => {
                self.read.extend_from_slice(&part[..len]);
                Ok(())
            }
        }
    }
}

/// What an answer says that is none.
fn told(line: String) -> Trouble {
    match line.strip_prefix("error ") {
        Some(why) => Trouble::Told(why.into()),
        None => Trouble::Nonsense(line),
    }
}

/// The first line that a process left on its standard error, to be added to a message; empty if
/// there is none.
pub(super) fn last_words(mut errors: ChildStderr) -> String {
    let mut part = [0; LINE];
    if !is_readable(&errors, Duration::ZERO) {
        return String::new();
    }
    let len = errors.read(&mut part).unwrap_or(0);
    let words = String::from_utf8_lossy(&part[..len]);
    match words.lines().find(|line| !line.trim().is_empty()) {
        Some(line) => format!(": {}", line.trim()),
        None => String::new(),
    }
}

/// Whether there is something to read, or an end, before `timeout` is over.
fn is_readable(pipe: &impl AsFd, timeout: Duration) -> bool {
    let deadline = Deadline::after(timeout);
    loop {
        let left = Timespec::try_from(deadline.left()).ok();
        match poll(&mut [PollFd::new(pipe, PollFlags::IN)], left.as_ref()) {
            Err(Errno::INTR) => {}
            ready => return ready.is_ok_and(|count| count > 0),
        }
    }
}

struct Deadline {
    timeout: Duration,
    begin: Instant,
}

impl Deadline {
    fn after(timeout: Duration) -> Deadline {
        let begin = Instant::now();
        Deadline { timeout, begin }
    }

    fn left(&self) -> Duration {
        self.timeout.saturating_sub(self.begin.elapsed())
    }
}
