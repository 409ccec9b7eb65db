//! `squall blank` on files and loop devices: what is empty, and what is not.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use squall_testing::loops::Lab;
use squall_testing::needs::LOOP_DEVICES;
use squall_testing::suite::Test;
use squall_testing::tests;

use super::workspace::{Workspace, run_to_end};
use crate::common::{squall, text};

const MIB: usize = 1 << 20;

/// Exit code, answers by target, and messages of `squall blank` about `targets`.
fn blank(options: &str, targets: &[&Path]) -> (Option<i32>, Vec<Value>, String) {
    let mut command = squall(&format!("blank --json {options}"));
    let output = command.args(targets).output().expect("the command runs");
    let answers = text(&output.stdout);
    let answer = |line: &str| serde_json::from_str(line).expect("JSON");
    let mut answers: Vec<Value> = answers.lines().map(answer).collect();
    answers.sort_by_key(|answer| answer["target"]["given"].to_string());
    (output.status.code(), answers, text(&output.stderr))
}

fn every_pass_is_recognised() {
    for (pass, code, verdict, byte) in [
        ("zero", 0, "zeros", json!(0)),
        ("one", 0, "ones", json!(255)),
        ("0x55", 0, "byte", json!(0x55)),
        ("random", 1, "random", Value::Null),
    ] {
        let workspace = Workspace::new();
        let target = workspace.target("target", 5 * MIB + 77);
        run_to_end(workspace.wipe(&format!("--pass {pass}"), &[&target])).succeeded();
        for options in ["", "--sample"] {
            let (found, answers, message) = blank(options, &[&target]);
            assert_eq!(found, Some(code), "{pass}: {message}");
            assert_eq!(answers[0]["verdict"], verdict);
            assert_eq!(answers[0]["byte"], byte);
            assert_eq!(answers[0]["blank"], code == 0);
            let is_whole = answers[0]["read"] == 5 * MIB + 77;
            assert_eq!(is_whole, options.is_empty());
        }
    }
}

fn a_file_system_is_named() {
    let lab = Lab::new();
    let device = lab.device(8 * MIB as u64);
    let (code, answers, message) = blank("", &[&device.path]);
    assert_eq!(code, Some(0), "{message}");
    assert_eq!(answers[0]["verdict"], "zeros");
    let mut make = Command::new("mkfs.ext4");
    let made = make.arg("-q").arg(&device.path).status();
    assert!(made.unwrap().success());
    let output = squall("blank").arg(&device.path).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stderr), "squall: the drive is not blank\n");
    let line = text(&output.stdout);
    assert!(
        line.contains(": not blank: data from byte 1,0") && line.contains("ext4"),
        "{line}"
    );
}

/// It is interrupted while it reads one of two drives, and says so of that one.
fn what_was_not_read_is_told_apart() {
    let workspace = Workspace::new();
    let mut command = squall("blank --json --rate-limit 1MiB");
    for (name, size) in [("small", 4096), ("large", 64 << 20)] {
        command.arg(workspace.sparse_target(name, size));
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command runs");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut next = || -> Value {
        let line = lines.next().expect("an answer").expect("text");
        serde_json::from_str(&line).expect("JSON")
    };
    let first = next();
    assert!(first["blank"] == true && first["reason"].is_null());
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let second = next();
    assert_eq!(second["verdict"], "unread");
    assert_eq!(second["reason"], "interrupted: it was not read to its end");
    let (code, message) = crate::common::wait_for_end(child);
    assert_eq!(code, Some(1));
    assert_eq!(message, "squall: 1 of 2 drives could not be read\n");
}

/// One that is missing and one that is in use keep nobody from the answer about the third.
fn a_missing_drive_does_not_stop_the_others() {
    let lab = Lab::new();
    let workspace = Workspace::new();
    let device = lab.device(16 * MIB as u64);
    let mounted = lab.mounted(&device.path);
    // Alone, it is refused, and nothing is said of writing.
    let (code, _, message) = blank("", &[&device.path]);
    assert_eq!(code, Some(2));
    let is_told = message.contains(": is mounted at ") && !message.contains("written");
    assert!(is_told, "{message}");

    let good = workspace.sparse_target("good", 4096);
    let none = workspace.path("none");
    let (code, answers, message) = blank("", &[&none, &device.path, &good]);
    assert_eq!(code, Some(1));
    assert_eq!(message, "squall: 2 of 3 drives could not be read\n");
    let of = |given: &Path| {
        let mut all = answers.iter();
        let found = all.find(|answer| answer["given"].as_str().map(Path::new) == Some(given));
        found.expect("an answer")
    };
    assert_eq!(of(&good)["blank"], true);
    for (given, words) in [(&none, "No such file"), (&device.path, "is mounted at ")] {
        let answer = of(given);
        assert!((&answer["blank"], &answer["verdict"]) == (&json!(false), &json!("unread")));
        let reason = answer["reason"].as_str().expect("a reason");
        assert!(reason.starts_with(words), "{reason}");
    }
    assert!(of(&none)["target"].is_null() && of(&device.path)["target"].is_object());
    drop(mounted);
}

pub const TESTS: &[Test] = tests![
    every_pass_is_recognised,
    a_file_system_is_named: [LOOP_DEVICES],
    what_was_not_read_is_told_apart,
    a_missing_drive_does_not_stop_the_others: [LOOP_DEVICES],
];
