//! The guards, which the checker can leave out, and the tests that do the same with the real code.

/// What keeps a promise. Without it the checker finds the promise broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, clap::ValueEnum)]
pub enum Guard {
    /// The kernel empties a child's pages.
    WipeOnFork,
    /// A handler of pthread_atfork begins anew in a child of the C library.
    ForkHandler,
    /// The next request of a child looks at the process's mark.
    ProcessMark,
    /// The seeding marker is written before the seed is drawn.
    SeedingMarker,
    /// A request that is served afresh compares the process id.
    ProcessIdInFreshDraw,
    /// The tag has the generation of the kernel's RNG.
    Generation,
    /// A request that is served afresh compares the generation.
    GenerationInFreshDraw,
    /// The tag is compared after the bytes were taken.
    CheckAfterRead,
    /// The epoch is compared after long requests and those that seed.
    CheckAfterSeeding,
    /// A handler in the middle of a draw finds the page locked.
    Lock,
    /// The tag has the record of the CPU on which the thread runs.
    Record,
    /// A request that is served afresh compares the records.
    RecordInFreshDraw,
    /// The CPU's number is read after the bytes were taken.
    NumberAfterBytes,
    /// A tag that was set in this request is no proof that nothing has changed before.
    NewTagIsNoProof,
    /// A small request that finds its tag over in its last check is drawn again, because the epoch has no tick.
    TickInLastCheck,
    /// A failed attempt leaves no tag behind.
    ForgetTag,
    /// A seed has words of the CPU's random instruction, from the root.
    SeedInput,
    /// A request that is served afresh takes words of the CPU's random instruction.
    FreshInput,
    /// The tag has the kernel's tick.
    Tick,
    /// A refill takes additional input.
    RefillInput,
    /// A long request takes additional input in a new tick.
    LongInput,
    /// Where nothing shows a copy in time, requests get pads.
    Pads,
}

use Guard::*;

impl Guard {
    /// What shows the same with the real code: a control in `squall/tests/guards/main.rs`, or a change of
    /// `scripts/orders.py`.
    pub fn control(self) -> &'static str {
        match self {
            WipeOnFork => "fork/by-system-call/control",
            ForkHandler => "fork/children/not-wiped/control",
            ProcessMark => "copy: a child has its parent's buffer",
            SeedingMarker => "fork/in-a-seeding/control",
            ProcessIdInFreshDraw => "fork/in-a-fresh-draw/control",
            Generation => "reseed/seen-by-the-next-word/control",
            GenerationInFreshDraw => "reseed/in-a-fresh-draw/control",
            CheckAfterRead => "drop/in-a-small-draw/control",
            CheckAfterSeeding => "drop/in-a-large-draw/control",
            Lock => "signal/draw-in-a-draw/control",
            Record => "clone/kvm-clock/control",
            RecordInFreshDraw => "clone/in-a-fresh-draw/control",
            NumberAfterBytes => "copy: a record is compared before the bytes are taken",
            NewTagIsNoProof => "copy: a new tag is taken for a proof that nothing has changed",
            TickInLastCheck => "copy: the epoch stands in for a tick that is over",
            ForgetTag => "copy: an attempt that failed leaves its tag behind",
            SeedInput => "seed/neither/control",
            FreshInput => "seed/fresh/control",
            Tick => "process/restored/control",
            RefillInput => "copy: a refill takes no input",
            LongInput => "copy: a large request takes no input in a new tick",
            Pads => "clone/no-signal/control",
        }
    }
}

/// Which guards are there.
#[derive(Clone, Copy, Debug)]
pub struct Guards(u32);

impl Guards {
    pub const ALL: Guards = Guards(u32::MAX);

    pub fn without(self, guard: Guard) -> Guards {
        Guards(self.0 & !(1 << guard as u32))
    }

    pub fn has(self, guard: Guard) -> bool {
        self.0 & 1 << guard as u32 != 0
    }
}
