//! The facts that `--json` prints: kernel, CPU, hypervisor, protections. Keys are stable: new ones may be added, none are
//! removed.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::process::Command;

use serde::Serialize;
use squall::Signal;
use squall_binding_base::facts::Facts;
use squall_tool_base::Failure;
use squall_tool_base::measure::machine;

use super::warnings::{self, DeviceVisibility, Warning};

/// Everything that is known about this machine and the generator on it.
#[derive(Serialize)]
pub struct Report {
    /// The protections of this process, and the work of its generator.
    #[serde(flatten)]
    pub facts: Facts,
    pub kernel_release: String,
    pub cpu_model: Option<String>,
    /// The hypervisor's name; the text `none` if there is none, `None` if its name is unknown.
    pub hypervisor: Option<String>,
    /// This user may read /dev/squall, and it is the device of squall's kernel module.
    pub has_squall_device: bool,
    /// It uses vmgenid's page.
    pub squall_device_uses_page: bool,
    pub copy_signals: Vec<CopySignal>,
    pub warnings: Vec<Warning>,
    /// Things worth knowing where no protection is missing.
    pub notes: Vec<Warning>,
}

impl Report {
    pub fn now() -> Result<Report, Failure> {
        // `squall::status` would abort without a source of randomness.
        squall::try_fill(&mut [0]).map_err(|error| Failure::Runtime(error.to_string()))?;
        let status = squall::status();
        let kernel_release = machine::kernel();
        let visibility = DeviceVisibility {
            unreadable_signal: unreadable_signal(),
            has_sysfs: has_sysfs(),
        };
        let criu = criu_version();
        let warnings =
            warnings::warnings_for(&status, &kernel_release, visibility, criu.as_deref());
        let hypervisor = if status.is_vm {
            machine::hypervisor()
        } else {
            Some("none".to_owned())
        };
        let has_squall_device = has_squall_device();
        Ok(Report {
            kernel_release,
            cpu_model: cpu_model(),
            hypervisor,
            has_squall_device,
            squall_device_uses_page: has_squall_device && squall_device_uses_page(),
            copy_signals: status.signals().into_iter().map(CopySignal::from).collect(),
            warnings,
            notes: warnings::notes(&status, visibility),
            facts: Facts::from(status),
        })
    }
}

/// What shows a copy.
#[derive(Serialize)]
pub struct CopySignal {
    /// A stable name, for programs.
    pub signal: &'static str,
    /// What was copied: `machine`, `process` (a restored checkpoint) or `fork`.
    pub copy: &'static str,
    /// `none`, or `milliseconds` after the copy has begun to run.
    pub delay: &'static str,
    /// When it shows the copy, for people.
    pub when: &'static str,
}

impl From<Signal> for CopySignal {
    fn from(signal: Signal) -> CopySignal {
        CopySignal {
            signal: signal.name(),
            copy: signal.copied().name(),
            delay: if signal.is_immediate() {
                "none"
            } else {
                "milliseconds"
            },
            when: signal.when(),
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn cpu_model() -> Option<String> {
    let brand = raw_cpuid::CpuId::new().get_processor_brand_string()?;
    Some(brand.as_str().trim().to_owned()).filter(|name| !name.is_empty())
}

/// The CPU's own name, which only x86-64 CPUs have.
#[cfg(not(target_arch = "x86_64"))]
fn cpu_model() -> Option<String> {
    None
}

/// A device with an immediate signal of clones, one that changes before the clone runs, that this user may not read.
fn unreadable_signal() -> Option<&'static str> {
    let paths = squall::internal::clone_device_paths().into_iter();
    let mut paths = paths.filter_map(|path| path.to_str().ok());
    paths.find(|path| {
        File::open(path).is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
    })
}

/// The version of the CRIU that would be started here.
fn criu_version() -> Option<String> {
    let output = Command::new("criu").arg("--version").output().ok()?;
    let printed = String::from_utf8(output.stdout).ok()?;
    let mut lines = printed.lines();
    lines.find_map(|line| Some(line.strip_prefix("Version:")?.trim().to_owned()))
}

/// Whether /dev/squall can be read, and is what sysfs says it is.
fn has_squall_device() -> bool {
    let device = File::open("/dev/squall").and_then(|file| file.metadata());
    let numbers = fs::read_to_string("/sys/class/misc/squall/dev");
    let (Ok(device), Ok(numbers)) = (device, numbers) else {
        return false;
    };
    let number = device.rdev();
    device.file_type().is_char_device()
        && numbers.trim()
            == format!(
                "{}:{}",
                rustix::fs::major(number),
                rustix::fs::minor(number)
            )
}

fn squall_device_uses_page() -> bool {
    fs::read("/sys/class/misc/squall/vmgenid_page").is_ok_and(|value| value == b"1\n")
}

/// Whether sysfs is mounted; without it, as in a chroot, no device is ever found.
fn has_sysfs() -> bool {
    Path::new("/sys/bus").is_dir()
}
