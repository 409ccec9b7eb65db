//! A request, step by step, in the order of the code. Each step reads or writes memory that something else can change.

use std::fmt;

use crate::guards::Guard;
use crate::setting::{Kind, Setting};
use crate::world::{Broken, CAPACITY, Epoch, Machine, Page, Secret, Shows, Tag, Thread, World};

/// How many bytes a request is for: it is served from the buffer, or in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Size {
    Small,
    Large,
}

/// Attempts of a request before it is served afresh: eight in the code.
const ATTEMPTS: u8 = 2;

/// Where a request compares the freshness tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Site {
    /// `draw`, after the bytes were taken
    Draw,
    /// `Request::serve`, before it
    Before,
    /// `begin_tick`
    Tick,
    /// `begin_tick`, which sets the tag
    Set,
    /// `produce` or `generate`, after the bytes were made
    Produced,
    /// `Request::serve`, after `produce`
    After,
}

/// The parts of a comparison, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    Generation,
    Tick,
    Number,
    Record,
    Page,
}

/// What a request does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    Lock,
    Take,
    Erase,
    Tag(Site, Part),
    /// `is_current`, before and after `produce`: the generation, the records, the page.
    Epoch(Site, Part),
    BeginSeeding,
    WriteMarker,
    KernelBytes,
    RootBytes,
    SetGeneration,
    LoadSeeding,
    StoreSeeding,
    RefillInput,
    LoadRefill,
    StoreBuffer,
    StoreRefill,
    TakeLast,
    EraseLast,
    LoadLong,
    GenerateLong,
    StoreLong,
    FreshBefore(Part),
    FreshBytes,
    FreshInput,
    FreshAfter(Part),
    Serve,
}

/// A request that is being served: its registers and its stack.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    pub size: Size,
    pub step: Step,
    /// `SlowPath::left`, `Request::left`, or the position of the bytes.
    left: u8,
    /// The bytes to be served.
    taken: Secret,
    /// The tag or the epoch as far as it is loaded.
    tag: Tag,
    epoch: Epoch,
    /// What is worked on: a seed, or the state.
    seed: Secret,
    state: Secret,
    input: Option<u64>,
    has_new_tag: bool,
    may_be_served: bool,
    attempt: u8,
    pass: u8,
    /// Whether it is served by a seed of its own.
    pub is_fresh: bool,
    /// Whether its last attempt was served although the kernel reseeded in it.
    is_reseeded: bool,
    /// How many steps it has made.
    steps: u16,
    has_lock: bool,
    /// The kernel's generation when it was last read.
    seen: u8,
    /// Which of [`Shows`] have been read since the bytes were taken; and which had been when the copy was made.
    pub has_read: [bool; 3],
    pub was_past: [bool; 3],
    /// Whether a copy was made in this request that SECURITY.md excepts ("What remains").
    pub is_limited: bool,
}

/// A thread at work, and what it sees.
struct Worker<'a> {
    setting: &'a Setting,
    machine: &'a mut Machine,
    thread: &'a mut Thread,
    mark: u8,
    process_id: u8,
    image: u8,
}

/// Lets a thread do its next step, or begin its next request.
pub fn step(world: &mut World, process: usize, thread: usize, setting: &Setting) {
    let this = &mut world.processes[process];
    let mut worker = Worker {
        setting,
        machine: &mut world.machines[usize::from(this.machine)],
        thread: &mut this.threads[thread],
        mark: this.mark,
        process_id: this.process_id,
        image: process as u8,
    };
    let cpu = worker.thread.cpu;
    worker.machine.enter(cpu);
    let mut frame = match worker.thread.frames.pop() {
        Some(frame) => frame,
        None => Frame::new(
            worker
                .thread
                .requests
                .pop()
                .expect("a thread with requests"),
        ),
    };
    frame.steps += 1;
    if frame.steps > setting.most_steps {
        world.broken = Some(Broken::Endless);
        return;
    }
    if frame.step != Step::Serve {
        frame.step = worker.step(&mut frame);
        return worker.thread.frames.push(frame);
    }
    worker.unlock(&frame);
    let is_excused = frame.was_past.contains(&true) || (setting.allows_limits && frame.is_limited);
    let may_be_stale = setting.allows_limits && frame.is_reseeded;
    let oldest = if may_be_stale { 1 } else { frame.seen };
    world.serve(
        Served {
            bytes: frame.taken,
            process: process as u8,
            is_excused,
        },
        oldest,
    );
}

