//! What happens to a run that nobody watches: signals that were ignored before stay ignored, SIGUSR1 makes it report its
//! progress, and it records that its output was closed or the clock was set.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use squall_testing::compiler::compile;
use squall_testing::suite::Test;
use squall_testing::tests;

use super::terminal::handles;
use super::workspace::{Running, Workspace, read, run_to_end};
use crate::common::{DEADLINE, squall};

pub const TESTS: &[Test] = tests![
    ignored_signals_stay_ignored,
    programs_get_progress_when_they_ask,
    a_run_notes_that_its_output_was_closed,
    a_clock_that_is_set_is_noted,
];

/// The wall clock, a day later once there is a file of this name.
const CLOCK: &str = r#"
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *now) {
    int result = syscall(SYS_clock_gettime, id, now);
    if (id == CLOCK_REALTIME && access(getenv("CLOCK_IS_SET"), F_OK) == 0)
        now->tv_sec += 24 * 60 * 60;
    return result;
}
"#;

/// A limit at which the files below take an hour.
const SLOW: &str = "--rate-limit 4KiB";
const SIZE: usize = 16 << 20;

/// A run that nobody reads but this.
struct Unattended {
    child: Child,
    log: PathBuf,
}

impl Unattended {
    /// Starts `command` in a shell that ignores signals, as nohup(1) and some services do.
    fn start(command: &Command, log: &Path) -> Unattended {
        let file = File::create(log).expect("a log");
        let child = Command::new("sh")
            .args(["-c", "trap '' HUP INT TERM; exec \"$0\" \"$@\""])
            .arg(command.get_program())
            .args(command.get_args())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(file)
            .spawn();
        Unattended {
            child: child.expect("the command runs"),
            log: log.to_owned(),
        }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("the run is there");
    }

    /// The number of reports of progress in its log.
    fn answers(&self) -> usize {
        let log = fs::read_to_string(&self.log).expect("a log");
        log.lines().filter(|line| line.contains(" %")).count()
    }

    /// Waits until it handles SIGUSR1, and asks until it has answered.
    #[track_caller]
    fn ask(&mut self) {
        let (before, started) = (self.answers(), Instant::now());
        while self.answers() == before {
            let ended = self.child.try_wait().expect("the child can be waited for");
            assert_eq!(ended, None, "{}", fs::read_to_string(&self.log).unwrap());
            assert!(started.elapsed() < DEADLINE, "there is no answer");
            if handles(self.child.id(), Signal::USR1) {
                self.signal(Signal::USR1);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Unattended {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn ignored_signals_stay_ignored() {
    let workspace = Workspace::new();
    let target = workspace.target("target", SIZE);
    run_to_end(workspace.wipe("--pass zero --verify none", &[&target])).succeeded();
    let report = workspace.reports().remove(0);
    let targets = ["one", "two"].map(|name| workspace.target(name, SIZE));
    for (number, (options, target)) in [
        ("wipe --yes", &targets[0]),
        // The work is done in a child.
        ("wipe --yes --stall 1h", &targets[1]),
        ("verify", &report),
        ("blank", &target),
    ]
    .into_iter()
    .enumerate()
    {
        let mut command = squall(options);
        command.args(SLOW.split_whitespace());
        if options != "blank" {
            command.arg("--report").arg(workspace.path("unattended"));
        }
        command.arg(target);
        let log = workspace.path(&format!("log-{number}"));
        let mut running = Unattended::start(&command, &log);
        running.ask();
        for signal in [Signal::HUP, Signal::INT, Signal::TERM] {
            running.signal(signal);
            running.signal(signal);
        }
        running.ask();
    }
}

/// Each is answered, also before the second has passed after which there is one unasked.
fn programs_get_progress_when_they_ask() {
    let workspace = Workspace::new();
    let target = workspace.target("target", SIZE);
    let mut running = Running::start(workspace.wipe(SLOW, &[&target]));
    running.until("progress");
    for _ in 0..20 {
        running.signal(Signal::USR1);
        running.until("progress");
    }
    running.kill();
}

/// The reader of its lines ends, as with ssh or a pager, and the run goes on.
fn a_run_notes_that_its_output_was_closed() {
    for is_json in [false, true] {
        let workspace = Workspace::new();
        let target = workspace.sparse_target("target", 1 << 30);
        let mut command = workspace.wipe("--rate-limit 1MiB --checkpoint 1", &[&target]);
        if !is_json {
            command = squall("wipe --yes --rate-limit 1MiB --checkpoint 1 --report");
            command.arg(workspace.path("reports")).arg(&target);
            command.stdout(Stdio::null()).stderr(Stdio::piped());
        }
        let mut running = Unattended {
            child: command.spawn().expect("the command runs"),
            log: PathBuf::new(),
        };
        let child = &mut running.child;
        let mut line = String::new();
        let read_line = match is_json {
            true => BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line),
            false => BufReader::new(child.stderr.take().expect("a pipe")).read_line(&mut line),
        };
        assert_ne!(read_line.expect("lines"), 0);
        let started = Instant::now();
        let notes = || {
            let job = workspace.has_journal().then(|| read(&workspace.journal()));
            job.map_or(String::new(), |job| job["drives"][0]["notes"].to_string())
        };
        while !notes().contains("from then on nobody saw the run") {
            assert!(started.elapsed() < DEADLINE, "{}", notes());
            assert_eq!(child.try_wait().expect("it can be waited for"), None);
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn a_clock_that_is_set_is_noted() {
    let workspace = Workspace::new();
    let (source, library) = (workspace.path("clock.c"), workspace.path("clock.so"));
    fs::write(&source, CLOCK).expect("room for a program");
    let mut compiler = Command::new("cc");
    compile(
        compiler
            .args(["-shared", "-fPIC", "-o"])
            .arg(&library)
            .arg(&source),
    );
    for is_set in [false, true] {
        let target = workspace.target("target", SIZE);
        let flag = workspace.path("flag");
        let mut command = workspace.wipe(SLOW, &[&target]);
        command
            .env("LD_PRELOAD", &library)
            .env("CLOCK_IS_SET", &flag);
        let mut running = Running::start(command);
        running.until("progress");
        if is_set {
            File::create(&flag).expect("a flag");
        }
        running.signal(Signal::INT);
        running.child.wait().expect("it stops");
        let notes = read(&workspace.journal())["drives"][0]["notes"].to_string();
        let words = "the clock was set forward by 86";
        assert_eq!(notes.contains(words), is_set, "{notes}");
        fs::remove_dir_all(workspace.path("reports")).expect("they are there");
    }
}
