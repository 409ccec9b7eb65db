//! The probe: the first process of a VM. It draws from generators and records all outputs in memory
//! that the lab reads (see the library `squall_probe`).
//!
//! It first mounts, loads and maps what it needs. It bootstraps Whirlwind right after that, because the
//! first inputs after boot are of interest. Processes with guards off are forked before this one draws,
//! because guards are switched off for a whole process. Then it describes the machine, waits for the
//! lab, draws until the lab stops it, and switches the machine off.
//!
//! In [`Mode::Go`] it starts a program that draws, describes the machine, and watches. In [`Mode::Programs`] and
//! [`Mode::Sandbox`] it starts programs and asks them for what they draw.
//!
//! Failures are written to the shared memory for the lab. Only a failure to map that memory goes to the
//! console.

#![deny(unsafe_code)]

mod accumulator;
mod bar;
mod facts;
mod generator;
mod go;
mod interpreters;
mod kvm_clock;
mod layout;
mod memory;
mod process;
mod programs;
mod sandbox;
mod schedule;
mod system;
mod tick;

use serde_json::Value;
use squall_probe::{Mode, Source};

use accumulator::RecordedWhirlwind;
use layout::Channels;
use memory::Memory;

/// Errors are text for the lab's report.
type Result<T> = core::result::Result<T, String>;

fn main() {
    match system::prepare().and_then(|()| bar::map()) {
        Ok(memory) => run(memory),
        Err(why) => eprintln!("squall-probe: {why}"),
    }
    system::power_off();
}

fn run(memory: Memory) {
    std::panic::set_hook(Box::new(move |panic| fail(memory, &panic.to_string())));
    if let Err(why) = probe(memory) {
        fail(memory, &why);
    }
}

/// Reports why the probe cannot go on, and waits for the lab to end the machine.
fn fail(memory: Memory, why: &str) -> ! {
    memory.fail(why);
    loop {
        std::thread::park();
    }
}

/// Does everything after mapping the memory.
fn probe(memory: Memory) -> Result<()> {
    let mode = system::mode()?;
    let cpus = if mode.watches_kvm_clock() {
        kvm_clock::cpus()
    } else {
        0
    };
    let channels = Channels::lay_out(memory, mode, cpus);
    match mode {
        Mode::Go => watch_program(&channels),
        Mode::Programs | Mode::Sandbox => ask_programs(&channels, mode),
        _ => draw(&channels, mode),
    }
}

/// Starts the Go program, which draws, and watches it.
fn watch_program(channels: &Channels) -> Result<()> {
    generator::wait_for_kernel();
    let status = go::start(channels)?;
    describe(channels.memory, Mode::Go, status, Value::Null)?;
    channels.memory.set_ready();
    process::watch(channels.memory)
}

/// Starts unmodified programs and asks them for what they draw.
fn ask_programs(channels: &Channels, mode: Mode) -> Result<()> {
    generator::wait_for_kernel();
    let status = facts::status();
    let mut programs = match mode {
        Mode::Sandbox => sandbox::start(channels)?,
        _ => programs::start(channels)?,
    };
    programs.warm_up();
    describe(channels.memory, mode, status, programs.served()?)?;
    programs.run();
    channels.memory.set_ready();
    process::watch(channels.memory)
}

/// Draws in this process and its children.
fn draw(channels: &Channels, mode: Mode) -> Result<()> {
    let whirlwind = (mode != Mode::Threads)
        .then(|| RecordedWhirlwind::bootstrapped(channels.writer(Source::WhirlwindInputs, 0)));
    schedule::fork_before_drawing(channels, mode)?;
    generator::wait_for_kernel();
    describe(channels.memory, mode, facts::status(), Value::Null)?;
    schedule::fork_after_drawing(channels, mode)?;
    schedule::run(channels, mode, whirlwind)
}

/// Reports facts about the machine and the speed of its cycle counter.
fn describe(memory: Memory, mode: Mode, status: Value, served: Value) -> Result<()> {
    memory.set_message(&facts::gather(mode, status, served)?);
    memory.set_cycles_per_ms(tick::cycles_per_ms());
    Ok(())
}
