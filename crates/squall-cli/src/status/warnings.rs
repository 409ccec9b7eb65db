//! What this machine lacks, and what its owner can do about it.

use serde::Serialize;
use squall::{CloneGuard, Engine, MemoryKind, ReseedGuard, Status};

use super::machine;

/// The first kernel with getrandom in the vDSO and droppable memory.
const FIRST_GOOD_KERNEL: (u32, u32) = (6, 11);

/// Something to know, and to do.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// A stable name.
    pub code: &'static str,
    /// What is missing and what that means.
    pub problem: String,
    /// What to do about it.
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

/// What `status` shows to be missing under the kernel `release`. `vmclock_is_forbidden`: there
/// is a vmclock that this user may not read.
pub fn of(status: &Status, release: &str, vmclock_is_forbidden: bool) -> Vec<Warning> {
    let is_old = machine::version_of(release).is_some_and(|version| version < FIRST_GOOD_KERNEL);
    [
        old_kernel(status, release).filter(|_| is_old),
        no_reseed_signal(status).filter(|_| !is_old),
        not_droppable(status).filter(|_| !is_old),
        no_clone_signal(status),
        vmclock_is_forbidden.then(unreadable_vmclock),
        slow_engine(status),
        no_cpu_random(status),
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
            "the vDSO does not show when the kernel's generator reseeds: state is seeded anew \
             by time",
            "enable CONFIG_VDSO_GETRANDOM in the kernel, or do not boot with vdso=0",
        )
    })
}

fn not_droppable(status: &Status) -> Option<Warning> {
    (status.memory != MemoryKind::Droppable).then(|| Warning {
        code: "memory_not_droppable",
        problem: format!(
            "state lives in {} memory: the kernel cannot drop it when memory runs out, so it \
             must be kept from swap by locking",
            status.memory
        ),
        advice: "allow mmap(2) with MAP_DROPPABLE in this sandbox or container".to_owned(),
    })
}

fn no_clone_signal(status: &Status) -> Option<Warning> {
    (status.clone_guard == CloneGuard::Hedged).then(|| {
        Warning::new(
            "no_clone_signal",
            "nothing tells this virtual machine that it was restored from a snapshot: clones \
             are kept apart only by cycle counter and CPU random words",
            "give it a vmgenid device (QEMU: -device vmgenid,guid=auto) or a vmclock device",
        )
    })
}

fn unreadable_vmclock() -> Warning {
    Warning::new(
        "vmclock_unreadable",
        "/dev/vmclock0 is there, but this user may not read it",
        "allow it: chmod a+r /dev/vmclock0, or a udev rule with MODE=\"0444\"",
    )
}

fn slow_engine(status: &Status) -> Option<Warning> {
    let has_instructions = cfg!(not(target_arch = "x86_64"))
        || !matches!(status.engine, Engine::ChaCha20 | Engine::Portable);
    (!has_instructions).then(|| {
        Warning::new(
            "no_aes_instructions",
            "the CPU shows no AES instructions: large requests are several times slower, not \
             weaker",
            "in a virtual machine pass the host's CPU through (QEMU: -cpu host)",
        )
    })
}

fn no_cpu_random(status: &Status) -> Option<Warning> {
    (!status.cpu_random).then(|| {
        Warning::new(
            "no_cpu_random",
            "the CPU has no random instruction that works: seeds come from the kernel and the \
             cycle counter alone",
            "in a virtual machine pass rdrand or rdseed through (QEMU: -cpu host)",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: &str = "6.18.44";

    fn good() -> Status {
        let mut status = squall::status();
        status.engine = Engine::Vaes512;
        status.memory = MemoryKind::Droppable;
        status.reseed_guard = ReseedGuard::MappedGeneration;
        status.clone_guard = CloneGuard::Vmgenid;
        status.cpu_random = true;
        status
    }

    fn codes(status: &Status, release: &str, forbidden: bool) -> Vec<&'static str> {
        let warnings = of(status, release, forbidden);
        warnings.iter().map(|warning| warning.code).collect()
    }

    /// A change to a good machine and the warning it must give.
    type Case = (fn(&mut Status), &'static str);

    #[test]
    fn each_lack_has_its_warning() {
        assert!(codes(&good(), NEW, false).is_empty());
        let lacks: [Case; 5] = [
            (|s| s.clone_guard = CloneGuard::Hedged, "no_clone_signal"),
            (|s| s.memory = MemoryKind::Plain, "memory_not_droppable"),
            (|s| s.reseed_guard = ReseedGuard::Time, "no_reseed_signal"),
            (|s| s.engine = Engine::ChaCha20, "no_aes_instructions"),
            (|s| s.cpu_random = false, "no_cpu_random"),
        ];
        for (lack, code) in lacks {
            let mut status = good();
            lack(&mut status);
            if cfg!(not(target_arch = "x86_64")) && code == "no_aes_instructions" {
                continue;
            }
            assert_eq!(codes(&status, NEW, false), [code]);
        }
        assert_eq!(codes(&good(), NEW, true), ["vmclock_unreadable"]);
    }

    #[test]
    fn an_old_kernel_is_one_warning() {
        let mut status = good();
        status.memory = MemoryKind::WipeOnFork;
        status.reseed_guard = ReseedGuard::Time;
        assert_eq!(codes(&status, "6.1.0-13-amd64", false), ["old_kernel"]);
        assert_eq!(
            codes(&status, "6.11.0", false),
            ["no_reseed_signal", "memory_not_droppable"]
        );
    }

    #[test]
    fn a_bare_machine_needs_no_clone_signal() {
        let mut status = good();
        status.clone_guard = CloneGuard::NotAVm;
        assert!(codes(&status, NEW, false).is_empty());
    }
}
