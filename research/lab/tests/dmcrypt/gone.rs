//! A `squall dmcrypt` that is killed or interrupted leaves nothing, or only what the next run removes.

use crate::common::commands::contains;
use crate::common::needs::GUESTS;
use crate::dmcrypt::workspace::{Desk, MEASURED, NAMES, Ran, USUAL, Workspace};
use squall_testing::suite::Test;
use squall_testing::tests;

pub const TESTS: &[Test] = tests![
    a_killed_run_leaves_no_device: [GUESTS],
    an_interrupted_run_tells_what_it_has: [GUESTS],
];

const SERIAL: &str = "DRIVE-1";

const CIPHER: &str = "--cipher 'aes-xts-plain64 512'";

const OVER_DRIVE: &str = "--device /dev/vda --yes --serial DRIVE-1";

fn a_killed_run_leaves_no_device() {
    let workspace = Workspace::new();
    let mut desk = workspace.boot_with(USUAL, vec![workspace.drive(SERIAL, 16)]);
    killed(&mut desk);
    by_name(&mut desk);
    desk.start_udev();
    killed(&mut desk);
}

/// Kills a run of each kind while it has devices.
fn killed(desk: &mut Desk) {
    let bench = format!("bench --size 16MiB --sample 1000 {CIPHER}");
    let runs = [
        ("list".to_owned(), "probe", false),
        (format!("{bench} {OVER_DRIVE}"), MEASURED, false),
        (bench, MEASURED, true),
    ];
    for (command, label, has_ram_disk) in runs {
        let run = desk.start(&format!("dmcrypt {command}"));
        desk.until_device(label);
        desk.ok("kill -s KILL $(pidof squall)");
        assert_eq!(desk.end(run).status, 128 + 9);
        desk.no_device_is_left();
        let left = if has_ram_disk { "" } else { "! " };
        desk.ok(&format!(
            "{left}[ -s /run/squall-dmcrypt ] && {left}[ -e /sys/module/brd ]"
        ));
        next(desk);
        desk.nothing_is_left();
    }
}

/// A run that starts, and ends because it would need more than half of the memory.
#[track_caller]
fn next(desk: &mut Desk) {
    let ran = desk.squall(&format!("dmcrypt bench {CIPHER} --size 1TiB"));
    ran.refused(2, &["more than half of the memory"]);
}

/// Devices left by a run that was killed between two steps are recognised by name. Others are not
/// touched.
fn by_name(desk: &mut Desk) {
    let names = [
        "squall-dmcrypt-1-probe",
        "squall-dmcrypt",
        "my-squall-dmcrypt-1-probe",
    ];
    for name in names {
        desk.ok(&format!("dmsetup create {name} --table '0 8 error'"));
    }
    desk.ok("dmsetup create squall-dmcrypt-1-unfinished --notable");
    next(desk);
    let left = desk.ok(&format!("{NAMES} | sort"));
    assert_eq!(left, "my-squall-dmcrypt-1-probe\nsquall-dmcrypt\n");
    desk.ok(&format!(
        "for name in $({NAMES}); do dmsetup remove $name; done"
    ));
    // Nobody else removes the device nodes here, and squall makes none.
    desk.ok("rm -f /dev/mapper/*squall*");
}

fn an_interrupted_run_tells_what_it_has() {
    let workspace = Workspace::new();
    let mut desk = workspace.boot_with(USUAL, vec![workspace.drive(SERIAL, 16)]);
    listing(&mut desk);
    for over in ["", OVER_DRIVE] {
        measuring(&mut desk, over);
    }
    desk.start_udev();
    measuring(&mut desk, "");
}

fn listing(desk: &mut Desk) {
    let ran = interrupted(desk, "list --export-json /tmp/list.json", "probe");
    contains(&ran.output, &["INCOMPLETE"]);
    contains(
        &ran.errors,
        &["interrupted: the list has what was found so far"],
    );
    assert_eq!(desk.json("/tmp/list.json")["is_complete"], false);
}

fn measuring(desk: &mut Desk, over: &str) {
    let bench = "bench --size 16MiB --rounds 10000 --sample 1 --export-json /tmp/b.json";
    let ran = interrupted(desk, &format!("{bench} {CIPHER} {over}"), MEASURED);
    contains(&ran.output, &["INCOMPLETE", "aes-xts-plain64 512"]);
    contains(
        &ran.errors,
        &["interrupted: the report has what was measured so far"],
    );
    let report = desk.json("/tmp/b.json");
    assert_eq!(report["is_complete"], false);
    let rounds = report["raw"][0]["samples"].as_array().map_or(0, Vec::len);
    assert!(rounds > 0 && rounds < 10_000, "{rounds} rounds");
}

/// Interrupts a run some time after it has the device with this label.
#[track_caller]
fn interrupted(desk: &mut Desk, command: &str, label: &str) -> Ran {
    let run = desk.start(&format!("dmcrypt {command}"));
    desk.until_device(label);
    desk.ok("sleep 4; kill -s INT $(pidof squall)");
    let ran = desk.end(run);
    assert_eq!(
        (ran.status, ran.errors.lines().count()),
        (1, 1),
        "{}",
        ran.errors
    );
    desk.nothing_is_left();
    ran
}
