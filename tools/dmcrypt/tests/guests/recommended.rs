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

use crate::guests::workspace::{GuestSession, SERIAL, USUAL, Workspace, id};

pub const TESTS: &[Test] = tests![
    recommended_lines_work: [USER_MODE],
    lines_with_all_options_work: [USER_MODE],
];

/// Options that make trying a passphrase fast. They are not part of the recommendation.
const CHEAP: &str = "-q --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --key-file /tmp/key";

fn recommended_lines_work() {
    let workspace = Workspace::new();
    let mut session = workspace.boot_with(USUAL, vec![workspace.drive(SERIAL, 64)]);
    session.start_udev();
    session.write("/tmp/key", "a secret");
    for (name, key_bits) in [
        ("aes-xts-plain64", 512),
        ("aes-cbc-essiv:sha256", 256),
        ("xchacha12,aes-adiantum-plain64", 256),
    ] {
        let found = recommended(&mut session, &format!("{name} {key_bits}"));
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

/// Options in crypttab and of cryptsetup, and the resulting options of the device's table.
const SWAP: &str = "swap,plain,cipher=aes-xts-plain64,size=512,sector-size=4096,no-read-workqueue,no-write-workqueue";
const FLAGS: &str = "--perf-no_read_workqueue --perf-no_write_workqueue";
const FAST: [&str; 2] = [
    "crypt aes-xts-plain64 ",
    " no_read_workqueue no_write_workqueue sector_size:4096",
];

/// A line for swap, and a volume that stores its flags, where no udev makes links.
fn lines_with_all_options_work() {
    let workspace = Workspace::new();
    let mut session = workspace.boot_with(USUAL, vec![workspace.drive(SERIAL, 64)]);
    let line = format!("swap /dev/ubda /dev/urandom {SWAP}\n");
    session.write("/etc/crypttab", line);
    contains(&session.ok("cryptdisks_start swap"), &["swap (started)"]);
    contains(&session.ok("dmsetup table swap"), &FAST);
    session.ok("swapon /dev/mapper/swap && swapoff /dev/mapper/swap && cryptdisks_stop swap");
    session.ok("dd if=/dev/zero of=/dev/ubda bs=1M count=1 conv=fsync");

    session.write("/tmp/key", "a secret");
    session.ok(&format!(
        "cryptsetup luksFormat --type luks2 --cipher aes-xts-plain64 --key-size 512 \
         --sector-size 4096 {CHEAP} /dev/ubda"
    ));
    let open = "cryptsetup open --key-file /tmp/key /dev/ubda volume";
    // The control: without --persistent, nothing is stored.
    for (options, is_stored) in [("", false), ("--persistent", true)] {
        session.ok(&format!(
            "{open} {FLAGS} {options} && cryptsetup close volume && {open}"
        ));
        let table = session.ok("dmsetup table volume");
        contains(&table, &[FAST[0], " sector_size:4096"]);
        assert_eq!(table.contains(FAST[1]), is_stored, "{table}");
        session.ok("cryptsetup close volume");
    }
}
