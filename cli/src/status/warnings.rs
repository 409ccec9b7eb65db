//! Warnings about protections that this machine lacks, with advice for its owner.

use serde::Serialize;
use squall::{CloneGuard, Engine, MemoryKind, NoiseSource, ReseedGuard, Signal, Status};

/// The first kernel with getrandom in the vDSO and droppable memory.
const FIRST_GOOD_KERNEL: (u32, u32) = (6, 11);

#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// A stable name, for programs.
    pub code: &'static str,
    /// The missing protection, and its consequence.
    pub problem: String,
    pub advice: String,
}

impl Warning {
    fn new(code: &'static str, problem: &str, advice: &str) -> Warning {
        Warning {
            code,
            problem: problem.to_owned(),
            advice: advice.to_owned(),
        }
    }
}

/// The devices that this process can see.
#[derive(Clone, Copy)]
pub struct DeviceVisibility {
    /// A device with an immediate signal of clones, if there is one that this user may not read.
    pub unreadable_signal: Option<&'static str>,
    /// Whether sysfs is mounted, without which no devices are found.
    pub has_sysfs: bool,
}

/// The first CRIU that restores droppable memory and memory that is wiped on fork as what they were.
const FIRST_GOOD_CRIU: (u32, u32) = (4, 2);

/// The warnings for `status` under the kernel `release`, with the installed version of CRIU if there is one.
pub fn warnings_for(
    status: &Status,
    release: &str,
    visibility: DeviceVisibility,
    criu: Option<&str>,
) -> Vec<Warning> {
    let is_old = version_of(release).is_some_and(|version| version < FIRST_GOOD_KERNEL);
    [
        old_kernel(status, release).filter(|_| is_old),
        no_reseed_signal(status).filter(|_| !is_old),
        not_droppable(status).filter(|_| !is_old),
        no_clone_signal(status, visibility.has_sysfs),
        visibility
            .unreadable_signal
            .filter(|_| status.clone_guard != CloneGuard::Signal(Signal::KvmClock))
            .map(unreadable_signal),
        criu.and_then(old_criu),
        slow_engine(status),
        no_cpu_random(status),
        no_cycle_counter(status),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn old_kernel(status: &Status, release: &str) -> Option<Warning> {
    let lacks = status.reseed_guard == ReseedGuard::Time || status.memory != MemoryKind::Droppable;
    lacks.then(|| Warning {
        code: "old_kernel",
        problem: format!(
            "Linux {release} has no getrandom in the vDSO and no droppable memory: a reseed of \
             the kernel's generator is not noticed at once"
        ),
        advice: "upgrade to Linux 6.11 or newer".to_owned(),
    })
}

fn no_reseed_signal(status: &Status) -> Option<Warning> {
    (status.reseed_guard == ReseedGuard::Time).then(|| {
        Warning::new(
            "no_reseed_signal",
            "the vDSO does not show when the kernel's generator reseeds: state is reseeded at \
             intervals",
            "enable CONFIG_VDSO_GETRANDOM in the kernel, or do not boot with vdso=0",
        )
    })
}

fn not_droppable(status: &Status) -> Option<Warning> {
    (status.memory != MemoryKind::Droppable).then(|| Warning {
        code: "memory_not_droppable",
        problem: match status.memory {
            MemoryKind::None => {
                "there is no memory for state: each request takes system calls, and \
                                 some fifty times as long"
                    .to_owned()
            }
            kind => format!(
                "state lives in {kind} memory: the kernel cannot drop it when memory runs out, so \
                 it must be kept from swap by locking"
            ),
        },
        advice: "allow mmap(2) with MAP_DROPPABLE in this sandbox or container".to_owned(),
    })
}

fn no_clone_signal(status: &Status, has_sysfs: bool) -> Option<Warning> {
    let (code, problem, advice) = if has_sysfs {
        (
            "no_clone_signal",
            "this virtual machine gets no signal when it is restored from a snapshot: only the \
             cycle counter and CPU random words make the output of clones differ",
            "add a vmgenid device (QEMU: -device vmgenid,guid=auto) or a vmclock device",
        )
    } else {
        (
            "no_sysfs",
            "/sys is missing, so vmgenid and vmclock devices cannot be found: only the cycle \
             counter and CPU random words make the output of clones differ",
            "mount sysfs on /sys in this chroot or container",
        )
    };
    (status.clone_guard == CloneGuard::NoSignal).then(|| Warning::new(code, problem, advice))
}

/// Things worth knowing where no protection is missing.
pub fn notes(status: &Status, visibility: DeviceVisibility) -> Vec<Warning> {
    let has_late_notification = status.clone_guard == CloneGuard::Signal(Signal::Vmgenid)
        && visibility.unreadable_signal.is_none();
    let note = has_late_notification.then(|| {
        Warning::new(
            "clone_signal_is_late",
            "a clone of this virtual machine can run for milliseconds before vmgenid notifies the \
             kernel; until then each request is made unique, which takes 30 to 100 ns",
            "install squall-vmgenid-dkms (kernel/README.md in squall's repository), a kernel module that \
             shows vmgenid's page to programs; or add a vmclock device that counts generations: \
             requests then take less time",
        )
    });
    note.into_iter().collect()
}

fn unreadable_signal(path: &str) -> Warning {
    Warning {
        code: "clone_signal_unreadable",
        problem: format!("{path} exists, but this user may not read it"),
        advice: format!("make it readable: chmod a+r {path}, or a udev rule with MODE=\"0444\""),
    }
}

fn old_criu(version: &str) -> Option<Warning> {
    let is_old = version_of(version).is_some_and(|version| version < FIRST_GOOD_CRIU);
    is_old.then(|| Warning {
        code: "old_criu",
        problem: format!(
            "CRIU {version} restores processes whose memory the kernel no longer wipes on fork: a child that \
             is not forked by the C library repeats its parent"
        ),
        advice: "install CRIU 4.2 or newer".to_owned(),
    })
}

fn slow_engine(status: &Status) -> Option<Warning> {
    let has_instructions = cfg!(not(target_arch = "x86_64"))
        || !matches!(status.engine, Engine::ChaCha20 | Engine::Portable);
    (!has_instructions).then(|| {
        Warning::new(
            "no_aes_instructions",
            "the CPU has no AES instructions: large requests are several times slower, but not \
             weaker",
            "in a virtual machine pass the host's CPU through (QEMU: -cpu host)",
        )
    })
}

fn no_cpu_random(status: &Status) -> Option<Warning> {
    match status.cpu_random {
        NoiseSource::Works => None,
        NoiseSource::Failed => Some(Warning::new(
            "cpu_random_failed",
            "the CPU's random instruction failed its health test and is not used: seeds come from \
             the kernel and the cycle counter alone",
            "update the CPU's microcode; until then boot with nordrand, so that the kernel does \
             not trust it either",
        )),
        _ => Some(Warning::new(
            "no_cpu_random",
            "the CPU has no random instruction: seeds come from the kernel and the cycle counter \
             alone",
            "in a virtual machine pass rdrand through (QEMU: -cpu host)",
        )),
    }
}

fn no_cycle_counter(status: &Status) -> Option<Warning> {
    (status.cycle_counter == NoiseSource::Failed).then(|| {
        Warning::new(
            "cycle_counter_failed",
            "the cycle counter failed its health test and is not used: seeds come from the kernel \
             and the CPU's random instruction alone",
            "find out why the counter stands still: an emulator that counts instructions, or a \
             sandbox that hides it",
        )
    })
}

/// Major and minor number of a release such as `6.11.0-29-generic`.
fn version_of(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    let major = numbers.next()?.parse().ok()?;
    let minor = numbers.next()?.parse().ok()?;
    Some((major, minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases() {
        assert_eq!(version_of("6.11.0-29-generic"), Some((6, 11)));
        assert_eq!(version_of("6.18.44-custom"), Some((6, 18)));
        assert_eq!(version_of("7.0"), Some((7, 0)));
        assert_eq!(version_of("next"), None);
    }

    const NEW: &str = "6.18.44";

    fn good() -> Status {
        let mut status = squall::status();
        status.engine = Engine::Vaes512;
        status.memory = MemoryKind::Droppable;
        status.reseed_guard = ReseedGuard::MappedGeneration;
        status.clone_guard = CloneGuard::Signal(Signal::Vmgenid);
        status.cpu_random = NoiseSource::Works;
        status.cycle_counter = NoiseSource::Works;
        status
    }

    const CLEAR: DeviceVisibility = DeviceVisibility {
        unreadable_signal: None,
        has_sysfs: true,
    };
    const FORBIDDEN: DeviceVisibility = DeviceVisibility {
        unreadable_signal: Some("/dev/vmclock0"),
        has_sysfs: true,
    };

    fn codes(status: &Status, release: &str, visibility: DeviceVisibility) -> Vec<&'static str> {
        let warnings = warnings_for(status, release, visibility, None);
        warnings.iter().map(|warning| warning.code).collect()
    }

    /// A change to a good machine, and the warning that it must cause.
    type Case = (fn(&mut Status), &'static str);

    #[test]
    fn each_missing_protection_has_its_warning() {
        assert!(codes(&good(), NEW, CLEAR).is_empty());
        let lacks: [Case; 7] = [
            (|s| s.clone_guard = CloneGuard::NoSignal, "no_clone_signal"),
            (|s| s.memory = MemoryKind::Plain, "memory_not_droppable"),
            (|s| s.reseed_guard = ReseedGuard::Time, "no_reseed_signal"),
            (|s| s.engine = Engine::ChaCha20, "no_aes_instructions"),
            (|s| s.cpu_random = NoiseSource::Absent, "no_cpu_random"),
            (|s| s.cpu_random = NoiseSource::Failed, "cpu_random_failed"),
            (
                |s| s.cycle_counter = NoiseSource::Failed,
                "cycle_counter_failed",
            ),
        ];
        for (lack, code) in lacks {
            let mut status = good();
            lack(&mut status);
            if cfg!(not(target_arch = "x86_64")) && code == "no_aes_instructions" {
                continue;
            }
            assert_eq!(codes(&status, NEW, CLEAR), [code]);
        }
        assert_eq!(codes(&good(), NEW, FORBIDDEN), ["clone_signal_unreadable"]);
        let mut shown = good();
        shown.clone_guard = CloneGuard::Signal(Signal::KvmClock);
        assert!(codes(&shown, NEW, FORBIDDEN).is_empty());
    }

    #[test]
    fn a_criu_that_forgets_to_wipe_has_a_warning() {
        for (version, is_old) in [
            ("4.1.1", true),
            ("3.17", true),
            ("4.2", false),
            ("4.2.1", false),
            ("", false),
        ] {
            let warnings = warnings_for(&good(), NEW, CLEAR, Some(version));
            let codes: Vec<_> = warnings.iter().map(|warning| warning.code).collect();
            assert_eq!(codes == ["old_criu"], is_old, "{version}: {codes:?}");
        }
    }

    #[test]
    fn without_sysfs_no_device_is_advised() {
        let chroot = DeviceVisibility {
            unreadable_signal: None,
            has_sysfs: false,
        };
        assert!(codes(&good(), NEW, chroot).is_empty());
        let mut status = good();
        status.clone_guard = CloneGuard::NoSignal;
        assert_eq!(codes(&status, NEW, chroot), ["no_sysfs"]);
    }

    #[test]
    fn vmgenid_alone_has_a_note() {
        let mut status = good();
        assert_eq!(notes(&status, CLEAR)[0].code, "clone_signal_is_late");
        assert!(notes(&status, FORBIDDEN).is_empty(), "a warning says more");
        for guard in [
            CloneGuard::Signal(Signal::KvmClock),
            CloneGuard::Signal(Signal::VmClock),
            CloneGuard::Signal(Signal::VmgenidPage),
            CloneGuard::NotAVm,
            CloneGuard::NoSignal,
        ] {
            status.clone_guard = guard;
            assert!(notes(&status, CLEAR).is_empty());
        }
    }

    #[test]
    fn an_old_kernel_is_one_warning() {
        let mut status = good();
        status.memory = MemoryKind::WipeOnFork;
        status.reseed_guard = ReseedGuard::Time;
        assert_eq!(codes(&status, "6.1.0-13-amd64", CLEAR), ["old_kernel"]);
        assert_eq!(
            codes(&status, "6.11.0", CLEAR),
            ["no_reseed_signal", "memory_not_droppable"]
        );
    }

    #[test]
    fn a_machine_that_is_no_vm_needs_no_clone_signal() {
        let mut status = good();
        status.clone_guard = CloneGuard::NotAVm;
        assert!(codes(&status, NEW, CLEAR).is_empty());
    }
}
