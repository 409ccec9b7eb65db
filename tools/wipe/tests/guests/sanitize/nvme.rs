//! NVMe: a subsystem with two namespaces, which the kernel's driver reaches over TCP, and of which Sanitize erases both;
//! and QEMU's drives, which format a namespace.

use serde_json::{Value, json};

use super::{REACHED, SIZE, SLOWLY, program};
use squall_guests::Bus;

use crate::guests::workspace::{GuestSession, MIB, OLD, Workspace, id};

/// Makes the images of two namespaces, starts the program behind them, and connects to it.
const CONNECT: &[u8] = br#"set -e
mkdir -p /tmp/subsystem
cd /tmp/subsystem
[ -e 1 ] || for image in 1 2; do head -c $1 /dev/zero | tr '\0' '\247' >$image; done
ip link set lo up
setsid /tmp/drive 4420 /tmp/subsystem 1 2 </dev/null >errors 2>&1 &
host=nqn.2014-08.org.nvmexpress:uuid:00000000-0000-0000-0000-000000000001
until echo "transport=tcp,traddr=127.0.0.1,trsvcid=4420,nqn=nqn.2026-11.squall:lab,hostnqn=$host,\
hostid=00000000-0000-0000-0000-000000000001,nr_io_queues=1,keep_alive_tmo=0" >/dev/nvme-fabrics
do sleep 0.1; done
for name in nvme0n1 nvme0n2; do
    until [ -e /sys/block/$name ] && (: </dev/$name); do sleep 0.1; done
