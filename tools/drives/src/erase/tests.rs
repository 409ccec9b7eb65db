//! Tests what may be erased and how; the commands of each command set and what their answers mean; and operations of models
//! of drives: their ends, killed runs, and drives that fail, stall or do not answer.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use squall_testing::loops::Lab;

use super::ata::Disk;
use super::models::{Controller, Doing, Drive, Fate, Machine, Tells, ata, refusal};
use super::nvme::{Format, Subsystem};
use super::sanitize::{
    ACTIONS, Actions, End, Exchange, Mode, NO_ANSWER, NO_PROGRESS, Operation, Surroundings,
};
use super::scsi::{LogicalUnit, digits};
use super::*;
use super::{EraseChoice as How, EraseMethod as By};
use crate::commands::ata::Registers;
use crate::commands::scsi::{Data, Reply, model};
use crate::commands::sense::Sense;
use crate::commands::sense::tests::{BUSY, reply_with};
use crate::io::Direct;

use Action::{BlockErase, CryptoErase, Overwrite};
use Mode::{Restricted, Unrestricted};

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

/// How an operation ends that this run begins, or that an earlier run began and knew to be `accepted`.
fn ends(drive: &dyn Sanitizer, world: &World, action: Action, accepted: bool) -> End {
    let operation = Operation {
        drive,
        surroundings: world,
        action,
    };
    operation.run(accepted)
}

