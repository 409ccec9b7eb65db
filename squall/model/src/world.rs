//! The state of the model, and the events that change it.

use crate::guards::{Guard, Guards};
use crate::request::{Frame, Served, Size};
use crate::setting::{Kind, Setting};

/// The contents of secret bytes: equal names are equal bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Secret {
    /// A hash of everything that the bytes were made of; 0 for zeros.
    name: u64,
    /// The generation of the kernel's RNG in which they, or the state that they came from, were seeded; 0 for none.
    pub generation: u8,
}

impl Secret {
    /// Bytes that are computed from these and an input.
    pub fn derive(self, input: u64) -> Secret {
        Secret {
            name: mix(self.name, input),
            ..self
        }
    }

    /// A state that is seeded by these bytes and a seed.
    pub fn reseeded(self, seed: Secret) -> Secret {
        Secret {
            name: mix(self.name, seed.name),
            ..seed
        }
    }
}

/// Combines two numbers to one that no other two give (but once in 2^64): SplitMix64's finalizer (Steele, Lea and Flood,
/// "Fast Splittable Pseudorandom Number Generators", 2014, figure 17).
fn mix(first: u64, second: u64) -> u64 {
    let mut z = first
        .rotate_left(23)
        .wrapping_add(second)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ second;
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// The freshness tag (`guard/freshness.rs`): what a request compares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tag {
    pub generation: u8,
    pub tick: u8,
    pub cpu: u8,
    pub record: u8,
}

/// What shows a copy: a fork, a restored process, a restored machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shows {
    Page,
    Tick,
    Record,
}

/// What a seed belongs to (`guard::Epoch`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Epoch {
    pub generation: u8,
    /// The sum of all records.
    pub vm: u8,
    pub process: u8,
}

/// How many requests a refill's bytes serve.
pub const CAPACITY: usize = 2;

/// A thread's page (`guard/page.rs`). All zeros: empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Page {
    pub tag: Option<Tag>,
    /// Its `process` is the seeding marker: the process's mark plus one.
    pub epoch: Epoch,
    pub state: Secret,
    pub buffer: [Secret; CAPACITY],
    /// The vDSO's state: the generation it was filled in, its key, and its outputs so far.
    pub vdso: (u8, u64, u8),
}

/// A thread, its CPU, and the lock of its page (`guard/lock.rs`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Thread {
    pub cpu: u8,
    pub holders: u8,
    pub left: u8,
    pub page: Page,
    /// A request, and above it that of a signal handler that interrupted it.
    pub frames: Vec<Frame>,
    /// The requests to come, the next one last.
    pub requests: Vec<Size>,
    pub number: u8,
    /// Words of the random instruction that the thread has drawn.
    pub words: u8,
}

/// A process, which may be a copy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Process {
    pub machine: u8,
    /// Tells it from the process that it was forked from (`fork::mark`).
    pub mark: u8,
    pub process_id: u8,
    /// A restored process runs in a later tick than its checkpoint was made in.
    pub runs_after: Option<u8>,
    pub threads: Vec<Thread>,
}

/// A machine with two CPUs, and its kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Machine {
    pub generation: u8,
    /// The kernel's RNG: its key, and its outputs so far.
    pub rng: (u64, u8),
    pub tick: u8,
    /// kvm-clock's records, and whether KVM still has to rewrite them, before the CPU's first instruction.
    pub records: [u8; 2],
    pub is_stale: [bool; 2],
}

impl Process {
    fn is_busy(&self) -> bool {
        self.threads.iter().any(Thread::is_busy)
    }
}

impl Thread {
    /// Whether it has a request to serve.
    pub fn is_busy(&self) -> bool {
        !self.frames.is_empty() || !self.requests.is_empty()
    }
}

impl Machine {
    /// KVM rewrites a CPU's record before the CPU's first instruction.
    pub fn enter(&mut self, cpu: u8) {
        let cpu = usize::from(cpu);
        self.records[cpu] += u8::from(core::mem::take(&mut self.is_stale[cpu]));
    }

