//! Tests guests: commands, drives that fail and vanish, power cuts, and how guests end.

use std::time::Duration;

use squall_guests::{Bus, Drive, Setup};

use squall_guests::commands::contains;
use squall_guests::fixture::{TIMEOUT, Workspace, message, ok, wait_until_ok};
use squall_guests::needs::GUESTS;
use squall_testing::suite::Test;
use squall_testing::tests;

pub const TESTS: &[Test] = tests![
    commands_return_their_whole_output: [GUESTS],
    a_hung_command_is_killed_at_its_limit: [GUESTS],
    a_panic_is_reported_with_its_message: [GUESTS],
    drives_have_the_requested_properties_and_can_be_unplugged: [GUESTS],
    flushed_data_survives_a_power_cut: [GUESTS],
    invalid_setups_are_reported: [GUESTS],
];

const MIB: usize = 1 << 20;

/// Bytes of every value, in an order that does not repeat.
fn bytes(len: usize) -> Vec<u8> {
    let words = (0..len as u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56);
    words.map(|word| word as u8).collect()
}

fn commands_return_their_whole_output() {
    let workspace = Workspace::emulated();
    let mut guest = workspace.factory.boot(&Setup::default()).expect("a guest");

    let (out, err) = (bytes(MIB), bytes(MIB + 1));
    guest.write_file("/tmp/out", &out).expect("a file");
    guest.write_file("/tmp/an err", &err).expect("a file");
    assert_eq!(guest.read_file("/tmp/out").expect("a file"), out);
    let output = guest.sh("cat /tmp/out; cat '/tmp/an err' >&2; exit 7");
    let output = output.expect("an end");
    assert_eq!(output.status, 7);
    assert!(output.stdout == out && output.stderr == err);

    let output = guest.sh("kill -TERM $$").expect("an end");
    assert_eq!((output.status, output.stdout.len()), (128 + 15, 0));
    assert_eq!(ok(&mut guest, "printf 'a\\nb'"), "a\nb");
    assert_eq!(
        guest.read_file("/proc/sys/kernel/ostype").expect("a file"),
        b"Linux\n"
    );
    let line = message(guest.read_file("/none").unwrap_err());
    contains(&line, &["in the VM", "/none", "No such file"]);
    let line = message(guest.write_file("/none/x", b"abc").unwrap_err());
    contains(&line, &["in the VM", "/none/x"]);
    contains(&ok(&mut guest, "cryptsetup --version"), &["cryptsetup 2."]);
    contains(&ok(&mut guest, "cat /proc/cpuinfo"), &[" aes ", " vaes "]);
}

fn a_hung_command_is_killed_at_its_limit() {
    let workspace = Workspace::emulated();
    let mut guest = workspace.factory.boot(&Setup::default()).expect("a guest");
    let limit = Duration::from_secs(2);
    let line = message(guest.sh_within("sleep infinity; true", limit).unwrap_err());
    contains(&line, &["`sleep infinity; true` took longer than 2 s"]);
    wait_until_ok(&mut guest, "! pidof sleep");

    let job = guest
        .start("while [ ! -e /tmp/go ]; do sleep 0.1; done; echo gone")
        .expect("a job");
    assert_eq!(guest.poll(job).expect("an answer"), None);
    ok(&mut guest, "touch /tmp/go");
    let output = guest.finish(job, TIMEOUT).expect("an answer");
    assert_eq!(output.expect("an end").stdout, b"gone\n");

    let job = guest.start("sleep infinity").expect("a job");
    wait_until_ok(&mut guest, "pidof sleep");
    guest.kill(job).expect("an answer");
    let output = guest.finish(job, TIMEOUT).expect("an answer");
    assert_eq!(output.expect("an end").status, 128 + 9);
}

fn a_panic_is_reported_with_its_message() {
    let workspace = Workspace::emulated();
    let mut guest = workspace.factory.boot(&Setup::default()).expect("a guest");
    let line = message(guest.sh("echo c > /proc/sysrq-trigger").unwrap_err());
    contains(
        &line,
        &["the VM ended", "Kernel panic - not syncing: sysrq"],
    );
    contains(&guest.console(), &["sysrq: Trigger a crash"]);
}

