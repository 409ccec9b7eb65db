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

/// The time and the machine that the tracer shows to the process.
#[derive(Clone, Copy)]
struct Environment {
    name: &'static str,
    /// The largest step of the cycle counter for each instruction.
    cycles: u64,
    has_immediate_signal: bool,
}

const ENVIRONMENTS: [Environment; 3] = [
    Environment {
        name: "in a burst",
        cycles: 2,
        has_immediate_signal: false,
    },
    Environment {
        name: "after a pause",
        cycles: 1 << 20,
        has_immediate_signal: false,
    },
    Environment {
        name: "immediate signal",
        cycles: 2,
        has_immediate_signal: true,
    },
];

/// Requests of a process. The first ones seed it and fill its buffer, and are not counted.
const REQUESTS: usize = 400;
const COUNTED: usize = 200;

pub fn main() -> ExitCode {
    if let Ok(draw) = env::var("SQUALL_DRAWS") {
        draw_traced(draw.parse().expect("a number"));
        return ExitCode::SUCCESS;
    }
    if !squall::status().counter_shows_stops {
        println!(
            "no bursts on this machine: it is not a KVM guest with late notification of clones"
        );
    }
    println!("instructions of a request that finds its bytes in the buffer (median)");
    for environment in ENVIRONMENTS {
        if environment.has_immediate_signal && !geteuid().is_root() {
            println!("{}: skipped, requires root", environment.name);
            continue;
        }
        println!("{}", environment.name);
        let loop_alone = median(&counts(0, environment));
        for (index, (name, _)) in DRAWS.iter().enumerate().skip(1) {
            let request = median(&counts(index, environment));
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
fn draw_traced(draw: usize) {
    let (_, draw) = DRAWS[draw];
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
fn counts(draw: usize, environment: Environment) -> Vec<u64> {
    let mut command = Command::new(env::current_exe().expect("this program has a path"));
    command.env("SQUALL_DRAWS", draw.to_string());
    // SAFETY: system calls alone.
    unsafe {
        command.pre_exec(move || {
            if environment.has_immediate_signal {
                hide_devices()?;
            }
            Ok(ptrace::traceme()?)
        })
    };
    let mut child = command.spawn().expect("a traced process");
    let pid = Pid::from_raw(child.id().cast_signed());
    let counts = step_through(pid, environment).expect("the process can be traced");
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

fn step_through(pid: Pid, environment: Environment) -> nix::Result<Vec<u64>> {
    // The process stops at its start, and then stops itself.
    waitpid(pid, None)?;
    ptrace::cont(pid, None)?;
    waitpid(pid, None)?;
    let mut counter = SimulatedCounter::new(environment.cycles);
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
            Instruction::ReadCounter => set_counter(pid, counter.cycles)?,
            Instruction::Cpuid(1) if environment.has_immediate_signal => hide_hypervisor(pid)?,
            Instruction::Cpuid(_) | Instruction::Other => {}
        }
    }
    ptrace::detach(pid, None)?;
    Ok(counts.split_off(REQUESTS + 1 - COUNTED))
}

/// The instructions that the tracer distinguishes.
enum Instruction {
    /// The mark before a request.
    Mark,
    /// Reads the cycle counter.
    ReadCounter,
    /// CPUID of this leaf.
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
            [0x0f, 0x31, ..] | [0x0f, 0x01, 0xf9, ..] => Instruction::ReadCounter,
            [0x0f, 0xa2, ..] => Instruction::Cpuid(registers.rax & 0xffff_ffff),
            _ => Instruction::Other,
        })
    }
}

/// Replaces the cycle counter. It advances unevenly, because squall rejects a counter that advances evenly.
struct SimulatedCounter {
    cycles: u64,
    max_step: u64,
    random: u64,
}

impl SimulatedCounter {
    fn new(max_step: u64) -> SimulatedCounter {
        SimulatedCounter {
            cycles: 1 << 40,
            max_step,
            random: 1,
        }
    }

    fn advance(&mut self) {
        // Knuth's MMIX generator.
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.cycles += (self.random >> 33) % self.max_step;
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
