//! Guests with dm-crypt, crypto modules, drives and squall, and the results of squall's runs there.

use std::fs;
use std::time::Duration;

use serde_json::Value;
use squall_guests::{Bus, Drive, Guest, Job, Setup};

use squall_guests::commands::contains;
use squall_guests::fixture;

pub const MIB: u64 = 1 << 20;

/// The serial number of the drive of most tests.
pub const SERIAL: &str = "DRIVE-1";

/// Longest time of a run of squall, which may load hundreds of thousands of tables.
const LIMIT: Duration = Duration::from_secs(7200);

/// Modules for encrypted devices over memory, with only the kernel's built-in ciphers.
pub const BARE: &[&str] = &["brd", "dm-crypt", "dm-integrity", "dm-zero"];

/// The same with the usual modes of AES, what authenticates sectors, the modules that cryptsetup needs
/// to encrypt Adiantum keys, and a file system.
#[rustfmt::skip]
pub const USUAL: &[&str] = &[
    "adiantum", "aegis128", "algif_aead", "algif_skcipher", "authenc", "brd", "chacha",
    "chacha20poly1305", "ctr", "dm-crypt", "dm-integrity", "dm-zero", "ecb", "essiv", "ext4",
    "gcm", "hmac", "xts",
];

/// A regular expression for the end of the names of measured devices: a number.
pub const MEASURED: &str = "[0-9]+";

/// A command that loads those of these modules which a table might need.
pub const LOAD_USUAL: &str = "modprobe -a adiantum aegis128 authenc chacha chacha20poly1305 ctr dm-crypt \
    dm-integrity dm-zero ecb essiv gcm hmac xts";

/// A command that prints the names of all device mapper devices, one per line.
pub const NAMES: &str = "dmsetup info -c --noheadings -o name | tr -d ' '";

/// Guests with squall, and the drives of one test.
pub struct Workspace {
    guests: fixture::Workspace,
}

impl Workspace {
    pub fn new() -> Workspace {
        Workspace {
            guests: fixture::Workspace::user_mode(),
        }
    }

    /// Creates a drive full of zeros. The first is /dev/ubda, and udev names it [`id`].
    pub fn drive(&self, serial: &str, mib: u64) -> Drive {
        let path = self.guests.medium(serial, mib * MIB);
        Drive::new(path, Bus::Ubd, serial, 512)
    }

    /// The contents of a drive, as far as its guest has flushed it.
    pub fn medium(&self, serial: &str) -> Vec<u8> {
        fs::read(self.guests.path(serial)).expect("a drive")
    }

    pub fn boot_with(&self, modules: &[&str], drives: Vec<Drive>) -> GuestSession<'_> {
        self.boot(modules, drives, false)
    }

    /// A guest with these modules and, if `crypto`, all crypto modules.
    pub fn boot(&self, modules: &[&str], drives: Vec<Drive>, crypto: bool) -> GuestSession<'_> {
        let guest = self.guests.factory.boot(&Setup {
            modules,
            drives,
            crypto,
            programs: &[fixture::squall()],
            ..Setup::default()
        });
        GuestSession {
            guest: guest.expect("a guest"),
        }
    }
}

/// udev's name for a drive.
pub fn id(serial: &str) -> String {
    format!("/dev/disk/by-id/ubd-{serial}")
}

pub struct GuestSession<'w> {
    pub guest: Guest<'w>,
}

pub struct RunResult {
    pub status: i32,
    pub output: String,
    pub errors: String,
}

