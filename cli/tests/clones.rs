//! `squall clones` reports each clone, and runs what it was given.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::net::netlink::{KOBJECT_UEVENT, SocketAddrNetlink};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType};
use rustix::thread::UnshareFlags;
use squall::clones::Signal;
use squall_testing::suite::{NOTHING, Need, Test};
use squall_testing::tests;

use crate::common::{refused, run, squall, text};
use crate::seed::{GENERATION, PRIVILEGE, generations};

const VMGENID_EVENTS: Need = Need {
    check: || {
        let has = squall::clones::signal() == Some(Signal::VmgenidEvent);
        has.then_some(())
            .ok_or_else(|| "vmgenid's event is not what shows clones here".into())
    },
    required_by: NOTHING,
};

const VM_WITHOUT_VMCLOCK: Need = Need {
    check: || {
        let status = squall::status();
        (status.is_vm && !status.has_vmclock && !status.has_vmgenid_page)
            .then_some(())
            .ok_or_else(|| "this is no VM, or one with vmclock or vmgenid's page".into())
    },
    required_by: NOTHING,
};

/// Makes the kernel tell this network namespace that the VM was cloned, as its vmgenid driver does. Takes root there,
/// and Linux 4.18.
fn send_clone() {
    const MESSAGE: &[u8] = b"change@/devices/platform/VMGENCTR:00\0ACTION=change\0NEW_VMGENID=1\0";
    const HEADER_LEN: usize = 16;
    const TYPE: u16 = 0x10;
    const REQUEST: u16 = 1;
    let mut packet = ((HEADER_LEN + MESSAGE.len()) as u32).to_ne_bytes().to_vec();
    packet.extend(TYPE.to_ne_bytes());
    packet.extend(REQUEST.to_ne_bytes());
    packet.extend([0; 8]);
    packet.extend(MESSAGE);
    let family = AddressFamily::NETLINK;
    let (kind, flags) = (SocketType::DGRAM, SocketFlags::CLOEXEC);
    let socket = rustix::net::socket_with(family, kind, flags, Some(KOBJECT_UEVENT));
    let socket: OwnedFd = socket.expect("a socket");
    let kernel = SocketAddrNetlink::new(0, 0);
    rustix::net::sendto(&socket, &packet, SendFlags::empty(), &kernel).expect("it is sent");
}

/// Runs `test` in its own network namespace, so that other listeners are not disturbed.
fn with_own_network(test: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let in_own_network = scope.spawn(|| {
            // SAFETY: file descriptors stay shared.
            unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }.expect("as root");
            test();
        });
        in_own_network.join().expect("it holds");
    });
}

