//! Error messages for machines that cannot be started, or that hang.

use std::fs::{self, File};

use squall_guests::debian::{Cache, KernelName};
use squall_lab::vm::{Accelerator, Contents, Cpu, Host, Signals, Snapshot, Spec, initramfs, probe};
use squall_probe::Mode;
use squall_testing::suite::Test;
use squall_testing::tests;
use squall_tool_base::Interrupt;

use crate::common::turn;
use squall_guests::commands::contains;
use squall_guests::fixture::{TIMEOUT, Turn, message};
use squall_guests::needs::MACHINES;

pub const TESTS: &[Test] = tests![
    damaged_snapshots_are_refused: [MACHINES],
    a_kernel_panic_is_reported: [MACHINES],
    a_program_that_cannot_be_started_is_reported: [MACHINES],
];

/// A host and a machine to boot on it.
struct Workspace {
    host: Host,
    spec: Spec,
    _turn: Turn,
}

impl Workspace {
    fn new() -> Workspace {
        let _turn = turn();
        let cache = Cache::open(None).unwrap();
        let interrupt = Interrupt::watch("the machines are ended").unwrap();
        let host = Host::new(interrupt, TIMEOUT).unwrap();
        let path = host.file("initramfs");
        let contents = Contents {
            probe: &probe().unwrap(),
            go: None,
            userland: None,
            modules: &[],
        };
        initramfs(&path, &contents).unwrap();
        let spec = Spec {
            qemu: cache.qemu().unwrap(),
            kernel: cache.kernel(KernelName::V6_12).unwrap().image,
            initramfs: path,
            cpu: Cpu::X86_64,
            cpus: Spec::CPUS,
            signals: Signals::default(),
            mode: Mode::Ticks,
            accelerator: Accelerator::Tcg,
        };
        Workspace { host, spec, _turn }
    }

    fn snapshot(&self) -> Snapshot {
        let mut guest = self.spec.boot(&self.host).unwrap();
        guest.run().unwrap();
        guest.stop().unwrap();
        guest.snapshot(self.host.file("snapshot")).unwrap()
    }
}

fn damaged_snapshots_are_refused() {
    let workspace = Workspace::new();
    let snapshot = workspace.snapshot();
    let path = workspace.host.file("snapshot");
    workspace.spec.load(&workspace.host, &snapshot).unwrap();
    let whole = fs::metadata(&path).unwrap().len();
    for len in [whole / 2, 1000, 0] {
        let file = File::options().write(true).open(&path).unwrap();
        file.set_len(len).unwrap();
        let line = message(workspace.spec.load(&workspace.host, &snapshot).unwrap_err());
        contains(&line, &["the snapshot", "load", "QEMU says: "]);
    }
    fs::remove_file(&path).unwrap();
    let line = message(workspace.spec.load(&workspace.host, &snapshot).unwrap_err());
    contains(&line, &["the snapshot", "No such file or directory"]);
}

fn a_kernel_panic_is_reported() {
    let workspace = Workspace::new();
    fs::write(&workspace.spec.initramfs, "no archive").unwrap();
    let line = message(workspace.spec.boot(&workspace.host).unwrap_err());
    contains(&line, &["the VM ended", "Kernel panic - not syncing"]);
}

fn a_program_that_cannot_be_started_is_reported() {
    let mut workspace = Workspace::new();
    for (mode, reason) in [
        (Mode::Go, "/go-probe: No such file"),
        (Mode::Programs, "/usr/sbin/nginx (squall): No such file"),
    ] {
        workspace.spec.mode = mode;
        let line = message(workspace.spec.boot(&workspace.host).unwrap_err());
        contains(&line, &[&format!("the probe in the VM failed: {reason}")]);
    }
}