    /// Bytes of getrandom(2).
    pub fn random_bytes(&mut self) -> Secret {
        self.rng.1 += 1;
        Secret {
            name: mix(self.rng.0, self.rng.1.into()),
            generation: self.generation,
        }
    }

    /// Bytes of the vDSO's getrandom, with its state.
    pub fn vdso_bytes(&mut self, (generation, key, outputs): &mut (u8, u64, u8)) -> Secret {
        if *generation != self.generation {
            (*generation, *key, *outputs) = (self.generation, self.random_bytes().name, 0);
        }
        *outputs += 1;
        Secret {
            name: mix(*key, (*outputs).into()),
            generation: *generation,
        }
    }

    fn reseed(&mut self, number: u8) {
        self.generation += 1;
        self.rng = (
            mix(
                u64::MAX,
                u64::from(self.generation) << 8 | u64::from(number),
            ),
            0,
        );
    }
}

/// What happens beside the steps of requests, between any two of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// The kernel's RNG is reseeded: by its timer, by root, or by vmgenid's notification, however late.
    Reseed,
    /// The kernel's clock moves on.
    Tick,
    /// The kernel zeroes a droppable page.
    Drop,
    /// The scheduler moves a thread to the other CPU.
    Move,
    /// A signal handler draws in the middle of a draw.
    Signal,
    /// A thread forks by the C library.
    Fork,
    /// The same in a process that a CRIU before 4.2 has restored: the kernel does not empty the child's pages.
    OldFork,
    /// A thread forks by clone(2) itself.
    RawClone,
    /// A monitor copies the machine. The copy's CPUs run later, in any order.
    Clone,
    /// A checkpoint of a process is restored, with what its pages contain, while the original goes on.
    Restore,
}

/// How often each event may still happen.
pub type Budget = [u8; Event::Restore as usize + 1];

/// A promise that was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Broken {
    /// The same bytes served twice, in one process or in two.
    Repeated,
    /// Bytes older than the kernel's RNG.
    Stale,
    /// Bytes that no seed protects: of a page that was emptied.
    Unseeded,
    /// A request that makes more steps than any that ends.
    Endless,
}

/// The state of the model: machines, processes, and what was served.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct World {
    pub machines: Vec<Machine>,
    pub processes: Vec<Process>,
    pub budget: Budget,
    pub served: Vec<Served>,
    pub broken: Option<Broken>,
}

impl World {
    /// One process, before its first draw.
    pub fn new(setting: &Setting) -> World {
        let mut machine = Machine {
            tick: 1,
            records: [1, 1],
            ..Machine::default()
        };
        machine.reseed(0);
        let threads = setting
            .requests
            .iter()
            .zip(0..)
            .map(|(requests, number)| Thread {
                number,
                requests: requests.iter().rev().copied().collect(),
                ..Thread::default()
            });
        let process = Process {
            threads: threads.collect(),
            ..Process::default()
        };
        let mut budget = Budget::default();
        setting
            .events
            .iter()
            .for_each(|&event| budget[event as usize] += 1);
        World {
            machines: vec![machine],
            processes: vec![process],
            budget,
            ..World::default()
        }
    }

    /// Whether all requests have been served.
    pub fn has_ended(&self) -> bool {
        !self.processes.iter().any(Process::is_busy)
    }

    /// Whether a process runs: a restored one in a later tick. A clone runs after the original: the two machines share no
    /// memory, and two bytes are compared whichever was served first, so other orders lead to the same.
    pub fn runs(&self, process: usize) -> bool {
        let this = &self.processes[process];
        let mut others = self
            .processes
            .iter()
            .filter(|other| other.machine < this.machine);
        self.is_late_enough(this) && !others.any(Process::is_busy)
    }

