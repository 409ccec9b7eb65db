//! Tests drives that sanitize themselves for `squall wipe --purge`, with the kernel's ways to them and programs
//! that answer the commands: SCSI and ATA by SG_IO, the SCSI disk driver and target_core_user, NVMe by its
//! driver over TCP.
//!
//! The wipe is slow, and is killed. The part that it did not overwrite shows what the drive did. The control
//! is a drive whose commands are frozen: there is no operation, and the old contents are still there.

mod nvme;

use serde_json::{Value, json};
use squall_guests::{Bus, c_program};

use crate::guests::workspace::{GuestSession, MIB, OLD, Running, Workspace, id};
use nvme::{a_namespace_erases_only_itself, an_nvme_drive_sanitizes_itself};
use squall_guests::needs::{C_COMPILER, GUESTS, USER_MODE};
use squall_testing::suite::Test;
use squall_testing::tests;

pub const TESTS: &[Test] = tests![
    a_scsi_drive_sanitizes_itself: [USER_MODE, C_COMPILER],
    an_ata_drive_sanitizes_itself: [USER_MODE, C_COMPILER],
    an_nvme_drive_sanitizes_itself: [GUESTS, C_COMPILER],
    a_magnetic_drive_that_failed_overwrites_itself: [USER_MODE, C_COMPILER],
    a_scsi_drive_goes_on_after_a_power_cut: [USER_MODE, C_COMPILER],
    a_namespace_erases_only_itself: [GUESTS],
    qemus_drives_are_refused: [GUESTS],
];

const SIZE: u64 = 16;

/// A killed run has overwritten nothing beyond this offset.
const REACHED: u64 = 8 * MIB;

/// Options that make a wipe slow enough to be killed.
const SLOWLY: &str = "--rate-limit 128KiB --checkpoint 1";

/// Options of a wipe that is killed before a checkpoint.
const UNSAVED: &str = "--purge --rate-limit 128KiB --checkpoint 600";

const MODULES: [&str; 4] = ["target_core_user", "tcm_loop", "sd_mod", "ext4"];

/// Makes the device `$1` of the kind `$2`, and starts the program behind it.
const ATTACH: &[u8] = br#"set -e
core=/sys/kernel/config/target/core/user_0/$1
mkdir -p $core /tmp/$1
[ -e /tmp/$1/image ] || head -c $3 /dev/zero | tr '\0' '\247' >/tmp/$1/image
echo dev_size=$3,dev_config=$1 >$core/control
echo 1 >$core/enable
setsid /tmp/drive $2 0 /tmp/$1/image /tmp/$1 </dev/null >/tmp/$1/errors 2>&1 &
port=/sys/kernel/config/target/loopback/naa.6001405000000001/tpgt_1
mkdir -p $port/lun/lun_0
echo naa.6001405000000002 >$port/nexus
ln -s $core $port/lun/lun_0/drive
"#;

/// A guest with one drive that the program answers for.
struct Session<'w> {
    guest: GuestSession<'w>,
    serial: &'static str,
}

