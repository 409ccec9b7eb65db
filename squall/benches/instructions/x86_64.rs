//! The tracer, and the process that it traces.

use std::env;
use std::hint::black_box;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use nix::sys::ptrace;
use nix::sys::signal::{Signal, raise};
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

/// The machines on which requests are counted: this one, and one on which every request gets a pad.
const MACHINES: [(&str, fn()); 2] = [
    ("this machine", || {}),
    ("a machine without an immediate signal of clones", || {
        squall::hazmat::distrust_clone_signals()
    }),
];

/// Requests of a process. The first ones seed it and fill its buffer, and are not counted.
const REQUESTS: usize = 400;
const COUNTED: usize = 200;

pub fn main() -> ExitCode {
    let number = |name| Some(env::var(name).ok()?.parse().expect("a number"));
    if let Some((machine, draw)) = number("SQUALL_MACHINE").zip(number("SQUALL_DRAWS")) {
        draw_traced(machine, draw);
        return ExitCode::SUCCESS;
    }
    println!(
        "instructions of a request that finds its bytes in the buffer (the least of {COUNTED})"
    );
    for (machine, (name, _)) in MACHINES.iter().enumerate() {
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

/// The least count: a tick of the kernel's clock, which single steps meet often, has the buffer refilled.
fn least(counts: &[u64]) -> u64 {
    *counts.iter().min().expect("some requests")
}

/// Draws, with a mark before each request.
fn draw_traced(machine: usize, draw: usize) {
    let ((_, set_up), (_, draw)) = (MACHINES[machine], DRAWS[draw]);
    set_up();
    // Knows the machine's signal of clones.
    squall::status();
    raise(Signal::SIGSTOP).expect("the process can stop itself");
    for _ in 0..=REQUESTS {
        // SAFETY: a no-op.
        unsafe { std::arch::asm!("nop dword ptr [rax + {MARK}]", MARK = const MARK) };
        black_box(draw)();
    }
}

/// A displacement that no other no-op has.
const MARK: i32 = 0x5371_7561;

/// Instructions of each request, from one mark to the next.
fn counts(machine: usize, draw: usize) -> Vec<u64> {
    let mut command = Command::new(env::current_exe().expect("this program has a path"));
    command.env("SQUALL_MACHINE", machine.to_string());
    command.env("SQUALL_DRAWS", draw.to_string());
    // SAFETY: a system call alone.
    unsafe { command.pre_exec(|| Ok(ptrace::traceme()?)) };
    let mut child = command.spawn().expect("a traced process");
    let pid = Pid::from_raw(child.id().cast_signed());
    let counts = step_through(pid).expect("the process can be traced");
    child.wait().expect("it ends");
    counts
}

fn step_through(pid: Pid) -> nix::Result<Vec<u64>> {
    // The process stops at its start, and then stops itself.
    waitpid(pid, None)?;
    ptrace::cont(pid, None)?;
    waitpid(pid, None)?;
    let mut counts = Vec::new();
    let mut steps = 0;
    while counts.len() <= REQUESTS {
        let is_mark = is_at_mark(pid)?;
        ptrace::step(pid, None)?;
        if !matches!(waitpid(pid, None)?, WaitStatus::Stopped(_, Signal::SIGTRAP)) {
            return Err(nix::Error::ECHILD);
        }
        steps += 1;
        if is_mark {
            counts.push(std::mem::take(&mut steps));
        }
    }
    ptrace::detach(pid, None)?;
    Ok(counts.split_off(REQUESTS + 1 - COUNTED))
}

/// Whether the instruction that the process executes next is the mark before a request.
fn is_at_mark(pid: Pid) -> nix::Result<bool> {
    let registers = ptrace::getregs(pid)?;
    let bytes = ptrace::read(pid, registers.rip as ptrace::AddressType)?.to_le_bytes();
    let [0x0f, 0x1f, 0x80, displacement @ .., _] = bytes else {
        return Ok(false);
    };
    Ok(i32::from_le_bytes(displacement) == MARK)
}