fn each(test: impl Fn(&Drive)) {
    for tells in [Tells::All, Tells::Success, Tells::Nothing] {
        test(&Drive::new(tells));
    }
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
    let device = Device::open_to_read(target, Direct::Auto).expect("it opens");
    for means in [By::ScsiSanitize, By::AtaSanitize] {
        let why = run(&device, means).unwrap_err();
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
    let failed = |actions: &[Action]| Drive {
        machine: Machine::failed(Overwrite, Unrestricted).into(),
        actions: actions.to_vec(),
        ..Drive::new(Tells::Nothing)
    };
    for (flash, actions, expected) in [
        (Some(false), &[Overwrite][..], By::ScsiSanitizeOverwrite),
        (None, &ACTIONS, By::ScsiSanitizeOverwrite),
        (
            Some(true),
            &[BlockErase, CryptoErase],
            By::ScsiSanitizeBlock,
        ),
    ] {
        let drive = failed(actions);
        let supported = told(CommandSet::Scsi, &drive, flash);
        assert_eq!(supported.choose(How::Auto), Ok(expected));
        let words = supported.words(How::Auto).expect("a way");
        assert!(words.starts_with("perhaps supported: SCSI SANITIZE with "));
        contains(&words, "its last operation failed");
        let action = expected.action().expect("an operation");
        assert_eq!(ends(&drive, &World::new(), action, false), End::Done);
    }
    let magnetic = failed(&[Overwrite]);
    let why = told(CommandSet::Scsi, &magnetic, Some(false)).choose(How::Block);
    assert!(why.is_err_and(|why| why.ends_with("only by crypto erase or overwrite")));

    // The control: the magnetic drive refuses block erase, and stays as it was.
    let end = ends(&magnetic, &World::new(), BlockErase, false);
    assert!(matches!(end, End::Locked(_)), "{end:?}");
    assert_eq!(magnetic.machine.borrow().doing, Doing::Failure);
}

/// A drive at work does what somebody has told it, not what this user chooses. Only NVMe drives tell what that is.
#[test]
fn a_plan_names_the_operation_under_way() {
    let flash = Some(true);
    // The control: a drive that is idle.
    let idle = told(CommandSet::Scsi, &Drive::new(Tells::Nothing), flash);
    assert_eq!(
        idle.words(How::Crypto).as_deref(),
        Ok("supported: SCSI SANITIZE with cryptographic erase (--purge)")
    );
    let begins = ", then begins NVMe Sanitize with block erase";
    for (set, tells, how, known, then) in [
        (
            CommandSet::Scsi,
            Tells::Nothing,
            How::Crypto,
            By::ScsiSanitize,
            "",
        ),
        (
            CommandSet::Ata,
            Tells::Success,
            How::Auto,
            By::AtaSanitize,
            "",
        ),
        (
            CommandSet::Nvme,
            Tells::All,
            How::Overwrite,
            By::NvmeSanitizeOverwrite,
            "",
        ),
        (
            CommandSet::Nvme,
            Tells::All,
            How::Auto,
            By::NvmeSanitizeOverwrite,
            begins,
        ),
    ] {
        let at_work = Machine {
            doing: Doing::Processing,
            progress: 0x8000,
            step: 0,
            ..Machine::failed(Overwrite, Unrestricted)
        };
        let drive = Drive {
            machine: at_work.into(),
            ..Drive::new(tells)
        };
        let drive = told(set, &drive, flash);
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
        assert!(controller.sanitized.borrow().is_empty());
    }
    // Without Namespace Management, those of other controllers are not known.
    let mut shared = Controller {
        multiple: 0b10,
        ..Controller::default()
    };
    let why = Subsystem::new(&shared, vec![1]).actions().unwrap_err();
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
    let end = ends(&subsystem, &World::new(), BlockErase, false);
    assert!(matches!(end, End::Failed(_)), "{end:?}");
    assert!(controller.sanitized.borrow().is_empty());
}

/// Each action in both modes, and then the way out of a failure: every byte that a drive gets.
#[test]
fn commands_are_those_of_the_standards() {
    let send_all = |drive: &dyn Sanitizer| {
        for (action, mode) in ACTIONS
            .into_iter()
            .flat_map(|action| [Unrestricted, Restricted].map(|mode| (action, mode)))
        {
            drive.start(action, mode).result.expect("it is accepted");
        }
        drive.leave_failure().result.expect("it is accepted");
    };
    let controller = Controller::default();
    send_all(&Subsystem::new(&controller, vec![1]));
    let words = [0x0a, 0x02, 0x0c, 0x04, 0x1b, 0x13, 0x01];
    assert_eq!(controller.sanitized.into_inner(), words);

    let sent = RefCell::new(Vec::new());
    let drive = model(|block, data| {
        let parameters = match data {
            Data::None => Vec::new(),
            Data::Out(bytes) => bytes.to_vec(),
            Data::In(_) => panic!("nothing comes from the drive"),
        };
        sent.borrow_mut().push((digits(block), digits(&parameters)));
        Reply::default()
    });
    send_all(&LogicalUnit(&drive));
    drop(drive);
    let zeros = "01 00 00 04 00 00 00 00";
    let expected = [
        ("48 a2 00 00 00 00 00 00 00 00", ""),
        ("48 82 00 00 00 00 00 00 00 00", ""),
        ("48 a3 00 00 00 00 00 00 00 00", ""),
        ("48 83 00 00 00 00 00 00 00 00", ""),
        ("48 a1 00 00 00 00 00 00 08 00", zeros),
        ("48 81 00 00 00 00 00 00 08 00", zeros),
        ("48 1f 00 00 00 00 00 00 00 00", ""),
    ];
    let expected = expected.map(|(block, data)| (block.to_owned(), data.to_owned()));
    assert_eq!(sent.into_inner(), expected);

    let sent = RefCell::new(Vec::new());
    let accepted = Registers {
        status: 0x50,
        ..Registers::default()
    };
    let drive = ata(0xf400, |block| {
        sent.borrow_mut().push(digits(block));
        reply_with(accepted, false)
    });
    send_all(&Disk::behind(&drive).expect("ATA"));
    drop(drive);
    assert_eq!(
        sent.into_inner(),
        [
            "85 07 20 00 12 00 10 42 72 00 45 00 6b 40 b4 00",
            "85 07 20 00 12 00 00 42 72 00 45 00 6b 40 b4 00",
            "85 07 20 00 11 00 10 43 70 00 79 00 72 40 b4 00",
            "85 07 20 00 11 00 00 43 70 00 79 00 72 40 b4 00",
            "85 07 20 00 14 00 11 00 00 57 00 4f 00 40 b4 00",
            "85 07 20 00 14 00 01 00 00 57 00 4f 00 40 b4 00",
            "85 07 20 00 00 00 01 00 00 00 00 00 00 40 b4 00",
        ]
    );
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
        (0b111, &ACTIONS),
        (0xe000_0000, &[]),
    ] {
        let controller = Controller {
            capabilities,
            ..Controller::default()
        };
        let subsystem = Subsystem::new(&controller, vec![1]);
        is_told(&subsystem, expected, "no Sanitize");
    }
    let others = "other logical units";
    for (services, units, expected, without) in [
        (&[1, 3][..], 0, &[CryptoErase, Overwrite][..], ""),
        (&[1, 2, 3], 1, &ACTIONS, ""),
        (&[], 0, &[], "no SANITIZE"),
        (&[2], 2, &[], others),
        (&[2], 3, &[], others),
    ] {
        let drive = model(|block, data| {
            let [0xa3, 0x0c, 0b010, 0x48, 0, service, 0, 0, 0, 64, 0, 0] = *block else {
                panic!("{block:02x?}");
            };
            let Data::In(data) = data else {
                panic!("{data:?}");
            };
            let is_supported = services.contains(&service);
            data[1] = units << 5 | if is_supported { 3 } else { 1 };
            Reply::default()
        });
        is_told(&LogicalUnit(&drive), expected, without);
    }
    for (word59, expected) in [
        (0x9000, &[BlockErase][..]),
        (0x7000, &[CryptoErase, Overwrite]),
        (0xf400, &ACTIONS),
        (0xe000, &[]),
        (0x1000, &[]),
        (0x0110, &[]),
    ] {
        let drive = ata(word59, |_| Reply::default());
        is_told(&Disk::behind(&drive).unwrap(), expected, "no ATA sanitize");
    }
}

