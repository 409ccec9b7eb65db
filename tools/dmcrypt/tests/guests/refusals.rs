//! `squall dmcrypt` refuses devices and arguments with one line that says why, and writes nothing.

use crate::guests::workspace::{GuestSession, MEASURED, RunResult, SERIAL, USUAL, Workspace, id};
use squall_guests::commands::contains;
use squall_guests::needs::USER_MODE;
use squall_testing::suite::Test;
use squall_testing::tests;

pub const TESTS: &[Test] = tests![
    protected_devices_are_not_overwritten: [USER_MODE],
    conflicts_with_other_programs_are_reported: [USER_MODE],
    missing_parts_of_the_kernel_are_reported: [USER_MODE],
];

/// Options that give full consent to overwriting the drive.
const MEANT: &str = "--device /dev/ubda --yes --serial DRIVE-1";

/// Options for a quick run with one cipher.
const QUICK: &str = "--rounds 1 --sample 1 --cipher 'aes-xts-plain64 512'";

fn protected_devices_are_not_overwritten() {
    let workspace = Workspace::new();
    let mut session = workspace.boot_with(USUAL, vec![workspace.drive(SERIAL, 24)]);
    in_use(&workspace, &mut session);
    not_meant(&workspace, &mut session);
    wrong(&workspace, &mut session);
    // The control: without any of these reasons the run succeeds and writes.
    bench(&mut session, MEANT).success();
    session.nothing_is_left();
    assert!(workspace.medium(SERIAL).iter().any(|byte| *byte != 0));
}

fn in_use(workspace: &Workspace, session: &mut GuestSession) {
    let uses = [
        (
            "mke2fs /dev/ubda && mount -o ro -t ext4 /dev/ubda /mnt",
            "umount /mnt",
            "/dev/ubda: is mounted at /mnt: unmount it first: nothing was written",
        ),
        (
            "mkswap /dev/ubda && swapon /dev/ubda",
            "swapoff /dev/ubda",
            "/dev/ubda: is used as swap: run `swapoff` first: nothing was written",
        ),
        (
            "dmsetup create holder --table '0 2048 linear /dev/ubda 0'",
            "dmsetup remove holder",
            "/dev/ubda: is held by dm-0 (holder): nothing was written",
        ),
    ];
    for (begin, end, line) in uses {
        session.ok(begin);
        untouched(workspace, session, MEANT, 1, &[line]);
        session.ok(end);
    }
}

/// Drives are refused if the user has not confirmed the drive, or that its data may be destroyed.
fn not_meant(workspace: &Workspace, session: &mut GuestSession) {
    let plain = "--device /dev/ubda";
    for byte in [0, (24 << 20) - 1] {
        session.ok("dd if=/dev/zero of=/dev/ubda bs=1M count=24 conv=fsync");
        session.ok(&format!(
            "printf x | dd of=/dev/ubda bs=1 seek={byte} conv=fsync"
        ));
        let why = ["/dev/ubda: it is not empty", "nothing was written", "--yes"];
        untouched(workspace, session, plain, 1, &why);
    }
    session.ok("dd if=/dev/zero of=/dev/ubda bs=1M count=24 conv=fsync");
    let no_terminal = "cannot ask for confirmation, because standard input is not a terminal";
    let other_drives = "--yes: these names may belong to other drives";
    let no_target = "--serial DRIVE-2: no target has this serial number";
    for (options, status, why) in [
        ("", 1, [no_terminal, "nothing was written"]),
        ("--yes", 2, [other_drives, "add --serial DRIVE-1"]),
        ("--yes --serial DRIVE-2", 2, [no_target, ""]),
    ] {
        let options = format!("{plain} {options}");
        untouched(workspace, session, &options, status, &why);
    }
}

fn wrong(workspace: &Workspace, session: &mut GuestSession) {
    session.ok("dd if=/dev/zero of=/tmp/file bs=1M count=24");
    let missing = id(SERIAL);
    let too_small =
        "authenticated encryption: its 4 devices need 8 MiB each: use --size 32MiB or more";
    let unknown = "this kernel does not accept it";
    for (arguments, why) in [
        (
            "--device /tmp/file --yes",
            ["--device /tmp/file: is a file", "losetup --find --show"],
        ),
        (
            &format!("{MEANT} --size 32MiB"),
            ["--device /dev/ubda: has only 24 MiB: use --size 24MiB", ""],
        ),
        (
            &format!("--device {missing} --yes"),
            [&missing, "No such file or directory"],
        ),
        (
            &format!("{MEANT} --cipher 'serpent-xts-plain64 512'"),
            ["--cipher \"serpent-xts-plain64 512\": ", unknown],
        ),
        (
            &format!("{MEANT} --cipher 'aes-gcm-random 256 hmac-sha256'"),
            ["--cipher \"aes-gcm-random 256 hmac-sha256\": ", unknown],
        ),
        (
            &format!("{MEANT} --cipher 'aes-gcm-random 256 aead'"),
            [too_small, ""],
        ),
        (
            "--size 1TiB",
            ["is more than half of the memory that is free", "--device"],
        ),
    ] {
        untouched(workspace, session, arguments, 2, &why);
    }
    session.ok("cmp -n $((24 << 20)) /tmp/file /dev/zero");
    assert!(workspace.medium(SERIAL).iter().all(|byte| *byte == 0));
}

