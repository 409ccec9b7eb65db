//! `squall dmcrypt` on a machine without a device mapper prints one line that says what is missing, and
//! writes nothing. The lab tests it in guests that have a device mapper.

use std::path::Path;

use squall_testing::suite::{NOTHING, Need, Test};
use squall_testing::tests;

use crate::common::{Scratch, refused, run};

const NO_DEVICE_MAPPER: Need = Need {
    check: || {
        let has = Path::new("/sys/class/misc/device-mapper").exists();
        let found = || "this machine has a device mapper".into();
        (!has).then_some(()).ok_or_else(found)
    },
    required_by: NOTHING,
};

fn a_missing_device_mapper_is_reported_in_one_line() {
    for command in ["list", "bench", "bench --yes"] {
        let output = run(&format!("dmcrypt {command}"));
        let words = [
            "this kernel has no device mapper (/dev/mapper/control: ",
            "dm-mod",
            "CONFIG_BLK_DEV_DM",
        ];
        refused(&output, 1, &words);
    }
}

/// A wrong device is reported before the device mapper is used, which could take minutes.
fn a_wrong_device_is_reported_first() {
    for device in ["/dev/null", "/dev/none", "/tmp", file!()] {
        let output = run(&format!("dmcrypt bench --device {device}"));
        refused(&output, 2, &[&format!("squall: --device {device}")]);
    }
}

fn a_report_that_cannot_be_made_leaves_the_old_one() {
    let old = Scratch::new();
    std::fs::write(old.path(), "old").expect("a file");
    let output = run(&format!(
        "dmcrypt list --export-json {}",
        old.path().display()
    ));
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(std::fs::read_to_string(old.path()).expect("a file"), "old");
}

pub const TESTS: &[Test] = tests![
    a_missing_device_mapper_is_reported_in_one_line: [NO_DEVICE_MAPPER],
    a_wrong_device_is_reported_first,
    a_report_that_cannot_be_made_leaves_the_old_one: [NO_DEVICE_MAPPER],
];
