//! Every guard of the generator, each with its control.
//!
//! A case is a scenario under some failpoints. It runs in its own process and returns a verdict:
//! the promise held, or it was broken. A case with every guard on must hold. Its control, the same
//! scenario with one guard off, must break, or the scenario proves nothing. Cases that this machine
//! cannot run are ignored and counted in the summary. If `SQUALL_REQUIRE_GUARDS` is set and the kernel
//! lists what the case needs, or if `SQUALL_REQUIRE_ENGINES` names the engine, such a case runs and fails.

mod aes256;
mod buffered;
mod clone_generation;
mod clones;
#[path = "../../../drbg/tests/common/mod.rs"]
#[allow(dead_code, reason = "shared with the tests of squall-drbg")]
mod common;
mod copies;
#[cfg(target_arch = "x86_64")]
mod counter;
mod drops;
mod forks;
mod outputs;
mod registers;
mod requests;
mod reseeds;
mod sandbox;
mod seeds;
mod signals;
mod stack;
mod steps;
mod threads;

use std::process::{Command, ExitCode};
use std::sync::{LazyLock, RwLock};

use clone_generation::Event;
use libtest_mimic::{Arguments, Completion, Trial};
use squall::testing::{Failpoint, activate_for_testing};
use squall::{Engine, MemoryKind, NoiseSource, ReseedGuard, Status};

/// The result of a scenario.
pub enum Verdict {
    /// The promise held.
    Held,
    /// The promise was broken, with a description.
    Broken(String),
}

/// A property of the machine that a case needs and cannot imitate.
#[derive(Clone, Copy)]
enum Need {
    /// The privilege to make the kernel's RNG reseed.
    Reseed,
    /// The privilege to make a PID namespace.
    PidNamespace,
    /// The privilege to make device nodes.
    DeviceNodes,
    /// The privilege to see in which system call a child is.
    ChildsCalls,
    /// getrandom in the vDSO (Linux 6.11).
    Generation,
    /// An instruction that reads the CPU's number.
    CpuNumber,
    /// The kernel's tick in the vDSO's data.
    Tick,
    /// A random instruction that works.
    RandomInstruction,
    /// A hypervisor that announces itself.
    HypervisorAnnouncement,
    /// x86-64's trap flag.
    Steps,
    /// A CPU whose CPUID can be switched off.
    CpuidFaulting,
    /// An engine.
    Engine(Engine),
    /// Registers that squall clears.
    ClearedRegisters,
}

impl Need {
    /// Why the machine does not meet this need; `None` if it does, or must.
    fn lacking(self) -> Option<&'static str> {
        let status = || &*MACHINE;
        let (is_met, reason) = match self {
            Need::Reseed => (*CAN_RESEED, "RNDRESEEDCRNG needs CAP_SYS_ADMIN"),
            Need::PidNamespace => (*CAN_UNSHARE, "CLONE_NEWPID needs CAP_SYS_ADMIN"),
            Need::DeviceNodes => (clones::can_make_devices(), "mknod needs CAP_MKNOD"),
            Need::ChildsCalls => (*CAN_SEE_CALLS, "the kernel hides a child's system calls"),
            Need::Generation => (status().has_vdso_getrandom, "no getrandom in the vDSO"),
            Need::CpuNumber => (
                kernel_lists("rdpid"),
                "no instruction reads the CPU's number",
            ),
            Need::Tick => (status().follows_tick, "the vDSO shows no tick"),
            Need::RandomInstruction => (
                status().cpu_random == NoiseSource::Works,
                "no random instruction",
            ),
            Need::HypervisorAnnouncement => {
                (kernel_lists("hypervisor"), "no hypervisor announces itself")
            }
            Need::Steps => (cfg!(target_arch = "x86_64"), "no trap flag"),
            Need::CpuidFaulting => (kernel_lists("cpuid_fault"), "CPUID cannot be switched off"),
            Need::ClearedRegisters => (
                cfg!(any(target_arch = "x86_64", target_arch = "aarch64")),
                "no clearing of registers",
            ),
            Need::Engine(engine) => (engine.is_available(), "no such instructions"),
        };
        (!is_met && !self.is_required()).then_some(reason)
    }

    /// Whether a case that lacks it must run, and so fails. Tests cannot choose what the CPU has, whether
    /// the machine is a VM, and which capabilities they have.
    fn is_required(self) -> bool {
        let is_there = match self {
            Need::Engine(engine) => {
                return std::env::var("SQUALL_REQUIRE_ENGINES")
                    .is_ok_and(|names| names.split(',').any(|name| name == engine.to_string()));
            }
            Need::Reseed | Need::PidNamespace => has_capability(CAP_SYS_ADMIN),
            Need::DeviceNodes => has_capability(CAP_MKNOD),
            Need::ChildsCalls => has_capability(CAP_SYS_PTRACE),
            Need::CpuNumber => false,
            Need::RandomInstruction => kernel_lists("rdrand"),
            Need::CpuidFaulting => kernel_lists("cpuid_fault"),
            Need::HypervisorAnnouncement => false,
            Need::Generation | Need::Tick | Need::Steps | Need::ClearedRegisters => true,
        };
        is_there && std::env::var_os("SQUALL_REQUIRE_GUARDS").is_some()
    }
}

/// Whether the kernel lists this feature of the CPU.
fn kernel_lists(feature: &str) -> bool {
    let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    cpus.split_whitespace().any(|word| word == feature)
}

/// Numbers of include/uapi/linux/capability.h.
const CAP_SYS_PTRACE: u32 = 19;
const CAP_SYS_ADMIN: u32 = 21;
const CAP_MKNOD: u32 = 27;

/// Whether this process has the capability with this number.
fn has_capability(number: u32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let set = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
    set.is_some_and(|set| set >> number & 1 == 1)
}

/// The status of this machine when it is treated as a VM with late notification of clones.
static MACHINE: LazyLock<Status> = LazyLock::new(|| {
    activate_for_testing(PretendVmgenid);
    activate_for_testing(PretendVm);
    clones::without_signal();
    squall::status()
});
static CAN_RESEED: LazyLock<bool> = LazyLock::new(reseeds::KernelRng::can_be_reseeded);
static CAN_UNSHARE: LazyLock<bool> = LazyLock::new(forks::can_make_pid_namespaces);
static CAN_SEE_CALLS: LazyLock<bool> = LazyLock::new(sandbox::can_see_calls);

#[derive(Clone, Copy, PartialEq)]
enum Expect {
    Held,
    /// A control: without the guard the promise must be seen broken.
    Broken,
}
use Expect::{Broken, Held};

struct Case {
    name: String,
    scenario: Box<dyn Fn() -> Verdict + Send + Sync>,
    failpoints: &'static [Failpoint],
    expect: Expect,
    needs: Vec<Need>,
    /// Whether the case makes the kernel reseed: it then runs alone, as this would disturb other cases.
    reseeds_kernel: bool,
}

impl Case {
    fn reseeds_kernel(self) -> Case {
        Case {
            reseeds_kernel: true,
            ..self
        }
    }

    fn needs(self, needs: &[Need]) -> Case {
        let needs = needs.to_vec();
        Case { needs, ..self }
    }

    /// Why this machine cannot run the case; `None` if it can, or must.
    fn lacking(&self) -> Option<&'static str> {
        let reseeds = self.reseeds_kernel.then_some(Need::Reseed);
        let mut needs = self.needs.iter().copied().chain(reseeds);
        needs.find_map(Need::lacking)
    }
}