/// Checks that a run is refused with one line that has all of `words`, and that the drive is unchanged
/// and nothing is left.
#[track_caller]
fn untouched(
    workspace: &Workspace,
    session: &mut GuestSession,
    arguments: &str,
    status: i32,
    words: &[&str],
) {
    session.ok("sync");
    let before = workspace.medium(SERIAL);
    bench(session, arguments).refused(status, words);
    session.nothing_is_left();
    session.ok("sync");
    assert!(
        workspace.medium(SERIAL) == before,
        "something was written: {words:?}"
    );
}

#[track_caller]
fn bench(session: &mut GuestSession, arguments: &str) -> RunResult {
    let size = if arguments.contains("--size") {
        ""
    } else {
        "--size 16MiB"
    };
    session.squall(&format!("dmcrypt bench {size} {QUICK} {arguments}"))
}

/// How a file with a command is run.
const AS_ROOT: &str = "exec sh /tmp/run";
const AS_NOBODY: &str = "exec su nobody -c 'exec sh /tmp/run'";

/// Checks that both commands, run like this, are refused with one line that has all of `words`.
#[track_caller]
fn both_refused(session: &mut GuestSession, how: &str, words: &[&str]) {
    for command in ["list".to_owned(), format!("bench {QUICK}")] {
        session.write("/tmp/run", format!("exec squall dmcrypt {command}\n"));
        let job = session.guest.start(how).expect("a job");
        session.end(job).refused(1, words);
    }
}

fn conflicts_with_other_programs_are_reported() {
    let workspace = Workspace::new();
    let mut session = workspace.boot_with(USUAL, Vec::new());
    let running = "dmcrypt bench --size 16MiB --rounds 10000 --cipher 'aes-xts-plain64 512'";
    let running = session.start(running);
    session.until_device(MEASURED);
    both_refused(
        &mut session,
        AS_ROOT,
        &["another `squall dmcrypt` is running"],
    );
    session.ok("kill -s TERM $(pidof squall)");
    session.end(running).failure(1);
    session.nothing_is_left();

    brd_is_somebody_elses(&mut session);
    session.ok("echo root:x:0:0::/root:/bin/sh >/etc/passwd");
    session.ok("echo nobody:x:65534:65534::/:/bin/sh >>/etc/passwd");
    let root = [
        "/dev/mapper/control",
        "run this as root, with CAP_SYS_ADMIN",
    ];
    both_refused(&mut session, AS_NOBODY, &root);
    session.nothing_is_left();

    session.ok("find /lib/modules/ -name 'brd.ko*' -exec rm {} + && depmod");
    let missing = "a RAM disk needs the kernel's module brd, which could not be loaded";
    let why = [missing, "install the package with all modules", "--device"];
    bench(&mut session, "").refused(1, &why);
    session.nothing_is_left();
}

fn brd_is_somebody_elses(session: &mut GuestSession) {
    session.ok("modprobe brd rd_nr=1 rd_size=32768 && echo theirs >/dev/ram0");
    let loaded = "somebody else has already loaded brd";
    bench(session, "").refused(1, &[loaded, "modprobe -r brd"]);
    assert_eq!(session.ok("head -n 1 /dev/ram0"), "theirs\n");
    // A RAM disk has neither a stable name nor a serial number to confirm it by.
    let ran = bench(session, "--device /dev/ram0 --yes");
    ran.refused(2, &["--yes: these names may belong to other drives"]);
    assert_eq!(session.ok("head -n 1 /dev/ram0 && rmmod brd"), "theirs\n");
    session.nothing_is_left();
}

fn missing_parts_of_the_kernel_are_reported() {
    let workspace = Workspace::new();
    no_dm_integrity(&mut workspace.boot_with(&["brd", "dm-crypt", "xts"], Vec::new()));
    let mut session = workspace.boot_with(&["dm-mod"], Vec::new());
    let no_crypt = [
        "has no dm-crypt: load the module dm-crypt",
        "CONFIG_DM_CRYPT",
    ];
    both_refused(&mut session, AS_ROOT, &no_crypt);
    session.ok("rmmod dm_mod && find /lib/modules/ -name 'dm-mod.ko*' -exec rm {} + && depmod");
    let no_mapper = [
        "no device mapper (/dev/mapper/control: ",
        "CONFIG_BLK_DEV_DM",
    ];
    both_refused(&mut session, AS_ROOT, &no_mapper);
    session.ok("[ ! -e /run/squall-dmcrypt ]");
}

/// Without dm-integrity, what needs none is listed and measured.
fn no_dm_integrity(session: &mut GuestSession) {
    let why = ["authentication takes dm-integrity", "CONFIG_DM_INTEGRITY"];
    bench(session, "--cipher 'aes-xts-plain64 512 hmac-sha256'").refused(2, &why);
    // The kernel would start modprobe for each of thousands of names, most of which no module provides.
    session.ok("modprobe -a dm-crypt xts");
    session.load_no_more();
    let list = session.squall("dmcrypt list").success();
    contains(
        &list,
        &["None: that takes dm-integrity ", "aes-xts-plain64"],
    );
    bench(session, "").success();
    session.nothing_is_left();
}
