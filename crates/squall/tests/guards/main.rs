//! Every guard of the generator, each beside its control.
//!
//! A case is a scenario under some switched-off seams. It runs in a process of its own and ends
//! in a verdict: the promise held, or it was broken. A case with every guard on must hold; its
//! control, the same scenario with one guard off, must break, or the scenario proves nothing.
//! What this machine cannot run is printed as SKIP with the reason.

mod clones;
mod drops;
mod forks;
mod outputs;
mod reseeds;
mod sandbox;
mod seeds;
mod signals;
mod stack;
mod steps;
mod threads;

use std::process::{Command, ExitCode};
use std::sync::RwLock;

use libtest_mimic::{Arguments, Trial};
use squall::testing::{Seam, switch_off_for_testing};

/// What a scenario found.
pub enum Verdict {
    /// The promise held.
    Held,
    /// It was broken: how.
    Broken(String),
    /// The machine cannot run it.
    Skip(&'static str),
    /// It is about something that this kind of machine does not have.
    NotHere(&'static str),
}

#[derive(Clone, Copy, PartialEq)]
enum Expect {
    Held,
    /// A control: without the guard the promise must be seen broken.
    Broken,
}
use Expect::{Broken, Held};

struct Case {
    name: &'static str,
    scenario: fn() -> Verdict,
    off: &'static [Seam],
    expect: Expect,
    /// Forces the kernel to reseed, which would spare other cases what they must suffer.
    alone: bool,
}

impl Case {
    const fn alone(self) -> Case {
        Case {
            alone: true,
            ..self
        }
    }
}

const fn case(
    name: &'static str,
    scenario: fn() -> Verdict,
    off: &'static [Seam],
    expect: Expect,
) -> Case {
    Case {
        name,
        scenario,
        off,
        expect,
        alone: false,
    }
}

use Seam::*;

/// Nothing of the machine but plain memory.
const PLAIN: &[Seam] = &[DroppableMemory, WipeOnFork, RandomInstruction, CycleCounter];
const WIPED: &[Seam] = &[DroppableMemory, RandomInstruction, CycleCounter];
/// Nothing that tells two copies apart but the guard itself.
const STRICT: &[Seam] = &[RandomInstruction, CycleCounter];
const UNGUARDED: &[Seam] = &[ForkGuard, RandomInstruction, CycleCounter];
/// A VM that no signal tells of its clones; copies of it are made by an unguarded fork.
const CLONED_UNSEEN: &[Seam] = &[ForkGuard, Vmgenid, BareMetal];
/// A VM whose clones have not been told yet.
const CLONED_UNTOLD: &[Seam] = &[ForkGuard, BareMetal];

#[rustfmt::skip]
const CASES: &[Case] = &[
    case("fork/children", forks::children, STRICT, Held),
    case("fork/children/wipe-on-fork", forks::children, WIPED, Held),
    case("fork/children/plain-memory", forks::children, PLAIN, Held),
    case("fork/children/no-vdso", forks::children, &[Vdso, RandomInstruction, CycleCounter], Held),
    case("fork/children/probe", forks::children, &[GenerationPlace, RandomInstruction, CycleCounter], Held),
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
    case("fork/in-a-seeding", steps::fork_in_a_seeding, STRICT, Held),
    case("fork/in-a-seeding/wipe-on-fork", steps::fork_in_a_seeding, WIPED, Held),
    case("fork/in-a-seeding/plain-memory", steps::fork_in_a_seeding, PLAIN, Held),
    case("fork/in-a-seeding/control", steps::fork_in_a_seeding, UNGUARDED, Broken),
    case("fork/vfork", forks::vfork, STRICT, Held),
    case("fork/vfork/plain-memory", forks::vfork, PLAIN, Held),
    case("fork/chacha20", forks::children_of_chacha20, STRICT, Held),
    case("fork/chacha20/control", forks::children_of_chacha20, UNGUARDED, Broken),
    case("reseed/seen-by-the-next-word", reseeds::seen_by_the_next_word, &[], Held).alone(),
    case("reseed/seen-by-the-next-word/probe", reseeds::seen_by_the_next_word, &[GenerationPlace], Held).alone(),
    case("reseed/seen-by-the-next-word/control", reseeds::seen_by_the_next_word, &[GenerationCheck], Broken).alone(),
    case("reseed/seen-by-every-thread", reseeds::seen_by_every_thread, &[], Held).alone(),
    case("reseed/seen-by-every-thread/control", reseeds::seen_by_every_thread, &[GenerationCheck], Broken).alone(),
    case("reseed/storm", reseeds::storm, &[], Held).alone(),
    case("reseed/by-time", reseeds::by_time, &[Vdso], Held).alone(),
    case("reseed/by-time/control", reseeds::by_time, &[], Broken).alone(),
    case("drop/small", drops::small, &[], Held),
    case("drop/small/not-masked", drops::small, &[LateSignal], Held),
    case("drop/small/control", drops::small, &[LateSignal, Recheck], Broken),
    case("drop/large", drops::large, &[], Held),
    case("signal/draw-in-a-draw", signals::draw_in_a_draw, &[], Held),
    case("signal/draw-in-a-draw/no-vdso", signals::draw_in_a_draw, &[Vdso], Held),
    case("signal/draw-in-a-draw/not-masked", signals::draw_in_a_draw, &[LateSignal], Held),
    case("signal/draw-in-a-draw/control", signals::draw_in_a_draw, &[LateSignal, ReentryLock], Broken),
    case("signal/first-draw-on-a-small-stack", signals::first_draw_on_a_small_stack, &[], Held),
    case("signal/first-draw-on-a-small-stack/no-root-page", signals::first_draw_on_a_small_stack, &[RootPage], Held),
    case("signal/first-draw-in-a-handler", signals::first_draw_in_a_handler, &[], Held),
    case("thread/by-the-thousand", threads::by_the_thousand, &[], Held),
    case("thread/first-draws-at-once", threads::first_draws_at_once, &[], Held),
    case("thread/draws-in-destructors", threads::draws_in_destructors, &[], Held),
    case("thread/pages-are-given-back", threads::pages_are_given_back, &[], Held),
    case("clone/unseen", clones::unseen, CLONED_UNSEEN, Held),
    case("clone/unseen/no-vdso", clones::unseen, &[ForkGuard, Vmgenid, BareMetal, Vdso], Held),
    case("clone/unseen/control", clones::unseen, &[ForkGuard, Vmgenid, BareMetal, Hedge], Broken),
    case("clone/distrusted", clones::distrusted, &[ForkGuard, LateSignal, Tick], Held),
    case("clone/distrusted/control", clones::distrusted, &[ForkGuard, LateSignal, Tick, Hedge], Broken),
    case("clone/vmclock", clones::vmclock_moves, &[ForkGuard], Held),
    case("clone/vmclock/marker", clones::vmclock_marker_moves, &[ForkGuard], Held),
    case("clone/vmclock/control", clones::vmclock_stands_still, &[ForkGuard], Broken),
    case("clone/vmclock-hedges-until-reseed", clones::vmclock_hedges_until_reseed, &[ForkGuard], Held).alone(),
    case("clone/vmclock-hedges-until-reseed/probe", clones::vmclock_hedges_until_reseed, &[ForkGuard, GenerationPlace], Held).alone(),
    case("clone/told-late", clones::told_late, CLONED_UNTOLD, Held),
    case("clone/told-late/probe", clones::told_late, &[ForkGuard, BareMetal, GenerationPlace], Held),
    case("clone/told-late/no-instruction", clones::told_late, &[ForkGuard, BareMetal, RandomInstruction], Held),
    case("clone/told-late/no-counter", clones::told_late, &[ForkGuard, BareMetal, CycleCounter], Held),
    case("clone/told-late/cycles-alone", clones::told_late, &[ForkGuard, BareMetal, RandomWordsDiffer, HealthTests], Held),
    case("clone/told-late/no-aes", clones::told_late, &[ForkGuard, BareMetal, KeptKeys], Held),
    case("clone/told-late/plain-memory", clones::told_late, &[ForkGuard, BareMetal, WipeOnFork], Held),
    case("clone/told-late/control", clones::told_late, &[ForkGuard, BareMetal, LateSignal], Broken),
    case("clone/told-late/neither/control", clones::told_late, &[ForkGuard, BareMetal, RandomInstruction, CycleCounter], Broken),
    case("clone/told-late-when-idle", clones::told_late_when_idle, CLONED_UNTOLD, Held),
    case("clone/told-late-when-idle/no-aes", clones::told_late_when_idle, &[ForkGuard, BareMetal, KeptKeys], Held),
    case("clone/told-late-when-idle/control", clones::told_late_when_idle, &[ForkGuard, BareMetal, Tick], Broken),
    case("clone/told-late/rng", clones::told_late_through_rng, CLONED_UNTOLD, Held),
    case("clone/told-late/rng/control", clones::told_late_through_rng, &[ForkGuard, BareMetal, LateSignal], Broken),
    case("clone/mask-keys", clones::mask_keys, &[BareMetal], Held).alone(),
    case("clone/fresh", clones::fresh, &[ForkGuard], Held),
    case("clone/vmclock-bootstraps", seeds::vmclock_bootstraps, &[], Held),
    case("clone/vmclock-bootstraps/control", seeds::vmclock_bootstraps, &[Bootstrap], Broken),
    case("clone/generation-bootstraps", seeds::generation_bootstraps, &[BareMetal], Held).alone(),
    case("clone/generation-bootstraps/control", seeds::generation_bootstraps, &[BareMetal, Bootstrap], Broken).alone(),
    case("seed/kernel-alone", seeds::processes_differ, &[Root, AdditionalInput, RandomInstruction, CycleCounter], Held),
    case("seed/root-alone", seeds::processes_differ, &[KernelBytes, AdditionalInput, Numbers], Held),
    case("seed/root-alone/bootstrapped", seeds::processes_differ, &[KernelBytes, AdditionalInput, Numbers, RandomInstruction], Held),
    case("seed/root-alone/no-page", seeds::processes_differ, &[RootPage, KernelBytes, AdditionalInput, Numbers], Held),
    case("seed/root-alone/no-page/control", seeds::processes_differ, &[RootPage, KernelBytes, AdditionalInput, Numbers, RandomInstruction, CycleCounter], Broken),
    case("seed/kernel-alone/chacha20", seeds::processes_differ_with_chacha20, &[Root, AdditionalInput, RandomInstruction, CycleCounter], Held),
    case("seed/root-alone/chacha20", seeds::processes_differ_with_chacha20, &[KernelBytes, AdditionalInput, Numbers], Held),
    case("seed/neither/chacha20/control", seeds::processes_differ_with_chacha20, &[KernelBytes, Root, AdditionalInput], Broken),
    case("seed/fresh/kernel-alone", seeds::fresh_draws_differ, &[AdditionalInput], Held),
    case("seed/fresh/hedge-alone", seeds::fresh_draws_differ, &[KernelBytes], Held),
    case("seed/fresh/control", seeds::fresh_draws_differ, &[KernelBytes, AdditionalInput], Broken),
    case("seed/root-alone/control", seeds::processes_differ, &[KernelBytes, AdditionalInput, Numbers, RandomInstruction, CycleCounter], Broken),
    case("seed/neither/control", seeds::processes_differ, &[KernelBytes, Root, AdditionalInput], Broken),
    case("seed/bootstrap-without-signal", seeds::begins_with_bootstrap, &[Vmgenid, BareMetal], Held),
    case("seed/bootstrap-without-instruction", seeds::begins_with_bootstrap, &[RandomInstruction], Held),
    case("seed/bootstrap/control", seeds::begins_with_bootstrap, &[], Broken),
    case("seed/events-are-inputs", seeds::events_are_inputs, &[], Held).alone(),
    case("health/stuck-instruction", seeds::stuck_instruction, &[RandomWordsDiffer], Held),
    case("health/stuck-instruction/control", seeds::stuck_instruction, &[RandomWordsDiffer, HealthTests], Broken),
    case("health/stuck-later", seeds::stuck_after_the_first_draw, &[], Held),
    case("health/stuck-later/control", seeds::stuck_after_the_first_draw, &[HealthTests], Broken),
    case("health/stuck-counter", seeds::stuck_counter, &[CycleCounter], Held),
    case("health/stuck-counter/control", seeds::stuck_counter, &[CycleCounter, HealthTests], Broken),
    case("health/good-sources", seeds::good_sources, &[], Held),
    case("stack/no-keys-left", stack::no_keys_left, &[], Held),
    case("sandbox/getrandom-enosys", sandbox::getrandom_enosys, &[], Held),
    case("sandbox/getrandom-eperm", sandbox::getrandom_eperm, &[], Held),
    case("sandbox/refused-later", sandbox::refused_later, &[], Held),
    case("sandbox/no-source", sandbox::no_source, &[], Held),
    case("sandbox/no-source-aborts", sandbox::no_source_aborts, &[], Held),
];

const SCENARIO: &str = "SQUALL_GUARD_CASE";
const BROKEN: i32 = 10;
const SKIPPED: i32 = 11;
const NOT_HERE: i32 = 12;

fn main() -> ExitCode {
    if let Ok(name) = std::env::var(SCENARIO) {
        return run_scenario(&name);
    }
    let arguments = Arguments::from_args();
    let trials = CASES
        .iter()
        .map(|case| Trial::test(case.name, || run_case(case)))
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// In a process of its own: applies the case's switches and runs its scenario.
fn run_scenario(name: &str) -> ExitCode {
    let case = CASES
        .iter()
        .find(|case| case.name == name)
        .expect("a case of this name");
    case.off
        .iter()
        .for_each(|&seam| switch_off_for_testing(seam));
    let (message, code) = match (case.scenario)() {
        Verdict::Held => return ExitCode::SUCCESS,
        Verdict::Broken(how) => (how, BROKEN),
        Verdict::Skip(reason) => (reason.to_owned(), SKIPPED),
        Verdict::NotHere(reason) => (reason.to_owned(), NOT_HERE),
    };
    eprint!("{message}");
    std::process::exit(code)
}

fn run_case(case: &'static Case) -> Result<(), libtest_mimic::Failed> {
    static RESEEDS: RwLock<()> = RwLock::new(());
    let (_alone, _among);
    match case.alone {
        true => _alone = RESEEDS.write(),
        false => _among = RESEEDS.read(),
    }
    let program = std::env::current_exe().expect("a test knows its program");
    let output = Command::new(program)
        .env(SCENARIO, case.name)
        .output()
        .expect("it runs");
    let message = String::from_utf8_lossy(&output.stderr);
    match (output.status.code(), case.expect) {
        (Some(SKIPPED), _) if std::env::var_os("SQUALL_REQUIRE_GUARDS").is_some() => {
            Err(format!("required, but skipped: {message}").into())
        }
        (Some(SKIPPED | NOT_HERE), _) => {
            println!("SKIP {}: {message}", case.name);
            Ok(())
        }
        (Some(0), Held) | (Some(BROKEN), Broken) => Ok(()),
        (Some(0), Broken) => Err("nothing broke without the guard: the test proves nothing".into()),
        (Some(BROKEN), Held) => Err(format!("broken: {message}").into()),
        _ => Err(format!("{}: {message}", output.status).into()),
    }
}