impl GuestSession<'_> {
    /// Runs a command, which must succeed, and returns its output.
    #[track_caller]
    pub fn ok(&mut self, command: &str) -> String {
        fixture::ok(&mut self.guest, command)
    }

    #[track_caller]
    pub fn wait_until_ok(&mut self, command: &str) {
        fixture::wait_until_ok(&mut self.guest, command);
    }

    #[track_caller]
    pub fn read(&mut self, path: &str) -> Vec<u8> {
        self.guest.read_file(path).expect("a file")
    }

    #[track_caller]
    pub fn text(&mut self, path: &str) -> String {
        String::from_utf8(self.read(path)).expect("text")
    }

    #[track_caller]
    pub fn json(&mut self, path: &str) -> Value {
        serde_json::from_slice(&self.read(path)).expect("JSON")
    }

    #[track_caller]
    pub fn write(&mut self, path: &str, contents: impl AsRef<[u8]>) {
        let written = self.guest.write_file(path, contents.as_ref());
        written.expect("a file");
    }

    /// Starts udev, which does not run before.
    #[track_caller]
    pub fn start_udev(&mut self) {
        self.ok("start-udev");
    }

    /// Stops the kernel from loading further modules by itself.
    #[track_caller]
    pub fn load_no_more(&mut self) {
        self.ok("echo > /proc/sys/kernel/modprobe");
    }

    #[track_caller]
    pub fn start(&mut self, arguments: &str) -> Job {
        let command = format!("exec squall {arguments}");
        self.guest.start(&command).expect("a job")
    }

    /// Starts squall with these arguments, stopped before its first instruction.
    #[track_caller]
    pub fn start_stopped(&mut self, arguments: &str) -> Job {
        self.ok("rm -f /tmp/stopped");
        let command = format!("echo $$ >/tmp/stopped; kill -s STOP $$; exec squall {arguments}");
        self.guest.start(&command).expect("a job")
    }

    /// Lets a stopped squall run in short steps until it has a device whose name ends with `ending`, and leaves it
    /// stopped.
    #[track_caller]
    pub fn step_until_device(&mut self, ending: &str) {
        self.ok(&format!(
            "until process=$(cat /tmp/stopped) && grep -q 'State:.T' /proc/$process/status; do sleep 0.1; done
            until {NAMES} | grep -qE '^squall-dmcrypt-[0-9]+-{ending}$'; do
                kill -s CONT $process
                sleep 0.01
                kill -s STOP $process
            done"
        ));
    }

    /// Waits for the end of a run of squall.
    #[track_caller]
    pub fn end(&mut self, job: Job) -> RunResult {
        let output = self.guest.finish(job, LIMIT).expect("an answer");
        let output = output.expect("an end");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        RunResult {
            status: output.status,
            output: text(&output.stdout),
            errors: text(&output.stderr),
        }
    }

    /// Runs squall with these arguments to its end.
    #[track_caller]
    pub fn squall(&mut self, arguments: &str) -> RunResult {
        let job = self.start(arguments);
        self.end(job)
    }

    /// Waits until a run has a device whose name ends with `ending`, an extended regular expression.
    #[track_caller]
    pub fn until_device(&mut self, ending: &str) {
        self.wait_until_ok(&format!(
            "{NAMES} | grep -qE '^squall-dmcrypt-[0-9]+-{ending}$'"
        ));
    }

    /// Waits until a measured device has served this many requests.
    #[track_caller]
    pub fn until_requests(&mut self, count: u32) {
        self.wait_until_ok(&format!(
            "for name in $({NAMES} | grep -E '^squall-dmcrypt-[0-9]+-{MEASURED}$'); do
                device=/sys/dev/block/$(dmsetup info -c --noheadings --separator : -o major,minor $name)
                [ $(awk '{{ print $1 + $5 }}' $device/stat) -lt {count} ] || exit 0
            done
            exit 1"
        ));
    }

    /// Waits until no device of squall is left, and none of its nodes.
    #[track_caller]
    pub fn no_device_is_left(&mut self) {
        self.wait_until_ok(&format!("! {NAMES} | grep -q '^squall-dmcrypt-'"));
        self.wait_until_ok("[ -z \"$(find /dev/ -name '*squall*')\" ]");
    }

    /// Runs squall until it has removed what earlier runs left. It then ends because it would need more
    /// than half of the memory.
    #[track_caller]
    pub fn remove_leftovers(&mut self) {
        let ran = self.squall("dmcrypt bench --cipher 'aes-xts-plain64 512' --size 1TiB");
        ran.refused(2, &["more than half of the memory"]);
    }

    /// Checks that only squall's record is left, and that it is empty. udev may keep the RAM disk open for
    /// longer than squall waits: then a later run removes it.
    #[track_caller]
    pub fn nothing_is_left(&mut self) {
        self.no_device_is_left();
        let udev_was_late = "[ -S /run/udev/control ] && [ -e /sys/module/brd ]";
        while self.guest.sh(udev_was_late).expect("an end").status == 0 {
            self.remove_leftovers();
        }
        self.ok("[ ! -e /sys/module/brd ] && [ ! -e /dev/ram0 ]");
        let record = self.ok("cd /run && find . -name '*squall*' && cat squall-dmcrypt");
        assert_eq!(record, "./squall-dmcrypt\n");
    }
}

impl RunResult {
    /// The output of a run that must succeed.
    #[track_caller]
    pub fn success(self) -> String {
        assert_eq!(self.status, 0, "{}", self.errors);
        self.output
    }

    /// The errors of a run that must end with this status.
    #[track_caller]
    pub fn failure(self, status: i32) -> String {
        assert_eq!(self.status, status, "{}", self.errors);
        self.errors
    }

    /// Fails unless the run ended with this status, and with one line that has all of `words`.
    #[track_caller]
    pub fn refused(self, status: i32, words: &[&str]) {
        assert_eq!(self.output, "");
        let line = self.failure(status);
        assert!(line.starts_with("squall: "), "{line}");
        assert_eq!(line.lines().count(), 1, "{line}");
        contains(&line, words);
    }
}
