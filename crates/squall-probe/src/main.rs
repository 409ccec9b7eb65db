//! The probe: the first process of a VM, which draws from generators and records everything in
//! memory that the lab outside reads (`squall-trace` says how).
//!
//! What it needs is mounted, loaded and mapped first. Whirlwind is bootstrapped right after that,
//! because the first inputs after boot are of interest. Processes whose guards are off are forked
//! before this one draws, because that is for a whole process. Then it describes the machine,
//! waits until the lab says so, draws until it says otherwise, and switches the machine off.
//!
//! Whatever goes wrong is told in the memory, where the lab reads it; the console hears only that
//! there is no such memory.

#![deny(unsafe_code)]

mod accumulator;
mod bar;
mod drawer;
mod facts;
mod generator;
mod layout;
mod memory;
mod process;
mod schedule;
mod system;
mod tick;

use squall_trace::{Mode, Source};

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
    let whirlwind = (mode != Mode::Threads)
        .then(|| Recorded::bootstrapped(channels.writer(Source::WhirlwindInputs, 0)));
    schedule::fork_before_drawing(&channels, mode)?;
    generator::wait_for_kernel();
    memory.tell(&facts::gather(mode)?);
    memory.set_cycles_per_ms(tick::cycles_per_ms());
    schedule::fork_after_drawing(&channels, mode)?;
    let schedule = Schedule::new(&channels, mode, whirlwind);
    memory.set_ready();
    match memory.wait_for_run() {
        true => schedule.run(),
        false => Ok(()),
    }
}
