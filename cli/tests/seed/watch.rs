//! `squall seed --watch`: what it takes for a clone, and what it does not.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use rustix::net::RecvFlags;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::thread::UnshareFlags;

use crate::common::refuse::{Refusal, refusing};
use crate::common::{Scratch, run, squall, text};
use crate::events::{CLONED, forge, have_the_kernel_send, netlink};
use crate::{generation, generations, has_privilege};

/// Longer than anything takes that is waited for.
const DEADLINE: Duration = Duration::from_secs(60);

/// Longer than it takes to hear a message that is there.
const MOMENT: Duration = Duration::from_millis(500);

/// Whether vmgenid's events can come here; says SKIP if not.
fn has_vmgenid_events() -> bool {
    let has = squall::status().has_vmgenid
        && Path::new("/sys/bus/platform/drivers/vmgenid").is_dir()
        && !squall::status().has_vmclock;
    if !has {
        println!("SKIP: this is no VM with a vmgenid, without a vmclock, and Linux 6.10");
    }
    has
}

/// A watch that runs until this is dropped.
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

    /// The lines of the beginning; gives what is watched.
    #[track_caller]
    fn begins(&self) -> String {
        let line = self.line();
        assert!(line.starts_with("seeded: 512 bits"), "{line}");
        self.line()
    }

    #[track_caller]
    fn stays_silent(&self) {
        let silence = self.lines.recv_timeout(MOMENT);
        assert_eq!(silence, Err(RecvTimeoutError::Timeout));
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs `test` in a network namespace of its own, where no other listener is disturbed.
fn with_own_network(test: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let in_own_network = scope.spawn(|| {
            // SAFETY: descriptors stay shared.
            unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }.expect("as root");
            test();
        });
        in_own_network.join().expect("it holds");
    });
}

#[test]
fn the_watch_believes_the_kernel_and_nobody_else() {
    if !has_privilege() || !has_vmgenid_events() {
        return;
    }
    with_own_network(|| {
        let listener = netlink();
        rustix::net::bind(&listener, &SocketAddrNetlink::new(0, 1)).expect("it listens");
        let watch = Watch::start(squall("seed --watch"));
        assert_eq!(watch.begins(), "watching vmgenid");

        forge(CLONED);
        watch.stays_silent();
        // The control: the forged message was there to be heard.
        let mut heard = [0; 256];
        let (len, _, _) =
            rustix::net::recvfrom(&listener, &mut heard, RecvFlags::DONTWAIT).expect("a message");
        assert_eq!(&heard[..len], CLONED);

        have_the_kernel_send(b"change@/devices/x\0ACTION=change\0SYNTH_ARG_NEW_VMGENID=1\0");
        assert_eq!(run("seed").status.code(), Some(0));
        watch.stays_silent();

        for _ in 0..3 {
            have_the_kernel_send(CLONED);
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

#[test]
fn the_watch_needs_no_reader() {
    if !has_privilege() || !has_vmgenid_events() {
        return;
    }
    let (reader, writer) = io::pipe().expect("a pipe");
    drop(reader);
    let mut child = squall("seed --watch")
        .stdout(writer)
        .spawn()
        .expect("the command runs");
    std::thread::sleep(MOMENT);
    let ended = child.try_wait().expect("the child can be waited for");
    let _ = child.kill();
    let _ = child.wait();
    assert_eq!(ended, None, "the watch ended");
}

/// A sandbox without netlink.
const NO_NETLINK: Refusal = Refusal {
    call: libc::SYS_socket,
    when: Some((0, libc::AF_NETLINK as u64)),
    errno: libc::EAFNOSUPPORT,
};

#[test]
fn where_events_are_hidden_a_reseed_may_be_a_clone() {
    if !has_privilege() || !has_vmgenid_events() {
        return;
    }
    if generation().is_none() {
        println!("SKIP: this kernel does not show its generation");
        return;
    }
    // Two of them, which see each other's reseeds and must not drive each other.
    let watches = [(), ()].map(|()| Watch::start(refusing(squall("seed --watch"), &[NO_NETLINK])));
    for watch in &watches {
        assert_eq!(
            watch.begins(),
            "watching the kernel's generation, as vmgenid's events cannot be heard here"
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
    std::thread::sleep(Duration::from_secs(7));
    for watch in &watches {
        let lines = watch.lines.try_iter().count();
        assert!(lines <= 2, "{lines} seedings in 7 seconds");
    }
}

/// A command that sees a file system of its own, which `script` has arranged. The script's
/// arguments are a directory that is there for it, and `page`.
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

#[test]
fn the_watch_sees_vmclock() {
    if !has_privilege() {
        return;
    }
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
    let watched = watch.begins();
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

#[test]
fn a_vm_that_tells_of_no_clones_is_told_what_it_lacks() {
    if !has_privilege() {
        return;
    }
    let status = squall::status();
    if !status.is_vm || status.has_vmclock {
        println!("SKIP: this is no VM without a vmclock");
        return;
    }
    let (directory, page) = (Scratch::new(), Scratch::new());
    let output = with_own_files("mount -t tmpfs none /sys", &directory, &page).output();
    let output = output.expect("the command runs");
    let _ = std::fs::remove_dir(directory.path());
    assert!(text(&output.stdout).starts_with("seeded: "));
    assert_eq!(
        text(&output.stderr),
        "squall: seed: nothing tells this virtual machine that it was cloned: give it a vmgenid \
         device (QEMU: -device vmgenid,guid=auto) or a vmclock device, or run without --watch\n"
    );
    assert_eq!(output.status.code(), Some(1));
}
