//! `squall seed --watch`: which messages it takes for a clone, and which not.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::netlink::{KOBJECT_UEVENT, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::thread::UnshareFlags;
use squall_testing::refuse::{Refusal, refusing};
use squall_testing::suite::{NOTHING, Need, Test};
use squall_testing::tests;

use super::{GENERATION, PRIVILEGE, generation, generations};
use crate::common::{Scratch, run, squall, text};

/// Longer than any awaited event takes.
const DEADLINE: Duration = Duration::from_secs(60);

/// Longer than it takes to hear a message that was sent.
const SILENCE: Duration = Duration::from_millis(500);

const VMGENID_EVENTS: Need = Need {
    check: || {
        let status = squall::status();
        let has = status.has_vmgenid
            && Path::new("/sys/bus/platform/drivers/vmgenid").is_dir()
            && !status.has_vmclock;
        has.then_some(())
            .ok_or_else(|| "this is no VM with a vmgenid, without a vmclock, and Linux 6.10".into())
    },
    required_by: NOTHING,
};

const VM_WITHOUT_VMCLOCK: Need = Need {
    check: || {
        let status = squall::status();
        (status.is_vm && !status.has_vmclock)
            .then_some(())
            .ok_or_else(|| "this is no VM without a vmclock".into())
    },
    required_by: NOTHING,
};

/// The vmgenid driver's message, without the kernel's sequence number.
const CLONED: &[u8] = b"change@/devices/platform/VMGENCTR:00\0ACTION=change\0\
    SUBSYSTEM=platform\0NEW_VMGENID=1\0";

/// Sends `message` to all listeners from user space, which needs root in the network namespace.
fn forge(message: &[u8]) {
    let socket = netlink();
    let everyone = SocketAddrNetlink::new(0, 1);
    rustix::net::sendto(&socket, message, SendFlags::empty(), &everyone).expect("it is sent");
}

/// Makes the kernel send `message` to this network namespace, which needs root there (Linux 4.18).
/// Listeners see it as the kernel's own.
fn send_from_kernel(message: &[u8]) {
    const HEADER_LEN: usize = 16;
    const TYPE: u16 = 0x10;
    const REQUEST: u16 = 1;
    let mut packet = ((HEADER_LEN + message.len()) as u32).to_ne_bytes().to_vec();
    packet.extend(TYPE.to_ne_bytes());
    packet.extend(REQUEST.to_ne_bytes());
    packet.extend([0; 8]);
    packet.extend(message);
    let kernel = SocketAddrNetlink::new(0, 0);
    rustix::net::sendto(netlink(), &packet, SendFlags::empty(), &kernel).expect("it is sent");
}

fn netlink() -> OwnedFd {
    rustix::net::socket_with(
        AddressFamily::NETLINK,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        Some(KOBJECT_UEVENT),
    )
    .expect("a socket")
}

/// A running watch, stopped on drop.
struct Watch {
    child: Child,
    lines: Receiver<String>,
}

impl Watch {
    fn start(mut command: Command) -> Watch {
        let mut child = command
            .stdout(Stdio::piped())
            .spawn()
            .expect("the command runs");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        Watch { child, lines }
    }

    #[track_caller]
    fn line(&self) -> String {
        self.lines.recv_timeout(DEADLINE).expect("a line comes")
    }

    /// Reads the first lines and returns what is watched.
    #[track_caller]
    fn read_start(&self) -> String {
        let line = self.line();
        assert!(line.starts_with("seeded: 512 bits"), "{line}");
        self.line()
    }

