//! A `squall dmcrypt` that is killed or interrupted leaves nothing that the next run does not remove.

use crate::guests::workspace::{
    GuestSession, MEASURED, NAMES, RunResult, SERIAL, USUAL, Workspace,
};
use squall_guests::commands::contains;
use squall_guests::needs::USER_MODE;
use squall_testing::suite::Test;
use squall_testing::tests;

pub const TESTS: &[Test] = tests![
    a_killed_run_leaves_no_device: [USER_MODE],
    an_interrupted_run_reports_its_results: [USER_MODE],
];

const CIPHER: &str = "--cipher 'aes-xts-plain64 512'";

const OVER_DRIVE: &str = "--device /dev/ubda --yes --serial DRIVE-1";

fn a_killed_run_leaves_no_device() {
    let workspace = Workspace::new();
    let mut session = workspace.boot_with(USUAL, vec![workspace.drive(SERIAL, 16)]);
    killed(&mut session);
    by_name(&mut session);
    session.start_udev();
    killed(&mut session);
}

/// Kills a run of each kind while it has devices.
fn killed(session: &mut GuestSession) {
    let bench = format!("bench --size 16MiB --sample 1000 {CIPHER}");
    let runs = [
        ("list".to_owned(), "probe", false),
        (format!("{bench} {OVER_DRIVE}"), MEASURED, false),
        (bench, MEASURED, true),
    ];
    for (command, label, has_ram_disk) in runs {
        let run = session.start(&format!("dmcrypt {command}"));
        session.until_device(label);
        session.ok("kill -s KILL $(pidof squall)");
        assert_eq!(session.end(run).status, 128 + 9);
        session.no_device_is_left();
        let left = if has_ram_disk { "" } else { "! " };
        session.ok(&format!(
            "{left}[ -s /run/squall-dmcrypt ] && {left}[ -e /sys/module/brd ]"
        ));
        session.remove_leftovers();
        session.nothing_is_left();
    }
}

/// Devices left by a run that was killed between two steps are recognised by name. Others are not
/// touched.
fn by_name(session: &mut GuestSession) {
    let names = [
        "squall-dmcrypt-1-probe",
        "squall-dmcrypt",
        "my-squall-dmcrypt-1-probe",
    ];
    for name in names {
        session.ok(&format!("dmsetup create {name} --table '0 8 error'"));
    }
    session.ok("dmsetup create squall-dmcrypt-1-unfinished --notable");
    session.remove_leftovers();
    let left = session.ok(&format!("{NAMES} | sort"));
    assert_eq!(left, "my-squall-dmcrypt-1-probe\nsquall-dmcrypt\n");
    session.ok(&format!(
        "for name in $({NAMES}); do dmsetup remove $name; done"
    ));
    // Nobody else removes the device nodes here, and squall makes none.
    session.ok("rm -f /dev/mapper/*squall*");
}

fn an_interrupted_run_reports_its_results() {
    let workspace = Workspace::new();
    let mut session = workspace.boot_with(USUAL, vec![workspace.drive(SERIAL, 16)]);
    listing(&mut session);
    for over in ["", OVER_DRIVE] {
        measuring(&mut session, over);
    }
    session.start_udev();
    measuring(&mut session, "");
}

fn listing(session: &mut GuestSession) {
    let ran = interrupted(session, "list --export-json /tmp/list.json", "probe");
    contains(&ran.output, &["INCOMPLETE"]);
    contains(
        &ran.errors,
        &["interrupted: the list has what was found so far"],
    );
    assert_eq!(session.json("/tmp/list.json")["is_complete"], false);
}

fn measuring(session: &mut GuestSession, over: &str) {
    let bench = "bench --size 16MiB --rounds 10000 --sample 1 --export-json /tmp/b.json";
    let ran = interrupted(session, &format!("{bench} {CIPHER} {over}"), MEASURED);
    contains(&ran.output, &["INCOMPLETE", "aes-xts-plain64 512"]);
    contains(
        &ran.errors,
        &["interrupted: the report has what was measured so far"],
    );
    let report = session.json("/tmp/b.json");
    assert_eq!(report["is_complete"], false);
    let rounds = report["raw"][0]["samples"].as_array().map_or(0, Vec::len);
    assert!(rounds > 0 && rounds < 10_000, "{rounds} rounds");
}

/// More requests than one device gets in a round of samples of a millisecond.
const SOME_ROUNDS: u32 = 500;

/// Interrupts a run once it has the device with this label, and has finished a round if it measures.
#[track_caller]
fn interrupted(session: &mut GuestSession, command: &str, label: &str) -> RunResult {
    let run = session.start_stopped(&format!("dmcrypt {command}"));
    session.step_until_device(label);
    let (go_on, end) = (
        "kill -s CONT $(pidof squall)",
        "kill -s TERM $(pidof squall)",
    );
    if label == MEASURED {
        session.ok(go_on);
        session.until_requests(SOME_ROUNDS);
        session.ok(end);
    } else {
        // It is still stopped: the first signal waits for the second.
        session.ok(&format!("{end} && {go_on}"));
    }
    let ran = session.end(run);
    assert_eq!(
        (ran.status, ran.errors.lines().count()),
        (1, 1),
        "{}",
        ran.errors
    );
    session.nothing_is_left();
    ran
}