/// The command, running, and its standard output; stopped on drop.
struct Watch {
    child: Child,
    lines: io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Watch {
    fn start(command: &mut Command) -> Watch {
        let mut child = command
            .stdout(Stdio::piped())
            .spawn()
            .expect("the command runs");
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        Watch { child, lines }
    }

    /// The next line, which is waited for.
    fn line(&mut self) -> String {
        self.lines.next().expect("a line comes").expect("text")
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn each_clone_is_a_line() {
    with_own_network(|| {
        let mut watch = Watch::start(&mut squall("clones"));
        assert_eq!(watch.line(), "start: signal vmgenid-event, generation 1");
        let mut before = "1".to_owned();
        for _ in 0..3 {
            send_clone();
            let line = watch.line();
            let generation = line.strip_prefix("clone: signal vmgenid-event, generation ");
            let generation = generation.expect(&line).to_owned();
            assert_ne!(generation, before);
            before = generation;
        }
    });
}

fn programs_get_json() {
    with_own_network(|| {
        let mut watch = Watch::start(&mut squall("clones --json --once"));
        let start = r#"{"event":"start","signal":"vmgenid-event","generation":1}"#;
        assert_eq!(watch.line(), start);
        send_clone();
        let event: serde_json::Value = serde_json::from_str(&watch.line()).expect("JSON");
        assert_eq!(
            (&event["event"], &event["signal"]),
            (&"clone".into(), &"vmgenid-event".into())
        );
        assert!(event["generation"].as_u64() > Some(1), "{event}");
        assert!(watch.child.wait().expect("it ends").success());
    });
}

fn seeding_comes_first() {
    with_own_network(|| {
        let mut watch = Watch::start(&mut squall("clones --seed"));
        let (_, first) = generations(&watch.line());
        send_clone();
        let (_, second) = generations(&watch.line());
        assert!(second > first, "{first} {second}");
    });
}

/// Writes a shell script.
fn write_program(path: &Path, script: &str) {
    fs::write(path, format!("#!/bin/sh\n{script}\n")).expect("it is written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it may be run");
}

fn command_and_hooks_run_in_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let (hooks, out) = (folder.path().join("hooks"), folder.path().join("out"));
    fs::create_dir(&hooks).expect("a folder");
    let note = |what: &str| {
        format!(
            "echo {what} $SQUALL_CLONE_SIGNAL $SQUALL_CLONE_GENERATION >> {}",
            out.display()
        )
    };
    write_program(&hooks.join("20-second"), &note("second"));
    write_program(
        &hooks.join("10-fails"),
        &format!("{}; exit 3", note("first")),
    );
    write_program(&hooks.join("30-old.dpkg-old"), &note("left-over"));
    fs::write(hooks.join("README"), note("text")).expect("it is written");
    std::os::unix::fs::symlink("/nonexistent", hooks.join("40-gone")).expect("a link");
    with_own_network(|| {
        let mut command = squall("clones --once --exec");
        command.arg(note("command")).arg("--hooks").arg(&hooks);
        let mut watch = Watch::start(command.stderr(Stdio::piped()));
        watch.line();
        assert!(!out.exists());
        send_clone();
        let line = watch.line();
        let (_, generation) = line.rsplit_once(' ').expect("words");
        let expected = ["command", "first", "second"]
            .map(|what| format!("{what} vmgenid-event {generation}\n"));
        assert_eq!(watch.child.wait().expect("it ends").code(), Some(1));
        assert_eq!(
            fs::read_to_string(&out).expect("they ran"),
            expected.concat()
        );
        let errors = io::read_to_string(watch.child.stderr.take().expect("a pipe"));
        let failed = format!(
            "squall: clones: {}/10-fails: exit status: 3\n",
            hooks.display()
        );
        assert_eq!(
            errors.expect("text"),
            failed + "squall: clones: what was started has failed: see above\n"
        );
    });
}

fn a_watch_that_seeds_needs_no_reader() {
    with_own_network(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let (reader, writer) = io::pipe().expect("a pipe");
        let fifo = folder.path().join("fifo");
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, 0o600.into()).expect("a FIFO");
        let mut command = squall("clones --seed --exec");
        command.arg(format!("echo done > {}", fifo.display()));
        let mut child = command.stdout(writer).spawn().expect("the command runs");
        let mut start = String::new();
        BufReader::new(&reader)
            .read_line(&mut start)
            .expect("a line comes");
        drop(reader);
        for _ in 0..2 {
            send_clone();
            assert_eq!(fs::read_to_string(&fifo).expect("it is written"), "done\n");
        }
        let _ = child.kill();
        let _ = child.wait();
    });
}

fn a_vm_without_a_signal_gets_advice() {
    let script = format!(
        "mount -t tmpfs none /sys && exec {} clones",
        env!("CARGO_BIN_EXE_squall")
    );
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", &script])
        .output()
        .expect("the command runs");
    assert_eq!(
        text(&output.stdout),
        "start: signal unknown, generation unknown\n"
    );
    assert_eq!(
        text(&output.stderr),
        "squall: clones: nothing on this machine shows that it was cloned: give the virtual machine a vmclock, or a \
         vmgenid and Linux 6.10 or squall's kernel module\n"
    );
    assert_eq!(output.status.code(), Some(1));
}

fn a_missing_folder_is_refused() {
    let expected = "squall: /nonexistent: No such file or directory\n";
    refused(&run("clones --hooks /nonexistent"), 2, &[expected]);
}

pub const TESTS: &[Test] = tests![
    each_clone_is_a_line: [PRIVILEGE, VMGENID_EVENTS],
    programs_get_json: [PRIVILEGE, VMGENID_EVENTS],
    seeding_comes_first: [PRIVILEGE, VMGENID_EVENTS, GENERATION],
    command_and_hooks_run_in_order: [PRIVILEGE, VMGENID_EVENTS],
    a_watch_that_seeds_needs_no_reader: [PRIVILEGE, VMGENID_EVENTS],
    a_vm_without_a_signal_gets_advice: [PRIVILEGE, VM_WITHOUT_VMCLOCK],
    a_missing_folder_is_refused,
];
