//! Tests what may be erased and how, and operations of models of drives: their ends, killed runs, and drives that fail,
//! stall or do not answer.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use squall_testing::loops::Lab;

use super::ata::Disk;
use super::models::{Controller, Disk as AtaDisk, Doing, Drive, Fate, Machine, PassesOn};
use super::nvme::{Format, Subsystem};
use super::sanitize::{
    ACTIONS, Actions, Attempt, End, Exchange, Mode, NO_ANSWER, NO_PROGRESS, Operation, Status,
    Surroundings,
};
use super::scsi::LogicalUnit;
use super::*;
use super::{EraseChoice as How, EraseMethod as By};

use Action::{BlockErase, CryptoErase, Overwrite};

/// Longer than any operation in a test: ten days.
const FOREVER: Duration = Duration::from_secs(10 * 24 * 3600);

/// Surroundings whose clock only waiting moves.
struct World {
    now: Cell<Duration>,
    /// Waits until the user interrupts.
    patience: Cell<u64>,
    is_attached: Cell<bool>,
    records: RefCell<Vec<Exchange>>,
    /// Whether an operation was found under way or begun, if one is known.
    under_way: Cell<Option<bool>>,
    progress: RefCell<Vec<u16>>,
}

impl World {
    fn new() -> World {
        World::impatient(u64::MAX)
    }

