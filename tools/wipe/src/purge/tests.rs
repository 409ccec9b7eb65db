//! Tests which namespaces may be formatted, and devices that cannot erase themselves.

use std::path::Path;
use std::time::Duration;

use super::*;
use nvme::{Controller, as_it_is};
use squall_drives::io::{Access, Direct};
use squall_testing::loops::Lab;
use squall_tools::retry::retry;

const MIB: u64 = 1 << 20;

/// The target at `path`.
fn find(path: &Path) -> Target {
    Target::find(path).expect("a target")
}

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
    controller(oacs, fna, cmic).allows(|_| Ok(list(numbers)), 1)
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
        let why = controller(FORMAT, fna, 0).allows(unlisted, 1).unwrap_err();
        assert_eq!(why, "no list");
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
        controller(oacs, 1, 0).allows(list, 1).unwrap();
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
        as_it_is(&told)
    };
    assert_eq!(told(0, 0), Some(ERASE));
    assert_eq!(told(0b0000_0101, 0), Some(ERASE | 5));
    assert_eq!(told(0b0101_0011, 0), Some(ERASE | 3 | 1 << 4 | 2 << 12));
    assert_eq!(told(1, 0b1010), Some(ERASE | 1 | 2 << 5 | 1 << 8));
    assert_eq!(as_it_is(&[0; 4096]), None, "no such namespace");
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
fn chosen(asked: bool, targets: &[Target]) -> Result<Vec<Option<Means>>, Failure> {
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

#[track_caller]
fn refused_for(target: Target, why: &str) {
    let targets = [target];
    assert_eq!(chosen(false, &targets).unwrap(), [None]);
    let failure = chosen(true, &targets).expect_err("no erase");
    let text = failure.into_text();
    assert!(text.contains("it cannot erase itself"), "{text}");
    assert!(text.contains(why), "{text}");
    assert!(text.contains("nothing was written"), "{text}");
}

#[test]
fn what_cannot_erase_itself_is_refused() {
    refused_for(find(&Lab::new().image("image", MIB)), "it is a file");
    let Some(lab) = Lab::or_skip() else { return };
    let device = lab.device(MIB);
    let target = find(&device.path);
    assert!(foreseen(&target).is_none());
    refused_for(target, "no secure discard");
}

/// The kernel says that a device has no secure discard before it looks at the range.
#[test]
fn a_loop_device_has_no_secure_discard() {
    let Some(lab) = Lab::or_skip() else { return };
    let device = lab.device(MIB);
    std::fs::write(&device.path, vec![0xa7; MIB as usize]).unwrap();
    let target = find(&device.path);
    let opened = Device::open(&target, Access::Write, Direct::Auto).unwrap();
    assert!(!discard::is_supported(opened.file()));
    let why = purge(&target, opened.file(), Means::SecureDiscard).unwrap_err();
    assert!(why.contains("not supported"), "{why}");
    drop(opened);
    assert!(std::fs::read(&device.path).unwrap() == vec![0xa7; MIB as usize]);
}
