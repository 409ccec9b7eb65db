//! Decides which process draws from which generator, and when.

use std::path::Path;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use squall::testing::{Failpoint, activate_for_testing, clone_device_for_testing};
use squall_probe::{Mode, Source};

use crate::Result;
use crate::accumulator::{RecordedWhirlwind, ReseedingWhirlwind};
use crate::bar;
use crate::facts::VMGENID_PAGE;
use crate::generator::{
    Bits, Drawer, kernel_bytes, squall_bytes, squall_u32s, squall_u64s, unguarded_rng,
};
use crate::kvm_clock;
use crate::layout::{CHILD_EVERY, Channels, THREADS};
use crate::process;
use crate::tick::{self, PERIOD};

/// Number of processes with a timer: this one, one for each of [`VARIANTS`], and [`Mode::Forks`]'s
/// child.
const TICKING_PROCESSES: u64 = 5;

/// The child of [`Mode::Forks`] is the last in each period.
const CHILD_PHASE: u64 = phase(TICKING_PROCESSES - 1);

/// The variants of squall that need a process of their own.
const VARIANTS: [(Source, fn()); 3] = [
    (Source::SquallNoSignal, hide_clones),
    (Source::SquallUnguarded, switch_guards_off),
    (Source::SquallSignalOnly, keep_only_notification),
];

/// Nanoseconds from this process's tick to that of the process with this number.
const fn phase(number: u64) -> u64 {
    number * PERIOD / TICKING_PROCESSES
}

/// Hides from squall that the machine notifies it of clones.
fn hide_clones() {
    activate_for_testing(Failpoint::HideVmgenid);
    hide_immediate_signals();
}

/// The failpoints that disable squall's clone guards, except those that read devices.
const UNGUARDED: [Failpoint; 4] = [
    Failpoint::FreezeGeneration,
    Failpoint::FreezeTick,
    Failpoint::SkipUnnotifiedCloneGuard,
    Failpoint::ZeroAdditionalInput,
];

/// Switches squall's clone guards off.
fn switch_guards_off() {
    UNGUARDED.into_iter().for_each(activate_for_testing);
    hide_immediate_signals();
}

/// Switches off all clone guards except the notification. Where the kernel module shows vmgenid's page, or the machine
/// has kvm-clock, this signal is the only difference to squall without guards.
fn keep_only_notification() {
    if Path::new(VMGENID_PAGE).exists() || kvm_clock::is_there() {
        UNGUARDED.into_iter().for_each(activate_for_testing);
    } else {
        activate_for_testing(Failpoint::SkipUnnotifiedCloneGuard);
        activate_for_testing(Failpoint::FreezeTick);
    }
}

/// Hides kvm-clock, and makes squall look for the clone notification devices in places where they are not.
fn hide_immediate_signals() {
    activate_for_testing(Failpoint::HideKvmClock);
    clone_device_for_testing(c"/dev/vmclock0", c"/dev/null");
    clone_device_for_testing(c"/dev/squall-vmgenid", c"/dev/null");
}

/// Forks the processes whose guards are off. This process must not have drawn before.
pub fn fork_before_drawing(channels: &Channels, mode: Mode) -> Result<()> {
    let variants = match mode {
        Mode::Threads => &VARIANTS[1..],
        _ => &VARIANTS,
    };
    for (number, &(source, set_up)) in (1..).zip(variants) {
        process::fork(|| {
            set_up();
            if mode == Mode::Threads {
                run_threads(channels, source);
            } else {
                draw_at_ticks(channels, source, phase(number));
            }
        })?;
    }
    Ok(())
}

/// Forks the child that inherits what this process has drawn, and prepares for many more that need only
/// their own channel.
pub fn fork_after_drawing(channels: &Channels, mode: Mode) -> Result<()> {
    if mode != Mode::Forks {
        return Ok(());
    }
    squall_bytes();
    process::fork(|| draw_at_ticks(channels, Source::SquallChild, CHILD_PHASE))?;
    bar::leave_out_of_children(channels.before(Source::SquallChildren))
}

