//! Unmodified programs in a small userland from the initramfs: a C program with and without
//! libsquall-preload.so, and nginx with and without OpenSSL's provider.
//!
//! The probe requests one output at a time, so that no output from before a snapshot waits in a pipe or
//! a socket. Each program has a thread of the probe that sends it requests.

mod draws;
mod nginx;
mod served;

use std::fs;
use std::path::Path;
use std::thread;

use serde_json::Value;
use squall_bindings::counters::{self, Door};
use squall_probe::Source;

use crate::Result;
use crate::drawer::Drawer;
use crate::generator::Generator;
use crate::layout::Channels;
use crate::memory::Memory;
use crate::tick;
use draws::Program;
use nginx::Nginx;
use served::Served;

/// The directory for the programs' files.
const RUN: &str = "/run";

/// The file in which they count the requests that squall served.
const COUNTERS: &str = "/run/counters";

/// The environment variable that preloads the library.
const PRELOAD: (&str, &str) = ("LD_PRELOAD", "/doors/libsquall-preload.so");

/// OpenSSL's configuration with squall's provider, and an empty one.
const PROVIDER: (&str, &str) = ("OPENSSL_CONF", "/doors/openssl.cnf");
const NO_PROVIDER: (&str, &str) = ("OPENSSL_CONF", "/dev/null");

/// The sources in the C program that squall serves: the source, the letter that asks for it, and the
/// door at which squall counts it.
const DOORS: [(Source, u8, Door); 3] = [
    (Source::DoorGetrandom, b'g', Door::Getrandom),
    (Source::DoorArc4random, b'a', Door::Arc4random),
    (Source::DoorDevice, b'd', Door::Device),
];

/// The running programs, and the drawers that ask each.
pub struct Programs {
    memory: Memory,
    drawers_by_program: Vec<Vec<Drawer>>,
}

/// Starts all programs.
pub fn start(channels: &Channels) -> Result<Programs> {
    let failed = |error: std::io::Error| format!("{RUN}: {error}");
    fs::create_dir_all(RUN).map_err(failed)?;
    counters::create(Path::new(COUNTERS)).map_err(failed)?;
    let guarded = Nginx::start("squall", &[PROVIDER, (counters::VARIABLE, COUNTERS)])?;
    let guarded = Served::new(guarded, Door::Openssl, COUNTERS);
    let own = Nginx::start("openssl", &[NO_PROVIDER])?;
    Ok(Programs {
        memory: channels.memory,
        drawers_by_program: vec![
            preloaded(channels)?,
            vec![plain(channels)?],
            vec![drawer(channels, Source::NginxSquall, guarded)],
            vec![drawer(channels, Source::NginxOpenssl, own)],
        ],
    })
}

/// The C program with the preload library. It also has a buffer of its own.
fn preloaded(channels: &Channels) -> Result<Vec<Drawer>> {
    let program = Program::start(&[PRELOAD, (counters::VARIABLE, COUNTERS)])?;
    let door = |(source, letter, door)| {
        let served = Served::new(program.source(letter), door, COUNTERS);
        drawer(channels, source, served)
    };
    let mut drawers: Vec<_> = DOORS.into_iter().map(door).collect();
    drawers.push(drawer(channels, Source::DoorNaive, program.source(b'n')));
    Ok(drawers)
}

/// The C program without squall.
fn plain(channels: &Channels) -> Result<Drawer> {
    let program = Program::start(&[])?;
    Ok(drawer(channels, Source::DoorKernel, program.source(b'g')))
}

fn drawer(channels: &Channels, source: Source, generator: impl Generator + 'static) -> Drawer {
    Drawer::new(channels, source, 0, generator)
}

impl Programs {
    /// Asks every source once, and returns squall's counters.
    pub fn warm_up(&mut self) -> Result<Value> {
        for drawer in self.drawers_by_program.iter_mut().flatten() {
            drawer.draw();
        }
        let totals = counters::read(Path::new(COUNTERS));
        let totals = totals.map_err(|error| format!("{COUNTERS}: {error}"))?;
        serde_json::to_value(totals).map_err(|error| format!("{COUNTERS}: {error}"))
    }

    /// Starts a thread for each program, which waits for the lab and then asks at every tick.
    pub fn run(self) {
        for mut drawers in self.drawers_by_program {
            let memory = self.memory;
            thread::spawn(move || {
                memory.wait_for_run();
                while memory.is_running() {
                    tick::wait(0);
                    for drawer in &mut drawers {
                        drawer.draw();
                    }
                }
            });
        }
    }
}
