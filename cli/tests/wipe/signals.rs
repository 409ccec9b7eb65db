//! Signals that were ignored before a run stay ignored in it, and a run that is asked by SIGUSR1 says how far it is.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use squall_testing::suite::Test;
use squall_testing::tests;

use super::terminal::handles;
use super::workspace::{Running, Workspace, run_to_end};
use crate::common::{DEADLINE, squall};

pub const TESTS: &[Test] = tests![
    ignored_signals_stay_ignored,
    programs_get_progress_when_they_ask,
];

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

    /// The lines in its log that say how far it is.
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
        let pid = Pid::from_child(&running.child);
        kill_process(pid, Signal::USR1).expect("the run is there");
        running.until("progress");
    }
    running.child.kill().expect("it is ended");
    running.child.wait().expect("it is ended");
}
