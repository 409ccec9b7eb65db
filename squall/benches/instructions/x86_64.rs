//! The tracer, and the process that it traces.

use std::env;
use std::hint::black_box;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use rand_core::Rng as _;

type Draw = fn();

/// The draws to count; the first is the empty loop around the others.
const DRAWS: [(&str, Draw); 6] = [
    ("nothing", || {}),
    ("u32", || {
        black_box(squall::u32());
    }),
    ("u64", || {
        black_box(squall::u64());
    }),
    ("16 bytes", || {
        black_box(squall::array::<16>());
    }),
    ("32 bytes", || {
        black_box(squall::array::<32>());
    }),
    ("u32 of SimulationRng", || {
        black_box(squall::SimulationRng.next_u32());
    }),
];

/// The machines on which requests are counted: this one, and one on which every request gets a pad; and the most steps of a
/// request. What takes more runs on without steps, because a search for the kernel's tick fails if the tick moves on
/// meanwhile. Requests with pads always meet a tick when they are stepped through, so there the search may fail: squall
/// then compares no tick.
const MACHINES: [(&str, fn(), u64); 2] = [
    ("this machine", || {}, 500),
    (
        "a machine without an immediate signal of clones",
        || squall::hazmat::distrust_clone_signals(),
        u64::MAX,
    ),
];

/// Counted requests of a process.
const REQUESTS: usize = 200;

pub fn main() -> ExitCode {
    let number = |name| Some(env::var(name).ok()?.parse().expect("a number"));
    if let Some((machine, draw)) = number("SQUALL_MACHINE").zip(number("SQUALL_DRAWS")) {
        draw_traced(machine, draw);
        return ExitCode::SUCCESS;
    }
    println!(
        "instructions of a request that finds its bytes in the buffer (the least of {REQUESTS})"
    );
    for (machine, (name, ..)) in MACHINES.iter().enumerate() {
        println!("{name}");
        let loop_alone = least(&counts(machine, 0));
        for (index, (name, _)) in DRAWS.iter().enumerate().skip(1) {
            let request = least(&counts(machine, index));
            println!("  {name:<22}{:>5}", request - loop_alone);
        }
    }
    println!("(this machine: {})", squall::status().clone_guard);
    ExitCode::SUCCESS
}

/// The least count: a request that meets a tick of the kernel's clock has the buffer refilled.
fn least(counts: &[u64]) -> u64 {
    *counts.iter().min().expect("some requests")
}

/// Draws, with a breakpoint on either side of each request.
fn draw_traced(machine: usize, draw: usize) {
    let ((_, set_up, _), (_, draw)) = (MACHINES[machine], DRAWS[draw]);
    set_up();
    // Knows the machine's signal of clones.
    squall::status();
    for _ in 0..REQUESTS {
        black_box(draw)();
        breakpoint();
        black_box(draw)();
        breakpoint();
    }
}

/// INT3, which stops the process with the next instruction to execute.
fn breakpoint() {
    // SAFETY: the tracer goes on behind it.
    unsafe { std::arch::asm!("int3") };
}

/// Instructions of each request, from one breakpoint to the next.
fn counts(machine: usize, draw: usize) -> Vec<u64> {
    let mut command = Command::new(env::current_exe().expect("this program has a path"));
    command.env("SQUALL_MACHINE", machine.to_string());
    command.env("SQUALL_DRAWS", draw.to_string());
    // SAFETY: a system call alone.
    unsafe { command.pre_exec(|| Ok(ptrace::traceme()?)) };
    let mut child = command.spawn().expect("a traced process");
    let pid = Pid::from_raw(child.id().cast_signed());
    let counts = step_through(pid, MACHINES[machine].2).expect("the process can be traced");
    child.wait().expect("it ends");
    counts
}

fn step_through(pid: Pid, most: u64) -> nix::Result<Vec<u64>> {
    // The process stops at its start.
    wait_for_trap(pid)?;
    let mut counts = Vec::new();
    while counts.len() < REQUESTS {
        ptrace::cont(pid, None)?;
        wait_for_trap(pid)?;
        let (mut steps, mut is_behind) = (0, false);
        while steps < most && !is_behind {
            ptrace::step(pid, None)?;
            wait_for_trap(pid)?;
            steps += 1;
            is_behind = is_behind_breakpoint(pid)?;
        }
        counts.push(steps);
        if !is_behind {
            ptrace::cont(pid, None)?;
            wait_for_trap(pid)?;
        }
    }
    ptrace::detach(pid, None)?;
    Ok(counts)
}

fn wait_for_trap(pid: Pid) -> nix::Result<()> {
    match waitpid(pid, None)? {
        WaitStatus::Stopped(_, Signal::SIGTRAP) => Ok(()),
        _ => Err(nix::Error::ECHILD),
    }
}

/// Whether the process has stopped because of INT3, which the kernel reports in this way (arch/x86/kernel/traps.c).
fn is_behind_breakpoint(pid: Pid) -> nix::Result<bool> {
    Ok(ptrace::getsiginfo(pid)?.si_code == libc::SI_KERNEL)
}