fn drives_have_the_requested_properties_and_can_be_unplugged() {
    let workspace = Workspace::emulated();
    let medium = |name| workspace.medium(name, 16 * MIB as u64);
    let setup = Setup {
        drives: vec![
            Drive::new(medium("a"), Bus::VirtioBlk, "BLK-1", 512),
            Drive::new(medium("b"), Bus::VirtioBlk, "BLK-2", 4096),
            Drive::new(medium("c"), Bus::VirtioScsi, "SCSI-1", 4096),
            Drive::new(medium("d"), Bus::Nvme, "NVME-1", 4096),
        ],
        ..Setup::default()
    };
    let mut guest = workspace.factory.boot(&setup).expect("a guest");
    let drives = [
        ("vda", "serial", "BLK-1", 512),
        ("vdb", "serial", "BLK-2", 4096),
        ("sda", "device/vpd_pg80", "SCSI-1", 4096),
        ("nvme0n1", "device/serial", "NVME-1", 4096),
    ];
    for (name, file, serial, block_size) in drives {
        wait_until_ok(
            &mut guest,
            &format!("[ -e /sys/block/{name} ] && : </dev/{name}"),
        );
        contains(
            &ok(&mut guest, &format!("cat /sys/block/{name}/{file}")),
            &[serial],
        );
        let size = ok(&mut guest, &format!("blockdev --getss /dev/{name}"));
        assert_eq!(size, format!("{block_size}\n"), "{name}");
        let sectors = ok(&mut guest, &format!("cat /sys/block/{name}/size"));
        assert_eq!(sectors, "32768\n", "{name}");
    }
    for (name, _, serial, _) in drives {
        let command = format!(
            "while [ -b /dev/{name} ]; do dd if=/dev/zero of=/dev/{name} bs=64k conv=fsync; done"
        );
        let job = guest.start(&command).expect("a job");
        let written = format!("[ $(awk '{{ print $7 }}' /sys/block/{name}/stat) -gt 0 ]");
        wait_until_ok(&mut guest, &written);
        guest.unplug(serial).expect("no drive");
        let output = guest.finish(job, TIMEOUT);
        let output = output.expect("an answer").expect("an end");
        contains(&String::from_utf8_lossy(&output.stderr), &["error"]);
        wait_until_ok(&mut guest, &format!("[ ! -e /sys/block/{name} ]"));
    }
    let line = message(guest.unplug("BLK-3").unwrap_err());
    contains(&line, &["no drive BLK-3"]);
}

fn flushed_data_survives_a_power_cut() {
    let workspace = Workspace::emulated();
    let setup = Setup {
        drives: vec![Drive::new(
            workspace.medium("a", MIB as u64),
            Bus::VirtioBlk,
            "A",
            512,
        )],
        ..Setup::default()
    };
    let written = bytes(MIB);
    let mut guest = workspace.factory.boot(&setup).expect("a guest");
    assert_eq!(
        ok(&mut guest, "cat /sys/block/vda/queue/write_cache"),
        "write back\n"
    );
    guest.write_file("/tmp/written", &written).expect("a file");
    ok(
        &mut guest,
        "dd if=/tmp/written of=/dev/vda bs=64k conv=fsync",
    );
    guest.cut_power();
    let mut guest = workspace.factory.boot(&setup).expect("a guest");
    assert!(guest.read_file("/dev/vda").expect("a drive") == written);
}

fn invalid_setups_are_reported() {
    let workspace = Workspace::emulated();
    let refused = |setup: Setup| message(workspace.factory.boot(&setup).unwrap_err());
    let setup = Setup {
        modules: &["no-such-module"],
        ..Setup::default()
    };
    contains(&refused(setup), &["no module no_such_module"]);
    let absent = workspace.path("absent");
    let drives = vec![Drive::new(&absent, Bus::VirtioBlk, "A", 512)];
    let setup = Setup {
        drives,
        ..Setup::default()
    };
    contains(&refused(setup), &["QEMU says", "absent"]);
}
