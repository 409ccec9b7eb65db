//! Error messages for machines that cannot be started. The tests need what `squall-lab deps` fetches;
//! if SQUALL_REQUIRE_LAB is set, none may be skipped.

use std::fs::{self, File};
use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use squall_probe::Mode;
use squall_tools::{Failure, Interrupt};

use super::{Accelerator, Contents, Guest, Host, Signals, Snapshot, Spec, initramfs, probe};
use crate::debian::{Cache, Kernel, KernelName, Qemu};

/// Held by the test that runs a machine, so that only one runs at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// A host and a machine to boot on it.
struct Workspace {
    host: Host,
    spec: Spec,
    _alone: MutexGuard<'static, ()>,
}

impl Workspace {
    /// None if no machine can run here, which is reported.
    fn new() -> Option<Workspace> {
        let (qemu, kernel) = match cached() {
            Ok(cached) => cached,
            Err(failure) => {
                skip(&message(failure));
                return None;
            }
        };
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let host = Host::new(
            qemu,
            Interrupt::watch("the machines are ended").unwrap(),
            Duration::from_secs(120),
        )
        .unwrap();
        let path = host.file("initramfs");
        let contents = Contents {
            probe: &probe().unwrap(),
            go: None,
            doors: None,
            modules: &[],
        };
        initramfs(&path, &contents).unwrap();
        let spec = Spec {
            kernel: kernel.image,
            initramfs: path,
            signals: Signals::NONE,
            mode: Mode::Ticks,
            accelerator: Accelerator::Tcg,
        };
        Some(Workspace { host, spec, _alone })
    }

    fn snapshot(&self) -> Snapshot {
        let mut guest = self.host.boot(&self.spec).unwrap();
        guest.run().unwrap();
        guest.stop().unwrap();
        guest.snapshot(self.host.file("snapshot")).unwrap()
    }
}

fn cached() -> Result<(Qemu, Kernel), Failure> {
    let cache = Cache::open(None)?;
    Ok((cache.qemu()?, cache.kernel(KernelName::V6_12)?))
}

fn skip(why: &str) {
    let required = std::env::var_os("SQUALL_REQUIRE_LAB").is_some();
    assert!(!required, "required, but skipped: {why}");
    let line = format!("SKIP machines: {why}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

fn message(failure: Failure) -> String {
    match failure {
        Failure::Runtime(message) => message,
        other => panic!("{other:?}"),
    }
}

fn wait_for_a_record(guest: &mut Guest) -> Result<(), Failure> {
    let before = guest.memory().counts()?.outputs;
    guest.wait("a record", |guest| {
        Ok(guest.memory().counts()?.outputs != before)
    })
}

#[track_caller]
fn contains(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word}: {text}");
    }
}

#[test]
fn damaged_snapshots_are_refused() {
    let Some(workspace) = Workspace::new() else {
        return;
    };
    let snapshot = workspace.snapshot();
    workspace.host.load(&workspace.spec, &snapshot).unwrap();
    let whole = fs::metadata(snapshot.path()).unwrap().len();
    for len in [whole / 2, 1000, 0] {
        let file = File::options().write(true).open(snapshot.path()).unwrap();
        file.set_len(len).unwrap();
        let line = message(workspace.host.load(&workspace.spec, &snapshot).unwrap_err());
        contains(&line, &["the snapshot", "load", "QEMU says: "]);
    }
    fs::remove_file(snapshot.path()).unwrap();
    let line = message(workspace.host.load(&workspace.spec, &snapshot).unwrap_err());
    contains(&line, &["the snapshot", "No such file or directory"]);
}

#[test]
fn a_machine_that_stands_still_hangs() {
    let Some(mut workspace) = Workspace::new() else {
        return;
    };
    let snapshot = workspace.snapshot();
    workspace.host.timeout = Duration::from_secs(5);
    let mut guest = workspace.host.load(&workspace.spec, &snapshot).unwrap();
    guest.go_on().unwrap();
    wait_for_a_record(&mut guest).unwrap();
    guest.stop().unwrap();
    let line = message(wait_for_a_record(&mut guest).unwrap_err());
    contains(&line, &["the VM hangs: a record took longer than 5 s"]);
}

#[test]
fn a_panic_of_the_kernel_is_told() {
    let Some(workspace) = Workspace::new() else {
        return;
    };
    fs::write(&workspace.spec.initramfs, "no archive").unwrap();
    let line = message(workspace.host.boot(&workspace.spec).unwrap_err());
    contains(&line, &["the VM ended", "Kernel panic - not syncing"]);
}

#[test]
fn a_program_that_cannot_be_started_is_told() {
    let Some(mut workspace) = Workspace::new() else {
        return;
    };
    for (mode, reason) in [
        (Mode::Go, "/go-probe: No such file"),
        (Mode::GoBursts, "/go-probe: No such file"),
        (Mode::Doors, "/usr/sbin/nginx (squall): No such file"),
    ] {
        workspace.spec.mode = mode;
        let line = message(workspace.host.boot(&workspace.spec).unwrap_err());
        contains(&line, &[&format!("the probe in the VM failed: {reason}")]);
    }
}
