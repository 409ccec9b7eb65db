//! Runs `squall-lab` with machines, and checks that the runs leave nothing behind.
//!
//! Machines need what `scripts/lab-deps.sh` fetches, which tests declare with [`needs`].

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use squall_guests::commands::contains;
use squall_guests::fixture::{TIMEOUT, Turn};
use squall_lab::vm;
use squall_testing::workspace::said;
use tempfile::TempDir;

/// The right to run a machine. The probe is built before, so that building it is not part of a run's time.
pub fn turn() -> Turn {
    vm::probe().expect("a probe");
    Turn::take()
}

/// The directories of one run, removed on drop.
pub struct Workspace {
    directory: TempDir,
}

impl Workspace {
    pub fn new() -> Workspace {
        let directory = TempDir::new().expect("a directory");
        fs::create_dir(directory.path().join("tmp")).expect("a directory");
        Workspace { directory }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// `squall-lab` with `arguments`, split at blanks. Its temporary files are in `tmp`, its report in
    /// `output`.
    pub fn lab(&self, arguments: &str) -> Command {
        let mut command = lab(arguments);
        command
            .arg("--output")
            .arg(self.path("output"))
            .env("TMPDIR", self.path("tmp"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// The report of a run, which must succeed: as it is printed, and its value. The first experiment must be valid.
    #[track_caller]
    pub fn report(&self, arguments: &str) -> (String, Value) {
        let printed = said(&mut self.lab(&format!("{arguments} --json")));
        let report: Value = serde_json::from_str(&printed).expect("JSON");
        assert_eq!(report["experiments"][0]["verdict"]["validity"], "valid");
        (printed, report)
    }

    /// Fails unless the run has left its report, which was `printed` too and has this text in its Markdown, and nothing
    /// else.
    #[track_caller]
    pub fn has_written(&self, name: &str, printed: &str, text: &str) {
        let read = |end| fs::read_to_string(self.path(&format!("output/{name}.{end}")));
        assert_eq!(read("json").expect("a report"), printed);
        let table = read("md").expect("a report");
        contains(&table, &["All experiments are valid", text]);
        assert_eq!(files(&self.path("tmp")), Vec::<PathBuf>::new());
        assert_eq!(self.users_of(""), Vec::<u32>::new());
    }

    /// Processes that have one of the workspace's files named `name` in their arguments.
    pub fn users_of(&self, name: &str) -> Vec<u32> {
        let directory = self.path("tmp");
        let directory = directory.to_str().expect("a path");
        let is_user = |process: &u32| {
            let arguments = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
            let arguments = String::from_utf8_lossy(&arguments);
            arguments.contains(directory) && arguments.contains(name)
        };
        processes().filter(is_user).collect()
    }

    /// Waits until a process uses a file named `name`, and returns its ID.
    #[track_caller]
    pub fn wait_for_user_of(&self, name: &str) -> u32 {
        let deadline = Instant::now() + TIMEOUT;
        while Instant::now() < deadline {
            if let Some(&process) = self.users_of(name).first() {
                return process;
            }
            sleep(Duration::from_millis(10));
        }
        panic!("nobody uses {name}");
    }

    /// Waits until no process uses the workspace's files.
    #[track_caller]
    pub fn wait_for_no_user(&self) {
        let deadline = Instant::now() + TIMEOUT;
        while !self.users_of("").is_empty() {
            assert!(Instant::now() < deadline, "{:?}", self.users_of(""));
            sleep(Duration::from_millis(10));
        }
    }

    /// Fails if a process, a temporary file or a report is left.
    #[track_caller]
    pub fn is_clean(&self) {
        assert_eq!(self.users_of(""), Vec::<u32>::new());
        for directory in ["tmp", "output"] {
            let path = self.path(directory);
            assert_eq!(files(&path), Vec::<PathBuf>::new());
        }
    }
}

/// `squall-lab` with `arguments`, split at blanks.
pub fn lab(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_squall-lab"));
    let arguments = arguments.split_whitespace();
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Standard output of a run that must succeed and write no errors.
#[track_caller]
pub fn text(arguments: &str) -> String {
    let output = lab(arguments).output().expect("the command runs");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments}");
    assert_eq!(output.status.code(), Some(0), "{arguments}");
    String::from_utf8(output.stdout).expect("text is UTF-8")
}

/// The report of a command. Fails unless it has these keys and no others, at any level, and the help names each.
#[track_caller]
pub fn report_with(keys: &str, command: &str) -> Value {
    fn collect(value: &Value, keys: &mut BTreeSet<String>) {
        if let Value::Object(map) = value {
            keys.extend(map.keys().cloned());
        }
        let inner = value.as_object().into_iter().flat_map(|map| map.values());
        let inner = inner.chain(value.as_array().into_iter().flatten());
        inner.for_each(|value| collect(value, keys));
    }
    let report = serde_json::from_str(&text(&format!("{command} --json"))).expect("JSON");
    let mut found = BTreeSet::new();
    collect(&report, &mut found);
    let expected: BTreeSet<_> = keys.split_whitespace().map(str::to_owned).collect();
    assert_eq!(found, expected);
    let help = text(&format!("{command} --help"));
    let is_in_word = |c: char| c.is_alphanumeric() || c == '_';
    let words: BTreeSet<_> = help.split(|c| !is_in_word(c)).collect();
    let unnamed: Vec<_> = found
        .iter()
        .filter(|key| !words.contains(key.as_str()))
        .collect();
    assert!(unnamed.is_empty(), "not in the help: {unnamed:?}");
    report
}

/// What the first experiment reports of a source, which must have given at least so many outputs.
#[track_caller]
pub fn source<'a>(report: &'a Value, name: &str, outputs: u64) -> &'a Value {
    let sources = report["experiments"][0]["sources"].as_array();
    let mut sources = sources.expect("sources").iter();
    let found = sources.find(|source| source["source"] == name);
    let found = found.expect("the source");
    let given = found["repeats"]["outputs"].as_u64();
    assert!(given >= Some(outputs), "{found}");
    found
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").expect("processes").flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The paths of the entries of `directory`, which need not exist.
pub fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// The single line that a failing run prints.
#[track_caller]
pub fn complaint(output: &Output, code: i32) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{errors}");
    assert!(output.stdout.is_empty());
    assert_eq!(errors.lines().count(), 1, "{errors}");
    assert!(errors.starts_with("squall-lab: "), "{errors}");
    errors.trim_end().to_owned()
}