fn case(
    name: &str,
    scenario: impl Fn() -> Verdict + Send + Sync + 'static,
    failpoints: &'static [Failpoint],
    expect: Expect,
) -> Case {
    Case {
        name: name.to_owned(),
        scenario: Box::new(scenario),
        failpoints,
        expect,
        needs: Vec::new(),
        reseeds_kernel: false,
    }
}

use Failpoint::*;

/// The machine has only plain memory.
const PLAIN: &[Failpoint] = &[
    RefuseDroppableMemory,
    RefuseWipeOnFork,
    HideRandomInstruction,
    FreezeCycleCounter,
    FreezeTick,
];
const WIPED: &[Failpoint] = &[
    RefuseDroppableMemory,
    HideRandomInstruction,
    FreezeCycleCounter,
    FreezeTick,
];
/// The process was restored by a CRIU that forgets to have its memory wiped on fork.
const NOT_WIPED: &[Failpoint] = &[
    RefuseDroppableMemory,
    SkipWipeOnFork,
    HideRandomInstruction,
    FreezeCycleCounter,
    FreezeTick,
];
/// Only the guard itself makes two copies differ.
const STRICT: &[Failpoint] = &[HideRandomInstruction, FreezeCycleCounter, FreezeTick];
const UNGUARDED: &[Failpoint] = &[
    SkipForkGuard,
    HideRandomInstruction,
    FreezeCycleCounter,
    FreezeTick,
];
/// An unguarded fork makes copies, and only a signal of clones tells them apart.
const CLONED: &[Failpoint] = &[SkipForkGuard, FreezeTick];
/// A VM without any signal of clones.
const CLONED_WITHOUT_SIGNAL: &[Failpoint] = &[SkipForkGuard, FreezeTick, HideVmgenid, PretendVm];
/// A VM whose kernel has not been notified of the clone yet.
const CLONED_BEFORE_NOTIFICATION: &[Failpoint] =
    &[SkipForkGuard, FreezeTick, PretendVmgenid, PretendVm];
/// A machine that is no VM.
const BARE_METAL: &[Failpoint] = &[HideHypervisorAnnouncement, HideVmgenid, HideKvmClock];
/// A machine that is no VM, of which an unguarded fork makes processes that were restored.
const RESTORED: &[Failpoint] = &[
    SkipForkGuard,
    HideHypervisorAnnouncement,
    HideVmgenid,
    HideKvmClock,
];
/// A VM with delayed notification, whose additional input is known.
const WITH_PAD: &[Failpoint] = &[PretendVmgenid, PretendVm, HideKvmClock, ZeroAdditionalInput];
const WITH_PAD_UNWIPED: &[Failpoint] = &[
    PretendVmgenid,
    PretendVm,
    HideKvmClock,
    ZeroAdditionalInput,
    SkipWiping,
];
/// Only keys make two requests differ.
const KEYS_ALONE: &[Failpoint] = &[
    SkipUnnotifiedCloneGuard,
    ZeroAdditionalInput,
    HideRandomInstruction,
    FreezeCycleCounter,
    FreezeTick,
    FreezeKvmClock,
];
const KEYS_UNCHECKED: &[Failpoint] = &[
    SkipUnnotifiedCloneGuard,
    ZeroAdditionalInput,
    HideRandomInstruction,
    FreezeCycleCounter,
    FreezeTick,
    FreezeKvmClock,
    CheckBeforeRead,
];

/// The engine that has request pads and serves first requests.
const NATIVE: Engine = if cfg!(target_arch = "aarch64") {
    Engine::ArmAes
} else {
    Engine::AesNi
};

const KERNEL_RESEED: &[Need] = &[Need::Reseed];
const KERNEL_RESEED_AND_GENERATION: &[Need] = &[Need::Reseed, Need::Generation];
const STEPS: &[Need] = &[Need::Steps];
const STEPS_UNDER_A_GENERATION: &[Need] = &[Need::Generation, Need::Steps];
/// The needs of a case that watches the kernel's generation.
const GENERATION: &[Need] = &[Need::Generation];
/// The needs of a case that compares the kernel's tick.
const TICK: &[Need] = &[Need::Tick];
/// The needs of a case that knows noise and ticks.
const KNOWN_NOISE: &[Need] = &[Need::Tick, Need::RandomInstruction];
/// The needs of a case that steps through a comparison of kvm-clock's records.
const KVM_CLOCK_STEPS: &[Need] = &[
    Need::Generation,
    Need::CpuNumber,
    Need::RandomInstruction,
    Need::Steps,
];

static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let engines = Engine::ALL.into_iter().flat_map(engine_cases);
    let mut cases: Vec<Case> = engines.collect();
    cases.extend(machine_cases());
    cases
});

/// What must hold for an engine.
fn engine_cases(engine: Engine) -> [Case; 2] {
    let name = format!("stack/no-keys-left/{engine}");
    let scenario = move || stack::no_keys_left(engine);
    [
        case(&name, scenario, WITH_PAD, Held),
        case(
            &format!("{name}/control"),
            scenario,
            WITH_PAD_UNWIPED,
            Broken,
        ),
    ]
    .map(|case| case.needs(&[Need::Engine(engine)]))
}