impl<'w> Session<'w> {
    fn boot(workspace: &'w Workspace, kind: &str, serial: &'static str) -> Session<'w> {
        let guest = workspace.boot(&MODULES, Vec::new());
        Session::attach(workspace, guest, kind, serial)
    }

    fn attach(
        workspace: &Workspace,
        mut guest: GuestSession<'w>,
        kind: &str,
        serial: &'static str,
    ) -> Session<'w> {
        program(workspace, &mut guest, "sanitizing_drive");
        guest.guest.write_file("/tmp/attach", ATTACH).expect("room");
        guest.ok("modprobe -a target_core_user tcm_loop");
        guest.ok("mount -t configfs none /sys/kernel/config");
        guest.ok(&format!("sh /tmp/attach {serial} {kind} {}", SIZE * MIB));
        // The disk driver looks for partitions, and while the drive serves no reads it retries each for six times
        // as long as a command may take.
        let units = "for unit in /sys/bus/scsi/devices/[0-9]*";
        let limit = |seconds| format!("{units}; do echo {seconds} >$unit/timeout; done");
        guest.ok(&limit(1));
        guest.ok("modprobe sd_mod");
        guest.name(serial);
        guest.ok(&limit(30));
        Session { guest, serial }
    }

    /// Puts a file into the drive's directory, which the program looks at, or removes it.
    fn set(&mut self, name: &str, is_set: bool) {
        let command = if is_set { "touch" } else { "rm -f" };
        let path = format!("/tmp/{}/{name}", self.serial);
        self.guest.ok(&format!("{command} {path}"));
    }

    /// The commands that changed something, since the last call.
    fn commands(&mut self) -> Vec<String> {
        let log = format!("/tmp/{}/log", self.serial);
        let commands = self.guest.ok(&format!("cat {log} || true; rm -f {log}"));
        commands.lines().map(str::to_owned).collect()
    }

    /// The part of the drive that a killed run has not reached.
    fn rest(&mut self) -> Vec<u8> {
        let image = format!("/tmp/{}/image", self.serial);
        let rest = format!("/tmp/{}/rest", self.serial);
        self.guest
            .ok(&format!("tail -c +{} {image} >{rest}", REACHED + 1));
        self.guest.guest.read_file(&rest).expect("a file")
    }

    fn start(&mut self, name: &str, options: &str) -> Running {
        self.guest.start(name, options, &[self.serial])
    }

    /// Waits until a run shows that the drive is half done.
    fn until_half(&mut self, running: &Running) {
        let is_half = |event: &Value| event["event"] == "purging" && event["done"] == 0x8000;
        let event = self.guest.until(running, 0, is_half);
        assert_eq!(event["total"], 0x1_0000);
    }
}

/// The drive on which a guest keeps, over a power cut, what the programs behind drives know.
const KEPT: &str = "KEPT";

/// Copies directories in /tmp to the kept drive, and cuts the power.
fn cut_power(mut session: GuestSession, directories: &str) {
    let drive = id(KEPT);
    session.ok(&format!("mke2fs {drive} && mount -t ext4 {drive} /mnt"));
    session.ok(&format!("cd /tmp && cp -a {directories} /mnt && sync"));
    session.guest.cut_power();
}

/// Copies what was kept back to /tmp.
fn restore(session: &mut GuestSession) {
    session.ok(&format!(
        "mount -t ext4 -o ro {} /mnt && cp -a /mnt/. /tmp",
        id(KEPT)
    ));
}

/// Puts the program `name` into the guest, as /tmp/drive.
fn program(workspace: &Workspace, session: &mut GuestSession, name: &str) {
    let path = workspace.path(name);
    c_program(name, &path).expect("a program");
    let program = std::fs::read(path).expect("a program");
    let written = session.guest.write_file("/tmp/drive", &program);
    written.expect("room");
    session.ok("chmod +x /tmp/drive");
}

/// The commands of one kind of drive.
struct Expected {
    means: &'static str,
    begin: &'static str,
    leave_failure: &'static str,
    /// What a plan says of an operation under way.
    at_work: &'static str,
}

fn a_scsi_drive_sanitizes_itself() {
    let workspace = Workspace::user_mode();
    let mut session = Session::boot(&workspace, "scsi", "TCMU-SAS");
    let expected = Expected {
        means: "scsi-sanitize-block",
        begin: "48 a2 00 00 00 00 00 00 00 00",
        leave_failure: "48 1f 00 00 00 00 00 00 00 00",
        at_work: "SCSI SANITIZE with an operation that the drive does not tell",
    };
    foreseen(&mut session, expected.means);
    goes_on_alone(&mut session, &expected);
    is_waited_for(&mut session, &expected, "scsi-sanitize");
    a_failure_is_left(&mut session, &expected);
    overwrites_itself(&mut session);
    refused(
        &mut session,
        "crypto",
        "not sanitize itself by crypto erase",
    );
    goes_into_standby(&mut session, "1b 00 00 00 30 00", "START STOP UNIT");
}