/// Bytes that a process has returned, and whether a copy may return them too, because the request was past its check when
/// the copy was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Served {
    bytes: Secret,
    process: u8,
    is_excused: bool,
}

impl World {
    fn serve(&mut self, served: Served, oldest: u8) {
        let is_repeat = |other: &Served| {
            let are_excused =
                other.is_excused && served.is_excused && other.process != served.process;
            other.bytes == served.bytes && !are_excused
        };
        if served.bytes.generation == 0 {
            self.broken = Some(Broken::Unseeded);
        } else if served.bytes.generation < oldest {
            self.broken = Some(Broken::Stale);
        } else if self.served.iter().any(is_repeat) {
            self.broken = Some(Broken::Repeated);
        }
        self.served.push(served);
        self.served.sort_unstable();
    }
}

impl Frame {
    pub fn new(size: Size) -> Frame {
        Frame {
            size,
            step: Step::Lock,
            left: 0,
            taken: Secret::default(),
            tag: Tag::default(),
            epoch: Epoch::default(),
            seed: Secret::default(),
            state: Secret::default(),
            input: None,
            has_new_tag: false,
            may_be_served: false,
            attempt: 0,
            pass: 1,
            is_fresh: false,
            is_reseeded: false,
            steps: 0,
            has_lock: false,
            seen: 0,
            has_read: [false; 3],
            was_past: [false; 3],
            is_limited: false,
        }
    }

    /// Whether its bytes are made, or the words from which they will be: two copies that go on from here have the same.
    pub fn has_bytes(&self) -> bool {
        use Step::*;
        match self.step {
            FreshAfter(_) | GenerateLong | StoreLong | Serve => true,
            Tag(site, _) | Epoch(site, _) => {
                [Site::Draw, Site::Produced, Site::After].contains(&site)
            }
            _ => false,
        }
    }

    fn reads(&mut self, what: Shows) {
        self.has_read[what as usize] = true;
        self.was_past[what as usize] = false;
    }

    /// Takes bytes, while the kernel has this generation. What was read before does not count for them.
    fn takes(&mut self, bytes: Secret, generation: u8) {
        (self.taken, self.seen) = (bytes, generation);
        (self.has_read, self.was_past) = ([false; 3], [false; 3]);
    }
}