#[rustfmt::skip]
fn machine_cases() -> Vec<Case> { Vec::from([
    case("fork/children", forks::children, STRICT, Held),
    case("fork/children/wipe-on-fork", forks::children, WIPED, Held),
    case("fork/children/plain-memory", forks::children, PLAIN, Held),
    case("fork/siblings/kernel-alone", forks::siblings, &[RefuseDroppableMemory, RefuseWipeOnFork, ZeroRootBytes, ZeroAdditionalInput, HideRandomInstruction, FreezeCycleCounter, FreezeTick], Held),
    case("fork/siblings/kernel-alone/control", forks::siblings, &[SkipForkGuard, ZeroRootBytes, ZeroAdditionalInput, HideRandomInstruction, FreezeCycleCounter, FreezeTick], Broken),
    case("fork/by-system-call", forks::children_of_the_system_call, STRICT, Held),
    case("fork/by-system-call/wipe-on-fork", forks::children_of_the_system_call, WIPED, Held),
    case("fork/by-system-call/plain-memory", forks::children_of_the_system_call, PLAIN, Held),
    case("fork/by-system-call/control", forks::children_of_the_system_call, NOT_WIPED, Broken),
    case("fork/children/not-wiped", forks::children, NOT_WIPED, Held),
    case("fork/children/not-wiped/control", forks::children, &[RefuseDroppableMemory, SkipWipeOnFork, SkipForkGuard, HideRandomInstruction, FreezeCycleCounter, FreezeTick], Broken),
    case("fork/siblings/kernel-alone/not-wiped", forks::siblings, &[RefuseDroppableMemory, SkipWipeOnFork, ZeroRootBytes, ZeroAdditionalInput, HideRandomInstruction, FreezeCycleCounter, FreezeTick], Held),
    case("fork/from-signal-handler/not-wiped", forks::from_signal_handler, NOT_WIPED, Held),
    case("fork/from-threads/not-wiped", forks::from_threads, NOT_WIPED, Held),
    case("fork/children/no-vdso", forks::children, &[HideVdso, HideRandomInstruction, FreezeCycleCounter], Held),
    case("fork/children/probe", forks::children, &[HideGenerationAddress, HideRandomInstruction, FreezeCycleCounter], Held),
    case("fork/children/control", forks::children, UNGUARDED, Broken),
    case("fork/from-threads", forks::from_threads, STRICT, Held),
    case("fork/from-threads/plain-memory", forks::from_threads, PLAIN, Held),
    case("fork/from-threads/control", forks::from_threads, UNGUARDED, Broken),
    case("fork/grandchildren", forks::grandchildren, STRICT, Held),
    case("fork/grandchildren/plain-memory", forks::grandchildren, PLAIN, Held),
    case("fork/grandchildren/control", forks::grandchildren, UNGUARDED, Broken),
    case("fork/from-signal-handler", forks::from_signal_handler, STRICT, Held),
    case("fork/from-signal-handler/plain-memory", forks::from_signal_handler, PLAIN, Held),
    case("fork/from-signal-handler/control", forks::from_signal_handler, UNGUARDED, Broken),
    case("fork/in-a-seeding", steps::fork_in_a_seeding, STRICT, Held).needs(STEPS),
    case("fork/in-a-seeding/wipe-on-fork", steps::fork_in_a_seeding, WIPED, Held).needs(STEPS),
    case("fork/in-a-seeding/plain-memory", steps::fork_in_a_seeding, PLAIN, Held).needs(STEPS),
    case("fork/in-a-seeding/control", steps::fork_in_a_seeding, UNGUARDED, Broken).needs(STEPS),
    case("fork/in-a-seeding/kernel-alone", steps::fork_in_a_seeding, &[HideVdso, ZeroRootBytes, ZeroAdditionalInput, HideRandomInstruction, FreezeCycleCounter, FreezeTick], Held).needs(STEPS),
    case("fork/in-a-seeding/kernel-alone/control", steps::fork_in_a_seeding, &[HideVdso, SkipForkGuard, ZeroRootBytes, ZeroAdditionalInput, HideRandomInstruction, FreezeCycleCounter, FreezeTick], Broken).needs(STEPS),
    case("fork/in-a-fresh-draw", steps::fork_in_a_fresh_draw, STRICT, Held).needs(STEPS),
    case("fork/in-a-fresh-draw/control", steps::fork_in_a_fresh_draw, UNGUARDED, Broken).needs(STEPS),
    case("fork/child-with-the-parents-id", forks::child_with_the_parents_id, PLAIN, Held).needs(&[Need::PidNamespace]),
    case("fork/child-with-the-parents-id/control", forks::child_with_the_parents_id, UNGUARDED, Broken).needs(&[Need::PidNamespace]),
    case("fork/vfork", forks::vfork, STRICT, Held),
    case("fork/vfork/plain-memory", forks::vfork, PLAIN, Held),
    case("fork/chacha20", forks::children_of_chacha20, STRICT, Held),
    case("fork/chacha20/control", forks::children_of_chacha20, UNGUARDED, Broken),
    case("reseed/seen-by-the-next-word", reseeds::seen_by_the_next_word, &[], Held).reseeds_kernel().needs(GENERATION),
    case("reseed/seen-by-the-next-word/probe", reseeds::seen_by_the_next_word, &[HideGenerationAddress], Held).reseeds_kernel().needs(GENERATION),
    case("reseed/seen-by-the-next-word/control", reseeds::seen_by_the_next_word, &[FreezeGeneration], Broken).reseeds_kernel().needs(GENERATION),
    case("reseed/seen-by-a-first-fresh-draw", reseeds::seen_by_a_first_fresh_draw, &[], Held).needs(GENERATION),
    case("reseed/seen-by-a-first-fresh-draw/control", reseeds::seen_by_a_first_fresh_draw, &[HideGenerationAddress], Broken).needs(GENERATION),
    case("reseed/seen-by-every-thread", reseeds::seen_by_every_thread, &[], Held).reseeds_kernel().needs(GENERATION),
    case("reseed/seen-by-every-thread/control", reseeds::seen_by_every_thread, &[FreezeGeneration], Broken).reseeds_kernel().needs(GENERATION),
    case("reseed/storm", reseeds::storm, &[], Held).reseeds_kernel(),
    case("reseed/wrong-address", reseeds::wrong_generation_address, &[], Held).reseeds_kernel().needs(GENERATION),
    case("reseed/in-a-fresh-draw", steps::reseed_in_a_fresh_draw, &[FreezeTick], Held).reseeds_kernel().needs(&[Need::Generation, Need::Steps]),
    case("reseed/in-a-fresh-draw/control", steps::reseed_in_a_fresh_draw, &[FreezeGeneration, FreezeTick], Broken).reseeds_kernel().needs(&[Need::Generation, Need::Steps]),
    case("reseed/in-a-seeding", steps::reseed_in_a_seeding, PLAIN, Held).needs(STEPS),
    case("reseed/in-a-seeding/control", steps::nothing_in_a_seeding, PLAIN, Broken).needs(STEPS),
    case("reseed/by-time", reseeds::by_time, &[HideVdso], Held).reseeds_kernel(),
    case("reseed/by-time/control", reseeds::by_time, &[HideVdso, FreezeSeedAge], Broken).reseeds_kernel(),
    case("reseed/by-time/only-where-hidden", reseeds::by_time_only_where_hidden, &[], Held).reseeds_kernel(),
    case("reseed/by-time/only-where-hidden/probe", reseeds::by_time_only_where_hidden, &[HideGenerationAddress], Held).reseeds_kernel(),
    case("reseed/refills-double", reseeds::refills_double, &[HideHypervisorAnnouncement, HideVmgenid, HideGenerationAddress, FreezeTick], Held),
    case("reseed/refills-double/control", reseeds::refills_in_ticks, &[HideHypervisorAnnouncement, HideVmgenid, HideGenerationAddress], Broken).needs(TICK),
    case("drop/small", drops::small, &[], Held),
    case("drop/small/no-pad", drops::small, &[SkipUnnotifiedCloneGuard], Held),
    case("drop/small/control", drops::small_until_zeros, &[SkipUnnotifiedCloneGuard, CheckBeforeRead], Broken),
    case("drop/large", drops::large, KEYS_ALONE, Held),
    case("drop/large/control", drops::large_until_served_from_an_empty_page, KEYS_UNCHECKED, Broken),
    case("drop/in-a-small-draw", steps::drop_in_a_small_draw, KEYS_ALONE, Held).needs(STEPS),
    case("drop/in-a-small-draw/control", steps::drop_in_a_small_draw, KEYS_UNCHECKED, Broken).needs(STEPS),
    case("drop/in-a-large-draw", steps::drop_in_a_large_draw, KEYS_ALONE, Held).needs(STEPS),
    case("drop/in-a-large-draw/control", steps::drop_in_a_large_draw, KEYS_UNCHECKED, Broken).needs(STEPS),
    case("drop/before-the-last-access", steps::drop_before_the_last_access, &[PretendVmgenid, PretendVm, HideKvmClock, FreezeTick], Held).needs(STEPS),
    case("drop/before-the-last-access/no-pad", steps::drop_before_the_last_access, &[SkipUnnotifiedCloneGuard, FreezeTick], Held).needs(STEPS),
    case("drop/before-the-last-access/control", steps::drop_before_the_last_access, &[SkipUnnotifiedCloneGuard, CheckBeforeRead, FreezeTick], Broken).needs(STEPS),
    case("signal/draw-in-a-draw", signals::draw_in_a_draw, &[], Held),
    case("signal/draw-in-a-draw/no-vdso", signals::draw_in_a_draw, &[HideVdso], Held),
    case("signal/draw-in-a-draw/no-pad", signals::draw_in_a_draw, &[SkipUnnotifiedCloneGuard], Held),
    case("signal/draw-in-a-draw/control", signals::draw_in_a_draw_until_zeros, &[SkipUnnotifiedCloneGuard, SkipReentryLock], Broken).needs(GENERATION),
    case("signal/in-a-small-draw", steps::handler_in_a_small_draw, KEYS_ALONE, Held).needs(STEPS),
    case("signal/in-a-small-draw/control", steps::handler_in_a_small_draw, &[SkipUnnotifiedCloneGuard, ZeroAdditionalInput, HideRandomInstruction, FreezeCycleCounter, FreezeTick, FreezeKvmClock, SkipReentryLock], Broken).needs(STEPS),
    case("signal/first-draw-on-a-small-stack", signals::first_draw_on_a_small_stack, &[], Held).needs(&[Need::Engine(NATIVE)]),
    case("signal/first-draw-on-a-small-stack/no-root-page", signals::first_draw_on_a_small_stack, &[HideRootPage], Held).needs(&[Need::Engine(NATIVE)]),
    case("signal/first-draw-in-a-handler", signals::first_draw_in_a_handler, &[], Held),
    case("thread/by-the-thousand", threads::by_the_thousand, &[], Held),
    case("thread/first-draws-at-once", threads::first_draws_at_once, &[], Held),
    case("thread/draws-in-destructors", threads::draws_in_destructors, &[], Held),
    case("thread/first-drawer-after-its-end", threads::first_drawer_draws_after_its_end, &[], Held),
    case("thread/key-is-prepared", threads::key_is_prepared, &[], Held),
    case("thread/key-is-prepared/control", threads::first_draw_makes_no_key, &[], Broken),
    case("thread/pages-come-in-pairs", threads::pages_come_in_pairs, &[], Held),
    case("thread/pages-are-given-back", threads::pages_are_given_back, &[], Held),
    case("clone/no-signal", clones::no_signal, CLONED_WITHOUT_SIGNAL, Held),
    case("clone/no-signal/no-vdso", clones::no_signal, &[SkipForkGuard, FreezeTick, HideVmgenid, PretendVm, HideVdso], Held),
    case("clone/no-signal/control", clones::no_signal, &[SkipForkGuard, FreezeTick, HideVmgenid, PretendVm, SkipUnnotifiedCloneGuard], Broken),
    case("clone/distrusted", clones::distrusted, CLONED, Held),
    case("clone/distrusted/control", clones::distrusted, &[SkipForkGuard, FreezeTick, SkipUnnotifiedCloneGuard], Broken),
    case("clone/vmclock", clones::vmclock_changes, CLONED, Held),
    case("clone/vmclock/marker", clones::vmclock_marker_changes, CLONED, Held),
    case("clone/vmclock/control", clones::vmclock_never_changes, CLONED, Broken),
    case("clone/vmclock/looked-for-later", clones::first_draw_does_not_look_for_vmclock, &[HideHypervisorAnnouncement, HideVmgenid], Held),
    case("clone/vmclock/looked-for-later/vmgenid", clones::first_draw_does_not_look_for_vmclock, &[PretendVmgenid], Held),
    case("clone/vmclock/looked-for-later/control", clones::first_draw_does_not_look_for_vmclock, &[PretendVm, HideVmgenid], Broken),
    case("clone/vmclock/device", clones::vmclock_is_the_device, &[], Held),
    case("clone/vmclock/device/control", clones::vmclock_is_the_device, &[SkipCloneDeviceCheck], Broken),
    case("clone/vmclock/published-whole", steps::clone_while_deciding, &[HideVmgenid, PretendVm], Held).needs(STEPS_UNDER_A_GENERATION),
    case("clone/vmclock/published-whole/control", steps::nothing_while_deciding, &[HideVmgenid, PretendVm], Broken).needs(STEPS_UNDER_A_GENERATION),
    case("clone/vmclock/cut-short", clones::vmclock_cut_short, &[], Held),
    case("clone/vmclock/cut-short/control", clones::vmclock_cut_short, &[SkipCloneDeviceCheck], Broken),
    case("clone/vmgenid-page", clones::vmgenid_page_begins_differently, CLONED, Held),
    case("clone/vmgenid-page/last-half", clones::vmgenid_page_ends_differently, CLONED, Held),
    case("clone/vmgenid-page/control", clones::vmgenid_page_never_changes, CLONED, Broken),
    case("clone/vmgenid-page/device", clones::vmgenid_page_is_the_device, &[], Held),
    case("clone/vmgenid-page/device/control", clones::vmgenid_page_is_the_device, &[SkipCloneDeviceCheck], Broken),
    case("clone/announced-hypervisor", clones::without_clock, &[SkipForkGuard, FreezeTick, HideVmgenid], Held).needs(&[Need::HypervisorAnnouncement]),
    case("clone/hidden-hypervisor", clones::without_clock, &[SkipForkGuard, FreezeTick, HideHypervisorAnnouncement, PretendVmgenid], Held),
    case("clone/hidden-hypervisor/control", clones::without_clock, &[SkipForkGuard, FreezeTick, HideHypervisorAnnouncement, HideVmgenid], Broken),
    case("clone/hidden-hypervisor/unknown-device", clones::hidden_hypervisor_with_unknown_device, &[SkipForkGuard, FreezeTick, HideHypervisorAnnouncement, HideVmgenid], Held).needs(&[Need::DeviceNodes]),
    case("clone/hidden-hypervisor/marker", clones::hidden_hypervisor_with_marker, &[SkipForkGuard, FreezeTick, HideHypervisorAnnouncement, HideVmgenid], Held),
    case("clone/kvm-clock", copies::clones_of_kvm, CLONED, Held),
    case("clone/kvm-clock/large", copies::clones_of_kvm_draw_much, &[SkipForkGuard, FreezeTick, ZeroAdditionalInput], Held),
    case("clone/kvm-clock/large/unseen", copies::clones_of_kvm_draw_much, &[SkipForkGuard, FreezeTick, FreezeKvmClock], Held),
    case("clone/kvm-clock/unstable", copies::records_that_never_rest, &[], Held),
    case("clone/kvm-clock/unstable/control", copies::records_at_rest, &[], Broken),
    case("clone/kvm-clock/no-number", copies::clones_of_kvm, &[SkipForkGuard, FreezeTick, HideRdpid], Held),
    case("clone/kvm-clock/control", copies::clones_of_kvm, &[SkipForkGuard, FreezeTick, FreezeKvmClock], Broken),
    case("clone/kvm-clock/large/control", copies::clones_of_kvm_draw_much, &[SkipForkGuard, FreezeTick, FreezeKvmClock, ZeroAdditionalInput], Broken),
    case("clone/kvm-clock/in-a-request", steps::clone_of_kvm_in_a_request, &[SkipForkGuard, FreezeTick, FreezeCycleCounter, SkipBootstrap], Held).needs(KVM_CLOCK_STEPS),
    case("clone/kvm-clock/in-a-request/control", steps::clone_of_kvm_in_a_request, &[SkipForkGuard, FreezeTick, FreezeCycleCounter, SkipBootstrap, FreezeKvmClock], Broken).needs(KVM_CLOCK_STEPS),
    case("process/restored", copies::restored_processes, RESTORED, Held).needs(TICK),
    case("process/restored/large", copies::restored_processes_draw_much, RESTORED, Held).needs(TICK),
    case("process/restored/control", copies::restored_processes, &[SkipForkGuard, HideHypervisorAnnouncement, HideVmgenid, HideKvmClock, FreezeTick], Broken).needs(TICK),
    case("process/restored/large/control", copies::restored_processes_draw_much, &[SkipForkGuard, HideHypervisorAnnouncement, HideVmgenid, HideKvmClock, FreezeTick], Broken).needs(TICK),
    case("process/no-tick", copies::no_tick, &[SkipForkGuard, HideHypervisorAnnouncement, HideVmgenid, HideKvmClock, HideTick], Held),
    case("process/no-tick/control", copies::no_tick, &[SkipForkGuard, HideHypervisorAnnouncement, HideVmgenid, HideKvmClock, HideTick, SkipUnnotifiedCloneGuard], Broken),
    case("process/generation", || clone_generation::restored_process_changes_generation(clone_generation::FORK), RESTORED, Held),
    case("process/generation/no-tick", || clone_generation::restored_process_changes_generation(clone_generation::FORK), &[SkipForkGuard, HideHypervisorAnnouncement, HideVmgenid, HideKvmClock, HideTick], Held),
    case("process/generation/frozen-tick/control", || clone_generation::restored_process_changes_generation(clone_generation::FORK), &[SkipForkGuard, HideHypervisorAnnouncement, HideVmgenid, HideKvmClock, FreezeTick], Broken).needs(TICK),
    case("process/generation/in-a-vm", clone_generation::restored_process_changes_generation_of_clone, &[SkipForkGuard], Held),
    case("process/generation/fork/control", || clone_generation::restored_process_changes_generation(clone_generation::FORK), BARE_METAL, Broken),
    case("process/generation/raw-clone", || clone_generation::restored_process_changes_generation(clone_generation::RAW_FORK), BARE_METAL, Held),
    case("process/generation/fork", clone_generation::child_of_restored_process_keeps_generation, BARE_METAL, Held),
    case("process/generation/fork/same-tick", clone_generation::child_keeps_generation, &[HideHypervisorAnnouncement, HideVmgenid, HideKvmClock, FreezeTick], Held).needs(TICK),
    case("process/generation/fork/no-handler/control", clone_generation::child_of_restored_process_keeps_generation, RESTORED, Broken),
    case("clone/delayed", clones::delayed, CLONED_BEFORE_NOTIFICATION, Held).needs(GENERATION),
    case("clone/delayed/probe", clones::delayed, &[SkipForkGuard, FreezeTick, PretendVmgenid, PretendVm, HideGenerationAddress], Held).needs(GENERATION),
    case("clone/delayed/no-instruction", clones::delayed, &[SkipForkGuard, FreezeTick, PretendVmgenid, PretendVm, HideRandomInstruction], Held).needs(GENERATION),
    case("clone/delayed/no-counter", clones::delayed, &[SkipForkGuard, FreezeTick, PretendVmgenid, PretendVm, FreezeCycleCounter], Held).needs(&[Need::Generation, Need::RandomInstruction]),
    case("clone/delayed/cycles-alone", clones::delayed, &[SkipForkGuard, FreezeTick, PretendVmgenid, PretendVm, RepeatRandomWord, PassHealthTests], Held).needs(GENERATION),
    case("clone/delayed/no-aes", clones::delayed, &[SkipForkGuard, FreezeTick, PretendVmgenid, PretendVm, HideCachedSchedule], Held).needs(GENERATION),
    case("clone/delayed/plain-memory", clones::delayed, &[SkipForkGuard, FreezeTick, PretendVmgenid, PretendVm, RefuseWipeOnFork], Held).needs(GENERATION),
    case("clone/delayed/control", clones::delayed, &[SkipForkGuard, FreezeTick, PretendVmgenid, PretendVm, SkipUnnotifiedCloneGuard], Broken).needs(GENERATION),
    case("clone/delayed/neither/control", clones::delayed, &[SkipForkGuard, FreezeTick, PretendVmgenid, PretendVm, HideRandomInstruction, FreezeCycleCounter], Broken).needs(GENERATION),
    case("clone/delayed/buffer", clones::bytes_come_from_the_buffer, &[PretendVmgenid, PretendVm, HideGenerationAddress], Held).needs(&[Need::Generation, Need::Engine(NATIVE)]),
    case("clone/delayed/buffer/control", clones::bytes_come_from_the_buffer, &[PretendVmgenid, PretendVm, HideGenerationAddress, HideCachedSchedule], Broken).needs(GENERATION),
    case("clone/delayed/buffer/simulation", clones::simulations_come_from_the_buffer, &[PretendVmgenid, PretendVm, HideGenerationAddress, HideCachedSchedule], Held).needs(GENERATION),
    case("clone/delayed/long", clones::stopped_in_a_long_request, &[SkipForkGuard, FreezeTick, PretendVmgenid, PretendVm, FreezeGeneration], Held).needs(GENERATION),
    case("clone/delayed/long/control", clones::stopped_in_a_long_request, &[SkipForkGuard, FreezeTick, PretendVmgenid, PretendVm, FreezeGeneration, SkipUnnotifiedCloneGuard], Broken).needs(GENERATION),
    case("clone/simulation", clones::simulation, CLONED_BEFORE_NOTIFICATION, Broken).needs(GENERATION),
    case("clone/simulation/long", clones::long_simulation, CLONED_BEFORE_NOTIFICATION, Held).needs(GENERATION),
    case("clone/simulation/long/control", clones::long_simulation, &[SkipForkGuard, FreezeTick, PretendVmgenid, PretendVm, SkipUnnotifiedCloneGuard], Broken).needs(GENERATION),
    case("buffered/fork", buffered::children, STRICT, Held),
    case("buffered/fork/plain-memory", buffered::children, PLAIN, Held),
    case("buffered/fork/control", buffered::children, UNGUARDED, Broken),
    case("buffered/reseed", buffered::a_reseed_empties_the_buffer, &[], Held).reseeds_kernel().needs(GENERATION),
    case("buffered/reseed/control", buffered::a_reseed_empties_the_buffer, &[FreezeGeneration], Broken).reseeds_kernel().needs(GENERATION),
    case("buffered/vmclock", buffered::vmclock_changes, CLONED, Held),
    case("buffered/vmclock/control", buffered::vmclock_never_changes, CLONED, Broken).needs(GENERATION),
    case("buffered/drop", buffered::drops, &[], Held).needs(GENERATION),
    case("buffered/drop/in-a-refill", steps::drop_in_a_refill_of_a_buffer, KEYS_ALONE, Held).needs(STEPS_UNDER_A_GENERATION),
    case("buffered/drop/in-a-number", steps::drop_in_a_buffered_number, KEYS_ALONE, Held).needs(STEPS_UNDER_A_GENERATION),
    case("buffered/drop/in-a-number/control", steps::drop_in_a_buffered_number, KEYS_UNCHECKED, Broken).needs(STEPS_UNDER_A_GENERATION),
    case("buffered/drop/control", buffered::drops_until_zero, &[CheckBeforeRead], Broken).needs(GENERATION),
    case("fork/simulation", forks::simulations, STRICT, Held),
    case("fork/simulation/control", forks::simulations, UNGUARDED, Broken),
    case("clone/delayed/rng", clones::delayed_through_rng, CLONED_BEFORE_NOTIFICATION, Held).needs(GENERATION),
    case("clone/delayed/rng/control", clones::delayed_through_rng, &[SkipForkGuard, FreezeTick, PretendVmgenid, PretendVm, SkipUnnotifiedCloneGuard], Broken).needs(GENERATION),
    case("clone/pad-keys", clones::pad_schedule, &[PretendVmgenid, PretendVm], Held).reseeds_kernel().needs(&[Need::Generation, Need::Engine(NATIVE)]),
    case("clone/fresh", clones::fresh, CLONED, Held),
    case("clone/generation/vmclock", || clone_generation::page_changes_generation(clones::SignalPage::vmclock, Event::Clone), &[], Held),
    case("clone/generation/vmclock/control", || clone_generation::page_changes_generation(clones::SignalPage::vmclock, Event::Other), &[], Broken),
    case("clone/generation/vmgenid-page", || clone_generation::page_changes_generation(|| clones::SignalPage::vmgenid(8), Event::Clone), &[], Held),
    case("clone/generation/kvm-clock", || clone_generation::kvm_clock_changes_generation(Event::Clone), &[HideVmgenid], Held),
    case("clone/generation/kvm-clock/control", || clone_generation::kvm_clock_changes_generation(Event::Other), &[HideVmgenid], Broken),
    case("clone/generation/removed-device", clone_generation::watch_outlives_its_device, &[], Held),
    case("clone/generation/log", || clone_generation::message_changes_generation(Event::Clone), &[PretendVmgenid], Held).reseeds_kernel().needs(KERNEL_RESEED),
    case("clone/generation/log/control", || clone_generation::message_changes_generation(Event::Other), &[PretendVmgenid], Broken).reseeds_kernel().needs(KERNEL_RESEED),
    case("clone/generation/log/unseen-reseeds", || clone_generation::message_changes_generation(Event::Clone), &[PretendVmgenid, HideGenerationAddress], Held).reseeds_kernel().needs(KERNEL_RESEED),
    case("clone/generation/log/late", || clone_generation::late_message_changes_generation(Event::Clone), &[PretendVmgenid], Held).reseeds_kernel().needs(KERNEL_RESEED),
    case("clone/generation/log/late/control", || clone_generation::late_message_changes_generation(Event::Other), &[PretendVmgenid], Broken).reseeds_kernel().needs(KERNEL_RESEED),
    case("clone/generation/log/settled", clone_generation::settled_log_is_left_alone, &[PretendVmgenid], Held).reseeds_kernel().needs(KERNEL_RESEED_AND_GENERATION),
    case("clone/generation/log/settled/unseen-reseeds/control", clone_generation::settled_log_is_left_alone, &[PretendVmgenid, HideGenerationAddress], Broken).reseeds_kernel().needs(KERNEL_RESEED_AND_GENERATION),
    case("clone/generation/descriptor", || clone_generation::descriptor_is_readable(Event::Clone), &[PretendVmgenid], Held),
    case("clone/generation/descriptor/control", || clone_generation::descriptor_is_readable(Event::Other), &[PretendVmgenid], Broken),
    case("clone/generation/fork", clone_generation::child_counts_its_parents_message, &[PretendVmgenid], Held).reseeds_kernel().needs(KERNEL_RESEED_AND_GENERATION),
    case("clone/generation/fork/control", clone_generation::child_counts_its_parents_message, &[PretendVmgenid, SkipForkGuard], Broken).reseeds_kernel().needs(KERNEL_RESEED_AND_GENERATION),
    case("clone/generation/fork/then-clone", clone_generation::child_notices_the_next_clone, &[PretendVmgenid], Held).reseeds_kernel().needs(KERNEL_RESEED_AND_GENERATION),
    case("clone/generation/fork/without-right", clone_generation::child_that_may_not_read_is_unknown, &[PretendVmgenid], Held).reseeds_kernel().needs(KERNEL_RESEED_AND_GENERATION),
    case("clone/generation/fork/without-right/control", clone_generation::child_that_may_not_read_is_unknown, &[PretendVmgenid, SkipForkGuard], Broken).reseeds_kernel().needs(KERNEL_RESEED_AND_GENERATION),
    case("clone/generation/fork/watch", clone_generation::watch_of_a_child_reports_clones_alone, &[PretendVmgenid], Held).reseeds_kernel().needs(KERNEL_RESEED_AND_GENERATION),
    case("clone/generation/fork/watch/descriptors", clone_generation::watch_of_a_child_keeps_its_descriptors, &[PretendVmgenid], Held).reseeds_kernel().needs(KERNEL_RESEED_AND_GENERATION),
    case("clone/generation/fork/watch/without-right", clone_generation::watch_outlives_privileges, &[PretendVmgenid], Held).reseeds_kernel().needs(KERNEL_RESEED_AND_GENERATION),
    case("clone/generation/fork/watch/inherited", clone_generation::inherited_watch_is_refused, &[PretendVmgenid], Held),
    case("clone/generation/fork/watch/inherited/control", clone_generation::inherited_watch_is_refused, &[PretendVmgenid, SkipForkGuard], Broken),
    case("clone/generation/fork/no-descriptor", clone_generation::missing_descriptor_is_for_a_time, &[PretendVmgenid], Held).reseeds_kernel().needs(KERNEL_RESEED_AND_GENERATION),
    case("clone/generation/watch/reused-descriptor", clone_generation::watch_has_its_own_descriptor, &[PretendVmgenid], Held),
    case("clone/generation/watch/refused-calls", clone_generation::refused_calls_are_errors, &[PretendVmgenid], Held),
    case("clone/generation/watch/possible-miss", clone_generation::possible_miss_is_uncertain, &[PretendVmgenid], Held).reseeds_kernel().needs(KERNEL_RESEED),
    case("clone/generation/watch/own-log", || clone_generation::watch_reads_its_own_log(Event::Clone), &[PretendVmgenid], Held),
    case("clone/generation/watch/own-log/control", || clone_generation::watch_reads_its_own_log(Event::Other), &[PretendVmgenid], Broken),
    case("clone/generation/watch/log-of-requests", clone_generation::watch_reads_the_log_of_requests, &[PretendVmgenid], Held),
    case("clone/generation/closed-descriptors", clone_generation::closed_descriptor_counts, &[PretendVmgenid], Held).reseeds_kernel().needs(KERNEL_RESEED),
    case("clone/generation/forged", clone_generation::forged_message_does_not_count, &[PretendVmgenid], Held).reseeds_kernel().needs(KERNEL_RESEED),
    case("clone/generation/unknown", || clone_generation::generation_is_unknown(c"/dev/kmsg"), &[HideVmgenid, PretendVm], Held),
    case("clone/generation/unknown/no-descriptor", clone_generation::missing_descriptor_hides_the_signal_for_a_time, &[PretendVmgenid], Held),
    case("clone/generation/unknown/no-source", clone_generation::no_source_shows_no_signal, &[PretendVmgenid], Held),
    case("clone/generation/unknown/no-log", || clone_generation::generation_is_unknown(c"/dev/null"), &[PretendVmgenid], Held),
    case("clone/generation/unknown/no-log/control", || clone_generation::generation_is_unknown(c"/dev/null"), &[PretendVmgenid, SkipCloneDeviceCheck], Broken),
    case("clone/in-a-fresh-draw", steps::clone_in_a_fresh_draw, &[FreezeGeneration], Held).needs(STEPS),
    case("clone/in-a-fresh-draw/control", steps::nothing_in_a_fresh_draw, &[FreezeGeneration], Broken).needs(STEPS),
    case("clone/in-a-seeding", steps::clone_in_a_seeding, &[HideVdso], Held).needs(STEPS),
    case("clone/vmclock-bootstraps", seeds::vmclock_bootstraps, &[], Held),
    case("clone/vmclock-bootstraps/control", seeds::vmclock_bootstraps, &[SkipBootstrap], Broken),
    case("clone/vmclock-bootstraps/first", steps::bootstrap_comes_first, &[], Held).needs(STEPS),
    case("clone/vmclock-bootstraps/first/control", steps::bootstrap_comes_first, &[SkipBootstrap], Broken).needs(STEPS),
    case("clone/vmgenid-page-bootstraps", seeds::vmgenid_page_bootstraps, &[], Held),
    case("clone/vmgenid-page-bootstraps/control", seeds::vmgenid_page_bootstraps, &[SkipBootstrap], Broken),
    case("clone/generation-bootstraps", seeds::generation_bootstraps, &[PretendVm], Held).reseeds_kernel().needs(GENERATION),
    case("clone/generation-bootstraps/control", seeds::generation_bootstraps, &[PretendVm, SkipBootstrap], Broken).reseeds_kernel().needs(GENERATION),
    case("seed/kernel-alone", seeds::processes_differ, &[ZeroRootBytes, ZeroAdditionalInput, HideRandomInstruction, FreezeCycleCounter], Held),
    case("seed/root-alone", seeds::processes_differ, &[ZeroKernelBytes, ZeroAdditionalInput, ZeroProcessAndCpuNumbers], Held),
    case("seed/root-alone/bootstrapped", seeds::processes_differ, &[ZeroKernelBytes, ZeroAdditionalInput, ZeroProcessAndCpuNumbers, HideRandomInstruction], Held),
    case("seed/root-alone/no-page", seeds::processes_differ, &[HideRootPage, ZeroKernelBytes, ZeroAdditionalInput, ZeroProcessAndCpuNumbers], Held),
    case("seed/root-alone/no-page/control", seeds::processes_differ, &[HideRootPage, ZeroKernelBytes, ZeroAdditionalInput, ZeroProcessAndCpuNumbers, HideRandomInstruction, FreezeCycleCounter], Broken),
    case("seed/kernel-alone/chacha20", seeds::processes_differ_with_chacha20, &[ZeroRootBytes, ZeroAdditionalInput, HideRandomInstruction, FreezeCycleCounter], Held),
    case("seed/root-alone/chacha20", seeds::processes_differ_with_chacha20, &[ZeroKernelBytes, ZeroAdditionalInput, ZeroProcessAndCpuNumbers], Held),
    case("seed/neither/chacha20/control", seeds::processes_differ_with_chacha20, &[ZeroKernelBytes, ZeroRootBytes, ZeroAdditionalInput], Broken),
    case("seed/fresh/kernel-alone", seeds::fresh_draws_differ, &[ZeroAdditionalInput], Held),
    case("seed/fresh/cpu-alone", seeds::fresh_draws_differ, &[ZeroKernelBytes], Held),
    case("seed/fresh/control", seeds::fresh_draws_differ, &[ZeroKernelBytes, ZeroAdditionalInput], Broken),
    case("seed/root-alone/control", seeds::processes_differ, &[ZeroKernelBytes, ZeroAdditionalInput, ZeroProcessAndCpuNumbers, HideRandomInstruction, FreezeCycleCounter], Broken),
    case("seed/neither/control", seeds::processes_differ, &[ZeroKernelBytes, ZeroRootBytes, ZeroAdditionalInput], Broken),
    case("seed/bootstrap-without-signal", seeds::begins_with_bootstrap, &[HideVmgenid, PretendVm], Held),
    case("seed/bootstrap-without-instruction", seeds::begins_with_bootstrap, &[HideRandomInstruction], Held),
    case("seed/bootstrap/control", seeds::begins_with_bootstrap, &[PretendVmgenid], Broken).needs(&[Need::Generation, Need::RandomInstruction]),
    case("seed/child-begins-anew", seeds::child_begins_anew, &[], Held),
    case("seed/child-begins-anew/plain-memory", seeds::child_begins_anew, &[RefuseDroppableMemory, RefuseWipeOnFork], Held),
    case("seed/child-begins-anew/control", seeds::child_begins_anew, CLONED, Broken),
    case("seed/events-are-inputs", seeds::events_are_inputs, &[], Held).reseeds_kernel().needs(GENERATION),
    case("seed/quick-refills-are-no-inputs", seeds::quick_refills_are_no_inputs, &[HideHypervisorAnnouncement, HideVmgenid, FreezeCycleCounter], Held),
    case("seed/quick-refills-are-no-inputs/control", seeds::quick_refills_are_no_inputs, &[HideHypervisorAnnouncement, HideVmgenid], Broken),
    case("requests/not-a-vm", requests::in_new_process, BARE_METAL, Held).needs(KNOWN_NOISE),
    case("requests/not-a-vm/control", requests::in_new_process, &[HideHypervisorAnnouncement, HideVmgenid, HideKvmClock, FreezeTick], Broken).needs(KNOWN_NOISE),
    case("requests/vm-without-signal", requests::in_vm_without_signal, &[PretendVm, HideVmgenid], Held).needs(KNOWN_NOISE),
    case("requests/vm-without-signal/control", requests::in_vm_without_signal, &[PretendVm, HideVmgenid, SkipUnnotifiedCloneGuard], Broken).needs(KNOWN_NOISE),
    case("requests/vm-with-signal", requests::in_vm_with_signal, &[PretendVm, HideKvmClock], Held).needs(KNOWN_NOISE),
    case("requests/vm-with-signal/control", requests::in_vm_with_signal, &[PretendVm, HideKvmClock, ZeroAdditionalInput], Broken).needs(KNOWN_NOISE),
    case("health/stuck-instruction", seeds::stuck_instruction, &[RepeatRandomWord], Held).needs(&[Need::RandomInstruction]),
    case("health/stuck-instruction/control", seeds::stuck_instruction, &[RepeatRandomWord, PassHealthTests], Broken).needs(&[Need::RandomInstruction]),
    case("health/stuck-from-the-start", seeds::first_word_of_a_stuck_instruction, &[PretendVmgenid, RepeatRandomWord], Held).needs(&[Need::Generation, Need::RandomInstruction]),
    case("health/stuck-from-the-start/control", seeds::first_word_of_a_stuck_instruction, &[PretendVmgenid, RepeatRandomWord, PassHealthTests], Broken).needs(&[Need::Generation, Need::RandomInstruction]),
    case("health/stuck-later", seeds::stuck_after_the_first_draw, &[], Held).needs(&[Need::RandomInstruction]),
    case("health/stuck-later/control", seeds::stuck_after_the_first_draw, &[PassHealthTests], Broken).needs(&[Need::RandomInstruction]),
    case("health/stuck-counter", seeds::stuck_counter, &[FreezeCycleCounter], Held),
    case("health/stuck-counter/control", seeds::stuck_counter, &[FreezeCycleCounter, PassHealthTests], Broken),
    case("health/good-sources", seeds::good_sources, &[], Held),
    case("stack/no-seeds-left", stack::no_seeds_left, &[ZeroKernelBytes, ZeroRootBytes], Held),
    case("stack/no-seeds-left/control", stack::no_seeds_left, &[ZeroKernelBytes, ZeroRootBytes, SkipWiping], Broken),
    case("stack/no-counters-left", stack::no_counters_left, WITH_PAD, Held).needs(&[Need::Engine(NATIVE)]),
    case("stack/no-counters-left/control", stack::no_counters_left, WITH_PAD_UNWIPED, Broken).needs(&[Need::Engine(NATIVE)]),
    case("stack/streams-leave-no-keys", stack::streams_leave_no_keys, &[], Held),
    case("registers/draws/with-pad", registers::draws, &[PretendVmgenid, PretendVm, HideKvmClock], Held).needs(&[Need::ClearedRegisters]),
    case("registers/draws/with-pad/control", registers::draws_found, &[PretendVmgenid, PretendVm, HideKvmClock, SkipRegisterClearing], Broken).needs(&[Need::ClearedRegisters]),
    case("registers/draws/no-pad", registers::draws, &[SkipUnnotifiedCloneGuard], Held).needs(&[Need::ClearedRegisters]),
    case("registers/draws/no-pad/control", registers::draws_found, &[SkipUnnotifiedCloneGuard, SkipRegisterClearing], Broken).needs(&[Need::ClearedRegisters]),
    case("registers/draws-without-signal", registers::draws_without_signal, &[HideCachedSchedule], Held).needs(&[Need::ClearedRegisters]),
    case("registers/draws-without-signal/control", registers::draws_without_signal_found, &[HideCachedSchedule, SkipRegisterClearing], Broken).needs(&[Need::ClearedRegisters]),
    case("stack/building-blocks", registers::building_blocks_stack, &[], Held).needs(&[Need::ClearedRegisters]),
    case("stack/building-blocks/control", registers::building_blocks_stack, &[SkipWiping], Broken).needs(&[Need::ClearedRegisters]),
    case("registers/building-blocks", registers::building_blocks, &[], Held).needs(&[Need::ClearedRegisters]),
    case("registers/building-blocks/control", registers::building_blocks_found, &[SkipRegisterClearing], Broken).needs(&[Need::ClearedRegisters]),
    #[cfg(target_arch = "x86_64")]
    case("counter/strict-seccomp", counter::strict_seccomp, &[], Held).needs(&[Need::Generation]),
    #[cfg(target_arch = "x86_64")]
    case("counter/strict-seccomp/control", counter::strict_seccomp_after_draws, &[], Broken),
    case("sandbox/getrandom-enosys", sandbox::getrandom_enosys, &[], Held),
    case("sandbox/getrandom-eperm", sandbox::getrandom_eperm, &[], Held),
    case("sandbox/refused-later", sandbox::refused_later, &[], Held),
    case("sandbox/droppable-refused/eacces", || sandbox::droppable_refused(libc::EACCES), &[], Held),
    case("sandbox/droppable-refused/enomem", || sandbox::droppable_refused(libc::ENOMEM), &[], Held),
    case("sandbox/droppable-refused/eperm", || sandbox::droppable_refused(libc::EPERM), &[], Held),
    case("sandbox/droppable-refused-later", sandbox::droppable_refused_later, &[], Held),
    case("sandbox/advice-refused/eacces", || sandbox::advice_refused(libc::EACCES), &[], Held),
    case("sandbox/advice-refused/enomem", || sandbox::advice_refused(libc::ENOMEM), &[], Held),
    case("sandbox/advice-refused/eagain", sandbox::advice_lacks_mappings, &[], Held),
    case("sandbox/advice-ignored", sandbox::advice_ignored, &[], Held),
    case("sandbox/plain-later", sandbox::plain_later, &[HideGenerationAddress], Held),
    case("sandbox/no-memory", sandbox::no_memory, &[], Held),
    case("sandbox/counter-off", sandbox::counter_off_later, &[PretendVmgenid, PretendVm], Held).needs(&[Need::Steps]),
    case("sandbox/counter-off/control", sandbox::counter_off_unannounced, &[PretendVmgenid, PretendVm], Broken).needs(&[Need::Steps]),
    #[cfg(target_arch = "x86_64")]
    case("sandbox/cpuid-off", sandbox::cpuid_off, &[], Held).needs(&[Need::CpuidFaulting]),
    #[cfg(target_arch = "x86_64")]
    case("sandbox/cpuid-off/unknown", sandbox::cpuid_off_and_unknown, &[HideKeptCpuid], Held).needs(&[Need::CpuidFaulting]),
    #[cfg(target_arch = "x86_64")]
    case("sandbox/cpuid-off/control", sandbox::cpuid_executed, &[], Broken).needs(&[Need::CpuidFaulting]),
    case("sandbox/counter-off-at-first", sandbox::counter_off_at_first, &[], Held).needs(&[Need::Steps]),
    case("sandbox/not-known-to-be-ready", sandbox::not_known_to_be_ready, &[], Held),
    case("sandbox/no-source", sandbox::no_source, &[], Held),
    case("sandbox/no-source-aborts", sandbox::no_source_aborts, &[], Held),
    case("sandbox/no-source-aborts/stderr-closed", sandbox::no_source_aborts_without_stderr, &[], Held),
    case("sandbox/no-source-aborts/stderr-locked", sandbox::no_source_aborts_with_stderr_locked, &[], Held).needs(&[Need::ChildsCalls]),
    case("sandbox/no-source-aborts/stderr-locked/control", sandbox::eprintln_with_stderr_locked, &[], Broken).needs(&[Need::ChildsCalls]),
]) }

