//! Who uses the page keeps the module, and disturbs nothing.

use squall_guests::debian::KernelName;

use crate::module::workspace::{IN_MEMORY, MODULE, Workspace, is_sound, log};
use squall_guests::commands::contains;
use squall_guests::fixture::{fails, ok, wait_until_ok};
use squall_guests::needs::{C_COMPILER, GUESTS, MODULE as MODULES};
use squall_testing::suite::Test;
use squall_testing::tests;

pub const TESTS: &[Test] = tests![
    unprivileged_users_get_errors_or_the_right_bytes: [GUESTS, MODULES, C_COMPILER],
    open_mappings_keep_the_module_loaded: [GUESTS, MODULES, C_COMPILER],
    the_page_remains_when_the_kernels_driver_is_unbound: [GUESTS, MODULES, C_COMPILER],
    the_module_is_loaded_and_unloaded_under_load: [GUESTS, MODULES, C_COMPILER],
];

fn unprivileged_users_get_errors_or_the_right_bytes() {
    let workspace = Workspace::new(KernelName::V6_12);
    let mut guest = workspace.boot_and_load();
    for seed in [1, 2, 3] {
        let output = ok(&mut guest, &format!("vmgenid storm 1000 {seed}"));
        let numbers: Vec<u32> = output
            .lines()
            .filter_map(|line| line.split_once(' ')?.1.parse().ok())
            .collect();
        let [right, errors] = numbers[..] else {
            panic!("{output}");
        };
        assert_eq!(right + errors, 1000);
        assert!(right > 50 && errors > 50, "{output}");
    }
    is_sound(&mut guest);
}

fn open_mappings_keep_the_module_loaded() {
    let workspace = Workspace::new(KernelName::V6_12);
    let mut guest = workspace.boot_and_load();
    let job = guest.start("vmgenid hold 64 > /tmp/said").expect("a job");
    wait_until_ok(&mut guest, "grep -q held /tmp/said");
    assert_eq!(
        ok(&mut guest, "cat /sys/module/squall_vmgenid/refcnt"),
        "64\n"
    );
    contains(&fails(&mut guest, "rmmod squall_vmgenid"), &["in use"]);
    guest.kill(job).expect("an end");
    wait_until_ok(&mut guest, "rmmod squall_vmgenid");
    is_sound(&mut guest);
}

fn the_page_remains_when_the_kernels_driver_is_unbound() {
    let workspace = Workspace::new(KernelName::V6_12);
    let mut guest = workspace.boot_and_load();
    let job = guest.start("vmgenid hold 1 > /tmp/said").expect("a job");
    wait_until_ok(&mut guest, "grep -q held /tmp/said");
    let driver = "cd /sys/bus/*/drivers/vmgenid && device=$(echo QEMUVGID:*)";
    ok(
        &mut guest,
        &format!("{driver} && echo $device > unbind && [ ! -e $device ]"),
    );
    let id = format!("read {IN_MEMORY}\nmapped {IN_MEMORY}\noffset 40\n");
    assert_eq!(ok(&mut guest, "vmgenid id"), id);
    guest.kill(job).expect("an end");
    wait_until_ok(&mut guest, "rmmod squall_vmgenid");
    is_sound(&mut guest);
}

fn the_module_is_loaded_and_unloaded_under_load() {
    let workspace = Workspace::new(KernelName::V6_12);
    let mut guest = workspace.boot();
    let users = "for user in 1 2 3; do \
        while [ ! -e /tmp/end ]; do vmgenid id; vmgenid storm 10 $user; done & done";
    let users = format!("{{ {users}; wait; }} >> /tmp/said 2> /dev/null");
    ok(&mut guest, ": > /tmp/said");
    let job = guest.start(&users).expect("a job");
    // In each turn somebody uses it: each of the three may still have had a line to write.
    let turn = format!(
        "before=$(grep -c offset /tmp/said)
        insmod {MODULE} || exit
        until [ $(grep -c offset /tmp/said) -gt $((before + 3)) ]; do sleep 0.01; done
        until rmmod squall_vmgenid; do :; done"
    );
    ok(
        &mut guest,
        &format!("for turn in $(seq 30); do {turn}; done 2> /dev/null"),
    );
    ok(&mut guest, "touch /tmp/end");
    guest
        .finish(job, squall_guests::fixture::TIMEOUT)
        .expect("an answer")
        .expect("an end");
    assert_eq!(log(&mut guest).len(), 30);
    is_sound(&mut guest);
}
