//! Interpreters in the scenario `sandbox`: Python, Node.js and Java, each without squall and with it.
//!
//! Each runs a script that answers a letter with 64 bytes of a generator, as the C program of
//! [`programs`](crate::programs) does. Python with squall also answers with its clone generation, which it reads before
//! an output, and which is recorded in place of the kernel's.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use squall_probe::Source;

use crate::Result;
use crate::generator::Drawer;
use crate::interpreters::{INTERPRETERS, Interpreter};
use crate::layout::Channels;
use crate::programs::{Program, Programs, drawer};

/// The letter that asks Python with squall for its clone generation.
const GENERATION: u8 = b'g';

/// Starts all interpreters.
pub fn start(channels: &Channels) -> Result<Programs> {
    let drawers = INTERPRETERS
        .iter()
        .map(|interpreter| interpreter.start(channels));
    Ok(Programs::new(
        channels.memory,
        drawers.collect::<Result<_>>()?,
    ))
}

impl Interpreter {
    fn start(&self, channels: &Channels) -> Result<Vec<Drawer>> {
        let program = Program::start(self.command, self.environment)?;
        let drawer = |&(source, letter): &(Source, u8)| {
            if source != Source::PythonUuid4Squall {
                return drawer(channels, source, program.source(letter));
            }
            let program = program.clone();
            let read = Arc::new(AtomicU64::new(0));
            let generation = read.clone();
            let generator = move || {
                generation.store(program.ask(GENERATION)[0], Relaxed);
                program.ask(letter)
            };
            drawer(channels, source, generator).with_generation(move || read.load(Relaxed))
        };
        Ok(self.sources.iter().map(drawer).collect())
    }
}
