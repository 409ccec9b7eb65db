//! Checks what the other tests rely on: a guest with dm-crypt, all crypto modules, RAM disks, Debian's
//! scripts that execute crypttab, LUKS2, and udev where it is wanted.

use crate::guests::workspace::{BARE, GuestSession, Workspace, id};
use squall_guests::commands::contains;
use squall_guests::needs::USER_MODE;
use squall_testing::suite::Test;
use squall_testing::tests;

pub const TESTS: &[Test] = tests![
    a_line_of_crypttab_becomes_swap_without_udev: [USER_MODE],
    udev_names_drives_and_devices_once_it_is_started: [USER_MODE],
    a_luks2_volume_stores_its_performance_flags: [USER_MODE],
    every_crypto_module_can_be_loaded: [USER_MODE],
];

const SERIAL: &str = "DRIVE-1";

/// Options in crypttab, and the resulting options of the device's table.
const SWAP: &str = "swap,plain,cipher=aes-xts-plain64,size=512,sector-size=4096,no-read-workqueue,no-write-workqueue";
const FAST: &str = "no_read_workqueue no_write_workqueue sector_size:4096";

fn a_line_of_crypttab_becomes_swap_without_udev() {
    let workspace = Workspace::new();
    let mut session = workspace.boot(vec![workspace.drive(SERIAL, 64)]);
    crypttab(&mut session, "/dev/ubda");
    swap_is_made(&mut session);
    session.ok("[ -b /dev/mapper/swap ] && [ ! -L /dev/mapper/swap ]");
    session.ok("cryptdisks_stop swap && [ ! -e /dev/mapper/swap ]");

    luks(&mut session, "", "");
    contains(&unusable(&mut session), &["crypto_LUKS"]);
    session.ok("dd if=/dev/zero of=/dev/ubda bs=1M count=17 conv=fsync");
    swap_is_made(&mut session);
}

fn udev_names_drives_and_devices_once_it_is_started() {
    let workspace = Workspace::new();
    let mut session = workspace.boot(vec![workspace.drive(SERIAL, 64)]);
    crypttab(&mut session, &id(SERIAL));
    session.ok("[ ! -e /dev/disk ]");
    contains(&unusable(&mut session), &["does not exist"]);

    session.start_udev();
    let link = session.ok(&format!("readlink -f {}", id(SERIAL)));
    assert_eq!(link, "/dev/ubda\n");
    swap_is_made(&mut session);
    assert_eq!(session.ok("readlink /dev/mapper/swap"), "../dm-0\n");
    session.ok("ls /dev/disk/by-id/dm-name-swap");
    // udev may still look at the device.
    session.wait_until_ok("cryptdisks_stop swap && [ ! -L /dev/mapper/swap ]");
}

/// Writes a crypttab whose only line is for swap on `device`.
fn crypttab(session: &mut GuestSession, device: &str) {
    session.write(
        "/etc/crypttab",
        format!("swap {device} /dev/urandom {SWAP}\n"),
    );
}

/// Executes the crypttab line and checks that the kernel swaps to the resulting device.
#[track_caller]
fn swap_is_made(session: &mut GuestSession) {
    contains(&session.ok("cryptdisks_start swap"), &["swap (started)"]);
    let table = session.ok("dmsetup table swap");
    contains(&table, &["crypt aes-xts-plain64", FAST]);
    session.ok("swapon /dev/mapper/swap");
    assert_eq!(session.ok("cat /proc/swaps").lines().count(), 2);
    session.ok("swapoff /dev/mapper/swap");
}

/// The error message where the crypttab line cannot be executed.
#[track_caller]
fn unusable(session: &mut GuestSession) -> String {
    session.fails("cryptdisks_start swap >&2")
}

/// Makes a LUKS2 volume on the drive, and opens it as `volume` once with the options and once without.
#[track_caller]
fn luks(session: &mut GuestSession, options: &str, expected: &str) {
    session.write("/tmp/key", "a secret");
    session.ok(
        "cryptsetup luksFormat -q --type luks2 --cipher aes-xts-plain64 --key-size 512 \
         --sector-size 4096 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 /dev/ubda /tmp/key",
    );
    let open = "cryptsetup open --key-file /tmp/key /dev/ubda volume";
    session.ok(&format!(
        "{open} {options} && cryptsetup close volume && {open}"
    ));
    let table = session.ok("dmsetup table volume");
    contains(
        &table,
        &["crypt aes-xts-plain64", expected, "sector_size:4096"],
    );
    assert_eq!(table.contains(FAST), expected == FAST, "{table}");
    session.ok("cryptsetup close volume");
}

fn a_luks2_volume_stores_its_performance_flags() {
    let workspace = Workspace::new();
    let mut session = workspace.boot(vec![workspace.drive(SERIAL, 64)]);
    let fast = "--perf-no_read_workqueue --perf-no_write_workqueue";
    luks(&mut session, &format!("{fast} --persistent"), FAST);
    luks(&mut session, fast, "");
}

fn every_crypto_module_can_be_loaded() {
    let workspace = Workspace::new();
    let mut session = workspace.boot(Vec::new());
    session.ok("modprobe brd rd_nr=1 rd_size=65536");
    assert_eq!(session.ok("cat /sys/block/ram0/size"), "131072\n");
    let release = session.ok("uname -r");
    let aliases = session.read(&format!("/lib/modules/{}/modules.alias", release.trim()));
    contains(
        &String::from_utf8_lossy(&aliases),
        &["alias crypto-twofish twofish"],
    );
    for (number, cipher) in CIPHERS.into_iter().enumerate() {
        session.ok(&create(number, cipher));
    }
    contains(&session.squall("--version").success(), &["squall "]);
    contains(&session.squall("--none").failure(2), &["--none"]);

    let mut session = workspace.boot_with(BARE, Vec::new());
    session.ok("modprobe brd rd_nr=1 rd_size=65536");
    for (number, cipher) in CIPHERS.into_iter().enumerate() {
        contains(
            &session.fails(&create(number, cipher)),
            &["No such file or directory"],
        );
    }
}

/// Ciphers with 256-bit keys, whose modules are in three different directories.
const CIPHERS: [&str; 4] = [
    "twofish-cbc-essiv:sha256",
    "capi:adiantum(xchacha12,aes)-plain64",
    "serpent-xts-plain64",
    "camellia-lrw-benbi",
];

/// A command that creates a device mapper device with `cipher`.
fn create(number: usize, cipher: &str) -> String {
    let key = "0123456789abcdef".repeat(4);
    let table = format!("0 2048 crypt {cipher} {key} 0 /dev/ram0 0");
    format!("dmsetup create probe{number} --table '{table}'")
}
