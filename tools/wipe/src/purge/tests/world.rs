//! What operations in tests depend on apart from the drive.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use crate::purge::operation::{End, Operation, Surroundings};
use crate::purge::sanitize::{Answered, Sanitizer};
use crate::record::Action;

/// Longer than any operation in a test: ten days.
const FOREVER: Duration = Duration::from_secs(10 * 24 * 3600);

pub const ACTIONS: [Action; 3] = [Action::BlockErase, Action::CryptoErase, Action::Overwrite];

/// Surroundings whose clock only waiting moves.
pub struct World {
    now: Cell<Duration>,
    /// Waits until the user interrupts.
    patience: Cell<u64>,
    pub is_attached: Cell<bool>,
    pub records: RefCell<Vec<Answered>>,
    /// Whether an operation was found under way or begun, if one is known.
    pub under_way: Cell<Option<bool>>,
    pub progress: RefCell<Vec<u16>>,
}

impl World {
    pub fn new() -> World {
        World {
            now: Cell::default(),
            patience: Cell::new(u64::MAX),
            is_attached: Cell::new(true),
            records: RefCell::default(),
            under_way: Cell::default(),
            progress: RefCell::default(),
        }
    }

    /// A user who interrupts after this many waits.
    pub fn impatient(patience: u64) -> World {
        let world = World::new();
        world.patience.set(patience);
        world
    }
}

impl Surroundings for World {
    fn now(&self) -> Duration {
        self.now.get()
    }

    fn wait(&self, time: Duration) -> bool {
        self.now.set(self.now.get() + time);
        assert!(self.now.get() < FOREVER, "it waits forever");
        self.patience.set(self.patience.get() - 1);
        self.patience.get() > 0
    }

    fn is_attached(&self) -> bool {
        self.is_attached.get()
    }

    fn record(&self, answer: Answered) {
        self.records.borrow_mut().push(answer);
    }

    fn under_way(&self, found: bool) {
        self.under_way.set(Some(found));
    }

    fn progress(&self, progress: u16) {
        self.progress.borrow_mut().push(progress);
    }
}

pub fn run(drive: &dyn Sanitizer, world: &World, action: Action, accepted: bool) -> End {
    let operation = Operation {
        drive,
        surroundings: world,
        action,
    };
    operation.run(accepted)
}