    /// Whether an event may happen to a thread; to its machine, if there is only one thread that it may happen to.
    pub fn may_happen(&self, event: Event, process: usize, thread: usize) -> bool {
        let this = &self.processes[process];
        let is_left = self.budget[event as usize] > 0;
        let is_first = thread == 0
            && self
                .processes
                .iter()
                .position(|of| of.machine == this.machine)
                == Some(process);
        let (runs, has_copy) = (self.runs(process), self.processes.len() > 1);
        match event {
            // Time goes on until a restored process may run.
            Event::Tick if self.processes.iter().any(|of| !self.is_late_enough(of)) => is_first,
            Event::Reseed | Event::Tick => is_left && is_first && (runs || has_copy),
            Event::Drop | Event::Move => is_left && runs,
            Event::Signal => is_left && runs && this.threads[thread].frames.len() == 1,
            Event::Fork | Event::OldFork | Event::RawClone => is_left && !has_copy,
            Event::Clone | Event::Restore => is_left && !has_copy && thread == 0,
        }
    }

    fn is_late_enough(&self, process: &Process) -> bool {
        process
            .runs_after
            .is_none_or(|tick| self.machines[usize::from(process.machine)].tick > tick)
    }

    /// Lets an event happen.
    pub fn happen(&mut self, event: Event, process: usize, thread: usize, setting: &Setting) {
        let left = &mut self.budget[event as usize];
        *left = left.saturating_sub(1);
        let mut copy = self.processes[process].clone();
        let number = copy.machine;
        let machine = &mut self.machines[usize::from(number)];
        let this = &mut self.processes[process].threads[thread];
        match event {
            Event::Reseed => machine.reseed(number),
            Event::Tick => machine.tick += 1,
            Event::Drop => this.page = Page::default(),
            Event::Move => this.cpu ^= 1,
            Event::Signal => this.frames.push(Frame::new(Size::Small)),
            Event::Fork | Event::OldFork | Event::RawClone => {
                let child = child(copy, event, thread, setting.guards);
                self.add_copy(child, Shows::Page, false);
            }
            Event::Clone => {
                let machine = Machine {
                    is_stale: [true; 2],
                    ..machine.clone()
                };
                self.machines.push(machine);
                copy.machine = 1;
                self.add_copy(copy, Shows::Record, setting.kind == Kind::NoSignal);
            }
            Event::Restore => {
                copy.runs_after = Some(machine.tick);
                self.add_copy(copy, Shows::Tick, false);
            }
        }
    }

    /// Adds a copy, which this shows. Requests that have read it already are past their check: they serve in both.
    fn add_copy(&mut self, copy: Process, shows: Shows, is_unnoticed: bool) {
        self.processes.push(copy);
        let threads = self
            .processes
            .iter_mut()
            .flat_map(|process| &mut process.threads);
        for frame in threads.flat_map(|thread| &mut thread.frames) {
            frame.was_past[shows as usize] = frame.has_read[shows as usize];
            frame.is_limited = match shows {
                Shows::Page => false,
                Shows::Tick => frame.has_bytes() && (frame.size == Size::Large || frame.is_fresh),
                Shows::Record => frame.has_bytes() && is_unnoticed,
            };
        }
    }
}

/// The child that a thread forks: it has this thread alone.
fn child(parent: Process, event: Event, thread: usize, guards: Guards) -> Process {
    let mut child = Process {
        process_id: parent.process_id + 1,
        threads: vec![parent.threads[thread].clone()],
        ..parent
    };
    let this = &mut child.threads[0];
    if event != Event::OldFork && guards.has(Guard::WipeOnFork) {
        this.page = Page::default();
    }
    // `begin_anew_in_child`
    if event != Event::RawClone && guards.has(Guard::ForkHandler) {
        child.mark += 1;
        match this.holders {
            0 => this.left = 0,
            _ => this.page = Page::default(),
        }
    }
    child
}