fn an_ata_drive_sanitizes_itself() {
    let workspace = Workspace::user_mode();
    let mut session = Session::boot(&workspace, "ata", "TCMU-ATA");
    let expected = Expected {
        means: "ata-sanitize-block",
        begin: "85 07 20 00 12 00 10 42 72 00 45 00 6b 40 b4 00",
        leave_failure: "85 07 20 00 00 00 01 00 00 00 00 00 00 40 b4 00",
        at_work: "ATA sanitize with an operation that the drive does not tell",
    };
    foreseen(&mut session, expected.means);
    a_frozen_drive_keeps_its_contents(&mut session);
    goes_on_alone(&mut session, &expected);
    is_waited_for(&mut session, &expected, "ata-sanitize");
    a_failure_is_left(&mut session, &expected);
    refused(
        &mut session,
        "overwrite",
        "not sanitize itself by overwrite",
    );
    another_drive_in_the_dock_is_refused(&mut session, &expected);
    a_nameless_drive_sanitizes_itself_again(&mut session, &expected);
    goes_into_standby(
        &mut session,
        "85 06 20 00 00 00 00 00 00 00 00 00 00 40 e0 00",
        "STANDBY IMMEDIATE",
    );
}

/// A drive that rotates has failed in an operation, and tells nothing else before one succeeds.
fn a_magnetic_drive_that_failed_overwrites_itself() {
    const SERIAL: &str = "TCMU-SAS";
    const BEGIN: &str = "48 a1 00 00 00 00 00 00 08 00";
    let workspace = Workspace::user_mode();
    let mut guest = workspace.boot(&MODULES, Vec::new());
    guest.ok(&format!(
        "mkdir /tmp/{SERIAL} && touch /tmp/{SERIAL}/magnetic"
    ));
    let mut session = Session::attach(&workspace, guest, "scsi", SERIAL);
    foreseen(&mut session, "scsi-sanitize-overwrite");
    session.set("fail", true);
    session.set("hold", true);
    let running = session.start("killed", "--purge");
    session.until_half(&running);
    session.guest.kill(running);
    session.set("hold", false);
    let failed = "its last sanitize operation failed, and until one succeeds it serves no reads";
    // Each question takes the drive further.
    let drive = id(SERIAL);
    let plan = format!("squall wipe --yes --dry-run {drive} 2>&1 | grep '{failed}'");
    session.guest.wait_until_ok(&plan);
    session.set("fail", false);
    assert_eq!(session.commands(), [BEGIN]);

    refused(&mut session, "block", "only by crypto erase or overwrite");
    let plan = format!("squall wipe --yes --dry-run --purge --untried-on-hardware {drive}");
    let plan = session.guest.ok(&plan);
    let perhaps = "perhaps supported: SCSI SANITIZE with overwrite (--purge)";
    assert!(plan.contains(perhaps), "{plan}");
    let ran = session.guest.wipe("freed", "--purge", &[SERIAL]);
    assert_eq!(ran.succeeded().outcome(0), "verified");
    assert_eq!(session.commands(), [BEGIN]);
}

/// The power fails while a drive is at work. It goes on, and the resumed job waits for it.
fn a_scsi_drive_goes_on_after_a_power_cut() {
    const SERIAL: &str = "TCMU-SAS";
    let workspace = Workspace::user_mode();
    let kept = vec![workspace.drive(Bus::Ubd, KEPT, 512, 2 * SIZE)];
    let guest = workspace.boot(&MODULES, kept.clone());
    let mut session = Session::attach(&workspace, guest, "scsi", SERIAL);
    session.set("hold", true);
    let running = session.start("cut", "--purge");
    session.until_half(&running);
    cut_power(session.guest, &format!("{SERIAL} cut"));

    let mut guest = workspace.boot(&MODULES, kept);
    restore(&mut guest);
    let mut session = Session::attach(&workspace, guest, "scsi", SERIAL);
    let resumed = session.guest.restart("cut", "");
    session.until_half(&resumed);
    session.set("hold", false);
    let ran = session.guest.end(resumed).succeeded();
    assert_eq!(ran.outcome(0), "verified");
    assert_eq!(session.commands().len(), 1);
}

/// The plan and the list of drives say how the drive erases itself, and nothing is sent that changes it.
fn foreseen(session: &mut Session, means: &str) {
    let plan = format!("squall wipe --dry-run --json {}", id(session.serial));
    let plan = session.guest.ok(&plan);
    let plan: Value = serde_json::from_str(&plan).expect("a plan");
    assert_eq!(plan["means"], json!([means]));
    let drives = session.guest.ok("squall drives --all");
    assert!(drives.contains("erases itself by"), "{drives}");
    let all = session.guest.ok("squall wipe --dry-run --all");
    assert!(all.contains("  erase     supported: "), "{all}");
    assert!(session.commands().is_empty());
}

