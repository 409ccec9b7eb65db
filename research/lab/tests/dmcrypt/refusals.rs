//! What `squall dmcrypt` refuses, with one line that says why and without writing a byte.

use crate::common::needs::GUESTS;
use crate::dmcrypt::workspace::{Desk, MEASURED, Ran, USUAL, Workspace, id};
use squall_testing::suite::Test;
use squall_testing::tests;

pub const TESTS: &[Test] = tests![
    what_may_not_be_overwritten_is_not: [GUESTS],
    somebody_else_is_at_work_or_has_what_it_takes: [GUESTS],
    what_is_missing_is_named: [GUESTS],
];

const SERIAL: &str = "DRIVE-1";

/// Options that give full consent to overwriting the drive.
const MEANT: &str = "--device /dev/vda --yes --serial DRIVE-1";

/// Options for a quick run with one cipher.
const QUICK: &str = "--rounds 1 --sample 1 --cipher 'aes-xts-plain64 512'";

fn what_may_not_be_overwritten_is_not() {
    let workspace = Workspace::new();
    let mut desk = workspace.boot_with(USUAL, vec![workspace.drive(SERIAL, 24)]);
    in_use(&workspace, &mut desk);
    not_meant(&workspace, &mut desk);
    wrong(&workspace, &mut desk);
    // The control: without any of these reasons the run succeeds and writes.
    bench(&mut desk, MEANT).well();
    desk.nothing_is_left();
    assert!(workspace.medium(SERIAL).iter().any(|byte| *byte != 0));
}

/// Drives that something else uses are refused.
fn in_use(workspace: &Workspace, desk: &mut Desk) {
    let uses = [
        (
            "mke2fs /dev/vda && mount -o ro -t ext4 /dev/vda /mnt",
            "umount /mnt",
            "/dev/vda: is mounted at /mnt: unmount it first: nothing was written",
        ),
        (
            "mkswap /dev/vda && swapon /dev/vda",
            "swapoff /dev/vda",
            "/dev/vda: is used as swap: run `swapoff` first: nothing was written",
        ),
        (
            "dmsetup create holder --table '0 2048 linear /dev/vda 0'",
            "dmsetup remove holder",
            "/dev/vda: is held by dm-0 (holder): nothing was written",
        ),
    ];
    for (begin, end, line) in uses {
        desk.ok(begin);
        untouched(workspace, desk, MEANT, 1, &[line]);
        desk.ok(end);
    }
}

/// Drives are refused if the user has not confirmed the drive, or that its data may be destroyed.
fn not_meant(workspace: &Workspace, desk: &mut Desk) {
    let plain = "--device /dev/vda";
    for byte in [0, (24 << 20) - 1] {
        desk.ok("dd if=/dev/zero of=/dev/vda bs=1M count=24 conv=fsync");
        desk.ok(&format!(
            "printf x | dd of=/dev/vda bs=1 seek={byte} conv=fsync"
        ));
        let why = ["/dev/vda: it is not empty", "nothing was written", "--yes"];
        untouched(workspace, desk, plain, 1, &why);
    }
    desk.ok("dd if=/dev/zero of=/dev/vda bs=1M count=24 conv=fsync");
    let why = [
        "cannot ask for confirmation, because standard input is not a terminal",
        "nothing was written",
    ];
    untouched(workspace, desk, plain, 1, &why);
    let why = [
        "--yes: these names may belong to other drives",
        "add --serial DRIVE-1",
    ];
    untouched(workspace, desk, "--device /dev/vda --yes", 2, &why);
    let other = "--device /dev/vda --yes --serial DRIVE-2";
    untouched(
        workspace,
        desk,
        other,
        2,
        &["--serial DRIVE-2: no target has this serial number"],
    );
}

/// Wrong arguments are refused.
fn wrong(workspace: &Workspace, desk: &mut Desk) {
    desk.ok("dd if=/dev/zero of=/tmp/file bs=1M count=24");
    let why = ["--device /tmp/file: is a file", "losetup --find --show"];
    untouched(workspace, desk, "--device /tmp/file --yes", 2, &why);
    desk.ok("cmp -n $((24 << 20)) /tmp/file /dev/zero");

    let why = ["--device /dev/vda: has only 24 MiB: use --size 24MiB"];
    untouched(workspace, desk, &format!("{MEANT} --size 32MiB"), 2, &why);
    let missing = format!("--device {} --yes", id(SERIAL));
    untouched(
        workspace,
        desk,
        &missing,
        2,
        &["--device", &id(SERIAL), "No such file or directory"],
    );

    let why = ["--cipher \"serpent-xts-plain64 512\": this kernel does not accept it"];
    untouched(
        workspace,
        desk,
        &format!("{MEANT} --cipher 'serpent-xts-plain64 512'"),
        2,
        &why,
    );
    let why = ["is more than half of the memory that is free", "--device"];
    untouched(workspace, desk, "--size 1TiB", 2, &why);
    assert!(workspace.medium(SERIAL).iter().all(|byte| *byte == 0));
}

