//! The probe: the first process of a VM, which draws from generators and records everything in
//! memory that the lab outside reads (the library `squall_probe` says how).
//!
//! What it needs is mounted, loaded and mapped first. Whirlwind is bootstrapped right after that,
//! because the first inputs after boot are of interest. Processes whose guards are off are forked
//! before this one draws, because that is for a whole process. Then it describes the machine,
//! waits until the lab says so, draws until it says otherwise, and switches the machine off.
//!
//! In [`Mode::Go`] it starts a program that draws, describes the machine, and watches; in
//! [`Mode::Doors`] it starts programs that it asks for what they draw.
//!
//! Whatever goes wrong is told in the memory, where the lab reads it; the console hears only that
//! there is no such memory.

#![deny(unsafe_code)]

mod accumulator;
mod bar;
mod doors;
mod drawer;
mod facts;
mod generator;
mod go;
mod layout;
mod memory;
mod process;
mod schedule;
mod system;
mod tick;

use serde_json::Value;
use squall_probe::{Mode, Source};

use accumulator::Recorded;
use layout::Channels;
use memory::Memory;
use schedule::Schedule;

/// What goes wrong is text for whoever reads the lab's report.
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

/// Tells why the probe cannot go on, and waits for the lab to end the machine.
fn fail(memory: Memory, why: &str) -> ! {
    memory.fail(why);
    loop {
        std::thread::park();
    }
}

/// Everything between the mapping of the memory and the end.
fn probe(memory: Memory) -> Result<()> {
    let mode = system::mode()?;
    let channels = Channels::lay_out(memory, mode);
    match mode {
        Mode::Go => watch_program(&channels),
        Mode::Doors => ask_programs(&channels),
        _ => draw(&channels, mode),
    }
}

/// Has the program in Go draw.
fn watch_program(channels: &Channels) -> Result<()> {
    generator::wait_for_kernel();
    let status = go::start(channels)?;
    describe(channels.memory, Mode::Go, status, Value::Null)?;
    channels.memory.set_ready();
    process::watch(channels.memory)
}

/// Asks programs that know nothing of squall for what they draw.
fn ask_programs(channels: &Channels) -> Result<()> {
    generator::wait_for_kernel();
    let status = facts::status();
    let mut programs = doors::start(channels)?;
    let served = programs.warm_up()?;
    describe(channels.memory, Mode::Doors, status, served)?;
    programs.run();
    channels.memory.set_ready();
    process::watch(channels.memory)
}

/// Draws itself.
fn draw(channels: &Channels, mode: Mode) -> Result<()> {
    let whirlwind = (mode != Mode::Threads)
        .then(|| Recorded::bootstrapped(channels.writer(Source::WhirlwindInputs, 0)));
    schedule::fork_before_drawing(channels, mode)?;
    generator::wait_for_kernel();
    describe(channels.memory, mode, facts::status(), Value::Null)?;
    schedule::fork_after_drawing(channels, mode)?;
    let schedule = Schedule::new(channels, mode, whirlwind);
    channels.memory.set_ready();
    if channels.memory.wait_for_run() {
        schedule.run()
    } else {
        Ok(())
    }
}

/// Tells what the machine is, and how fast its cycle counter counts.
fn describe(memory: Memory, mode: Mode, status: Value, served: Value) -> Result<()> {
    memory.tell(&facts::gather(mode, status, served)?);
    memory.set_cycles_per_ms(tick::cycles_per_ms());
    Ok(())
}