impl Worker<'_> {
    fn has(&self, guard: Guard) -> bool {
        self.setting.guards.has(guard)
    }

    /// A word of the random instruction: no other is the same.
    fn word(&mut self) -> u64 {
        self.thread.words += 1;
        u64::from(self.thread.words) << 16
            | u64::from(self.thread.number) << 8
            | u64::from(self.image)
            | 1 << 63
    }

    fn input_if(&mut self, takes_input: bool) -> Option<u64> {
        takes_input.then(|| self.word())
    }

    fn generation(&self, frame: &mut Frame) -> u8 {
        frame.seen = self.machine.generation;
        if self.has(Guard::Generation) {
            self.machine.generation
        } else {
            1
        }
    }

    fn records(&self, frame: &mut Frame) -> u8 {
        frame.reads(Shows::Record);
        let are_compared = self.setting.kind == Kind::Kvm && self.has(Guard::Record);
        if are_compared {
            self.machine.records.iter().sum()
        } else {
            1
        }
    }

    fn pads(&self) -> bool {
        self.setting.kind == Kind::NoSignal && self.has(Guard::Pads)
    }

    /// `Policy::needs_input`
    fn needs_input(&self) -> bool {
        self.setting.kind == Kind::Kvm || self.pads()
    }

    /// Does a step, and returns the next.
    fn step(&mut self, frame: &mut Frame) -> Step {
        match frame.step {
            Step::Lock => self.lock(frame),
            Step::Take => {
                frame.takes(
                    self.thread.page.buffer[usize::from(frame.left)],
                    self.machine.generation,
                );
                Step::Erase
            }
            Step::Erase => {
                self.erase(frame);
                if self.has(Guard::CheckAfterRead) {
                    Step::Tag(Site::Draw, Part::Generation)
                } else {
                    Step::Serve
                }
            }
            Step::Tag(site, part) => self.tag(frame, site, part),
            Step::Epoch(site, part) => self.epoch(frame, site, part),
            Step::BeginSeeding => {
                frame.epoch = Epoch {
                    generation: 0,
                    vm: self.records(frame),
                    process: self.mark + 1,
                };
                if ![0, frame.epoch.process].contains(&self.thread.page.epoch.process) {
                    self.thread.page = Page::default();
                }
                Step::WriteMarker
            }
            Step::WriteMarker => {
                let process = if self.has(Guard::SeedingMarker) {
                    frame.epoch.process
                } else {
                    0
                };
                self.thread.page.tag = None;
                self.thread.page.epoch = Epoch {
                    process,
                    ..frame.epoch
                };
                Step::KernelBytes
            }
            Step::KernelBytes => {
                frame.epoch.generation = self.generation(frame);
                frame.seed = self.machine.vdso_bytes(&mut self.thread.page.vdso);
                Step::RootBytes
            }
            Step::RootBytes => {
                let input = self.input_if(self.has(Guard::SeedInput));
                frame.seed = generated(frame.seed, input);
                Step::SetGeneration
            }
            Step::SetGeneration => {
                self.thread.page.epoch.generation = frame.epoch.generation;
                if !self.has(Guard::SeedingMarker) {
                    self.thread.page.epoch = frame.epoch;
                }
                Step::LoadSeeding
            }
            Step::LoadSeeding => {
                frame.state = self.thread.page.state;
                Step::StoreSeeding
            }
            Step::StoreSeeding => {
                self.thread.page.state = frame.state.reseeded(frame.seed);
                (frame.state, frame.seed, frame.epoch) = Default::default();
                self.produce(frame, true)
            }
            Step::RefillInput => {
                frame.input = self.input_if(self.has(Guard::RefillInput));
                Step::LoadRefill
            }
            Step::LoadRefill => {
                frame.state = generated(self.thread.page.state, frame.input.take());
                Step::StoreBuffer
            }
            Step::StoreBuffer => {
                self.thread.page.buffer = core::array::from_fn(|at| frame.state.derive(at as u64));
                frame.left = CAPACITY as u8;
                Step::StoreRefill
            }
            Step::StoreRefill => {
                self.thread.page.state = next(core::mem::take(&mut frame.state));
                Step::TakeLast
            }
            Step::TakeLast => {
                frame.left -= 1;
                frame.takes(
                    self.thread.page.buffer[usize::from(frame.left)],
                    self.machine.generation,
                );
                Step::EraseLast
            }
            Step::EraseLast => {
                self.erase(frame);
                Step::Tag(Site::Produced, Part::Generation)
            }
            Step::LoadLong => {
                frame.state = self.thread.page.state;
                Step::Tag(Site::Tick, Part::Generation)
            }
            Step::GenerateLong => {
                let state = generated(frame.state, frame.input.take());
                frame.takes(state.derive(0), self.machine.generation);
                frame.state = next(state);
                Step::Tag(Site::Produced, Part::Generation)
            }
            Step::StoreLong => {
                self.thread.page.state = core::mem::take(&mut frame.state);
                frame.may_be_served = true;
                self.finish(frame)
            }
            Step::FreshBefore(part) => {
                frame.epoch = self.fresh_epoch(frame, part);
                part.next_of_fresh()
                    .map_or(Step::FreshBytes, Step::FreshBefore)
            }
            Step::FreshBytes => {
                frame.seed = self.machine.random_bytes();
                Step::FreshInput
            }
            Step::FreshInput => {
                let input = self.input_if(self.has(Guard::FreshInput));
                frame.is_limited &= input.is_none();
                frame.takes(generated(frame.seed, input), frame.seed.generation);
                Step::FreshAfter(Part::Generation)
            }
            Step::FreshAfter(part) => self.check_fresh(frame, part),
            Step::Serve => unreachable!("`step` serves"),
        }
    }

    /// `draw`, as far as the bytes.
    fn lock(&mut self, frame: &mut Frame) -> Step {
        self.thread.holders += 1;
        if self.thread.holders > 1 {
            self.thread.holders -= 1;
            return self.serve_afresh(frame);
        }
        (frame.has_lock, frame.left) = (true, self.thread.left);
        if frame.size == Size::Large || frame.left == 0 {
            return self.serve_slowly();
        }
        frame.left -= 1;
        if !self.has(Guard::Lock) {
            self.thread.holders = 0;
        }
        if !self.has(Guard::NumberAfterBytes) {
            frame.tag.cpu = self.thread.cpu;
        }
        if self.has(Guard::CheckAfterRead) {
            Step::Take
        } else {
            Step::Tag(Site::Draw, Part::Generation)
        }
    }

    fn unlock(&mut self, frame: &Frame) {
        if frame.has_lock {
            (self.thread.holders, self.thread.left) = (0, frame.left);
        }
    }

    /// The second half of `Page::take`; and a pad where requests get one.
    fn erase(&mut self, frame: &mut Frame) {
        self.thread.page.buffer[usize::from(frame.left)] = Secret::default();
        if self.pads() {
            frame.taken = frame.taken.derive(self.word());
            frame.is_limited = false;
        }
    }

    /// `Request::serve`, an attempt's beginning.
    fn serve_slowly(&self) -> Step {
        let is_of_process =
            self.thread.page.epoch.process == self.mark + 1 || !self.has(Guard::ProcessMark);
        let compare = if is_of_process {
            Step::Tag
        } else {
            Step::Epoch
        };
        compare(Site::Before, Part::Generation)
    }

    /// Loads a part of the tag; compares it, or sets it, with the last.
    fn tag(&mut self, frame: &mut Frame, site: Site, part: Part) -> Step {
        let page = &self.thread.page;
        match part {
            Part::Generation => {
                frame.tag.generation = match site {
                    Site::Draw | Site::Before | Site::After => self.generation(frame),
                    // `tag_under`
                    Site::Tick | Site::Set | Site::Produced => page.epoch.generation,
                };
            }
            Part::Tick => {
                frame.reads(Shows::Tick);
                frame.tag.tick = if self.has(Guard::Tick) {
                    self.machine.tick
                } else {
                    1
                };
                if self.setting.kind != Kind::Kvm {
                    return Step::Tag(site, Part::Page);
                }
            }
            Part::Number => {
                frame.reads(Shows::Record);
                if site != Site::Draw || self.has(Guard::NumberAfterBytes) {
                    frame.tag.cpu = self.thread.cpu;
                }
            }
            Part::Record => {
                let record = self.machine.records[usize::from(frame.tag.cpu)];
                frame.tag.record = if self.has(Guard::Record) { record } else { 1 };
            }
            Part::Page => {
                frame.reads(Shows::Page);
                let tag = core::mem::take(&mut frame.tag);
                if site == Site::Set {
                    self.thread.page.tag = Some(tag);
                }
                return self.after_tag(frame, site, self.thread.page.tag == Some(tag));
            }
        }
        Step::Tag(site, part.next().expect("the page is the last"))
    }

    fn after_tag(&mut self, frame: &mut Frame, site: Site, is_fresh: bool) -> Step {
        match site {
            Site::Draw if !is_fresh => self.serve_slowly(),
            Site::Draw if self.has(Guard::CheckAfterRead) => Step::Serve,
            Site::Draw => Step::Take,
            Site::Before if is_fresh => self.produce(frame, false),
            Site::Before => Step::Epoch(Site::Before, Part::Generation),
            Site::Tick if is_fresh => self.after_tick(frame, false),
            Site::Tick => {
                frame.left = 0;
                Step::Tag(Site::Set, Part::Generation)
            }
            Site::Set => {
                frame.has_new_tag = true;
                self.after_tick(frame, true)
            }
            Site::Produced if frame.size == Size::Small => {
                frame.may_be_served = is_fresh;
                self.finish(frame)
            }
            Site::Produced if is_fresh || frame.pass == 2 => Step::StoreLong,
            Site::Produced => {
                frame.pass = 2;
                Step::Tag(Site::Tick, Part::Generation)
            }
            Site::After if is_fresh => Step::Serve,
            // The epoch has no tick.
            Site::After if frame.size == Size::Small && self.has(Guard::TickInLastCheck) => {
                self.fail(frame)
            }
            Site::After => self.compare_epoch_or_fail(frame),
        }
    }

    /// `is_current`
    fn epoch(&mut self, frame: &mut Frame, site: Site, part: Part) -> Step {
        match part {
            Part::Generation => frame.epoch.generation = self.generation(frame),
            Part::Record => frame.epoch.vm = self.records(frame),
            Part::Page => {
                frame.reads(Shows::Page);
                let epoch = Epoch {
                    process: self.mark + 1,
                    ..core::mem::take(&mut frame.epoch)
                };
                let is_current = self.thread.page.epoch == epoch;
                return match site {
                    Site::Before if is_current => self.produce(frame, true),
                    Site::Before => {
                        frame.left = 0;
                        Step::BeginSeeding
                    }
                    _ if is_current => Step::Serve,
                    _ => self.fail(frame),
                };
            }
            Part::Tick | Part::Number => {}
        }
        Step::Epoch(site, part.next_of_epoch().expect("the page is the last"))
    }

    /// `produce`
    fn produce(&mut self, frame: &mut Frame, has_new_tag: bool) -> Step {
        frame.has_new_tag = has_new_tag;
        frame.pass = 1;
        match frame.size {
            Size::Small => Step::Tag(Site::Tick, Part::Generation),
            Size::Large => Step::LoadLong,
        }
    }

    /// After `begin_tick`.
    fn after_tick(&mut self, frame: &mut Frame, is_new: bool) -> Step {
        if frame.size == Size::Large {
            let takes_input = (is_new && self.has(Guard::LongInput)) || self.needs_input();
            frame.input = self.input_if(takes_input);
            frame.is_limited &= !takes_input;
            return Step::GenerateLong;
        }
        if frame.left == 0 {
            Step::RefillInput
        } else {
            Step::TakeLast
        }
    }

    /// `Request::serve`, after `produce`.
    fn finish(&mut self, frame: &mut Frame) -> Step {
        if !self.has(Guard::CheckAfterSeeding) {
            return Step::Serve;
        }
        if !frame.has_new_tag || !self.has(Guard::NewTagIsNoProof) {
            return Step::Tag(Site::After, Part::Generation);
        }
        self.compare_epoch_or_fail(frame)
    }

    fn compare_epoch_or_fail(&mut self, frame: &mut Frame) -> Step {
        if frame.may_be_served {
            Step::Epoch(Site::After, Part::Generation)
        } else {
            self.fail(frame)
        }
    }

    /// The end of an attempt that failed.
    fn fail(&mut self, frame: &mut Frame) -> Step {
        if self.has(Guard::ForgetTag) {
            self.thread.page.tag = None;
        }
        frame.attempt += 1;
        if frame.attempt < ATTEMPTS {
            return self.serve_slowly();
        }
        frame.left = 0;
        self.serve_afresh(frame)
    }

    /// `fresh::fill`
    fn serve_afresh(&mut self, frame: &mut Frame) -> Step {
        (frame.is_fresh, frame.attempt) = (true, 1);
        Step::FreshBefore(Part::Generation)
    }

    /// `fresh::epoch`, a part of it.
    fn fresh_epoch(&self, frame: &mut Frame, part: Part) -> Epoch {
        let mut epoch = frame.epoch;
        match part {
            Part::Generation => {
                let generation = self.generation(frame);
                epoch.generation = if self.has(Guard::GenerationInFreshDraw) {
                    generation
                } else {
                    1
                };
            }
            Part::Record => {
                let records = self.records(frame);
                epoch.vm = if self.has(Guard::RecordInFreshDraw) {
                    records
                } else {
                    1
                };
            }
            Part::Page => {
                frame.reads(Shows::Page);
                epoch.process = if self.has(Guard::ProcessIdInFreshDraw) {
                    self.process_id
                } else {
                    0
                };
            }
            Part::Tick | Part::Number => {}
        }
        epoch
    }

    /// `may_be_served`, a part of it. Only a reseed, in the last attempt, does not count.
    fn check_fresh(&mut self, frame: &mut Frame, part: Part) -> Step {
        let now = self.fresh_epoch(frame, part);
        let only_reseeded = Epoch {
            generation: now.generation,
            ..frame.epoch
        } == now;
        let is_last = only_reseeded && frame.attempt >= ATTEMPTS;
        if now != frame.epoch && !is_last {
            frame.attempt += 1;
            return Step::FreshBefore(Part::Generation);
        }
        frame.is_reseeded |= now != frame.epoch;
        part.next_of_fresh().map_or(Step::Serve, Step::FreshAfter)
    }
}