/// Checks that a run is refused with one line that has all of `words`, and that the drive is unchanged
/// and nothing is left.
#[track_caller]
fn untouched(workspace: &Workspace, desk: &mut Desk, arguments: &str, status: i32, words: &[&str]) {
    desk.ok("sync");
    let before = workspace.medium(SERIAL);
    bench(desk, arguments).refused(status, words);
    desk.nothing_is_left();
    desk.ok("sync");
    assert!(
        workspace.medium(SERIAL) == before,
        "something was written: {words:?}"
    );
}

#[track_caller]
fn bench(desk: &mut Desk, arguments: &str) -> Ran {
    let size = if arguments.contains("--size") {
        ""
    } else {
        "--size 16MiB"
    };
    desk.squall(&format!("dmcrypt bench {size} {QUICK} {arguments}"))
}

fn somebody_else_is_at_work_or_has_what_it_takes() {
    let workspace = Workspace::new();
    let mut desk = workspace.boot_with(USUAL, Vec::new());
    one_run_at_a_time(&mut desk);
    brd_is_somebody_elses(&mut desk);
    not_root(&mut desk);
    no_brd(&mut desk);
}

fn one_run_at_a_time(desk: &mut Desk) {
    let first = desk
        .start("dmcrypt bench --size 16MiB --rounds 1 --sample 150 --cipher 'aes-xts-plain64 512'");
    desk.until_device(MEASURED);
    for second in ["list".to_owned(), format!("bench {QUICK}")] {
        let ran = desk.squall(&format!("dmcrypt {second}"));
        ran.refused(1, &["another `squall dmcrypt` is running"]);
    }
    desk.end(first).well();
    desk.nothing_is_left();
}

fn brd_is_somebody_elses(desk: &mut Desk) {
    desk.ok("modprobe brd rd_nr=1 rd_size=32768 && echo theirs >/dev/ram0");
    bench(desk, "").refused(
        1,
        &["somebody else has already loaded brd", "modprobe -r brd"],
    );
    assert_eq!(desk.ok("head -n 1 /dev/ram0"), "theirs\n");
    // A RAM disk has neither a stable name nor a serial number to confirm it by.
    let ran = bench(desk, "--device /dev/ram0 --yes");
    ran.refused(2, &["--yes: these names may belong to other drives"]);
    assert_eq!(desk.ok("head -n 1 /dev/ram0 && rmmod brd"), "theirs\n");
    desk.nothing_is_left();
}

fn not_root(desk: &mut Desk) {
    desk.ok("echo root:x:0:0::/root:/bin/sh >/etc/passwd");
    desk.ok("echo nobody:x:65534:65534::/:/bin/sh >>/etc/passwd");
    for command in ["list".to_owned(), format!("bench {QUICK}")] {
        desk.write("/tmp/run", format!("exec squall dmcrypt {command}\n"));
        let job = desk.guest.start("exec su nobody -c 'exec sh /tmp/run'");
        let ran = desk.end(job.expect("a job"));
        ran.refused(
            1,
            &[
                "/dev/mapper/control",
                "run this as root, with CAP_SYS_ADMIN",
            ],
        );
    }
    desk.nothing_is_left();
}

fn no_brd(desk: &mut Desk) {
    desk.ok("find /lib/modules/ -name 'brd.ko*' -exec rm {} + && depmod");
    bench(desk, "").refused(
        1,
        &[
            "a RAM disk needs the kernel's module brd, which is missing",
            "--device",
        ],
    );
    desk.nothing_is_left();
}

fn what_is_missing_is_named() {
    let workspace = Workspace::new();
    let mut desk = workspace.boot_with(&["dm-mod"], Vec::new());
    let commands = ["list".to_owned(), format!("bench {QUICK}")];
    for command in &commands {
        let ran = desk.squall(&format!("dmcrypt {command}"));
        ran.refused(
            1,
            &[
                "has no dm-crypt: load the module dm-crypt",
                "CONFIG_DM_CRYPT",
            ],
        );
    }
    desk.ok("rmmod dm_mod && find /lib/modules/ -name 'dm-mod.ko*' -exec rm {} + && depmod");
    for command in &commands {
        let ran = desk.squall(&format!("dmcrypt {command}"));
        ran.refused(
            1,
            &[
                "no device mapper (/dev/mapper/control: ",
                "CONFIG_BLK_DEV_DM",
            ],
        );
    }
    desk.ok("[ ! -e /run/squall-dmcrypt ]");
}