/// Waits for the lab, then draws from squall at every tick.
fn draw_at_ticks(channels: &Channels, source: Source, phase: u64) {
    let mut drawer = Drawer::new(channels, source, 0, squall_bytes);
    channels.memory.wait_for_run();
    while channels.memory.is_running() {
        tick::wait(phase);
        drawer.draw();
    }
}

/// Number of outputs that the unguarded generator gives between two pauses in threads. Without pauses it
/// would fill its channel before the snapshot, and the control would show nothing.
const NAIVE_BURST: u64 = 8;

/// Length of these pauses.
const NAIVE_PAUSE: Duration = Duration::from_micros(100);

/// Starts threads that draw from `source` until the lab stops them or their channel is full. Only the
/// unguarded generator pauses.
fn start_threads(channels: &Channels, source: Source) -> Vec<JoinHandle<()>> {
    let memory = channels.memory;
    let wanted = THREADS.into_iter().find(|&(wanted, _)| wanted == source);
    let (_, threads) = wanted.expect("a source that threads draw from");
    let start = |instance| {
        let drawer = |draw: fn() -> Bits| Drawer::new(channels, source, instance, draw);
        let mut drawer = match source {
            Source::SquallWords => drawer(squall_u64s),
            Source::SquallU32 => drawer(squall_u32s),
            Source::Naive => Drawer::new(channels, source, instance, unguarded_rng()),
            _ => drawer(squall_bytes),
        };
        let pauses = source == Source::Naive;
        thread::spawn(move || {
            let mut drawn = 0;
            while memory.is_running() && drawer.draw() {
                drawn += 1;
                if pauses && drawn % NAIVE_BURST == 0 {
                    thread::sleep(NAIVE_PAUSE);
                }
            }
        })
    };
    (0..threads).map(start).collect()
}

/// Waits for the lab, then lets threads draw from `source`.
fn run_threads(channels: &Channels, source: Source) {
    channels.memory.wait_for_run();
    for thread in start_threads(channels, source) {
        thread.join().expect("a thread that does not panic");
    }
}

/// Draws in the first process until the lab ends it: at each tick from every generator that the mode has there, and in
/// threads and children. `whirlwind` is None if the mode does not use it.
pub fn run(channels: &Channels, mode: Mode, whirlwind: Option<RecordedWhirlwind>) -> Result<()> {
    let drawer = |source, draw: fn() -> Bits| Drawer::new(channels, source, 0, draw);
    // In the order in which they draw at each tick.
    let mut drawers = Vec::new();
    if whirlwind.is_some() {
        drawers.push(drawer(Source::Squall, squall_bytes));
        drawers.push(drawer(Source::SquallWords, squall_u64s));
        drawers.push(drawer(Source::SquallU32, squall_u32s));
    }
    drawers.push(drawer(Source::Getrandom, kernel_bytes));
    if let Some(whirlwind) = whirlwind {
        drawers.push(Drawer::new(channels, Source::Naive, 0, unguarded_rng()));
        let whirlwind = ReseedingWhirlwind::new(whirlwind);
        drawers.push(Drawer::new(channels, Source::Whirlwind, 0, whirlwind));
    }
    channels.memory.set_ready();
    if !channels.memory.wait_for_run() {
        return Ok(());
    }
    if mode == Mode::Threads {
        for source in [
            Source::Squall,
            Source::SquallWords,
            Source::SquallU32,
            Source::Naive,
        ] {
            start_threads(channels, source);
        }
    }
    if mode.watches_kvm_clock() {
        kvm_clock::start(channels);
    }
    let mut children = (mode == Mode::Forks).then(|| drawer(Source::SquallChildren, squall_bytes));
    for number in 0u64.. {
        tick::wait(0);
        if !channels.memory.is_running() {
            break;
        }
        for drawer in &mut drawers {
            drawer.draw();
        }
        if let Some(drawer) = &mut children
            && number.is_multiple_of(CHILD_EVERY)
            && drawer.has_room()
        {
            process::run(|| _ = drawer.draw())?;
        }
        process::check_children()?;
    }
    Ok(())
}
