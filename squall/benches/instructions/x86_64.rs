//! The tracer, and the process that it traces.

use std::env;
use std::hint::black_box;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::ptrace;
use nix::sys::signal::{Signal, raise};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{Pid, geteuid};
use rand_core::Rng as _;

type Draw = fn();

/// What is counted; the first is the loop around the others.
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

/// What the process is to believe of time and of the machine.
#[derive(Clone, Copy)]
struct Belief {
    name: &'static str,
    /// By how much the cycle counter may advance with each instruction.
    cycles: u64,
    is_told_in_time: bool,
}

const BELIEFS: [Belief; 3] = [
    Belief {
        name: "in a burst",
        cycles: 2,
        is_told_in_time: false,
    },
    Belief {
        name: "after a pause",
        cycles: 1 << 20,
        is_told_in_time: false,
    },
    Belief {
        name: "told in time",
        cycles: 2,
        is_told_in_time: true,
    },
];

/// Requests of a process. The first ones seed it and fill its buffer, and are not counted.
const REQUESTS: usize = 400;
const COUNTED: usize = 200;

pub fn main() -> ExitCode {
    if let Ok(draw) = env::var("SQUALL_DRAWS") {
        traced(draw.parse().expect("a number"));
        return ExitCode::SUCCESS;
    }
    if !squall::status().counter_shows_stops {
        println!("no bursts on this machine: no guest of KVM that is notified of clones late");
    }
    println!("instructions of a request that finds its bytes in the buffer (median)");
    for belief in BELIEFS {
        if belief.is_told_in_time && !geteuid().is_root() {
            println!("{}: skipped, takes root", belief.name);
            continue;
        }
        println!("{}", belief.name);
        let loop_alone = median(&counts(0, belief));
        for (index, (name, _)) in DRAWS.iter().enumerate().skip(1) {
            let request = median(&counts(index, belief));
            println!("  {name:<22}{:>5}", request - loop_alone);
        }
    }
    ExitCode::SUCCESS
}

fn median(counts: &[u64]) -> u64 {
    let mut sorted = counts.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}

/// Draws, with a mark before each request.
fn traced(draw: usize) {
    let (_, draw) = DRAWS[draw];
    raise(Signal::SIGSTOP).expect("the tracer is told to begin");
    for _ in 0..=REQUESTS {
        // SAFETY: a no-op.
        unsafe { std::arch::asm!("nop dword ptr [rax + {MARK}]", MARK = const MARK) };
        black_box(draw)();
    }
}

/// A displacement that no other no-op has.
const MARK: i32 = 0x5371_7561;

/// Instructions of each request, from one mark to the next.
fn counts(draw: usize, belief: Belief) -> Vec<u64> {
    let mut command = Command::new(env::current_exe().expect("this program has a path"));
    command.env("SQUALL_DRAWS", draw.to_string());
    // SAFETY: system calls alone.
    unsafe {
        command.pre_exec(move || {
            if belief.is_told_in_time {
                hide_devices()?;
            }
            Ok(ptrace::traceme()?)
        })
    };
    let mut child = command.spawn().expect("a traced process");
    let pid = Pid::from_raw(child.id().cast_signed());
    let counts = step_through(pid, belief).expect("the process can be traced");
    child.wait().expect("it ends");
    counts
}

/// Puts an empty /sys before this process.
fn hide_devices() -> nix::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    let none: Option<&str> = None;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
    mount(Some("none"), "/sys", Some("tmpfs"), MsFlags::empty(), none)
}

fn step_through(pid: Pid, belief: Belief) -> nix::Result<Vec<u64>> {
    // Stopped at its start, and then by itself.
    waitpid(pid, None)?;
    ptrace::cont(pid, None)?;
    waitpid(pid, None)?;
    let mut counter = Counter::new(belief.cycles);
    let mut counts = Vec::new();
    let mut steps = 0;
    while counts.len() <= REQUESTS {
        let next = Instruction::at(pid)?;
        ptrace::step(pid, None)?;
        if !matches!(waitpid(pid, None)?, WaitStatus::Stopped(_, Signal::SIGTRAP)) {
            return Err(nix::Error::ECHILD);
        }
        counter.advance();
        steps += 1;
        match next {
            Instruction::Mark => counts.push(std::mem::take(&mut steps)),
            Instruction::Counter => set_counter(pid, counter.cycles)?,
            Instruction::Cpuid(1) if belief.is_told_in_time => hide_hypervisor(pid)?,
            Instruction::Cpuid(_) | Instruction::Other => {}
        }
    }
    ptrace::detach(pid, None)?;
    Ok(counts.split_off(REQUESTS + 1 - COUNTED))
}

/// What an instruction means to the tracer.
enum Instruction {
    /// The mark before a request.
    Mark,
    /// It reads the cycle counter.
    Counter,
    /// It asks the CPU for this leaf.
    Cpuid(u64),
    Other,
}

impl Instruction {
    /// The instruction that a process executes next.
    fn at(pid: Pid) -> nix::Result<Instruction> {
        let registers = ptrace::getregs(pid)?;
        let bytes = ptrace::read(pid, registers.rip as ptrace::AddressType)?.to_le_bytes();
        Ok(match bytes {
            [0x0f, 0x1f, 0x80, a, b, c, d, _] if i32::from_le_bytes([a, b, c, d]) == MARK => {
                Instruction::Mark
            }
            [0x0f, 0x31, ..] | [0x0f, 0x01, 0xf9, ..] => Instruction::Counter,
            [0x0f, 0xa2, ..] => Instruction::Cpuid(registers.rax & 0xffff_ffff),
            _ => Instruction::Other,
        })
    }
}

/// Stands in for the cycle counter. It advances unevenly, as squall leaves a counter out that does not.
struct Counter {
    cycles: u64,
    at_most: u64,
    random: u64,
}

impl Counter {
    fn new(at_most: u64) -> Counter {
        Counter {
            cycles: 1 << 40,
            at_most,
            random: 1,
        }
    }

    fn advance(&mut self) {
        // Knuth's MMIX generator.
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.cycles += (self.random >> 33) % self.at_most;
    }
}

fn set_counter(pid: Pid, cycles: u64) -> nix::Result<()> {
    let mut registers = ptrace::getregs(pid)?;
    registers.rax = cycles & 0xffff_ffff;
    registers.rdx = cycles >> 32;
    ptrace::setregs(pid, registers)
}

/// Clears the bit by which a hypervisor announces itself (Intel SDM volume 2A, CPUID, leaf 1).
fn hide_hypervisor(pid: Pid) -> nix::Result<()> {
    const HYPERVISOR: u64 = 1 << 31;
    let mut registers = ptrace::getregs(pid)?;
    registers.rcx &= !HYPERVISOR;
    ptrace::setregs(pid, registers)
}
