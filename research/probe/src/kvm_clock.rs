//! A generator that only kvm-clock's records guard against clones. The kernel maps the records of all CPUs into every
//! process, and KVM writes a CPU's record anew before the CPU's first instruction in a clone.
//!
//! The order is what counts: the record is read before the seed, and once more after the output was taken, as that of
//! the CPU that runs then.

#![allow(unsafe_code)]

use std::hash::{DefaultHasher, Hasher as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rustix::param::page_size;
use rustix::thread::{CpuSet, sched_getcpu, sched_setaffinity};
use squall::entropy::{Machine, ThisMachine};
use squall_probe::Source;

use crate::generator::{Bits, Drawer, Generator};
use crate::layout::Channels;
use crate::system::read;
use crate::tick;

const CLOCKSOURCES: &str = "/sys/devices/system/clocksource/clocksource0/available_clocksource";

/// The mapping that has the page, and the page's place there: since Linux 6.13, and before.
const PLACES: [(&str, usize); 2] = [("[vvar_vclock]", 0), ("[vvar]", 1)];

/// Number of cycle counts in a seed.
const COUNTS: usize = 64;

/// The page: each CPU's record, which begins with the version and the cycle count at which it was written.
type Page = &'static [[AtomicU64; 8]; 64];

/// Whether this machine has the records.
pub fn is_there() -> bool {
    find().is_some()
}

/// How many CPUs have a record.
pub fn cpus() -> u64 {
    let cpus = thread::available_parallelism();
    find().and(cpus.ok()).map_or(0, |cpus| cpus.get() as u64)
}

fn find() -> Option<Page> {
    let sources = read(CLOCKSOURCES).ok()?;
    let mut sources = sources.split_ascii_whitespace();
    sources.find(|&source| source == "kvm-clock")?;
    let maps = read("/proc/self/maps").ok()?;
    let start = |name| {
        let line = maps.lines().find(|line| line.ends_with(name))?;
        usize::from_str_radix(line.split('-').next()?, 16).ok()
    };
    let mut places = PLACES.into_iter();
    let page = places.find_map(|(name, page)| Some(start(name)? + page * page_size()))?;
    // SAFETY: the kernel has mapped the page there for as long as the process lives, and lets processes read it if
    // kvm-clock is one of its clock sources. Any bits are a valid word, and whoever writes does so by whole words.
    Some(unsafe { &*core::ptr::with_exposed_provenance::<[[AtomicU64; 8]; 64]>(page) })
}

/// Starts a thread on each CPU that has a record, which draws at every tick.
pub fn start(channels: &Channels) {
    for cpu in 0..cpus() {
        let memory = channels.memory;
        let mut drawer = Drawer::new(channels, Source::KvmClock, cpu, Guarded::new());
        thread::spawn(move || {
            stay_on(cpu as usize);
            while memory.is_running() {
                tick::wait(0);
                drawer.draw();
            }
        });
    }
}

/// Keeps this thread on a CPU.
fn stay_on(cpu: usize) {
    let mut cpus = CpuSet::new();
    cpus.set(cpu);
    sched_setaffinity(None, &cpus).expect("a CPU of this machine");
}

/// A generator and the record that its seed is younger than.
struct Guarded {
    page: Page,
    record: [u64; 2],
    rng: StdRng,
}

impl Guarded {
    fn new() -> Guarded {
        Guarded {
            page: find().expect("a machine with kvm-clock"),
            record: [0; 2],
            rng: StdRng::seed_from_u64(0),
        }
    }

    /// The record of the CPU that runs this.
    fn now(&self) -> [u64; 2] {
        let [version, written_at, ..] = &self.page[sched_getcpu()];
        [version, written_at].map(|word| word.load(Ordering::SeqCst))
    }
}

impl Generator for Guarded {
    fn draw(&mut self) -> Option<Bits> {
        loop {
            let bits = core::array::from_fn(|_| self.rng.next_u64());
            let now = self.now();
            if now == self.record {
                return Some(bits);
            }
            self.record = now;
            self.rng = StdRng::seed_from_u64(seed());
        }
    }
}

/// A seed of cycle counts, which differ between clones.
fn seed() -> u64 {
    let mut hasher = DefaultHasher::new();
    for _ in 0..COUNTS {
        thread::yield_now();
        hasher.write_u64(ThisMachine.cycles());
    }
    hasher.finish()
}
