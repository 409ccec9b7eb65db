//! Tests operations against the models of all three kinds of drives: their ends, power cuts, killed runs,
//! and drives that fail, stall or do not answer.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use super::machine::{Doing, Fate, Machine};
use super::{World, ata, nvme, sanitize, scsi};
use crate::erase::Action;
use crate::erase::ata::Disk;
use crate::erase::nvme::Subsystem;
use crate::erase::sanitize::ACTIONS;
use crate::erase::sanitize::{
    Actions, Attempt, End, Exchange, Mode, NO_ANSWER, NO_PROGRESS, Sanitizer, State, Status,
    Surroundings,
};
use crate::erase::scsi::LogicalUnit;

/// Calls `test` with each kind of drive and its machine.
fn each(test: impl Fn(&dyn Sanitizer, &RefCell<Machine>)) {
    let controller = nvme::Controller::default();
    test(&Subsystem::new(&controller, vec![1]), &controller.machine);
    for descriptors in [false, true] {
        let drive = scsi::Drive {
            descriptors,
            ..scsi::Drive::default()
        };
        test(&LogicalUnit(&drive), &drive.machine);
    }
    let quiet = scsi::Drive {
        is_quiet: true,
        ..scsi::Drive::default()
    };
    test(&LogicalUnit(&quiet), &quiet.machine);
    for errors_fixed in [false, true] {
        let disk = ata::Disk {
            passes_on: ata::PassesOn::All { errors_fixed },
            ..ata::Disk::default()
        };
        test(&Disk::behind(&disk).expect("ATA"), &disk.machine);
    }
}

#[test]
fn each_action_is_sent_once_and_waited_for() {
    for action in ACTIONS {
        each(|drive, machine| {
            assert_eq!(drive.actions().unwrap().all, ACTIONS);
            let world = World::new();
            assert_eq!(sanitize(drive, &world, action, false), End::Done);
            assert_eq!(machine.borrow().begun, [(action, true)]);
            assert_eq!(world.under_way.get(), Some(false));
            let progress = world.progress.borrow();
            assert!(progress.len() > 2 && progress[0] == 0 && progress.is_sorted());
            // The state before, the command, and the state after.
            assert_eq!(world.records.borrow().len(), 3);
        });
    }
}

/// A run is killed, and the power fails; the next run waits for the operation.
#[test]
fn an_operation_goes_on_alone() {
    each(|drive, machine| {
        machine.borrow_mut().step = 0x1000;
        let killed = World::impatient(2);
        let end = sanitize(drive, &killed, Action::BlockErase, false);
        assert_eq!(end, End::Interrupted);
        machine.borrow_mut().lose_power();
        let resumed = World::new();
        assert_eq!(
            sanitize(drive, &resumed, Action::BlockErase, true),
            End::Done
        );
        assert_eq!(machine.borrow().begun.len(), 1);
        // It is still the one that the first run began.
        assert_eq!(resumed.under_way.get(), None);
        assert!(resumed.progress.borrow()[0] > 0x1000);

        // The control: to send the command again, without a look at the state, fails.
        machine.borrow_mut().step = 1;
        let begin = || drive.start(Action::BlockErase, Mode::Unrestricted).result;
        begin().expect("nothing is under way");
        begin().expect_err("one is under way");
        assert_eq!(machine.borrow().begun.len(), 2);
    });
}

#[test]
fn an_operation_that_ended_meanwhile_is_done() {
    each(|drive, machine| {
        let killed = World::impatient(1);
        let end = sanitize(drive, &killed, Action::CryptoErase, false);
        assert_eq!(end, End::Interrupted);
        machine.borrow_mut().step = 0xffff;
        (0..3).for_each(|_| machine.borrow_mut().go_on());
        machine.borrow_mut().lose_power();
        let resumed = World::new();
        assert_eq!(
            sanitize(drive, &resumed, Action::CryptoErase, true),
            End::Done
        );
        assert_eq!(machine.borrow().begun.len(), 1);
    });
}

/// Somebody else has started it. It is waited for, and counts if it is not known to be of another kind.
#[test]
fn an_operation_under_way_is_waited_for() {
    each(|drive, machine| {
        machine
            .borrow_mut()
            .begin(Action::Overwrite, false)
            .unwrap();
        let world = World::new();
        assert_eq!(sanitize(drive, &world, Action::Overwrite, false), End::Done);
        assert_eq!(machine.borrow().begun, [(Action::Overwrite, false)]);
        assert_eq!(world.under_way.get(), Some(true));
    });
    let controller = nvme::Controller::default();
    let subsystem = Subsystem::new(&controller, vec![1]);
    controller
        .machine
        .borrow_mut()
        .begin(Action::Overwrite, false)
        .unwrap();
    let world = World::new();
    let end = sanitize(&subsystem, &world, Action::CryptoErase, false);
    assert_eq!(end, End::Done);
    let begun = &controller.machine.borrow().begun;
    assert_eq!(
        begun[..],
        [(Action::Overwrite, false), (Action::CryptoErase, true)]
    );
    assert_eq!(world.under_way.get(), Some(false), "the last one was begun");
}