/// The state within a request to the generator, from which its output and the next state come.
fn generated(state: Secret, input: Option<u64>) -> Secret {
    state.derive(input.unwrap_or(0))
}

/// The state after a request.
fn next(state: Secret) -> Secret {
    state.derive(u64::MAX)
}

impl Part {
    fn next(self) -> Option<Part> {
        match self {
            Part::Generation => Some(Part::Tick),
            Part::Tick => Some(Part::Number),
            Part::Number => Some(Part::Record),
            Part::Record => Some(Part::Page),
            Part::Page => None,
        }
    }

    /// The same of `Policy::epoch`.
    fn next_of_epoch(self) -> Option<Part> {
        if self == Part::Generation {
            Some(Part::Record)
        } else {
            self.next()
        }
    }

    /// The same of `fresh::epoch`.
    fn next_of_fresh(self) -> Option<Part> {
        match self {
            Part::Generation => Some(Part::Page),
            Part::Page => Some(Part::Record),
            _ => None,
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Tag(Site::Set, Part::Page) => write!(f, "begin_tick: stores the tag"),
            Step::Tag(site, part) | Step::Epoch(site, part) => write!(f, "{site}: {part}"),
            Step::FreshBefore(part) => write!(f, "fresh, before: {part}"),
            Step::FreshAfter(part) => write!(f, "fresh, after: {part}"),
            other => f.write_str(match other {
                Step::Lock => "takes the lock",
                Step::Take | Step::TakeLast => "takes bytes from the buffer",
                Step::Erase | Step::EraseLast => "erases them there",
                Step::BeginSeeding => "seed: notes the records and the process",
                Step::WriteMarker => "seed: writes the seeding marker",
                Step::KernelBytes => "seed: draws the kernel's bytes",
                Step::RootBytes => "seed: draws the root's bytes",
                Step::SetGeneration => "seed: stores the generation",
                Step::LoadSeeding => "seed: loads the state",
                Step::StoreSeeding => "seed: stores the new state",
                Step::RefillInput => "refill: draws additional input",
                Step::LoadRefill => "refill: loads the state",
                Step::StoreBuffer => "refill: stores the buffer",
                Step::StoreRefill => "refill: stores the new state",
                Step::LoadLong => "generate: loads the state",
                Step::GenerateLong => "generate: makes the bytes",
                Step::StoreLong => "generate: stores the new state",
                Step::FreshBytes => "fresh: draws the kernel's bytes",
                Step::FreshInput => "fresh: draws additional input and makes the bytes",
                _ => "unlocks, and returns the bytes",
            }),
        }
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Site::Draw => "draw",
            Site::Before => "serve, before",
            Site::Tick | Site::Set => "begin_tick",
            Site::Produced => "produce",
            Site::After => "serve, after",
        })
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Part::Generation => "loads the generation",
            Part::Tick => "loads the tick",
            Part::Number => "reads the CPU's number",
            Part::Record => "loads the record",
            Part::Page => "compares the page or the process",
        })
    }
}