    #[track_caller]
    fn stays_silent(&self) {
        let silence = self.lines.recv_timeout(SILENCE);
        assert_eq!(silence, Err(RecvTimeoutError::Timeout));
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
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

/// Whether `message` waits at `listener`, perhaps behind others: the kernel tells every network namespace what becomes
/// of devices, as of other tests' loop devices.
fn hears(listener: &OwnedFd, message: &[u8]) -> bool {
    let mut found = [0; 8192];
    loop {
        match rustix::net::recvfrom(listener, &mut found, RecvFlags::DONTWAIT) {
            Ok((len, _, _)) if &found[..len] == message => return true,
            Ok(_) | Err(Errno::NOBUFS | Errno::INTR) => {}
            Err(errno) => {
                assert_eq!(errno, Errno::AGAIN);
                return false;
            }
        }
    }
}

fn only_messages_of_the_kernel_count() {
    with_own_network(|| {
        let listener = netlink();
        rustix::net::bind(&listener, &SocketAddrNetlink::new(0, 1)).expect("it listens");
        let watch = Watch::start(squall("seed --watch"));
        assert_eq!(watch.read_start(), "watching vmgenid");

        assert!(!hears(&listener, CLONED));
        forge(CLONED);
        // The control: another listener receives the forged message.
        assert!(hears(&listener, CLONED));
        watch.stays_silent();

        send_from_kernel(b"change@/devices/x\0ACTION=change\0SYNTH_ARG_NEW_VMGENID=1\0");
        assert_eq!(run("seed").status.code(), Some(0));
        watch.stays_silent();

        for _ in 0..3 {
            send_from_kernel(CLONED);
            let line = watch.line();
            assert!(line.starts_with("clone (vmgenid): seeded: "), "{line}");
            if generation().is_some() {
                let (before, after) = generations(&line);
                assert!(before < after, "{line}");
            }
            watch.stays_silent();
        }
    });
}

fn the_watch_needs_no_reader() {
    with_own_network(|| {
        let (reader, writer) = io::pipe().expect("a pipe");
        drop(reader);
        let mut child = squall("seed --watch")
            .stdout(writer)
            .spawn()
            .expect("the command runs");
        // The watch is listening. Once it hears of a second clone, it has reported the first.
        wait_until_all_is_read(&mut child);
        for _ in 0..2 {
            send_from_kernel(CLONED);
            wait_until_all_is_read(&mut child);
        }
        let _ = child.kill();
        let _ = child.wait();
    });
}

/// Waits until `watch` listens and has received all messages of the kernel. It must not end.
fn wait_until_all_is_read(watch: &mut Child) {
    let began = Instant::now();
    let id = watch.id().to_string();
    loop {
        let ended = watch.try_wait().expect("the child can be waited for");
        assert_eq!(ended, None, "the watch ended");
        let sockets = std::fs::read_to_string("/proc/thread-self/net/netlink").expect("sockets");
        // Columns: sk, Eth, Pid, Groups, Rmem, which is the number of bytes that wait.
        let mut sockets = sockets.lines().map(|line| line.split_whitespace());
        if sockets.any(|mut words| words.nth(2) == Some(&id) && words.nth(1) == Some("0")) {
            return;
        }
        assert!(began.elapsed() < DEADLINE, "the watch does not listen");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Least time between two reseeds that only a change of the generation caused.
const MIN_INTERVAL: Duration = Duration::from_secs(5);

/// A sandbox that refuses netlink.
const NO_NETLINK: Refusal = Refusal {
    call: libc::SYS_socket,
    when: Some((0, libc::AF_NETLINK as u64)),
    errno: libc::EAFNOSUPPORT,
};

fn without_events_the_generation_is_watched() {
    let began = Instant::now();
    // Two watches, which see each other's reseeds and must not trigger each other endlessly.
    let watches = [(), ()].map(|()| Watch::start(refusing(squall("seed --watch"), &[NO_NETLINK])));
    for watch in &watches {
        assert_eq!(
            watch.read_start(),
            "watching the kernel's generation, as vmgenid's events cannot be received here"
        );
    }
    assert_eq!(run("seed").status.code(), Some(0));
    for watch in &watches {
        let line = watch.line();
        assert!(
            line.starts_with("perhaps a clone (the kernel reseeded): seeded: "),
            "{line}"
        );
    }
    // They rest between reseeds, however soon the other one reseeds.
    assert_eq!(run("seed").status.code(), Some(0));
    for watch in &watches {
        watch.line();
    }
    for watch in &watches {
        let seedings = 2 + watch.lines.try_iter().count() as u64;
        let maximum = began.elapsed().as_secs() / MIN_INTERVAL.as_secs();
        assert!(seedings <= maximum, "{seedings} seedings, not {maximum}");
    }
}

/// A command with its own view of the file system, which `script` sets up. The script's arguments are
/// an existing directory and `page`.
fn with_own_files(script: &str, directory: &Scratch, page: &Scratch) -> Command {
    std::fs::create_dir_all(directory.path()).expect("scratch directories can be made");
    let mut command = Command::new("unshare");
    let script = format!(
        "set -e; {script}; exec {} seed --watch",
        env!("CARGO_BIN_EXE_squall")
    );
    command
        .args(["--mount", "sh", "-c", &script, "sh"])
        .args([directory.path(), page.path()])
        .stdin(Stdio::null());
    command
}

fn the_watch_sees_vmclock() {
    let (directory, page) = (Scratch::new(), Scratch::new());
    let file = File::create(page.path()).expect("scratch files can be written");
    let write = |bytes: &[u8], at| file.write_all_at(bytes, at).expect("it is written");
    file.set_len(4096).expect("it grows");
    write(&0x4b4c_4356_u32.to_le_bytes(), 0);
    write(&4096_u32.to_le_bytes(), 4);
    write(&1_u16.to_le_bytes(), 8);
    write(&(1_u64 << 8).to_le_bytes(), 24);
    write(&1_u64.to_le_bytes(), 104);
    let script = "mount -t tmpfs none $1; for f in null urandom random; do : > $1/$f; \
        mount --bind /dev/$f $1/$f; done; : > $1/vmclock0; mount --bind $2 $1/vmclock0; \
        mount --rbind $1 /dev";
    let watch = Watch::start(with_own_files(script, &directory, &page));
    let watched = watch.read_start();
    assert!(watched.starts_with("watching vmclock"), "{watched}");
    watch.stays_silent();
    for (last, now) in [(1_u64, 2_u64), (2, 9), (9, 1)] {
        write(&now.to_le_bytes(), 104);
        let line = watch.line();
        let start = format!("clone (vmclock {last} -> {now}): seeded: ");
        assert!(line.starts_with(&start), "{line}");
        watch.stays_silent();
    }
    drop(watch);
    let _ = std::fs::remove_dir(directory.path());
}

fn a_vm_without_a_signal_gets_advice() {
    let (directory, page) = (Scratch::new(), Scratch::new());
    let output = with_own_files("mount -t tmpfs none /sys", &directory, &page).output();
    let output = output.expect("the command runs");
    let _ = std::fs::remove_dir(directory.path());
    assert!(text(&output.stdout).starts_with("seeded: "));
    assert_eq!(
        text(&output.stderr),
        "squall: seed: this virtual machine gets no signal when it is cloned: add a vmgenid device \
         (QEMU: -device vmgenid,guid=auto) or a vmclock device, or run without --watch\n"
    );
    assert_eq!(output.status.code(), Some(1));
}

fn every_interval_seeds_again() {
    let watch = Watch::start(squall("seed --every 1s"));
    let first = watch.line();
    assert!(first.starts_with("seeded: 512 bits"), "{first}");
    for _ in 0..2 {
        let line = watch.line();
        assert!(line.starts_with("every 1s: seeded: 512 bits"), "{line}");
    }
}

pub const TESTS: &[Test] = tests![
    only_messages_of_the_kernel_count: [PRIVILEGE, VMGENID_EVENTS],
    the_watch_needs_no_reader: [PRIVILEGE, VMGENID_EVENTS],
    without_events_the_generation_is_watched: [PRIVILEGE, VMGENID_EVENTS, GENERATION],
    the_watch_sees_vmclock: [PRIVILEGE],
    a_vm_without_a_signal_gets_advice: [PRIVILEGE, VM_WITHOUT_VMCLOCK],
    every_interval_seeds_again: [PRIVILEGE],
];