#[test]
fn a_failed_operation_is_left_so_that_the_drive_can_be_overwritten() {
    each(|drive, machine| {
        machine.borrow_mut().fate = Fate::Fails;
        let world = World::new();
        let End::Failed(why) = sanitize(drive, &world, Action::BlockErase, false) else {
            panic!("it fails");
        };
        assert!(why.contains("its sanitize operation failed"), "{why}");
        assert_eq!(machine.borrow().doing, Doing::Nothing);
        assert_eq!(world.records.borrow().len(), 4);

        // The next one succeeds.
        machine.borrow_mut().fate = Fate::Succeeds;
        let again = World::new();
        assert_eq!(
            sanitize(drive, &again, Action::BlockErase, false),
            End::Done
        );
    });
}

/// After a restricted operation has failed, only another restricted one is accepted.
#[test]
fn a_restricted_failure_has_one_way_out() {
    each(|drive, machine| {
        let restricted_failure = || {
            let mut machine = machine.borrow_mut();
            *machine = Machine {
                doing: Doing::Failure,
                last: Some((Action::BlockErase, false)),
                ..Machine::default()
            };
        };
        restricted_failure();
        let state = drive.status().unwrap().state;
        assert!(matches!(state, State::Failed { .. }), "{state:?}");
        let world = World::new();
        assert_eq!(
            sanitize(drive, &world, Action::CryptoErase, false),
            End::Done
        );
        assert_eq!(machine.borrow().begun, [(Action::CryptoErase, false)]);

        restricted_failure();
        machine.borrow_mut().fate = Fate::Fails;
        let world = World::new();
        let End::Locked(why) = sanitize(drive, &world, Action::CryptoErase, false) else {
            panic!("it serves no reads and writes");
        };
        assert!(why.contains("until another one succeeds"), "{why}");
        assert_eq!(machine.borrow().doing, Doing::Failure);
    });
}

#[test]
fn an_operation_without_progress_is_given_up() {
    each(|drive, machine| {
        machine.borrow_mut().fate = Fate::Stalls;
        let world = World::new();
        let End::Stuck(why) = sanitize(drive, &world, Action::Overwrite, false) else {
            panic!("it stalls");
        };
        assert!(
            why.contains("no progress for 3 hours, at 0 %: power it off and on"),
            "{why}"
        );
        assert_eq!(world.now(), NO_PROGRESS);

        // The control: one that moves is waited for, however long it takes.
        *machine.borrow_mut() = Machine {
            step: 1,
            ..Machine::default()
        };
        let world = World::new();
        assert_eq!(sanitize(drive, &world, Action::Overwrite, false), End::Done);
        assert!(world.now() > NO_PROGRESS);
    });
}

/// A drive that was reset tells that first. It is asked again, and not forever.
#[test]
fn a_reset_drive_is_asked_again() {
    let drive = scsi::Drive::default();
    let unit = LogicalUnit(&drive);
    drive.attentions.set(3);
    assert_eq!(unit.actions().unwrap().all, ACTIONS);
    drive.attentions.set(3);
    assert_eq!(
        unit.start(Action::BlockErase, Mode::Unrestricted).result,
        Ok(())
    );
    assert_eq!(drive.machine.borrow().begun.len(), 1);
    drive.attentions.set(3);
    assert!(matches!(
        unit.status().unwrap().state,
        State::Running { .. }
    ));
    drive.attentions.set(u32::MAX);
    assert_eq!(unit.status().unwrap_err(), "sense 6/29/00");
}

/// A drive may tell that it takes longer.
#[test]
fn the_drives_own_estimate_counts() {
    let controller = nvme::Controller {
        estimate: 10 * 3600,
        ..nvme::Controller::default()
    };
    controller.machine.borrow_mut().fate = Fate::Stalls;
    let subsystem = Subsystem::new(&controller, vec![1]);
    let world = World::new();
    let end = sanitize(&subsystem, &world, Action::BlockErase, false);
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
            answer: answered(),
        })
    }

    fn start(&self, _: Action, _: Mode) -> Attempt {
        Attempt {
            answer: answered(),
            result: Ok(()),
        }
    }

    fn leave_failure(&self) -> Attempt {
        unreachable!("it does not tell that it has failed")
    }
}

fn answered() -> Exchange {
    Exchange {
        sent: "a command".into(),
        answered: "an answer".into(),
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
        match sanitize(&drive, &world, Action::BlockErase, false) {
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