/// A SCSI drive that is at work, or has failed, does not tell its actions. One that does not know the question has none.
#[test]
fn a_drive_that_does_not_tell_its_actions_may_have_all() {
    for (key, code, qualifier) in [(2, 0x04, 0x1b), (3, 0x31, 0x03)] {
        let drive = model(|_, _| refusal(key, code, qualifier));
        let actions = LogicalUnit(&drive).actions().unwrap();
        assert_eq!((&actions.all[..], actions.are_known), (&ACTIONS[..], false));
    }
    let drive = model(|_, _| refusal(5, 0x20, 0));
    let why = LogicalUnit(&drive).actions().unwrap_err();
    assert_eq!(why, "it does not report whether it has SANITIZE");
}

/// Behind an adapter, the kernel may show another name of an ATA drive.
#[test]
fn ata_drives_tell_their_own_names() {
    let drive = ata(0, |_| Reply::default());
    let disk = Disk::behind(&drive).expect("ATA");
    assert_eq!(disk.own_name(), Ok(Some("ST00 ZC1A".into())));
    assert_eq!(LogicalUnit(&drive).own_name(), Ok(None));
}

fn idle(last: Option<Action>, succeeded: Option<bool>) -> State {
    State::Idle { last, succeeded }
}

fn running(action: Option<Action>) -> State {
    State::Running {
        action,
        progress: 0x1234,
    }
}

fn failed(mode: Option<Mode>) -> State {
    State::Failed { mode }
}

/// The state that `drive` tells, or why none is known.
fn state(drive: &dyn Sanitizer) -> Result<State, String> {
    drive.status().map(|status| status.state)
}

#[test]
fn a_log_of_nvme_tells_everything() {
    for (status, word, expected) in [
        (0, 0, idle(None, Some(false))),
        (0x101, 0x0a, idle(Some(BlockErase), Some(true))),
        (4, 0x0c, idle(Some(CryptoErase), Some(true))),
        (2, 0x1b, running(Some(Overwrite))),
        (3, 0x02, failed(Some(Restricted))),
        (3, 0x0a, failed(Some(Unrestricted))),
    ] {
        let controller = Controller {
            log: (0x1234, status, word),
            ..Controller::default()
        };
        let subsystem = Subsystem::new(&controller, vec![1]);
        assert_eq!(state(&subsystem), Ok(expected));
        let hours = Duration::from_secs(Controller::SECONDS.into());
        assert_eq!(subsystem.estimate(BlockErase), Some(hours));
        assert_eq!(subsystem.estimate(Overwrite), None);
    }
}

/// In sense data of both formats. Some drives tell it only to TEST UNIT READY.
#[test]
fn sense_data_tell_what_a_scsi_drive_does() {
    const FAILED: &[u8] = &[0x72, 3, 0x31, 0x03, 0, 0, 0, 0];
    const RESET: &[u8] = &[0x72, 6, 0x29, 0, 0, 0, 0, 0];
    for (sense, expected) in [
        (&[0x70; 18][..0], Ok(idle(None, None))),
        (BUSY[0], Ok(running(None))),
        (BUSY[1], Ok(running(None))),
        (FAILED, Ok(failed(None))),
        (RESET, Err("sense 6/29/00".to_owned())),
    ] {
        for is_quiet in [false, true] {
            let drive = model(|block, data| match (block, data) {
                ([0x03, 0, 0, 0, 252, 0], Data::In(data)) => {
                    data[0] = 0x72;
                    if !is_quiet {
                        data[..sense.len()].copy_from_slice(sense);
                    }
                    Reply::default()
                }
                ([0, 0, 0, 0, 0, 0], Data::None) => Reply {
                    status: if sense.is_empty() { 0 } else { 2 },
                    sense: Sense::read(sense),
                    ..Reply::default()
                },
                (block, _) => panic!("{block:02x?}"),
            });
            assert_eq!(state(&LogicalUnit(&drive)), expected);
        }
    }
}

