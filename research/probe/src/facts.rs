//! Collects facts about the machine for the lab's report, before anything is timed.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

use serde_json::{Value, json};
use squall_probe::Mode;

use crate::system::read;
use crate::{Result, kvm_clock};

/// The sysfs path of the kernel's vmgenid device: a platform driver since Linux 6.10, an ACPI driver
/// before.
const VMGENID: [&str; 2] = [
    "/sys/bus/platform/drivers/vmgenid/QEMUVGID:00",
    "/sys/bus/acpi/drivers/vmgenid/QEMUVGID:00",
];

const VMCLOCK: &str = "/dev/vmclock0";

/// The device of the kernel module that shows vmgenid's page.
pub const VMGENID_PAGE: &str = "/dev/squall-vmgenid";

const CLOCKSOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// All facts as JSON, with the library's status and the counts of served requests. The latter are null
/// if nothing is counted.
pub fn gather(mode: Mode, status: Value, served: Value) -> Result<String> {
    let cpus = std::thread::available_parallelism();
    let cpus = cpus.map_err(|error| format!("the number of CPUs: {error}"))?;
    let facts = json!({
        "mode": mode.name(),
        "kernel": read("/proc/sys/kernel/osrelease")?,
        "version": read("/proc/version")?,
        "clocksource": read(CLOCKSOURCE)?,
        "cpus": cpus.get(),
        "cpu_flags": cpu_flags(&read("/proc/cpuinfo")?),
        "vmgenid": VMGENID.into_iter().any(|path| Path::new(path).exists()),
        "vmgenid_page": vmgenid_page()?,
        "vmclock": Path::new(VMCLOCK).exists(),
        "kvm_clock": kvm_clock::is_there(),
        "status": status,
        "served": served,
    });
    Ok(facts.to_string())
}

/// Which of the relevant instructions the first CPU has. x86-64 has the line `flags`, arm64 `Features`,
/// where `rng` is RNDR.
fn cpu_flags(cpuinfo: &str) -> Value {
    let is_flags = |line: &&str| line.starts_with("flags") || line.starts_with("Features");
    let flags = cpuinfo.lines().find(is_flags).unwrap_or_default();
    let has = |flag| flags.split_ascii_whitespace().any(|word| word == flag);
    json!({
        "rdrand": has("rdrand"),
        "rdseed": has("rdseed"),
        "aes": has("aes"),
        "vaes": has("vaes"),
        "rng": has("rng"),
    })
}

/// The place of the identifier in the page that the module shows. Null if there is no such device.
fn vmgenid_page() -> Result<Value> {
    if !fs::exists(VMGENID_PAGE).unwrap_or(false) {
        return Ok(Value::Null);
    }
    let mut head = [0; 24];
    File::open(VMGENID_PAGE)
        .and_then(|mut device| device.read_exact(&mut head))
        .map_err(|error| format!("reading {VMGENID_PAGE}: {error}"))?;
    let [.., offset] = head.as_chunks().0 else {
        unreachable!("three words");
    };
    Ok(u64::from_ne_bytes(*offset).into())
}

/// squall's status in this process. This draws, which decides how squall guards the process.
pub fn status() -> Value {
    serde_json::to_value(squall::status()).expect("names and numbers")
}