const SCENARIO: &str = "SQUALL_GUARD_CASE";
const BROKEN: i32 = 10;

fn main() -> ExitCode {
    if let Ok(name) = std::env::var(SCENARIO) {
        return run_scenario(&name);
    }
    let arguments = Arguments::from_args();
    let trials = CASES
        .iter()
        .map(|case| {
            let lacking = case.lacking();
            Trial::ignorable_test(&case.name, move || match lacking {
                Some(why) => Ok(Completion::ignored_with(why)),
                None => run_case(case).map(|()| Completion::Completed),
            })
        })
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Activates the case's failpoints and runs its scenario, in a process of its own.
fn run_scenario(name: &str) -> ExitCode {
    let case = CASES
        .iter()
        .find(|case| case.name == name)
        .expect("a case of this name");
    case.failpoints
        .iter()
        .for_each(|&failpoint| activate_for_testing(failpoint));
    let verdict = (case.scenario)();
    check_machine(case.failpoints);
    match verdict {
        Verdict::Held => ExitCode::SUCCESS,
        Verdict::Broken(how) => {
            eprint!("{how}");
            std::process::exit(BROKEN)
        }
    }
}

/// Checks that the failpoints had their effect on the machine; otherwise the case would have tested
/// another machine.
fn check_machine(failpoints: &[Failpoint]) {
    let is_active = |failpoint| failpoints.contains(&failpoint);
    if is_active(HideGenerationAddress) {
        let status = squall::status();
        let can_be_asked = status.has_vdso_getrandom && status.memory != MemoryKind::Plain;
        let expected = if can_be_asked {
            ReseedGuard::VdsoProbe
        } else {
            ReseedGuard::Time
        };
        assert_eq!(status.reseed_guard, expected);
    }
    if is_active(HideVdso) {
        let status = squall::status();
        assert_eq!(status.reseed_guard, ReseedGuard::Time);
        assert!(!status.has_vdso_getrandom);
    }
    if is_active(RefuseDroppableMemory) {
        let status = squall::status();
        if is_active(RefuseWipeOnFork) {
            assert_eq!(status.memory, MemoryKind::Plain)
        } else {
            assert_ne!(status.memory, MemoryKind::Droppable)
        }
    }
    if is_active(HideVmgenid) {
        let status = squall::status();
        assert!(!status.has_vmgenid);
    }
    if is_active(HideCachedSchedule) {
        assert!(stack::pads().is_empty(), "there are no pads");
    }
}

fn run_case(case: &'static Case) -> Result<(), libtest_mimic::Failed> {
    static RESEEDS: RwLock<()> = RwLock::new(());
    let (_exclusive, _shared);
    if case.reseeds_kernel {
        _exclusive = RESEEDS.write()
    } else {
        _shared = RESEEDS.read()
    }
    let program = std::env::current_exe().expect("a test knows its program");
    let output = Command::new(program)
        .env(SCENARIO, &case.name)
        .output()
        .expect("it runs");
    let message = String::from_utf8_lossy(&output.stderr);
    match (output.status.code(), case.expect) {
        (Some(0), Held) | (Some(BROKEN), Broken) => Ok(()),
        (Some(0), Broken) => Err("nothing broke without the guard: the test proves nothing".into()),
        (Some(BROKEN), Held) => Err(format!("broken: {message}").into()),
        _ => Err(format!("{}: {message}", output.status).into()),
    }
}
