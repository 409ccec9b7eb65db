//! `squall dmcrypt` on a machine without a device mapper: one line that says what is missing, and
//! nothing is written. What it does where there is one is tested in guests of the lab.

mod common;

use std::path::Path;

use common::{Scratch, run, text};

/// Whether this machine has what is to be missing.
fn has_mapper() -> bool {
    let has = Path::new("/sys/class/misc/device-mapper").exists();
    if has {
        eprintln!("SKIP: this machine has a device mapper");
    }
    has
}

#[test]
fn what_is_missing_is_said_in_a_line() {
    if has_mapper() {
        return;
    }
    for command in ["list", "bench", "bench --yes"] {
        let output = run(&format!("dmcrypt {command}"));
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{command}: {message}");
        assert!(output.stdout.is_empty());
        assert_eq!(message.lines().count(), 1, "{message}");
        for words in [
            "this kernel has no device mapper (/dev/mapper/control: ",
            "dm-mod",
            "CONFIG_BLK_DEV_DM",
        ] {
            assert!(message.contains(words), "{words}: {message}");
        }
    }
}

/// Before the device mapper is looked for, and before minutes of questions to it.
#[test]
fn a_wrong_device_is_told_first() {
    for device in ["/dev/null", "/dev/none", "/tmp", file!()] {
        let output = run(&format!("dmcrypt bench --device {device}"));
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{device}: {message}");
        assert_eq!(message.lines().count(), 1, "{message}");
        let start = format!("squall: --device {device}");
        assert!(message.starts_with(&start), "{message}");
    }
}

#[test]
fn a_report_that_cannot_be_made_leaves_the_old_one() {
    if has_mapper() {
        return;
    }
    let old = Scratch::new();
    std::fs::write(old.path(), "old").expect("a file");
    let output = run(&format!(
        "dmcrypt list --export-json {}",
        old.path().display()
    ));
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(std::fs::read_to_string(old.path()).expect("a file"), "old");
}