/// The control.
fn a_frozen_drive_keeps_its_contents(session: &mut Session) {
    session.set("frozen", true);
    refused(session, "block", "frozen until it is powered off");
    assert!(session.rest().iter().all(|byte| *byte == OLD));
    session.set("frozen", false);
}

/// A run is killed while the drive is at work. Nothing else is done with the drive until it is done.
fn goes_on_alone(session: &mut Session, expected: &Expected) {
    session.set("hold", true);
    let running = session.start("killed", &format!("--purge --keep-key {SLOWLY}"));
    session.until_half(&running);
    session.guest.kill(running);
    assert_eq!(session.commands(), [expected.begin]);
    let ran = session.guest.wipe("meanwhile", "", &[session.serial]);
    let ran = ran.refused("it is sanitizing itself, and is at 50 %");
    assert!(ran.events.is_empty());
    let all = session.guest.ok("squall wipe --dry-run --all 2>&1 || true");
    for words in ["left out:", "it is sanitizing itself, and is at 50 %"] {
        assert!(all.contains(words), "{all}");
    }
    // The user chooses block erase, and the drive tells nothing of what it is at.
    let drive = id(session.serial);
    let plan = format!("squall wipe --yes --dry-run --purge=block --untried-on-hardware {drive}");
    let plan = session.guest.ok(&plan);
    let at_work = format!("under way, at 50 %: {}; squall waits", expected.at_work);
    assert!(plan.contains(&at_work), "{plan}");

    let resumed = session.guest.restart("killed", SLOWLY);
    session.until_half(&resumed);
    session.set("hold", false);
    let purged = |event: &Value| event["event"] == "purged";
    let purged = session.guest.until(&resumed, 0, purged);
    assert_eq!(purged["means"], expected.means);
    assert_eq!(purged["failure"], Value::Null);
    session.guest.until_checkpoint(&resumed, 0);
    session.guest.kill(resumed);
    assert!(session.rest().iter().all(|byte| *byte == 0));

    let ran = session.guest.resume("killed", "").succeeded();
    assert_eq!(ran.outcome(0), "verified");
    assert!(session.commands().is_empty());
    let report = session.guest.report("killed", 0);
    let sanitize = &report["purge"]["sanitize"];
    assert_eq!(sanitize["found_under_way"], false, "{report}");
    let sent = sanitize["exchanges"].to_string();
    assert!(sent.contains(expected.begin), "{sent}");
    let page = session.guest.page("killed", 0);
    assert!(page.contains(expected.begin) && page.contains("done, as the drive says"));
}

/// A new job finds the drive at work, waits, and does not say what the drive does not tell.
fn is_waited_for(session: &mut Session, expected: &Expected, told: &str) {
    session.set("hold", true);
    let running = session.start("lost", "--purge");
    session.until_half(&running);
    session.guest.kill(running);
    let running = session.start("waiting", "--purge");
    session.until_half(&running);
    session.set("hold", false);
    let ran = session.guest.end(running).succeeded();
    assert_eq!(ran.outcome(0), "verified");
    assert_eq!(session.commands(), [expected.begin]);
    let report = session.guest.report("waiting", 0);
    assert_eq!(report["purge"]["means"], told, "{report}");
    assert_eq!(report["purge"]["sanitize"]["found_under_way"], true);
}

/// The operation fails. The drive is told to serve reads and writes again, and is overwritten.
fn a_failure_is_left(session: &mut Session, expected: &Expected) {
    session.set("fail", true);
    let ran = session.guest.wipe("failing", "--purge", &[session.serial]);
    let ran = ran.failed("1 of 1 drives not wiped as asked");
    session.set("fail", false);
    assert_eq!(ran.outcome(0), "incomplete");
    assert_eq!(session.commands(), [expected.begin, expected.leave_failure]);
    let report = session.guest.report("failing", 0);
    let failure = report["purge"]["failure"].to_string();
    let words = "its sanitize operation failed";
    assert!(failure.contains(words), "{failure}");
    assert_eq!(report["verification"]["differing_bytes"], 0);
    assert_eq!(report["verification"]["compared"], SIZE * MIB);
}

