//! Runs that end too early, and go on: nothing is lost, and nothing done twice.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::common::end;
use crate::world::{Running, World, assert_keystream, contents, key, ran, read};

const MIB: usize = 1 << 20;
const SIZE: usize = 24 * MIB;

/// Slow enough to be interrupted: a third is written by the second checkpoint.
const SLOW: &str = "--rate-limit 4MiB --checkpoint 1 --passes 2";

fn signal(running: &Running, signal: Signal) {
    let pid = Pid::from_child(&running.child);
    kill_process(pid, signal).expect("the run is there");
}

/// The offset that `running` has flushed and recorded, once it is beyond the beginning.
fn a_checkpoint(running: &mut Running) -> u64 {
    loop {
        let offset = running.until("checkpoint")["offset"].as_u64().unwrap();
        if offset > 0 {
            return offset;
        }
    }
}

#[test]
fn what_was_killed_goes_on_where_it_was() {
    let world = World::new();
    let target = world.target("target", SIZE);
    let mut running = Running::start(world.wipe(SLOW, &[&target]));
    let offset = a_checkpoint(&mut running);
    running.child.kill().unwrap();
    running.child.wait().unwrap();
    let keys = fs::read_to_string(&world.files("key")[0]).unwrap();
    let first = key(&world.files("key")[0], 0);
    assert_keystream(&target, offset as usize, &first);
    assert!(
        contents(&target, SIZE)[SIZE - MIB..]
            .iter()
            .all(|b| *b == crate::world::OLD)
    );

    // Killed again, in the second pass, which has another key.
    let mut running = Running::start(world.resume("--rate-limit 20MiB --checkpoint 1"));
    let began = running.until("pass");
    assert_eq!(began["number"], 1);
    assert!(began["offset"].as_u64().unwrap() >= offset);
    assert_eq!(running.until("pass")["number"], 2);
    running.child.kill().unwrap();
    running.child.wait().unwrap();

    assert_eq!(keys, fs::read_to_string(&world.files("key")[0]).unwrap());
    let second = key(&world.files("key")[0], 1);
    let done = ran(world.resume("")).well();
    assert_eq!(done.events("pass")[0]["number"], 2);
    assert_keystream(&target, SIZE, &second);
    assert!(!world.has_journal());
    assert!(world.files("key").is_empty());
    let report = read(&world.reports()[0]);
    assert_eq!(report["drives"][0]["outcome"]["outcome"], "verified");
    assert_eq!(report["drives"][0]["passes"].as_array().unwrap().len(), 2);
}

#[test]
fn a_first_signal_stops_at_a_checkpoint_and_says_how_to_go_on() {
    for number in [Signal::INT, Signal::TERM, Signal::HUP] {
        let world = World::new();
        let targets = ["one", "two"].map(|name| world.target(name, SIZE));
        let paths = [targets[0].as_path(), &targets[1]];
        let mut running = Running::start(world.wipe("--rate-limit 4MiB", &paths));
        running.until("progress");
        signal(&running, number);
        let (code, message) = end(running.child);
        assert_eq!(code, Some(1));
        let journal = world.journal();
        let advice = format!("squall wipe --resume {}", journal.display());
        assert!(message.contains(&advice), "{message}");
        let offset = read(&journal)["drives"][1]["passes"][0]["offset"].as_u64();
        assert!(offset.unwrap() > 0 && offset.unwrap() < SIZE as u64);
        assert_eq!(
            read(&journal)["drives"][1]["outcome"]["outcome"],
            "interrupted"
        );
        ran(world.resume("")).well();
        assert_eq!(world.reports().len(), 2);
    }
}

#[test]
fn a_second_signal_stops_now() {
    let world = World::new();
    let target = world.target("target", SIZE);
    // A transfer takes four seconds, and is waited for.
    let mut running = Running::start(world.wipe("--rate-limit 256KiB", &[&target]));
    running.until("pass");
    signal(&running, Signal::INT);
    signal(&running, Signal::INT);
    let mut status = None;
    for _ in 0..100 {
        status = running.child.try_wait().unwrap();
        if status.is_some() {
            break;
        }
        sleep(Duration::from_millis(20));
    }
    let _ = running.child.kill();
    assert_eq!(status.expect("it ends now").code(), Some(1));
    ran(world.resume("")).well();
}

#[test]
fn a_drive_that_is_done_is_not_touched_again() {
    let world = World::new();
    let small = world.target("small", 4096);
    let large = world.target("large", SIZE);
    let command = world.wipe(
        "--rate-limit 4MiB --checkpoint 1 --keep-key",
        &[&small, &large],
    );
    let mut running = Running::start(command);
    assert_eq!(running.until("ended")["drive"], 0);
    a_checkpoint(&mut running);
    running.child.kill().unwrap();
    running.child.wait().unwrap();
    let before = contents(&small, 4096);
    let done = ran(world.resume("")).well();
    assert!(done.events("pass").iter().all(|event| event["drive"] == 1));
    assert!(before == contents(&small, 4096));
}

#[test]
fn nothing_goes_on_with_another_target() {
    let world = World::new();
    let target = world.target("target", SIZE);
    let mut running = Running::start(world.wipe("--rate-limit 4MiB --checkpoint 1", &[&target]));
    a_checkpoint(&mut running);
    running.child.kill().unwrap();
    running.child.wait().unwrap();
    replaced(&target, SIZE);
    let refused = ran(world.resume(""));
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    assert!(contents(&target, SIZE).iter().all(|byte| *byte == 1));
}

#[test]
fn a_job_that_is_over_is_not_resumed() {
    let world = World::new();
    let target = world.target("target", 4096);
    ran(world.wipe("", &[&target])).well();
    let mut command = crate::common::squall("wipe --yes --resume");
    let refused = command.arg(&world.reports()[0]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
}

/// Another file of that name and length.
fn replaced(target: &Path, size: usize) {
    let aside = target.with_extension("new");
    fs::write(&aside, vec![1; size]).unwrap();
    fs::rename(aside, target).unwrap();
}
