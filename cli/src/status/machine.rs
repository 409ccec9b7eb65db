//! Facts about the machine: kernel, CPU, hypervisor.

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

/// The devices with an immediate signal of clones: one that changes before the clone runs.
const VMCLOCK: &str = "/dev/vmclock0";
const VMGENID_PAGE: &str = "/dev/squall-vmgenid";

/// The kernel's release, as in `uname -r`.
pub fn kernel_release() -> String {
    rustix::system::uname()
        .release()
        .to_string_lossy()
        .into_owned()
}

/// Major and minor number of a release such as `6.11.0-29-generic`.
pub fn version_of(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    let major = numbers.next()?.parse().ok()?;
    let minor = numbers.next()?.parse().ok()?;
    Some((major, minor))
}

#[cfg(target_arch = "x86_64")]
pub fn cpu_model() -> Option<String> {
    let brand = raw_cpuid::CpuId::new().get_processor_brand_string()?;
    Some(brand.as_str().trim().to_owned()).filter(|name| !name.is_empty())
}

/// The CPU's own name, which only x86-64 CPUs have.
#[cfg(not(target_arch = "x86_64"))]
pub fn cpu_model() -> Option<String> {
    None
}

/// A device with an immediate signal of clones, if there is one that this user may not read.
pub fn unreadable_signal() -> Option<&'static str> {
    let is_forbidden = |path: &&str| {
        File::open(path).is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
    };
    [VMCLOCK, VMGENID_PAGE].into_iter().find(is_forbidden)
}

/// Whether sysfs is mounted; without it, as in a chroot, no device is ever found.
pub fn has_sysfs() -> bool {
    Path::new("/sys/bus").is_dir()
}

#[cfg(test)]
mod tests {
    use super::version_of;

    #[test]
    fn releases() {
        assert_eq!(version_of("6.11.0-29-generic"), Some((6, 11)));
        assert_eq!(version_of("6.18.44-custom"), Some((6, 18)));
        assert_eq!(version_of("7.0"), Some((7, 0)));
        assert_eq!(version_of("next"), None);
    }
}