/// An ATA drive without sanitize aborts the question as any command that it does not know: that is not the failure of an
/// operation. Some firmware freezes the commands until the power is off; an antifreeze lock only prevents that.
#[test]
fn registers_tell_what_an_ata_drive_does() {
    let registers = |status, count, lba| Registers {
        status,
        count,
        lba,
        ..Registers::default()
    };
    let (succeeded, not) = (idle(None, Some(true)), idle(None, Some(false)));
    for (word59, registers, expected) in [
        (0xf400, registers(0x50, 1 << 15, 0xffff), Ok(succeeded)),
        (0xf400, registers(0x50, 1 << 12, 0xffff), Ok(not)),
        (0xf400, registers(0x50, 1 << 14, 0x1234), Ok(running(None))),
        (0xf400, registers(0x50, 1 << 13, 0xffff), Ok(State::Frozen)),
        (0xf400, registers(0x51, 0, 0), Ok(failed(None))),
        (0xf400, registers(0x51, 0, 1), Ok(failed(None))),
        (0xf400, registers(0x51, 0, 3), Ok(State::Frozen)),
        (0, registers(0x51, 0, 0), Err("it has no ATA sanitize")),
    ] {
        // After an error, some translations have the fixed format, in which not all of the registers fit.
        for is_fixed in [false, true] {
            let drive = ata(word59, |block| {
                assert_eq!(block[..7], [0x85, 7, 0x20, 0, 0, 0, 0]);
                reply_with(registers, is_fixed)
            });
            let expected = match is_fixed && !registers.is_error() {
                true => Err("the adapter passes on only a part of its registers"),
                false => expected,
            };
            let disk = Disk::behind(&drive).expect("ATA");
            assert_eq!(state(&disk), expected.map_err(str::to_owned));
        }
    }
    // Without the registers nobody knows how far the drive is.
    let drive = ata(0xf400, |_| Reply::default());
    let disk = Disk::behind(&drive).expect("ATA");
    contains(&state(&disk).unwrap_err(), "without the drive's registers");
    let end = ends(&disk, &World::new(), BlockErase, false);
    assert!(matches!(end, End::Stuck(_)), "{end:?}");
}

/// A drive that was reset tells that first. It is asked again, and not forever.
#[test]
fn a_reset_drive_is_asked_again() {
    let resets = Cell::new(0);
    let drive = model(|_, _| match resets.take() {
        0 => Reply::default(),
        left => {
            resets.set(left - 1);
            refusal(6, 0x29, 0)
        }
    });
    for (number, expected) in [(3, Ok(())), (4, Err("sense 6/29/00".to_owned()))] {
        resets.set(number);
        let sent = LogicalUnit(&drive).start(BlockErase, Unrestricted);
        assert_eq!(sent.result, expected);
    }
}

/// Some firmware freezes the commands.
#[test]
fn frozen_drives_are_refused_until_they_lose_power() {
    each(|drive| {
        drive.machine.borrow_mut().doing = Doing::Frozen;
        let End::Failed(why) = ends(drive, &World::new(), BlockErase, false) else {
            panic!("it is frozen");
        };
        contains(&why, "frozen until it is powered off");
        assert!(drive.machine.borrow().begun.is_empty());
    });
}

#[test]
fn an_action_is_sent_once_and_waited_for() {
    each(|drive| {
        let world = World::new();
        assert_eq!(ends(drive, &world, Overwrite, false), End::Done);
        let begun = &drive.machine.borrow().begun;
        assert_eq!(begun[..], [(Overwrite, Unrestricted)]);
        assert_eq!(world.under_way.get(), Some(false));
        let progress = world.progress.borrow();
        assert!(progress.len() > 2 && progress[0] == 0 && progress.is_sorted());
        // The state before, the command, and the state after.
        assert_eq!(world.records.borrow().len(), 3);
    });
}

/// A run is killed, or the power fails; the next run waits for the operation.
#[test]
fn an_operation_goes_on_alone() {
    each(|drive| {
        drive.machine.borrow_mut().step = 0x1000;
        let end = ends(drive, &World::impatient(2), BlockErase, false);
        assert_eq!(end, End::Interrupted);
        let resumed = World::new();
        let end = ends(drive, &resumed, BlockErase, true);
        assert_eq!((end, drive.machine.borrow().begun.len()), (End::Done, 1));
        // It is still the one that the first run began.
        assert_eq!(resumed.under_way.get(), None);
        assert!(resumed.progress.borrow()[0] > 0x1000);
        // It has ended meanwhile.
        let end = ends(drive, &World::new(), BlockErase, true);
        assert_eq!((end, drive.machine.borrow().begun.len()), (End::Done, 1));
    });
}

