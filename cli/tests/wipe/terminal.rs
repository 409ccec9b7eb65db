//! `squall wipe` on a real terminal: keys, a terminal that changes its size, and what is left behind at every exit.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use rustix::stdio::stdin;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use squall_testing::suite::Test;
use squall_testing::tests;
use squall_tool_base::in_child;
use squall_tool_base::interrupt::Interrupt;

use super::workspace::Workspace;
use crate::common::emulator::{Emulator, Resize};
use crate::common::squall;

pub const TESTS: &[Test] = tests![
    keys_do_not_disturb_the_screen,
    a_narrower_terminal_has_no_broken_lines,
    the_terminal_is_as_before_at_every_exit,
    nothing_turns_echo_off_after_a_second_signal,
    a_worker_that_is_not_ended_first_turns_echo_off,
    a_stopped_run_gives_the_terminal_back,
    a_drive_is_skipped_by_a_key,
    a_terminal_that_cannot_draw_gets_lines,
    bars_suit_the_locale,
];

const GIB: u64 = 1 << 30;

/// Limits at which the files take minutes: transfers end every few seconds, or four times as often.
const SLOW: &str = "--rate-limit 1MiB";
const FASTER: &str = "--rate-limit 4MiB";

const NAMES: [&str; 3] = ["one", "two", "three"];

fn begin(workspace: &Workspace, terminal: &mut Emulator, options: &str) -> Child {
    let targets = NAMES.map(|name| workspace.sparse_target(name, GIB));
    let mut command = squall("wipe --checkpoint 1 --report");
    command
        .arg(workspace.path("reports"))
        .args(options.split_whitespace())
        .args(&targets);
    terminal.start(&mut command)
}

fn begin_after_the_question(workspace: &Workspace, terminal: &mut Emulator, limit: &str) -> Child {
    let child = begin(workspace, terminal, limit);
    terminal.wait_for("overwrite them:");
    terminal.type_keys("wipe 3\r");
    terminal.wait_until(|screen| at_work(screen) == 3);
    child
}

fn at_work(screen: &str) -> usize {
    screen
        .lines()
        .filter(|line| line.contains("  pass 1"))
        .count()
}

/// Waits until the bars have been drawn anew, twice, and the screen `is_whole`; returns it.
fn wait_for_progress(terminal: &mut Emulator, is_whole: impl Fn(&str) -> bool) -> String {
    let mut next = || {
        let before = totals(&terminal.shown());
        terminal.wait_until(|screen| {
            totals(screen).is_some_and(|now| Some(now) > before) && is_whole(screen)
        })
    };
    next();
    next()
}

/// The bytes that were moved, as the last line says, to three digits.
fn totals(screen: &str) -> Option<f64> {
    let line = screen.lines().find(|line| line.contains("of 3 finished"))?;
    let mut parts = line.split(", ");
    let (number, unit) = parts
        .find_map(|part| part.strip_suffix(" moved"))?
        .split_once(' ')?;
    let unit = match unit {
        "B" => 1e0,
        "kB" => 1e3,
        "MB" => 1e6,
        _ => 1e9,
    };
    Some(number.parse::<f64>().ok()? * unit)
}

/// The control: a run that has no keyboard cannot turn echo off.
fn keys_do_not_disturb_the_screen() {
    for has_keyboard in [true, false] {
        let workspace = Workspace::new();
        let mut terminal = Emulator::new(24, 80);
        let child = match has_keyboard {
            true => begin_after_the_question(&workspace, &mut terminal, SLOW),
            false => {
                terminal.has_no_input();
                begin(&workspace, &mut terminal, &format!("{SLOW} --yes"))
            }
        };
        terminal.wait_until(|screen| at_work(screen) == 3);
        terminal.type_keys("hello\r\rhello\r");
        match has_keyboard {
            true => {
                let shown = wait_for_progress(&mut terminal, |screen| at_work(screen) == 3);
                assert!(!shown.contains("hello"), "{shown}");
                assert_eq!(shown.matches("of 3 finished").count(), 1, "{shown}");
            }
            // The control. The bars are soon drawn over the words.
            false => terminal.wait_until_written("hello"),
        }
        kill_process(Pid::from_child(&child), Signal::INT).expect("the run is there");
        assert_eq!(terminal.end(child), Some(1));
    }
}

