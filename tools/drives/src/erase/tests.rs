//! Tests which namespaces may be formatted, targets that cannot erase themselves, and, with models of drives
//! behind the commands, sanitize operations.

mod ata;
mod choice;
mod machine;
mod nvme;
mod operations;
mod refusals;
mod scsi;

use std::cell::{Cell, RefCell};
use std::time::Duration;

use squall_testing::loops::Lab;

use super::nvme::{Controller, current_format};
use super::sanitize::{End, Exchange, Operation, Surroundings};
use super::*;

const MIB: u64 = 1 << 20;

/// A controller's structure with these fields.
fn controller(oacs: u8, fna: u8, cmic: u8) -> Controller<Vec<u8>> {
    let mut told = vec![0; 4096];
    (told[76], told[256], told[524]) = (cmic, oacs, fna);
    Controller(told)
}

fn list(numbers: &[u32]) -> Vec<u8> {
    let mut list: Vec<u8> = numbers
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect();
    list.resize(4096, 0);
    list
}

const FORMAT: u8 = 1 << 1;
const MANAGEMENT: u8 = 1 << 3;

/// Whether namespace 1 may be formatted if the controller lists the namespaces `numbers`.
fn allowed(oacs: u8, fna: u8, cmic: u8, numbers: &[u32]) -> Result<(), String> {
    controller(oacs, fna, cmic).check_format(|_| Ok(list(numbers)), 1)
}

#[test]
fn nothing_but_the_namespace_may_be_formatted() {
    // A format that reaches one namespace is allowed, whatever others there are.
    allowed(FORMAT, 0, 0b10, &[1, 2]).unwrap();
    allowed(FORMAT, 0b100, 0, &[1, 2]).unwrap();
    for fna in [0b01, 0b10, 0b11] {
        allowed(FORMAT, fna, 0, &[1]).unwrap();
        allowed(FORMAT | MANAGEMENT, fna, 0b10, &[1]).unwrap();
        for others in [&[1, 2][..], &[2], &[]] {
            let why = allowed(FORMAT, fna, 0, others).unwrap_err();
            assert!(why.contains("not its only one"), "{why}");
        }
        let why = allowed(FORMAT, fna, 0b10, &[1]).unwrap_err();
        assert!(why.contains("its peers"), "{why}");
        let unlisted = |_| Err::<Vec<u8>, _>("no list".to_owned());
        let why = controller(FORMAT, fna, 0)
            .check_format(unlisted, 1)
            .unwrap_err();
        assert!(why.ends_with(", and no list"), "{why}");
    }
    let why = allowed(!FORMAT, 0, 0, &[1]).unwrap_err();
    assert!(why.contains("no Format NVM"), "{why}");
}

/// A format would erase namespaces that are attached to no controller as well.
#[test]
fn namespaces_that_are_attached_to_nothing_count() {
    let asked = |oacs| {
        let mut asked = 0;
        let list = |which| {
            asked = which;
            Ok(list(&[1]))
        };
        controller(oacs, 1, 0).check_format(list, 1).unwrap();
        asked
    };
    assert_eq!(asked(FORMAT), 0x02, "active ones");
    assert_eq!(asked(FORMAT | MANAGEMENT), 0x10, "allocated ones");
}

#[test]
fn a_namespace_keeps_its_format() {
    const ERASE: u32 = 1 << 9;
    let told = |flbas, dps| {
        let mut told = [0; 4096];
        (told[7], told[26], told[29]) = (1, flbas, dps);
        current_format(&told)
    };
    assert_eq!(told(0, 0), Some(ERASE));
    assert_eq!(told(0b0000_0101, 0), Some(ERASE | 5));
    assert_eq!(told(0b0101_0011, 0), Some(ERASE | 3 | 1 << 4 | 2 << 12));
    assert_eq!(told(1, 0b1010), Some(ERASE | 1 | 2 << 5 | 1 << 8));
    assert_eq!(current_format(&[0; 4096]), None, "no such namespace");
}

#[test]
fn releases_of_kernels() {
    for (release, expected) in [
        ("6.12.48+deb13-amd64", Some((6, 12))),
        ("5.19-rc1", Some((5, 19))),
        ("5.4.0", Some((5, 4))),
        ("6", None),
        ("", None),
    ] {
        assert_eq!(discard::version(release), expected, "{release}");
    }
    assert!(discard::version("5.4.0") < discard::version("5.19.0"));
}

/// A record of an operation that was found under way, of which the drive told nothing.
#[test]
fn an_untold_operation_is_not_replaced_by_another_erase() {
    let lab = Lab::new();
    let target = Target::find(&lab.image("image", MIB)).expect("a target");
    let file = File::open(&target.identity.path).expect("a file");
    for means in [EraseMethod::ScsiSanitize, EraseMethod::AtaSanitize] {
        let why = run(&target, &file, means).unwrap_err();
        assert!(why.contains("does not tell which operation"), "{why}");
    }
}

/// Longer than any operation in a test: ten days.
const FOREVER: Duration = Duration::from_secs(10 * 24 * 3600);

/// Surroundings whose clock only waiting moves.
pub struct World {
    now: Cell<Duration>,
    /// Waits until the user interrupts.
    patience: Cell<u64>,
    pub is_attached: Cell<bool>,
    pub records: RefCell<Vec<Exchange>>,
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

    fn record(&self, answer: Exchange) {
        self.records.borrow_mut().push(answer);
    }

    fn under_way(&self, found: bool) {
        self.under_way.set(Some(found));
    }

    fn progress(&self, progress: u16) {
        self.progress.borrow_mut().push(progress);
    }
}

pub fn sanitize(drive: &dyn Sanitizer, world: &World, action: Action, accepted: bool) -> End {
    let operation = Operation {
        drive,
        surroundings: world,
        action,
    };
    operation.run(accepted)
}
