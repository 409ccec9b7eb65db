//! Executes the recommendations of `squall dmcrypt bench` unchanged, by Debian's scripts and by
//! cryptsetup.
//!
//! Which sector size and flags it recommends here is chance, because it is measured in short samples
//! on a busy machine. Unit tests check the lines with both, and lines with all of them are executed here too.

use serde_json::Value;
use squall_guests::commands::contains;
use squall_guests::needs::USER_MODE;
use squall_testing::suite::Test;
use squall_testing::tests;

use crate::guests::workspace::{GuestSession, USUAL, Workspace, id};

pub const TESTS: &[Test] = tests![
    recommended_lines_work: [USER_MODE],
    a_line_of_crypttab_becomes_swap_without_udev: [USER_MODE],
    a_luks2_volume_stores_its_performance_flags: [USER_MODE],
];

const SERIAL: &str = "DRIVE-1";

/// Options that make trying a passphrase fast. They are not part of the recommendation.
const CHEAP: &str = "-q --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --key-file /tmp/key";

fn recommended_lines_work() {
    let workspace = Workspace::new();
    let mut session = workspace.boot_with(USUAL, vec![workspace.drive(SERIAL, 64)]);
    session.start_udev();
    session.write("/tmp/key", "a secret");
    for (cipher, in_crypttab) in [
        ("aes-xts-plain64 512", "cipher=aes-xts-plain64,size=512"),
        (
            "aes-cbc-essiv:sha256 256",
            "cipher=aes-cbc-essiv:sha256,size=256",
        ),
        (
            "xchacha12,aes-adiantum-plain64 256",
            "cipher=xchacha12\\054aes-adiantum-plain64,size=256",
        ),
    ] {
        let found = recommended(&mut session, cipher);
        contains(line(&found, "swap"), &[&id(SERIAL), in_crypttab]);
        let name = cipher.split(' ').next().unwrap_or_default();
        swap(&mut session, &found, name);
        luks(&mut session, &found, name);
    }
}

/// The recommendation after measuring one cipher.
#[track_caller]
fn recommended(session: &mut GuestSession, cipher: &str) -> Value {
    let bench = "dmcrypt bench --size 16MiB --rounds 1 --sample 5 --export-json /tmp/b.json --yes";
    let ran = session.squall(&format!(
        "{bench} --device {} --cipher '{cipher}'",
        id(SERIAL)
    ));
    let text = ran.success();
    session.nothing_is_left();
    let found = session.json("/tmp/b.json")["recommendation"].clone();
    for key in ["swap", "luks_format", "luks_open", "luks_crypttab"] {
        assert!(
            text.lines()
                .any(|printed| printed.trim() == line(&found, key)),
            "{key}: {text}"
        );
    }
    found
}

#[track_caller]
fn line<'a>(found: &'a Value, key: &str) -> &'a str {
    found[key].as_str().expect("a line")
}

/// Makes swap with the crypttab line.
fn swap(session: &mut GuestSession, found: &Value, name: &str) {
    session.write("/etc/crypttab", format!("{}\n", line(found, "swap")));
    contains(&session.ok("cryptdisks_start swap"), &["swap (started)"]);
    is_as_recommended(session, found, "swap", name);
    session.ok("swapon /dev/mapper/swap");
    assert_eq!(session.ok("cat /proc/swaps").lines().count(), 2);
    session.ok("swapoff /dev/mapper/swap && udevadm settle && cryptdisks_stop swap");
    // Debian's scripts refuse to start the next one if they find anything on the device.
    session.ok("dd if=/dev/zero of=/dev/ubda bs=1M count=1 conv=fsync");
}

/// Makes and opens a volume with the commands, and then opens it with the crypttab line.
fn luks(session: &mut GuestSession, found: &Value, name: &str) {
    session.ok(&format!("{} {CHEAP}", line(found, "luks_format")));
    session.ok(&format!("{} --key-file /tmp/key", line(found, "luks_open")));
    is_as_recommended(session, found, "volume", name);
    session.ok("yes volume | head -c 1048576 >/tmp/text && dd if=/tmp/text of=/dev/mapper/volume conv=fsync");
    session.ok("udevadm settle && cryptsetup close volume");

    session.write(
        "/etc/crypttab",
        format!("{}\n", line(found, "luks_crypttab")),
    );
    let started = session.ok(UNLOCK);
    contains(&started, &["volume (started)"]);
    is_as_recommended(session, found, "volume", name);
    session.ok(
        "cmp -n 1048576 /tmp/text /dev/mapper/volume && udevadm settle && cryptdisks_stop volume",
    );
    session.ok("dd if=/dev/zero of=/dev/ubda bs=1M count=17 conv=fsync");
}

/// Executes the crypttab line and gives the passphrase like a boot screen. The console is removed,
/// because the scripts would ask there and nobody would answer.
const UNLOCK: &str = "
    rm -f /dev/console
    cryptdisks_start volume & start=$!
    while kill -0 $start; do
        [ ! -p /lib/cryptsetup/passfifo ] || printf 'a secret' 1<>/lib/cryptsetup/passfifo
        sleep 0.2
    done
    wait $start";

/// Checks that a device's table has the recommended cipher and options.
#[track_caller]
fn is_as_recommended(session: &mut GuestSession, found: &Value, device: &str, name: &str) {
    let table = session.ok(&format!("dmsetup table {device}"));
    contains(&table, &[&format!(" crypt {name} ")]);
    let options = &found["options"];
    assert_eq!(
        table.contains("sector_size:4096"),
        options["sector_size"] == 4096,
        "{table}"
    );
    for (flag, option) in [
        ("no_read_workqueue", "no_workqueues"),
        ("no_write_workqueue", "no_workqueues"),
        ("same_cpu_crypt", "same_cpu"),
    ] {
        assert_eq!(table.contains(flag), options[option] == true, "{table}");
    }
}

/// Options in crypttab, and the resulting options of the device's table.
const SWAP: &str = "swap,plain,cipher=aes-xts-plain64,size=512,sector-size=4096,no-read-workqueue,no-write-workqueue";
const FAST: &str = "no_read_workqueue no_write_workqueue sector_size:4096";

fn a_line_of_crypttab_becomes_swap_without_udev() {
    let workspace = Workspace::new();
    let mut session = workspace.boot_with(USUAL, vec![workspace.drive(SERIAL, 64)]);
    crypttab(&mut session, "/dev/ubda");
    swap_is_made(&mut session);
    session.ok("[ -b /dev/mapper/swap ] && [ ! -L /dev/mapper/swap ]");
    session.ok("cryptdisks_stop swap && [ ! -e /dev/mapper/swap ]");

    volume_of(&mut session, "", "");
    contains(&unusable(&mut session), &["crypto_LUKS"]);
    session.ok("dd if=/dev/zero of=/dev/ubda bs=1M count=17 conv=fsync");
    swap_is_made(&mut session);
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
fn volume_of(session: &mut GuestSession, options: &str, expected: &str) {
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
    let mut session = workspace.boot_with(USUAL, vec![workspace.drive(SERIAL, 64)]);
    let fast = "--perf-no_read_workqueue --perf-no_write_workqueue";
    volume_of(&mut session, &format!("{fast} --persistent"), FAST);
    volume_of(&mut session, fast, "");
}