fn a_narrower_terminal_has_no_broken_lines() {
    for resize in [Resize::Breaks, Resize::Cuts] {
        let workspace = Workspace::new();
        let mut terminal = Emulator::new(24, 160);
        let child = begin_after_the_question(&workspace, &mut terminal, FASTER);
        // Lines are as long as they get.
        terminal.wait_until(|screen| screen.matches("average").count() == 4);
        let is_whole = |screen: &str| {
            let lines: Vec<_> = screen.lines().filter(|line| !line.is_empty()).collect();
            lines.len() == 4 && at_work(screen) == 3 && lines[3].starts_with("0 of 3 finished")
        };
        for columns in [60, 40, 100] {
            terminal.resize(24, columns, resize);
            let shown = terminal.wait_until(is_whole);
            // Drawn anew once more.
            terminal.wait_until(|screen| screen != shown && is_whole(screen));
        }
        if let Resize::Breaks = resize {
            // The control: this is what the lines look like before they are drawn anew, unless the run is stopped while
            // it draws.
            let mut are_broken = || {
                terminal.resize(24, 100, resize);
                terminal.wait_until(is_whole);
                terminal.pause(&child);
                terminal.resize(24, 40, resize);
                let shown = terminal.shown();
                terminal.proceed(&child);
                shown.lines().filter(|line| !line.is_empty()).count() > 4
            };
            assert!((0..100).any(|_| are_broken()));
        }
        kill_process(Pid::from_child(&child), Signal::INT).expect("the run is there");
        assert_eq!(terminal.end(child), Some(1));
    }
}

fn the_terminal_is_as_before_at_every_exit() {
    let exits: [fn(&mut Emulator, &Child); 5] = [
        |terminal, _| terminal.type_keys("\x03"),
        // The second does not wait for a checkpoint.
        |_, child| {
            for signal in [Signal::INT, Signal::TERM] {
                kill_process(Pid::from_child(child), signal).expect("the run is there");
            }
        },
        |_, child| kill_process(Pid::from_child(child), Signal::TERM).expect("the run is there"),
        // The process that does the work.
        |_, child| kill_process(worker(child), Signal::KILL).expect("the run is there"),
        |_, child| kill_process(worker(child), Signal::ABORT).expect("the run is there"),
    ];
    for exit in exits {
        let workspace = Workspace::new();
        let mut terminal = Emulator::new(24, 80);
        assert!(terminal.echoes());
        let child = begin_after_the_question(&workspace, &mut terminal, SLOW);
        terminal.wait_until_echo_is(false);
        exit(&mut terminal, &child);
        assert_eq!(terminal.end(child), Some(1));
        assert!(terminal.echoes());
    }
}

/// A worker that turns echo off at every moment cannot do it after its parent has restored the terminal.
fn nothing_turns_echo_off_after_a_second_signal() {
    let mut parent = Command::new(this_program());
    parent.arg(PARENT_OF_SILENCER);
    assert!(echoes_after(
        parent,
        Signal::HUP,
        &[Signal::INT, Signal::TERM]
    ));
}

/// The control: the parent does not end its worker before it restores the terminal.
fn a_worker_that_is_not_ended_first_turns_echo_off() {
    let script = "exec 3<&0; \"$0\" \"$1\" <&3 & trap 'stty echo; exit 1' TERM; wait";
    let stays_off = |_| {
        let mut parent = Command::new("sh");
        parent
            .args(["-c", script])
            .arg(this_program())
            .arg(SILENCER);
        !echoes_after(parent, Signal::TERM, &[Signal::TERM])
    };
    assert!((0..100).any(stays_off));
}

/// Whether the terminal echoes after `parent`, whose worker turns echo off and which handles `last` from then on, was
/// ended by `signals`.
fn echoes_after(mut parent: Command, last: Signal, signals: &[Signal]) -> bool {
    let mut terminal = Emulator::new(24, 80);
    let child = terminal.start(&mut parent);
    terminal.wait_until_echo_is(false);
    terminal.wait_until(|_| handles(child.id(), last));
    for signal in signals {
        kill_process(Pid::from_child(&child), *signal).expect("the run is there");
    }
    assert_eq!(terminal.end(child), Some(1));
    terminal.echoes()
}

fn this_program() -> PathBuf {
    std::env::current_exe().expect("this program")
}

/// The arguments that make this program such a worker, and such a parent.
const SILENCER: &str = "silencer";
const PARENT_OF_SILENCER: &str = "parent-of-silencer";

/// Does not return if this program is asked to turn echo off.
pub fn silence_if_asked() {
    let asked = std::env::args_os().nth(1).unwrap_or_default();
    if asked == SILENCER {
        silence();
    }
    if asked == PARENT_OF_SILENCER {
        let ended = in_child::run(|| {
            let _interrupt = Interrupt::watch("").expect("signals");
            silence()
        });
        unreachable!("{ended:?}");
    }
}

fn silence() -> ! {
    loop {
        let mut quiet = tcgetattr(stdin()).expect("a terminal");
        quiet.local_modes.remove(LocalModes::ECHO);
        tcsetattr(stdin(), OptionalActions::Now, &quiet).expect("it is silenced");
    }
}