    /// A user who interrupts after this many waits.
    fn impatient(patience: u64) -> World {
        World {
            now: Cell::default(),
            patience: Cell::new(patience),
            is_attached: Cell::new(true),
            records: RefCell::default(),
            under_way: Cell::default(),
            progress: RefCell::default(),
        }
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

/// How an operation ends that this run begins.
fn ends(drive: &dyn Sanitizer, world: &World, action: Action) -> End {
    ends_as(drive, world, action, false)
}

/// How one ends that an earlier run began.
fn ends_after_it_was_begun(drive: &dyn Sanitizer, world: &World, action: Action) -> End {
    ends_as(drive, world, action, true)
}

fn ends_as(drive: &dyn Sanitizer, world: &World, action: Action, accepted: bool) -> End {
    let operation = Operation {
        drive,
        surroundings: world,
        action,
    };
    operation.run(accepted)
}

/// Calls `test` with each kind of drive and its machine.
fn each(test: impl Fn(&dyn Sanitizer, &RefCell<Machine>)) {
    let controller = Controller::default();
    test(&Subsystem::new(&controller, vec![1]), &controller.machine);
    for (descriptors, is_quiet) in [(false, false), (true, false), (false, true)] {
        let drive = Drive {
            descriptors,
            is_quiet,
            ..Drive::default()
        };
        test(&LogicalUnit(&drive), &drive.machine);
    }
    for errors_fixed in [false, true] {
        let disk = AtaDisk {
            passes_on: PassesOn::All { errors_fixed },
            ..AtaDisk::default()
        };
        test(&Disk::behind(&disk).expect("ATA"), &disk.machine);
    }
}

fn refusal(drive: &dyn Sanitizer) -> String {
    drive.actions().expect_err("it is refused")
}

#[track_caller]
fn contains(text: &str, words: &str) {
    assert!(text.contains(words), "{words:?} is not in: {text}");
}

const FORMAT: u8 = 1 << 1;
const MANAGEMENT: u8 = 1 << 3;

/// Whether namespace 1 of a controller with these namespaces may be formatted.
fn formats(commands: u8, formats: u8, multiple: u8, namespaces: &[u32]) -> Result<(), String> {
    let controller = Controller {
        commands,
        formats,
        multiple,
        namespaces: namespaces.iter().map(|number| (*number, 1)).collect(),
        ..Controller::default()
    };
    Format::new(&controller, 1).map(drop)
}

#[test]
fn nothing_but_the_namespace_may_be_formatted() {
    // A format that reaches one namespace is allowed, whatever others there are.
    formats(FORMAT, 0, 0b10, &[1, 2]).unwrap();
    formats(FORMAT, 0b100, 0, &[1, 2]).unwrap();
    for reach in [0b01, 0b10, 0b11] {
        formats(FORMAT, reach, 0, &[1]).unwrap();
        // Those that are attached to no controller are known by Namespace Management.
        formats(FORMAT | MANAGEMENT, reach, 0b10, &[1]).unwrap();
        for others in [&[1, 2][..], &[2], &[]] {
            let why = formats(FORMAT, reach, 0, others).unwrap_err();
            contains(&why, "not its only one");
        }
        let why = formats(FORMAT, reach, 0b10, &[1]).unwrap_err();
        contains(&why, "its peers");
    }
    contains(&formats(0, 0, 0, &[1]).unwrap_err(), "no Format NVM");
}

#[test]
fn nothing_that_is_not_described_may_be_formatted() {
    let refused = |controller: &Controller| Format::new(controller, 1).map(drop).unwrap_err();
    // It describes a namespace that is not there with zeros.
    let detached = Controller {
        unattached: vec![1],
        ..Controller::default()
    };
    assert_eq!(refused(&detached), "it does not report its format");
    let unlisted = Controller {
        formats: 1,
        is_unlisted: true,
        ..Controller::default()
    };
    let why = refused(&unlisted);
    contains(&why, "all namespaces at once, and the drive refused, with ");
}

#[test]
fn a_namespace_keeps_its_format() {
    const ERASE: u32 = 1 << 9;
    let how = |flbas, dps| {
        let controller = Controller {
            format: [flbas, dps],
            ..Controller::default()
        };
        Format::new(&controller, 1).unwrap().how
    };
    assert_eq!(how(0, 0), ERASE);
    assert_eq!(how(0b0000_0101, 0), ERASE | 5);
    assert_eq!(how(0b0101_0011, 0), ERASE | 3 | 1 << 4 | 2 << 12);
    assert_eq!(how(1, 0b1010), ERASE | 1 | 2 << 5 | 1 << 8);
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
    let target = Target::find(&lab.image("image", 1 << 20)).expect("a target");
    let file = File::open(&target.identity.path).expect("a file");
    for means in [By::ScsiSanitize, By::AtaSanitize] {
        let why = run(&target, &file, means).unwrap_err();
        contains(&why, "does not tell which operation");
    }
}

/// An idle drive on flash that tells `actions`, and has another way perhaps.
fn supporting(actions: &[Action], other: Option<EraseMethod>) -> SupportedErases {
    let sanitizing = SanitizeSupport {
        set: CommandSet::Ata,
        actions: Actions::known(actions.to_vec()),
        state: State::Idle {
            last: None,
            succeeded: None,
        },
    };
    SupportedErases {
        sanitize: Some(match actions {
            [] => Err("no sanitize".into()),
            _ => Ok(sanitizing),
        }),
        other: other.ok_or_else(|| "no other".to_owned()),
        flash: Some(true),
    }
}

/// What `drive`, a model, tells.
fn told(set: CommandSet, drive: &dyn Sanitizer, flash: Option<bool>) -> SupportedErases {
    SupportedErases {
        sanitize: Some(SanitizeSupport::new(set, drive)),
        other: Err("no other".into()),
        flash,
    }
}

#[test]
fn what_reaches_most_in_the_shortest_time_is_chosen() {
    let format = Some(By::NvmeFormat);
    for (actions, other, how, chosen) in [
        (&ACTIONS[..], format, How::Auto, By::AtaSanitizeBlock),
        (
            &[CryptoErase, Overwrite],
            format,
            How::Auto,
            By::AtaSanitizeCrypto,
        ),
        (&[Overwrite], format, How::Auto, By::NvmeFormat),
        (&[Overwrite], None, How::Auto, By::AtaSanitizeOverwrite),
        (&[], format, How::Auto, By::NvmeFormat),
        (&ACTIONS, format, How::Block, By::AtaSanitizeBlock),
        (&ACTIONS, format, How::Crypto, By::AtaSanitizeCrypto),
        (&ACTIONS, format, How::Overwrite, By::AtaSanitizeOverwrite),
        (&ACTIONS, format, How::Format, By::NvmeFormat),
    ] {
        assert_eq!(
            supporting(actions, other).choose(how),
            Ok(chosen),
            "{actions:?}"
        );
    }
    for (actions, other, how, why) in [
        (&[][..], None, How::Auto, "no sanitize; no other"),
        (&ACTIONS, format, How::Discard, "it has no secure discard"),
        (
            &[BlockErase],
            None,
            How::Crypto,
            "it does not sanitize itself by crypto erase, only by block erase",
        ),
    ] {
        assert_eq!(supporting(actions, other).choose(how), Err(why.to_owned()));
    }
}

/// Block erase is for flash. A magnetic drive gets it only if it tells nothing else.
#[test]
fn magnetic_drives_replace_their_key_or_overwrite_themselves() {
    for (actions, expected) in [
        (&ACTIONS[..], By::AtaSanitizeCrypto),
        (&[BlockErase, Overwrite], By::AtaSanitizeOverwrite),
        (&[BlockErase], By::AtaSanitizeBlock),
    ] {
        let mut drive = supporting(actions, None);
        drive.flash = Some(false);
        assert_eq!(drive.choose(How::Auto), Ok(expected));
        drive.flash = None;
        let block = Ok(By::AtaSanitizeBlock);
        assert_eq!(drive.choose(How::Auto), block, "as for flash");
    }
}

/// A SCSI drive whose last operation failed tells nothing but that. A magnetic one has no block erase, so it could not
/// be freed by that.
#[test]
fn after_a_failure_the_way_suits_the_medium() {
    let failed = |services: &[u8]| {
        let machine = Machine {
            doing: Doing::Failure,
            last: Some((Overwrite, true)),
            ..Machine::default()
        };
        Drive {
            machine: machine.into(),
            services: services.to_vec(),
            ..Drive::default()
        }
    };
    for (flash, services, expected) in [
        (Some(false), &[1][..], By::ScsiSanitizeOverwrite),
        (None, &[1, 2, 3], By::ScsiSanitizeOverwrite),
        (Some(true), &[2, 3], By::ScsiSanitizeBlock),
    ] {
        let drive = failed(services);
        let unit = LogicalUnit(&drive);
        let supported = told(CommandSet::Scsi, &unit, flash);
        assert_eq!(supported.choose(How::Auto), Ok(expected));
        let words = supported.words(How::Auto).expect("a way");
        assert!(words.starts_with("perhaps supported: SCSI SANITIZE with "));
        contains(&words, "its last operation failed");
        let action = expected.action().expect("an operation");
        assert_eq!(ends(&unit, &World::new(), action), End::Done);
    }
    let magnetic = failed(&[1]);
    let unit = LogicalUnit(&magnetic);
    let why = told(CommandSet::Scsi, &unit, Some(false)).choose(How::Block);
    assert!(why.is_err_and(|why| why.ends_with("only by crypto erase or overwrite")));

    // The control: the magnetic drive refuses block erase, and stays as it was.
    let end = ends(&unit, &World::new(), BlockErase);
    assert!(matches!(end, End::Locked(_)), "{end:?}");
    assert_eq!(magnetic.machine.borrow().doing, Doing::Failure);
}

/// A drive at work does what somebody has told it, not what this user chooses. Only NVMe drives tell what that is.
#[test]
fn a_plan_names_the_operation_under_way() {
    let drive = Drive::default();
    let disk = AtaDisk::default();
    let controller = Controller::default();
    let flash = Some(true);
    // The control: the same drive, idle.
    let idle = told(CommandSet::Scsi, &LogicalUnit(&drive), flash);
    assert_eq!(
        idle.words(How::Crypto).as_deref(),
        Ok("supported: SCSI SANITIZE with cryptographic erase (--purge)")
    );
    for machine in [&drive.machine, &disk.machine, &controller.machine] {
        *machine.borrow_mut() = Machine {
            doing: Doing::Processing,
            last: Some((Overwrite, true)),
            progress: 0x8000,
            step: 0,
            ..Machine::default()
        };
    }
    let disk = Disk::behind(&disk).expect("ATA");
    let subsystem = Subsystem::new(&controller, vec![1]);
    let scsi = told(CommandSet::Scsi, &LogicalUnit(&drive), flash);
    let ata = told(CommandSet::Ata, &disk, flash);
    let nvme = told(CommandSet::Nvme, &subsystem, flash);
    for (drive, how, known, then) in [
        (&scsi, How::Crypto, By::ScsiSanitize, ""),
        (&ata, How::Auto, By::AtaSanitize, ""),
        (&nvme, How::Overwrite, By::NvmeSanitizeOverwrite, ""),
        (
            &nvme,
            How::Auto,
            By::NvmeSanitizeOverwrite,
            ", then begins NVMe Sanitize with block erase",
        ),
    ] {
        assert_eq!(drive.known(how), Ok(known));
        let name = known.name();
        let expected = format!("under way, at 50 %: {name}; squall waits for its end{then}");
        assert_eq!(drive.words(how), Ok(expected));
    }
}

/// Sanitize erases every namespace: each must be named, or hold nothing.
#[test]
fn all_namespaces_are_named_or_empty() {
    // Without Namespace Management there are none that are attached to no controller.
    for (commands, unattached) in [(0, vec![]), (MANAGEMENT, vec![7])] {
        let controller = Controller {
            commands,
            namespaces: vec![(1, 10), (2, 0), (7, 1), (9, u64::MAX)],
            unattached,
            ..Controller::default()
        };
        let may = |named: &[u32]| Subsystem::new(&controller, named.to_vec()).actions();
        assert_eq!(may(&[1, 7, 9]).unwrap().all, ACTIONS);
        assert_eq!(may(&[9, 2, 7, 1]).unwrap().all, ACTIONS);
        contains(&may(&[1]).unwrap_err(), "these were not named: 7, 9");
        contains(&may(&[7, 9]).unwrap_err(), "these were not named: 1");
        assert!(controller.machine.borrow().begun.is_empty());
    }
    // Without Namespace Management, those of other controllers are not known.
    let mut shared = Controller {
        multiple: 0b10,
        ..Controller::default()
    };
    let why = refusal(&Subsystem::new(&shared, vec![1]));
    contains(&why, "does not report those of its peers");
    shared.commands = MANAGEMENT;
    Subsystem::new(&shared, vec![1]).actions().unwrap();
}

/// A namespace that appears between the plan and the command is not erased.
#[test]
fn namespaces_are_looked_at_again_before_the_command() {
    let mut controller = Controller::default();
    Subsystem::new(&controller, vec![1]).actions().unwrap();
    controller.namespaces.push((2, 5));
    let subsystem = Subsystem::new(&controller, vec![1]);
    let end = ends(&subsystem, &World::new(), BlockErase);
    assert!(matches!(end, End::Failed(_)), "{end:?}");
    assert!(controller.machine.borrow().begun.is_empty());
}

/// Of each kind of drive: what it reports, and the actions that it has then.
#[test]
fn actions_are_those_that_the_drive_reports() {
    let is_told = |drive: &dyn Sanitizer, expected: &[Action], without: &str| match drive.actions()
    {
        Ok(actions) => assert_eq!(actions, Actions::known(expected.to_vec())),
        Err(why) => {
            assert!(expected.is_empty());
            contains(&why, without);
        }
    };
    for (capabilities, expected) in [
        (0b001, &[CryptoErase][..]),
        (0b010, &[BlockErase]),
        (0b110, &[BlockErase, Overwrite]),
        (0xe000_0000, &[]),
    ] {
        let controller = Controller {
            capabilities,
            ..Controller::default()
        };
        is_told(
            &Subsystem::new(&controller, vec![1]),
            expected,
            "no Sanitize",
        );
    }
    for (services, expected) in [(vec![1, 3], &[CryptoErase, Overwrite][..]), (vec![], &[])] {
        let drive = Drive {
            services,
            ..Drive::default()
        };
        is_told(&LogicalUnit(&drive), expected, "no SANITIZE");
    }
    for (word59, expected) in [
        (0x9000, &[BlockErase][..]),
        (0x7000, &[CryptoErase, Overwrite]),
        (0xe000, &[]),
        (0x1000, &[]),
        (0x0110, &[]),
    ] {
        let disk = AtaDisk {
            word59,
            ..AtaDisk::default()
        };
        is_told(&Disk::behind(&disk).unwrap(), expected, "no ATA sanitize");
    }
}

/// Behind an adapter, the kernel may show another name of an ATA drive.
#[test]
fn ata_drives_tell_their_own_names() {
    let disk = AtaDisk::default();
    let disk = Disk::behind(&disk).expect("ATA");
    assert_eq!(disk.own_name(), Ok(Some("ST00 ZC1A".into())));
    let drive = Drive::default();
    assert_eq!(LogicalUnit(&drive).own_name(), Ok(None));
}

/// An ATA drive without sanitize aborts the question about its state as any command that it does not know. That is not
/// the failure of an operation.
#[test]
fn a_drive_without_sanitize_has_not_failed() {
    let disk = AtaDisk {
        word59: 0,
        ..AtaDisk::default()
    };
    let drive = Disk::behind(&disk).unwrap();
    assert_eq!(drive.status().unwrap_err(), "it has no ATA sanitize");

    // The control: one that has it, and failed in it.
    let failed = AtaDisk::default();
    failed.machine.borrow_mut().doing = Doing::Failure;
    let state = Disk::behind(&failed).unwrap().status().unwrap().state;
    assert_eq!(state, State::Failed { mode: None });
}

/// A SCSI drive tells which logical units the command affects (MLU).
#[test]
fn other_logical_units_are_not_erased() {
    for (units, may) in [(0, true), (1, true), (2, false), (3, false)] {
        let drive = Drive {
            units,
            ..Drive::default()
        };
        match LogicalUnit(&drive).actions() {
            Ok(_) => assert!(may, "{units}"),
            Err(why) => assert!(!may && why.contains("other logical units"), "{why}"),
        }
    }
}

/// Some firmware freezes the commands until the power is off. An antifreeze lock only prevents that.
#[test]
fn frozen_drives_are_refused_until_they_lose_power() {
    let disk = AtaDisk {
        antifreeze: true,
        ..AtaDisk::default()
    };
    let drive = Disk::behind(&disk).unwrap();
    disk.machine.borrow_mut().doing = Doing::Frozen;
    assert_eq!(drive.status().unwrap().state, State::Frozen);
    let End::Failed(why) = ends(&drive, &World::new(), BlockErase) else {
        panic!("it is frozen");
    };
    contains(&why, "frozen until it is powered off");
    assert!(disk.machine.borrow().begun.is_empty());
    disk.machine.borrow_mut().doing = Doing::Nothing;
    assert_eq!(ends(&drive, &World::new(), BlockErase), End::Done);
}

/// Without the registers nobody knows how far the drive is.
#[test]
fn adapters_that_hide_the_registers_are_refused() {
    for passes_on in [PassesOn::None, PassesOn::Some] {
        let disk = AtaDisk {
            passes_on,
            ..AtaDisk::default()
        };
        let drive = Disk::behind(&disk).unwrap();
        contains(&drive.status().unwrap_err(), "registers");
        let end = ends(&drive, &World::new(), BlockErase);
        assert!(matches!(end, End::Stuck(_)), "{end:?}");
        assert!(disk.machine.borrow().begun.is_empty());
    }
}

#[test]
fn each_action_is_sent_once_and_waited_for() {
    for action in ACTIONS {
        each(|drive, machine| {
            assert_eq!(drive.actions().unwrap().all, ACTIONS);
            let world = World::new();
            assert_eq!(ends(drive, &world, action), End::Done);
            assert_eq!(machine.borrow().begun, [(action, true)]);
            assert_eq!(world.under_way.get(), Some(false));
            let progress = world.progress.borrow();
            assert!(progress.len() > 2 && progress[0] == 0 && progress.is_sorted());
            // The state before, the command, and the state after.
            assert_eq!(world.records.borrow().len(), 3);
        });
    }
}

/// A run is killed, or the power fails; the next run waits for the operation.
#[test]
fn an_operation_goes_on_alone() {
    each(|drive, machine| {
        machine.borrow_mut().step = 0x1000;
        let end = ends(drive, &World::impatient(2), BlockErase);
        assert_eq!(end, End::Interrupted);
        let resumed = World::new();
        let end = ends_after_it_was_begun(drive, &resumed, BlockErase);
        assert_eq!((end, machine.borrow().begun.len()), (End::Done, 1));
        // It is still the one that the first run began.
        assert_eq!(resumed.under_way.get(), None);
        assert!(resumed.progress.borrow()[0] > 0x1000);

        // The control: to send the command again, without a look at the state, fails.
        machine.borrow_mut().step = 1;
        let begin = || drive.start(BlockErase, Mode::Unrestricted).result;
        begin().expect("nothing is under way");
        begin().expect_err("one is under way");
        assert_eq!(machine.borrow().begun.len(), 2);
    });
}

#[test]
fn an_operation_that_ended_meanwhile_is_done() {
    each(|drive, machine| {
        let end = ends(drive, &World::impatient(1), CryptoErase);
        assert_eq!(end, End::Interrupted);
        machine.borrow_mut().step = 0xffff;
        (0..3).for_each(|_| machine.borrow_mut().go_on());
        let end = ends_after_it_was_begun(drive, &World::new(), CryptoErase);
        assert_eq!((end, machine.borrow().begun.len()), (End::Done, 1));
    });
}

/// Somebody else has started it. It is waited for, and counts if it is not known to be of another kind.
#[test]
fn an_operation_under_way_is_waited_for() {
    let begin = |machine: &RefCell<Machine>| {
        let begun = machine.borrow_mut().begin(Overwrite, false);
        begun.expect("nothing is under way");
    };
    each(|drive, machine| {
        begin(machine);
        let world = World::new();
        assert_eq!(ends(drive, &world, Overwrite), End::Done);
        assert_eq!(machine.borrow().begun, [(Overwrite, false)]);
        assert_eq!(world.under_way.get(), Some(true));
    });
    let controller = Controller::default();
    begin(&controller.machine);
    let world = World::new();
    let end = ends(&Subsystem::new(&controller, vec![1]), &world, CryptoErase);
    assert_eq!(end, End::Done);
    let begun = &controller.machine.borrow().begun;
    assert_eq!(begun[..], [(Overwrite, false), (CryptoErase, true)]);
    assert_eq!(world.under_way.get(), Some(false), "the last one was begun");
}

#[test]
fn a_failed_operation_is_left_so_that_the_drive_can_be_overwritten() {
    each(|drive, machine| {
        machine.borrow_mut().fate = Fate::Fails;
        let world = World::new();
        let End::Failed(why) = ends(drive, &world, BlockErase) else {
            panic!("it fails");
        };
        contains(&why, "its sanitize operation failed");
        assert_eq!(machine.borrow().doing, Doing::Nothing);
        assert_eq!(world.records.borrow().len(), 4);

        // The next one succeeds.
        machine.borrow_mut().fate = Fate::Succeeds;
        assert_eq!(ends(drive, &World::new(), BlockErase), End::Done);
    });
}

/// After a restricted operation has failed, only another restricted one is accepted.
#[test]
fn a_restricted_failure_has_one_way_out() {
    each(|drive, machine| {
        for fate in [Fate::Succeeds, Fate::Fails] {
            *machine.borrow_mut() = Machine {
                doing: Doing::Failure,
                last: Some((BlockErase, false)),
                fate,
                ..Machine::default()
            };
            let state = drive.status().unwrap().state;
            assert!(matches!(state, State::Failed { .. }), "{state:?}");
            let end = ends(drive, &World::new(), CryptoErase);
            assert_eq!(machine.borrow().begun, [(CryptoErase, false)]);
            match end {
                End::Done => assert_eq!(fate, Fate::Succeeds),
                End::Locked(why) => {
                    contains(&why, "until another one succeeds");
                    assert_eq!(machine.borrow().doing, Doing::Failure);
                }
                end => panic!("{end:?}"),
            }
        }
    });
}

#[test]
fn an_operation_without_progress_is_given_up() {
    each(|drive, machine| {
        machine.borrow_mut().fate = Fate::Stalls;
        let world = World::new();
        let End::Stuck(why) = ends(drive, &world, Overwrite) else {
            panic!("it stalls");
        };
        contains(&why, "no progress for 3 hours, at 0 %: power it off and on");
        assert_eq!(world.now(), NO_PROGRESS);

        // The control: one that moves is waited for, however long it takes.
        *machine.borrow_mut() = Machine {
            step: 1,
            ..Machine::default()
        };
        let world = World::new();
        assert_eq!(ends(drive, &world, Overwrite), End::Done);
        assert!(world.now() > NO_PROGRESS);
    });
}

/// A drive that was reset tells that first. It is asked again, and not forever.
#[test]
fn a_reset_drive_is_asked_again() {
    let drive = Drive::default();
    let unit = LogicalUnit(&drive);
    drive.attentions.set(3);
    assert_eq!(unit.actions().unwrap().all, ACTIONS);
    drive.attentions.set(3);
    unit.start(BlockErase, Mode::Unrestricted).result.unwrap();
    assert_eq!(drive.machine.borrow().begun.len(), 1);
    drive.attentions.set(3);
    let state = unit.status().unwrap().state;
    assert!(matches!(state, State::Running { .. }), "{state:?}");
    drive.attentions.set(u32::MAX);
    assert_eq!(unit.status().unwrap_err(), "sense 6/29/00");
}

/// A drive may tell that it takes longer.
#[test]
fn the_drives_own_estimate_counts() {
    let controller = Controller {
        estimate: 10 * 3600,
        ..Controller::default()
    };
    controller.machine.borrow_mut().fate = Fate::Stalls;
    let world = World::new();
    let end = ends(&Subsystem::new(&controller, vec![1]), &world, BlockErase);
    assert!(matches!(end, End::Stuck(_)), "{end:?}");
    assert_eq!(world.now(), Duration::from_secs(20 * 3600));
}

/// A drive that stops to answer after it has accepted the command.
struct Silent<'a> {
    world: &'a World,
    /// Whether it is gone, too.
    is_gone: bool,
    answers: Cell<u32>,
}

impl Sanitizer for Silent<'_> {
    fn actions(&self) -> Result<Actions, String> {
        Ok(Actions::known(ACTIONS.into()))
    }

