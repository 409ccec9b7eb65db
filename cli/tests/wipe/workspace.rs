//! A test's directory with targets and reports, and ways to run the command on them.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use squall::Stream;
use squall_testing::loops::diskseq;
use squall_testing::runs::{FinishedRun, events};
use tempfile::TempDir;

use crate::common::squall;

/// What targets hold before they are wiped.
pub const OLD: u8 = 0xa7;

pub struct Workspace(pub TempDir);

impl Workspace {
    pub fn new() -> Workspace {
        Workspace(TempDir::new().expect("a directory"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Creates a file of `size` bytes that are all [`OLD`].
    pub fn target(&self, name: &str, size: usize) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, vec![OLD; size]).expect("room for a target");
        path
    }

    /// A target of zeros that takes no room.
    pub fn sparse_target(&self, name: &str, size: u64) -> PathBuf {
        let path = self.path(name);
        let file = File::create(&path).expect("a target");
        file.set_len(size).expect("a size");
        path
    }

    /// A `squall wipe` command with JSON events and without questions, its reports in `reports`.
    pub fn wipe(&self, options: &str, targets: &[&Path]) -> Command {
        let mut command = squall("wipe --yes --json --report");
        command.arg(self.path("reports"));
        piped(command, options, targets)
    }

    /// A `squall wipe --resume` command for the only journal.
    pub fn resume(&self, options: &str) -> Command {
        let mut command = squall("wipe --yes --json --resume");
        command.arg(self.journal());
        piped::<&Path>(command, options, &[])
    }

    /// A `squall verify` command for all reports.
    pub fn verify(&self, options: &str) -> Command {
        piped(squall("verify --json"), options, &self.reports())
    }

    /// The files in the directory of reports with this ending, sorted.
    pub fn files(&self, ending: &str) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.path("reports")) else {
            return Vec::new();
        };
        let paths = entries.flatten().map(|entry| entry.path());
        let mut paths: Vec<_> = paths
            .filter(|path| path.extension().is_some_and(|e| e == ending))
            .collect();
        paths.sort();
        paths
    }

    /// The records of which the name `is_one`, without its extension. A journal is called `20261122T093000Z-4711`, and
    /// a report `20261122T093000Z-4711-01-name`.
    fn records(&self, is_one: impl Fn(&str) -> bool) -> Vec<PathBuf> {
        let mut paths = self.files("json");
        paths.retain(|path| is_one(&path.file_stem().unwrap_or_default().to_string_lossy()));
        paths
    }

    /// The reports of wiped drives.
    pub fn reports(&self) -> Vec<PathBuf> {
        let is_other = |name: &str| name.ends_with("-job") || name.ends_with("-verified");
        self.records(|name| !is_journal(name) && !is_other(name))
    }

    /// The reports of verifications, the oldest first.
    pub fn verifications(&self) -> Vec<PathBuf> {
        let mut paths = self.records(|name| name.ends_with("-verified"));
        paths.sort_by_key(|path| fs::metadata(path).and_then(|about| about.modified()).ok());
        paths
    }

    /// The reports of whole jobs.
    pub fn job_reports(&self) -> Vec<PathBuf> {
        self.records(|name| name.ends_with("-job"))
    }

    /// The only journal.
    pub fn journal(&self) -> PathBuf {
        let mut paths = self.records(is_journal);
        assert_eq!(paths.len(), 1, "{paths:?}");
        paths.remove(0)
    }

    pub fn has_journal(&self) -> bool {
        !self.records(is_journal).is_empty()
    }
}

fn is_journal(name: &str) -> bool {
    name.split('-').count() == 2
}

fn piped<P: AsRef<OsStr>>(mut command: Command, options: &str, paths: &[P]) -> Command {
    command.args(options.split_whitespace()).args(paths);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub fn squall_on(arguments: &str, paths: &[&Path]) -> FinishedRun {
    run_to_end(piped(squall(arguments), "", paths))
}

pub fn run_to_end(mut command: Command) -> FinishedRun {
    command.output().expect("the command runs").into()
}

/// A run in progress, whose events are read as they come.
pub struct Running {
    pub child: Child,
    lines: BufReader<ChildStdout>,
}

impl Running {
    pub fn start(mut command: Command) -> Running {
        let mut child = command.spawn().expect("the command runs");
        let lines = BufReader::new(child.stdout.take().expect("a pipe"));
        Running { child, lines }
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("the run is there");
    }

    pub fn kill(&mut self) {
        self.child.kill().expect("the run is there");
        self.child.wait().expect("it is ended");
    }

    /// Waits for the end; the events are those that were not read yet.
    pub fn end(mut self) -> FinishedRun {
        let mut unread = Vec::new();
        self.lines.read_to_end(&mut unread).expect("events");
        let output = self.child.wait_with_output().expect("it ends");
        FinishedRun {
            events: events(&unread),
            ..output.into()
        }
    }

    /// Waits for the next event of this name; fails if the run ends before.
    pub fn until(&mut self, name: &str) -> Value {
        self.until_with(name, || ())
    }

    /// Like [`Running::until`], but calls `work` at once and after each other event.
    pub fn until_with(&mut self, name: &str, mut work: impl FnMut()) -> Value {
        loop {
            work();
            let mut line = String::new();
            let len = self.lines.read_line(&mut line).expect("events");
            assert_ne!(len, 0, "the run ended before {name}");
            let event: Value = serde_json::from_str(&line).expect("one JSON object per line");
            if event["event"] == name {
                return event;
            }
        }
    }
}

/// The serial number of a loop device, as squall knows it.
pub fn serial(device: &Path) -> String {
    diskseq(device).expect("Linux 5.15 or later")
}

pub fn read(report: &Path) -> Value {
    let text = fs::read(report).expect("a report");
    serde_json::from_slice(&text).expect("a report is JSON")
}

/// The key of pass `number`, counted from 0, in the key file at `path`.
pub fn key(path: &Path, number: usize) -> [u8; 32] {
    let text = fs::read_to_string(path).expect("a file of keys");
    let line = text.lines().nth(number).expect("a key a line");
    let digits = data_encoding::HEXLOWER.decode(line.as_bytes());
    digits.expect("digits").try_into().expect("32 bytes")
}

/// Fails unless the `size` bytes of `target` are the keystream of `key`.
pub fn assert_keystream(target: &Path, size: usize, key: &[u8; 32]) {
    let mut expected = vec![0; size];
    let mut stream = Stream::new(key);
    stream.fill(&mut expected).expect("a short stream");
    let found = contents(target, size);
    let differing = found.iter().zip(&expected).position(|(a, b)| a != b);
    assert_eq!(differing, None, "{}", target.display());
}

/// The first `size` bytes of `target`.
pub fn contents(target: &Path, size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    let file = File::open(target).expect("a target");
    file.read_exact_at(&mut bytes, 0).expect("its bytes");
    bytes
}

/// Changes one byte of `target`.
pub fn flip(target: &Path, offset: u64) {
    let file = File::options().read(true).write(true).open(target);
    let file = file.expect("a target");
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset).expect("a byte");
    file.write_all_at(&[!byte[0]], offset).expect("a byte");
    file.sync_all().expect("a disk");
}