/// Whether the process handles a signal. Of those that interrupt a run, it handles SIGHUP last.
pub fn handles(process: u32, signal: Signal) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("the run is there");
    let handled = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let handled = u64::from_str_radix(handled.expect("signals").trim(), 16).expect("a mask");
    handled >> (signal.as_raw() - 1) & 1 == 1
}

fn worker(child: &Child) -> Pid {
    let id = child.id();
    let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
    let children = children.expect("the run is there");
    let number = children.split_whitespace().next().expect("a child");
    Pid::from_raw(number.parse().expect("a number")).expect("a process")
}

fn a_stopped_run_gives_the_terminal_back() {
    let workspace = Workspace::new();
    let mut terminal = Emulator::new(24, 80);
    let child = begin_after_the_question(&workspace, &mut terminal, SLOW);
    terminal.wait_until_echo_is(false);
    for _ in 0..2 {
        terminal.type_keys("\x1a");
        terminal.wait_until_echo_is(true);
        terminal.wait_until(|_| is_stopped(child.id()));
        terminal.wait_until(|screen| !screen.contains("of 3 finished"));
        let group = Pid::from_child(&child);
        kill_process_group(group, Signal::CONT).expect("the run is there");
        terminal.wait_until_echo_is(false);
        wait_for_progress(&mut terminal, |screen| at_work(screen) == 3);
    }
    terminal.type_keys("\x03");
    assert_eq!(terminal.end(child), Some(1));
    assert!(terminal.echoes());
}

fn is_stopped(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).expect("the run is there");
    stat.rsplit(") ")
        .next()
        .is_some_and(|rest| rest.starts_with('T'))
}

fn a_drive_is_skipped_by_a_key() {
    let workspace = Workspace::new();
    let mut terminal = Emulator::new(24, 80);
    let child = begin_after_the_question(&workspace, &mut terminal, SLOW);
    terminal.type_keys("s");
    terminal.wait_for("skip which drive?");
    terminal.wait_until(|screen| screen.contains("2: two"));
    terminal.type_keys("2\r");
    terminal.wait_for("two: interrupted");
    let is_skipped =
        |screen: &str| screen.contains("1 of 3 finished") && !screen.contains("2: two");
    let shown = terminal.wait_until(is_skipped);
    assert_eq!(at_work(&shown), 2, "{shown}");
    terminal.type_keys("\x03");
    terminal.wait_for("3 of 3 drives not finished");
    assert_eq!(terminal.end(child), Some(1));
    let job = super::workspace::read(&workspace.journal());
    let notes = &job["drives"][1]["notes"];
    let note = notes[0]["text"].as_str().expect("a note");
    assert!(note.starts_with("skipped by a key"), "{note}");
    assert_eq!(job["drives"][0]["notes"], serde_json::json!([]));
}

/// As in a log: with `TERM=dumb`, and without TERM.
fn a_terminal_that_cannot_draw_gets_lines() {
    let workspace = Workspace::new();
    let start = |(arguments, line): (&str, &'static str)| {
        ["dumb", "none"].map(|term| {
            let name = format!("{}-{term}", arguments.split(' ').next().expect("a command"));
            let mut command = squall(&format!("{arguments} {SLOW}"));
            match term {
                "none" => command.env_remove("TERM"),
                term => command.env("TERM", term),
            };
            if name.starts_with("wipe") {
                command.arg("--report").arg(workspace.path("reports"));
            }
            if name.starts_with("stream") {
                command.arg("--output");
            }
            command.arg(workspace.sparse_target(&name, GIB));
            let mut terminal = Emulator::new(24, 300);
            let child = terminal.start(&mut command);
            (terminal, child, line)
        })
    };
    // Some lines come late, so all run at once.
    let runs = [
        ("wipe --yes", ": pass 1/1 begins"),
        ("blank", " %, "),
        ("stream --progress --size 1GiB", " %, "),
    ]
    .map(start);
    for (mut terminal, mut child, line) in runs.into_iter().flatten() {
        terminal.wait_for(line);
        child.kill().expect("it is there");
        terminal.end(child);
    }
}

fn bars_suit_the_locale() {
    let workspace = Workspace::new();
    let target = workspace.sparse_target("target", GIB);
    let blank = format!("blank {SLOW} {}", target.display());
    let stream = format!("stream --progress {SLOW} --size {GIB} --output /dev/null");
    for (locale, left, other) in [("C", "-------", "┄"), ("C.UTF-8", "┄┄┄┄┄┄┄", "-------")]
    {
        for arguments in [&blank, &stream] {
            let mut terminal = Emulator::new(24, 80);
            let mut child = terminal.start(squall(arguments).env("LC_ALL", locale));
            let shown = terminal.wait_until(|screen| screen.contains(left));
            assert!(!shown.contains(other), "{shown}");
            child.kill().expect("it is there");
            terminal.end(child);
        }
    }
}