    fn status(&self) -> Result<Status, String> {
        self.answers.set(self.answers.get() + 1);
        if self.answers.get() > 1 {
            self.world.is_attached.set(!self.is_gone);
            return Err("Input/output error".into());
        }
        Ok(Status {
            state: State::Idle {
                last: None,
                succeeded: None,
            },
            answer: self.start(BlockErase, Mode::Restricted).answer,
        })
    }

    fn start(&self, _: Action, _: Mode) -> Attempt {
        Attempt {
            answer: Exchange {
                sent: "a command".into(),
                answered: "an answer".into(),
            },
            result: Ok(()),
        }
    }

    fn leave_failure(&self) -> Attempt {
        unreachable!("it does not tell that it has failed")
    }
}

#[test]
fn a_drive_that_does_not_answer_is_given_up() {
    for is_gone in [false, true] {
        let world = World::new();
        let drive = Silent {
            world: &world,
            is_gone,
            answers: Cell::default(),
        };
        match ends(&drive, &world, BlockErase) {
            End::Vanished => assert!(is_gone),
            End::Stuck(why) => {
                let said = "not told its sanitize state for 10 minutes: Input/output error";
                assert!(!is_gone && why.contains(said), "{why}");
                assert_eq!(world.now(), NO_ANSWER);
            }
            end => panic!("{end:?}"),
        }
    }
}