/// Somebody else has started it. It is waited for, and counts if it is not known to be of another kind.
#[test]
fn an_operation_under_way_is_waited_for() {
    let other = (Overwrite, Restricted);
    each(|drive| {
        let begun = drive.machine.borrow_mut().begin(other.0, other.1);
        begun.expect("nothing is under way");
        let world = World::new();
        assert_eq!(ends(drive, &world, CryptoErase, false), End::Done);
        let is_known = drive.tells == Tells::All;
        let ours = is_known.then_some((CryptoErase, Unrestricted));
        let expected: Vec<_> = [other].into_iter().chain(ours).collect();
        assert_eq!(drive.machine.borrow().begun, expected);
        // The last one was found, or begun.
        assert_eq!(world.under_way.get(), Some(!is_known));
    });
}

#[test]
fn a_failed_operation_is_left_so_that_the_drive_can_be_overwritten() {
    each(|drive| {
        drive.machine.borrow_mut().fate = Fate::Fails;
        let world = World::new();
        let End::Failed(why) = ends(drive, &world, BlockErase, false) else {
            panic!("it fails");
        };
        contains(&why, "its sanitize operation failed");
        assert_eq!(drive.machine.borrow().doing, Doing::Nothing);
        assert_eq!(world.records.borrow().len(), 4);

        // The next one succeeds.
        drive.machine.borrow_mut().fate = Fate::Succeeds;
        let end = ends(drive, &World::new(), BlockErase, false);
        assert_eq!(end, End::Done);
    });
}

/// After a restricted operation has failed, only another restricted one is accepted.
#[test]
fn a_restricted_failure_has_one_way_out() {
    each(|drive| {
        for fate in [Fate::Succeeds, Fate::Fails] {
            *drive.machine.borrow_mut() = Machine {
                fate,
                ..Machine::failed(BlockErase, Restricted)
            };
            let end = ends(drive, &World::new(), CryptoErase, false);
            let machine = drive.machine.borrow();
            assert_eq!(machine.begun, [(CryptoErase, Restricted)]);
            match end {
                End::Done => assert_eq!(fate, Fate::Succeeds),
                End::Locked(why) => {
                    contains(&why, "until another one succeeds");
                    assert_eq!(machine.doing, Doing::Failure);
                }
                end => panic!("{end:?}"),
            }
        }
    });
}

/// Unless the drive itself tells that it takes longer.
#[test]
fn an_operation_without_progress_is_given_up() {
    let hour = Duration::from_secs(3600);
    for (estimate, limit) in [(None, NO_PROGRESS), (Some(10 * hour), 20 * hour)] {
        let drive = Drive {
            estimate,
            ..Drive::new(Tells::All)
        };
        drive.machine.borrow_mut().fate = Fate::Stalls;
        let world = World::new();
        let End::Stuck(why) = ends(&drive, &world, Overwrite, false) else {
            panic!("it stalls");
        };
        let hours = limit.as_secs() / 3600;
        let words = format!("no progress for {hours} hours, at 0 %: power it off and on");
        contains(&why, &words);
        assert_eq!(world.now(), limit);

        // The control: one that moves is waited for, however long it takes.
        *drive.machine.borrow_mut() = Machine {
            step: 1,
            ..Machine::default()
        };
        let world = World::new();
        assert_eq!(ends(&drive, &world, Overwrite, false), End::Done);
        assert!(world.now() > NO_PROGRESS);
    }
}

/// It stops to answer after it has accepted the command.
#[test]
fn a_drive_that_does_not_answer_is_given_up() {
    for is_gone in [false, true] {
        let drive = Drive::new(Tells::All);
        drive.answers.set(1);
        let world = World::new();
        world.is_attached.set(!is_gone);
        match ends(&drive, &world, BlockErase, false) {
            End::Vanished => assert!(is_gone),
            End::Stuck(why) => {
                let said = "not told its sanitize state for 10 minutes: Input/output error";
                assert!(!is_gone && why.contains(said), "{why}");
                assert_eq!(world.now(), NO_ANSWER);
            }
            end => panic!("{end:?}"),
        }
        assert_eq!(drive.machine.borrow().begun.len(), 1);
    }
}
