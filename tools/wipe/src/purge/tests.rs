//! Tests which namespaces may be formatted, targets that cannot erase themselves, and, with models of drives
//! behind the commands, sanitize operations.

mod ata;
mod choice;
mod machine;
mod nvme;
mod operations;
mod refusals;
mod scsi;
mod world;

use std::time::Duration;

use super::nvme::{Controller, current_format};
use super::*;
use squall_drives::io::{Access, Direct};
use squall_testing::loops::Lab;
use squall_tools::retry::retry;

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

/// How `targets` are to erase themselves, with --yes.
fn chosen(asked: Option<EraseChoice>, targets: &[Target]) -> Result<Vec<Option<Purge>>, Failure> {
    // A child that another test has just forked has this process's devices open, too.
    let open = |target| {
        let attempt = || Device::open(target, Access::Write, Direct::Auto);
        retry(Duration::from_secs(600), |_| true, attempt)
    };
    let devices: Vec<_> = targets.iter().map(|target| open(target).unwrap()).collect();
    let consent = Consent {
        yes: true,
        ..Consent::default()
    };
    choose(asked, &consent, targets, &devices)
}

#[test]
fn what_cannot_erase_itself_is_refused() {
    let lab = Lab::new();
    let targets = [Target::find(&lab.image("image", MIB)).expect("a target")];
    assert!(ask(&targets[0], &targets).is_none());
    assert_eq!(chosen(None, &targets).unwrap(), [None]);
    let text = chosen(Some(EraseChoice::Auto), &targets)
        .expect_err("no erase")
        .into_text();
    assert!(
        text.contains("it cannot erase itself: it is a file: nothing was written"),
        "{text}"
    );
}

/// A record of an operation that was found under way, of which the drive told nothing.
#[test]
fn an_untold_operation_is_not_replaced_by_another_erase() {
    let lab = Lab::new();
    let target = Target::find(&lab.image("image", MIB)).expect("a target");
    let file = File::open(&target.identity.path).expect("a file");
    for means in [EraseMethod::ScsiSanitize, EraseMethod::AtaSanitize] {
        let why = purge(&target, &file, means).unwrap_err();
        assert!(why.contains("does not tell which operation"), "{why}");
    }
}
