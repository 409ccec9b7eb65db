//! Authenticated devices of `squall dmcrypt bench`: they encrypt, notice what was changed below them, and
//! are those that cryptsetup makes.

use squall_guests::Job;

use crate::guests::workspace::{GuestSession, NAMES, SERIAL, USUAL, Workspace};
use squall_guests::commands::contains;
use squall_guests::needs::USER_MODE;
use squall_testing::suite::Test;
use squall_testing::tests;

pub const TESTS: &[Test] = tests![
    changed_sectors_are_noticed_and_nothing_is_left: [USER_MODE],
    devices_are_those_of_cryptsetup: [USER_MODE],
];

/// What programs say where dm-crypt finds a wrong tag: the error is EILSEQ.
const EILSEQ: &str = "Invalid or incomplete multibyte or wide character";

const GCM: &str = "--cipher 'aes-gcm-random 256 aead'";

/// The usual ones. Their words are cryptsetup's --cipher, --key-size and --integrity.
const USUAL_ONES: [&str; 4] = [
    "aegis128-random 128 aead",
    "aes-gcm-random 256 aead",
    "aes-xts-plain64 512 hmac-sha256",
    "chacha20-random 256 poly1305",
];

/// Starts a run over the drive and stops it once its second device exists: the first, with a journal, is
/// then written all over.
#[track_caller]
fn stopped(session: &mut GuestSession, cipher: &str) -> Job {
    let run = session.start(&format!(
        "dmcrypt bench --device /dev/ubda --yes --serial {SERIAL} {cipher} \
         --size 24MiB --rounds 10000 --sample 100"
    ));
    session.until_device("1");
    session.ok("kill -s STOP $(pidof squall)");
    run
}

/// A shell's expression for the name of the first device of the run, or of one below it.
fn first(suffix: &str) -> String {
    format!("$({NAMES} | grep -E '^squall-dmcrypt-[0-9]+-0{suffix}$')")
}

fn changed_sectors_are_noticed_and_nothing_is_left() {
    let workspace = Workspace::new();
    let mut session = workspace.boot_with(USUAL, vec![workspace.drive(SERIAL, 24)]);
    let run = stopped(&mut session, GCM);
    let table = session.ok(&format!("dmsetup table {}", first("")));
    contains(
        &table,
        &[
            "crypt capi:gcm(aes)-random ",
            " 2 integrity:28:aead sector_size:4096",
        ],
    );
    let table = session.ok(&format!("dmsetup table {}", first("-integrity")));
    contains(&table, &[" integrity ", " 28 J ", "block_size:4096"]);
    session.ok(&format!(
        "dmsetup mknodes && ln -s /dev/mapper/{} /tmp/ours",
        first("")
    ));
    session.ok(&format!("ln -s /dev/mapper/{} /tmp/part", first("-part")));

    session.ok("yes 'plaintext that nobody may read' | head -c 1048576 >/tmp/text");
    session.ok("dd if=/tmp/text of=/tmp/ours bs=1M oflag=direct conv=notrunc,fsync");
    let read = "dd if=/tmp/ours of=/tmp/read bs=1M iflag=direct";
    session.ok(read);
    session.ok("cmp -n 1048576 /tmp/text /tmp/read");
    session.ok("dd if=/tmp/part of=/tmp/below bs=1M iflag=direct");
    session.ok("! grep -q 'plaintext that nobody' /tmp/below");

    // Text takes more than a mebibyte with its tags, so this is in the middle of other data. The control
    // is the reading above.
    session.ok(
        "dd if=/dev/urandom of=/tmp/part bs=4096 count=1 seek=$((4 << 20 >> 12)) oflag=direct \
         conv=notrunc,fsync",
    );
    session.ok(&format!(
        "! {read} 2>/tmp/errors && grep '{EILSEQ}' /tmp/errors"
    ));
    session.ok("cmp -n 1048576 /tmp/text /tmp/read");

    session.ok("rm /tmp/ours /tmp/part; rm -f /dev/mapper/*squall*");
    session.ok("kill -s KILL $(pidof squall)");
    assert_eq!(session.end(run).status, 128 + 9);
    session.no_device_is_left();
}

/// For each of the usual ones, the table that cryptsetup makes is the table of squall's device, but for
/// keys and device numbers.
fn devices_are_those_of_cryptsetup() {
    let workspace = Workspace::new();
    let mut session = workspace.boot_with(USUAL, vec![workspace.drive(SERIAL, 40)]);
    session.write("/tmp/key", "a secret");
    for spec in USUAL_ONES {
        let options = ["--cipher", "--key-size", "--integrity"]
            .into_iter()
            .zip(spec.split(' '));
        let options: Vec<String> = options
            .map(|(name, word)| format!("{name} {word}"))
            .collect();
        let options = options.join(" ");
        session.ok("dd if=/dev/zero of=/dev/ubda bs=1M count=40 conv=fsync");
        session.ok(&format!(
            "cryptsetup luksFormat -q --type luks2 {options} --sector-size 4096 \
             --integrity-no-wipe --pbkdf pbkdf2 --pbkdf-force-iterations 1000 /dev/ubda /tmp/key"
        ));
        session.ok("cryptsetup open --key-file /tmp/key --disable-keyring /dev/ubda volume");
        let theirs = session.ok("dmsetup table --showkeys volume");
        let their_tags = session.ok("dmsetup table volume_dif");
        session.ok("cryptsetup close volume");

        let run = stopped(&mut session, &format!("--cipher '{spec}'"));
        let ours = session.ok(&format!("dmsetup table --showkeys {}", first("")));
        let our_tags = session.ok(&format!("dmsetup table {}", first("-integrity")));
        session.ok("kill -s KILL $(pidof squall)");
        session.end(run);
        session.no_device_is_left();
        assert_eq!(shape(&ours), shape(&theirs), "{spec}");
        let metadata = |table: &str| table.split(' ').nth(5).map(str::to_owned);
        assert_eq!(
            metadata(&our_tags),
            metadata(&their_tags),
            "{our_tags}{their_tags}"
        );
    }
}

/// What a table has besides keys, lengths and devices: the cipher, the length of the key, and the
/// options, sorted.
fn shape(table: &str) -> (String, usize, Vec<String>) {
    let words: Vec<&str> = table.split_whitespace().collect();
    let mut options: Vec<String> = words[9..].iter().map(|word| (*word).to_owned()).collect();
    options.sort();
    (words[3].to_owned(), words[4].len(), options)
}
