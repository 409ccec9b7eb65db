//! Firmware that describes the device wrongly. A table of the test's own describes it, as QEMU's is
//! always right.

use std::fs;

use squall_guests::debian::KernelName;

use crate::kernel_modules::{PAGE, Workspace};
use crate::module::{log, workspace};
use squall_guests::Setup;
use squall_guests::commands::contains;
use squall_guests::fixture::{fails, ok};
use squall_guests::needs::{C_COMPILER, GUESTS, MODULE as MODULES};
use squall_testing::suite::Test;
use squall_testing::tests;

pub const TESTS: &[Test] = tests![
    a_valid_acpi_description_is_accepted: [GUESTS, MODULES, C_COMPILER],
    an_invalid_acpi_description_is_refused_with_the_reason: [GUESTS, MODULES, C_COMPILER],
];

/// A place in the reset ROM, which QEMU's memory map reserves: the last that is possible in a page.
const LAST_IN_ROM: u64 = 0xffff_fff0;

/// An object of ACPI's bytecode (AML).
fn string(text: &str) -> Vec<u8> {
    [&[0x0d], text.as_bytes(), &[0]].concat()
}

fn integer(value: u64) -> Vec<u8> {
    [&[0x0e][..], &value.to_le_bytes()].concat()
}

/// A package, scope or device: its code, its length in two bytes, and what is in it.
fn block(code: &[u8], contents: &[u8]) -> Vec<u8> {
    let len = contents.len() + 2;
    let len = [0x40 | (len & 15) as u8, (len >> 4) as u8];
    [code, &len, contents].concat()
}

fn package(elements: &[Vec<u8>]) -> Vec<u8> {
    let count = [elements.len() as u8];
    block(&[0x12], &[&count[..], &elements.concat()].concat())
}

fn name(name: &str, value: &[u8]) -> Vec<u8> {
    [&[0x08], name.as_bytes(), value].concat()
}

/// A table with a device whose `ADDR` has this value; none if there is no value.
fn table(address: Option<Vec<u8>>) -> Vec<u8> {
    let ids = [
        name("_HID", &string("SQLG0001")),
        name("_CID", &string("VM_Gen_Counter")),
    ];
    let address = address.map(|value| name("ADDR", &value));
    let device = [&b"VGEN"[..], &ids.concat(), &address.unwrap_or_default()].concat();
    let device = block(&[0x5b, 0x82], &device);
    block(&[0x10], &[b"\\_SB_", &device[..]].concat())
}

/// The two halves of an address.
fn halves(address: u64) -> Option<Vec<u8>> {
    let low = address & u64::from(u32::MAX);
    Some(package(&[integer(low), integer(address >> 32)]))
}

/// What `insmod` and the module say to firmware whose device has this `ADDR`.
fn answer(workspace: &Workspace, address: Option<Vec<u8>>) -> (bool, Vec<String>) {
    let path = workspace.path("table");
    fs::write(&path, table(address)).expect("a file");
    let setup = Setup {
        acpi_tables: vec![path],
        ..workspace.setup(None)
    };
    let mut guest = workspace.boot(&setup);
    let loaded = guest.sh(&format!("insmod {PAGE}")).expect("an end");
    let log = log(&mut guest);
    if loaded.status == 0 {
        ok(&mut guest, "vmgenid id");
    } else {
        ok(&mut guest, "[ ! -e /dev/squall-vmgenid ]");
        fails(&mut guest, "lsmod | grep squall_vmgenid");
    }
    (loaded.status == 0, log)
}

fn a_valid_acpi_description_is_accepted() {
    let workspace = workspace(KernelName::V6_12, "");
    let (loaded, log) = answer(&workspace, halves(LAST_IN_ROM));
    assert!(loaded, "{log:?}");
    contains(&log[0], &["the ID at 0x00000000fffffff0, offset 4080"]);
}

fn an_invalid_acpi_description_is_refused_with_the_reason() {
    let workspace = workspace(KernelName::V6_12, "");
    let (zero, rom) = (integer(0), integer(LAST_IN_ROM));
    let no_package = "ADDR gives no package of two halves of an address";
    let not_reserved = "the page is not in reserved memory";
    let cases = [
        (None, "ADDR gives nothing"),
        (Some(rom.clone()), no_package),
        (Some(package(&[])), no_package),
        (Some(package(std::slice::from_ref(&rom))), no_package),
        (
            Some(package(&[rom.clone(), zero.clone(), zero.clone()])),
            no_package,
        ),
        (Some(package(&[string("fffffff0"), zero])), no_package),
        (halves(0), "the address is 0"),
        (
            halves(LAST_IN_ROM - 4),
            "the address is not aligned to 8 bytes",
        ),
        (halves(LAST_IN_ROM + 8), "the ID crosses the end of a page"),
        // The system's own memory, no memory, and what the CPU has no address for.
        (halves(0x10_0000), not_reserved),
        (halves(0x1_0000_0000), not_reserved),
        (halves(1 << 56), not_reserved),
    ];
    for (address, reason) in cases {
        let (loaded, log) = answer(&workspace, address);
        assert!(!loaded, "{reason}");
        assert_eq!(log.len(), 1, "{log:?}");
        contains(&log[0], &["refused: ", reason]);
    }
}