done
# The kernel looks at namespaces in any order.
for disk in /sys/block/nvme0n*; do ln -sf /dev/${disk##*/} /dev/disk/by-id/SPACE-$(cat $disk/nsid); done
"#;

const BOTH: [&str; 2] = ["SPACE-1", "SPACE-2"];

/// Word 10 of Sanitize: block erase whose failure can be left; and to leave it.
const BEGIN: &str = "0000000a";
const LEAVE_FAILURE: &str = "00000001";

pub fn an_nvme_drive_sanitizes_itself() {
    let workspace = Workspace::emulated();
    let mut session = workspace.boot(&["nvme_tcp"], Vec::new());
    connect(&workspace, &mut session);
    refused_unless_all_are_named(&mut session);
    advised_with_all_of_its_namespaces(&mut session);
    goes_on_alone(&mut session);
    a_failure_is_left(&mut session);
}

fn connect(workspace: &Workspace, session: &mut GuestSession) {
    program(workspace, session, "sanitizing_subsystem");
    let written = session.guest.write_file("/tmp/connect", CONNECT);
    written.expect("room");
    session.ok("modprobe nvme_tcp");
    session.ok(&format!("sh /tmp/connect {}", SIZE * MIB));
}

fn is_half(event: &Value) -> bool {
    event["event"] == "purging" && event["done"] == 0x8000
}

/// The words of the Sanitize commands since the last call.
fn commands(session: &mut GuestSession) -> Vec<String> {
    let commands = session.ok("cd /tmp/subsystem; cat log || true; rm -f log");
    commands.lines().map(str::to_owned).collect()
}

/// The part of a namespace that a killed run has not reached.
fn rest(session: &mut GuestSession, namespace: u32) -> Vec<u8> {
    let skipped = REACHED + 1;
    let command = format!("cd /tmp/subsystem; tail -c +{skipped} {namespace} >rest");
    session.ok(&command);
    let rest = session.guest.read_file("/tmp/subsystem/rest");
    rest.expect("a file")
}

fn refused_unless_all_are_named(session: &mut GuestSession) {
    for how in ["--purge", "--purge=block"] {
        let ran = session.wipe("refused", how, &["SPACE-1"]);
        ran.refused("erases all namespaces of the subsystem, and these were not named: 2");
    }
    assert!(commands(session).is_empty());
    for namespace in [1, 2] {
        assert!(rest(session, namespace).iter().all(|byte| *byte == OLD));
    }
}

/// The plan and the reports name the command that has both namespaces erased; of one alone they say why there is none.
fn advised_with_all_of_its_namespaces(session: &mut GuestSession) {
    let [one, two] = BOTH.map(id);
    let plan = session.ok(&format!("squall wipe --yes --dry-run {one} {two}"));
    let paths = session.ok(&format!("readlink -f {one}; readlink -f {two}"));
    let [one_path, two_path] = [0, 1].map(|line| paths.lines().nth(line).expect("a path"));
    let advised = "squall wipe --purge --untried-on-hardware";
    let command = format!("{advised} {one_path} {two_path}");
    assert_eq!(plan.matches(advised).count(), 1, "{plan}");
    assert!(plan.contains(&format!("`{command}`")), "{plan}");
    // It does what it says.
    session.ok(&format!("{command} --dry-run"));
    session.wipe("both", "", &BOTH).succeeded();
    for drive in [0, 1] {
        let told = &session.report("both", drive)["own_erase"];
        assert_eq!(told["targets"], json!([one_path, two_path]), "{told}");
        assert_eq!(told["means"], "nvme-sanitize-block", "{told}");
    }

    session.wipe("one", "", &["SPACE-1"]).succeeded();
    let told = session.report("one", 0)["own_erase"]["reason"].to_string();
    assert!(told.contains("these were not named: 2"), "{told}");
    let plan = session.ok(&format!("squall wipe --yes --dry-run {one}"));
    let refused = "--purge refuses to ask it: it erases all namespaces";
    assert!(plan.contains(refused), "{plan}");
}

/// One command erases both. A run is killed while the drive is at work, and neither namespace is written
/// before it is done.
fn goes_on_alone(session: &mut GuestSession) {
    session.ok("touch /tmp/subsystem/hold");
    let running = session.start("killed", &format!("--purge --keep-key {SLOWLY}"), &BOTH);
    session.until(&running, 0, is_half);
    session.kill(running);
    assert_eq!(commands(session), [BEGIN]);
    let ran = session.wipe("meanwhile", "", &["SPACE-2"]);
    ran.refused("it is sanitizing itself, and is at 50 %");

    let resumed = session.restart("killed", SLOWLY);
    session.until(&resumed, 0, is_half);
    session.ok("rm /tmp/subsystem/hold");
    for drive in [0, 1] {
        let purged = session.until(&resumed, drive, |event| event["event"] == "purged");
        assert_eq!(purged["means"], "nvme-sanitize-block");
        assert_eq!(purged["failure"], Value::Null);
        session.until_checkpoint(&resumed, drive);
    }
    session.kill(resumed);
    for namespace in [1, 2] {
        assert!(rest(session, namespace).iter().all(|byte| *byte == 0));
    }
    let ran = session.resume("killed", "").succeeded();
    assert!(ran.events("purge").is_empty());
    assert!(commands(session).is_empty());
    let sent = session.report("killed", 0)["purge"]["sanitize"]["exchanges"].to_string();
    assert!(sent.contains("CDW10 0x0000000a"), "{sent}");
    let second = session.report("killed", 1);
    assert_eq!(second["purge"]["with"], 0, "{second}");
    assert_eq!(second["purge"]["failure"], Value::Null);
    assert_eq!(second["verification"]["compared"], SIZE * MIB);
}

fn a_failure_is_left(session: &mut GuestSession) {
    session.ok("touch /tmp/subsystem/fail");
    let ran = session.wipe("failing", "--purge=block", &BOTH);
    let ran = ran.failed("2 of 2 drives not wiped as asked");
    session.ok("rm /tmp/subsystem/fail");
    assert_eq!(commands(session), [BEGIN, LEAVE_FAILURE]);
    for drive in [0, 1] {
        assert_eq!(ran.outcome(drive), "incomplete");
        let report = session.report("failing", drive as usize);
        assert_eq!(report["verification"]["differing_bytes"], 0);
    }
    // The log still tells of the failure, which has been left.
    session.wipe("again", "", &["SPACE-1"]).succeeded();
}

/// The control is the same without `--purge`.
pub fn a_namespace_erases_only_itself() {
    let workspace = Workspace::emulated();
    let drives = vec![
        workspace.drive(Bus::Nvme, "ERASED", 512, SIZE),
        workspace.drive(Bus::Nvme, "LARGE", 4096, SIZE),
        workspace.drive(Bus::Nvme, "CONTROL", 512, SIZE),
        workspace.drive(Bus::VirtioBlk, "NONE", 512, SIZE),
    ];
    let mut session = workspace.boot(&[], drives);
    format_is_foreseen(&mut session);
    refused_unless_all_can(&workspace, &mut session);
    for serial in ["ERASED", "LARGE"] {
        erases_itself(&workspace, &mut session, serial);
    }
    keeps_what_is_not_overwritten(&workspace, &mut session);
}

/// The plan says which drives can erase themselves, and making it changes nothing.
fn format_is_foreseen(session: &mut GuestSession) {
    let drives = ["ERASED", "NONE"].map(id).join(" ");
    let plan = session.ok(&format!("squall wipe --dry-run --json {drives}"));
    let plan: Value = serde_json::from_str(&plan).expect("a plan");
    assert_eq!(plan["means"], json!(["nvme-format", null]));
    let plan = session.ok(&format!("squall wipe --dry-run {drives}"));
    let line = "erase     supported: Format NVM with User Data Erase (--purge)";
    assert_eq!(plan.matches("erase  ").count(), 1, "{plan}");
    assert!(plan.contains(line), "{plan}");
}

/// If one drive cannot erase itself, all drives stay as they were.
fn refused_unless_all_can(workspace: &Workspace, session: &mut GuestSession) {
    let ran = session.wipe("refused", "--purge", &["ERASED", "NONE"]);
    ran.refused("it cannot erase itself");
    for serial in ["ERASED", "NONE"] {
        assert!(workspace.is_old(serial), "{serial}");
    }
}

fn erases_itself(workspace: &Workspace, session: &mut GuestSession, serial: &str) {
    let options = format!("--purge --keep-key {SLOWLY}");
    let running = session.start(serial, &options, &[serial]);
    let purged = session.until(&running, 0, |event| event["event"] == "purged");
    assert_eq!(purged["means"], "nvme-format");
    assert_eq!(purged["failure"], Value::Null);
    session.until(&running, 0, |event| event["event"] == "pass");
    session.kill(running);
    let left = &workspace.medium(serial)[REACHED as usize..];
    assert!(left.iter().all(|byte| *byte == 0), "{serial}");

    // The erase is not repeated; the drive is then overwritten and verified as usual.
    let ran = session.resume(serial, "").succeeded();
    assert_eq!(ran.outcome(0), "verified");
    assert!(ran.events("purge").is_empty() && ran.events("purged").is_empty());
    let report = session.report(serial, 0);
    assert_eq!(report["purge"]["failure"], Value::Null);
    assert!(report["purge"]["ended"].is_string(), "{report}");
    let page = session.page(serial, 0);
    assert!(page.contains("the drive erased itself by Format NVM"));
    let size = (SIZE * MIB) as usize;
    assert!(workspace.medium(serial) == session.keystream(serial, 0, size));
}

/// The control: without `--purge`, the part that was not overwritten keeps its contents.
fn keeps_what_is_not_overwritten(workspace: &Workspace, session: &mut GuestSession) {
    let running = session.start("control", SLOWLY, &["CONTROL"]);
    session.until_checkpoint(&running, 0);
    session.kill(running);
    let left = &workspace.medium("CONTROL")[REACHED as usize..];
    assert!(left.iter().all(|byte| *byte == OLD));
}