/// A run is killed before anything was overwritten: while the drive is at work, and after that. Another drive is in the
/// dock when the job is resumed, and has sanitized itself some time, too.
fn another_drive_in_the_dock_is_refused(session: &mut Session, expected: &Expected) {
    let killed_while = |session: &mut Session, name: &str, is_at_work: bool| {
        session.set("hold", is_at_work);
        let running = session.start(name, UNSAVED);
        match is_at_work {
            true => session.until_half(&running),
            false => {
                let purged = |event: &Value| event["event"] == "purged";
                session.guest.until(&running, 0, purged);
            }
        }
        session.guest.kill(running);
        session.set("hold", false);
        session.set("other", true);
        let ran = session.guest.resume(name, "");
        ran.refused(
            "it is TWO, another drive than the one that has erased itself: nothing was written",
        );
        session.set("other", false);
        session.guest.resume(name, "").succeeded();
        assert_eq!(session.commands(), [expected.begin]);
        let report = session.guest.report(name, 0);
        assert_eq!(report["purge"]["sanitize"]["own_name"], "ONE");
        assert_eq!(report["level"], "purge");
    };
    killed_while(session, "at-work", true);
    killed_while(session, "at-its-end", false);
}

/// Nothing shows that it is the drive that began, and it is no longer at work.
fn a_nameless_drive_sanitizes_itself_again(session: &mut Session, expected: &Expected) {
    session.set("nameless", true);
    let running = session.start("nameless", UNSAVED);
    let purged = |event: &Value| event["event"] == "purged";
    session.guest.until(&running, 0, purged);
    session.guest.kill(running);
    assert_eq!(session.commands(), [expected.begin]);
    session.guest.resume("nameless", "").succeeded();
    assert_eq!(session.commands(), [expected.begin]);
    session.set("nameless", false);
}

fn overwrites_itself(session: &mut Session) {
    let options = "--purge=overwrite --verify none";
    let ran = session.guest.wipe("overwrite", options, &[session.serial]);
    ran.succeeded();
    assert_eq!(session.commands(), ["48 a1 00 00 00 00 00 00 08 00"]);
}

/// The drive gets its command once the run has ended, and not at all without `--then`.
fn goes_into_standby(session: &mut Session, command: &str, name: &str) {
    let drives = [session.serial];
    session
        .guest
        .wipe("awake", "--verify none", &drives)
        .succeeded();
    assert!(session.commands().is_empty());
    let options = "--verify none --then standby";
    let ran = session.guest.wipe("standby", options, &drives).succeeded();
    assert_eq!(ran.events.last().expect("events")["what"], "standby");
    assert_eq!(session.commands(), [command]);
    session.set("awake", true);
    let ran = session.guest.wipe("refusing", options, &drives);
    let ran = ran.failed("1 of 1 drives not in standby");
    let refused = format!("not in standby: {name}: ");
    assert!(ran.stderr.contains(&refused), "{}", ran.stderr);
    assert_eq!(ran.outcome(0), "overwritten");
    session.set("awake", false);
}

fn refused(session: &mut Session, how: &str, why: &str) {
    let options = format!("--purge={how}");
    let ran = session.guest.wipe("refused", &options, &[session.serial]);
    let ran = ran.refused(why);
    assert!(ran.events.is_empty());
    assert!(session.commands().is_empty());
}

/// QEMU's drives have no sanitize commands. The kernel's translation tells that one is an ATA drive, and passes
/// IDENTIFY DEVICE on; the other one does not report which commands it has.
fn qemus_drives_are_refused() {
    let workspace = Workspace::emulated();
    let drives = vec![
        workspace.drive(Bus::Sata, "SATA", 512, SIZE),
        workspace.drive(Bus::VirtioScsi, "SCSI", 512, SIZE),
    ];
    let mut session = workspace.boot(&[], drives);
    for (serial, why) in [
        ("SATA", "it has no ATA sanitize: nothing"),
        (
            "SCSI",
            "it does not report whether it has SANITIZE: nothing",
        ),
    ] {
        for how in ["--purge", "--purge=block"] {
            let ran = session.wipe("refused", how, &[serial]);
            ran.refused(&format!("it cannot erase itself: {why}"));
        }
        assert!(workspace.is_old(serial));
    }
    session.wipe("usual", "", &["SATA", "SCSI"]).succeeded();
}
