//! Describes the machine that is measured.

use std::fs;

/// The hypervisor's name if the CPU is emulated rather than virtualised.
const EMULATOR: &str = "QEMU";

/// The CPU's name, family and model, and the number of CPUs that programs see.
pub fn cpu() -> String {
    let info = file("/proc/cpuinfo");
    let field = |name: &str| {
        info.lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(key, _)| key.trim() == name)
            .map_or("unknown", |(_, value)| value.trim())
    };
    let [name, family, model] = ["model name", "cpu family", "model"].map(field);
    let cpus = match std::thread::available_parallelism() {
        Ok(count) if count.get() > 1 => format!("{count} CPUs"),
        _ => "1 CPU".into(),
    };
    format!("{name}, family {family} model {model}, {cpus} visible")
}

/// The kernel's release, as in `uname -r`.
pub fn kernel() -> String {
    file("/proc/sys/kernel/osrelease")
}

/// The hypervisor's name (CPUID leaf 0x40000000); `None` if none announces itself or it gives no
/// name.
#[cfg(target_arch = "x86_64")]
pub fn hypervisor() -> Option<String> {
    use raw_cpuid::Hypervisor;
    let name = match raw_cpuid::CpuId::new().get_hypervisor_info()?.identify() {
        Hypervisor::KVM => "KVM",
        Hypervisor::VMware => "VMware",
        Hypervisor::HyperV => "Hyper-V",
        Hypervisor::Xen => "Xen",
        Hypervisor::QEMU => EMULATOR,
        Hypervisor::Bhyve => "bhyve",
        Hypervisor::QNX => "QNX",
        Hypervisor::ACRN => "ACRN",
        Hypervisor::Unknown(ebx, ecx, edx) => {
            let bytes = [ebx, ecx, edx].map(u32::to_le_bytes).concat();
            let name: String = bytes
                .into_iter()
                .filter(u8::is_ascii_graphic)
                .map(char::from)
                .collect();
            return Some(name).filter(|name| !name.is_empty());
        }
    };
    Some(name.to_owned())
}

/// The hypervisor's name in sysfs; `None` if there is none.
#[cfg(not(target_arch = "x86_64"))]
pub fn hypervisor() -> Option<String> {
    let name = std::fs::read_to_string("/sys/hypervisor/type").ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

/// Whether the CPU is emulated (QEMU's TCG), so that its speeds say nothing about any real CPU.
pub fn is_emulated() -> bool {
    hypervisor().is_some_and(|name| name == EMULATOR) || is_of_no_maker(&file("/proc/cpuinfo"))
}

/// Whether this is QEMU's arm64 CPU `max`, the only one whose implementer is 0: no maker has that number.
fn is_of_no_maker(cpuinfo: &str) -> bool {
    cpuinfo.contains("\nCPU implementer\t: 0x00\n")
}

/// Whether the kernel is user-mode Linux, a process of another kernel, which cannot use the CPU as that does.
pub fn is_user_mode() -> bool {
    is_of_user_mode(&file("/proc/cpuinfo"))
}

fn is_of_user_mode(cpuinfo: &str) -> bool {
    cpuinfo.contains("\nvendor_id\t: User Mode Linux\n")
}

fn file(path: &str) -> String {
    fs::read_to_string(path).map_or("unknown".into(), |text| text.trim().into())
}

/// Ticks of the CPU time of the whole machine since it was started (proc_stat(5)).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ticks {
    /// How many CPUs the kernel counts for.
    pub cpus: usize,
    /// Time of all CPUs.
    pub all: u64,
    /// Time in which they were idle, waited for drives, or were given to other virtual machines.
    pub unused: u64,
    /// Time in which they were given to other virtual machines.
    pub stolen: u64,
}

impl Ticks {
    /// The ticks now; `None` if the kernel does not say.
    pub fn now() -> Option<Ticks> {
        parse(&fs::read_to_string("/proc/stat").ok()?)
    }
}

fn parse(text: &str) -> Option<Ticks> {
    let mut lines = text.lines().take_while(|line| line.starts_with("cpu"));
    let all = lines.next()?.strip_prefix("cpu ")?.split_whitespace();
    // The guests' time behind these fields is in user's already.
    let fields: Vec<u64> = all.take(8).filter_map(|field| field.parse().ok()).collect();
    let [_, _, _, idle, waiting, _, _, stolen] = fields[..] else {
        return None;
    };
    Some(Ticks {
        cpus: lines.count(),
        all: fields.iter().sum(),
        unused: idle + waiting + stolen,
        stolen,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Linux writes it (arch/um/kernel/um_arch.c, arch/arm64/kernel/cpuinfo.c, arch/x86/kernel/cpu/proc.c).
    #[test]
    fn machines_that_are_none_are_known_by_cpuinfo() {
        let user_mode =
            "processor\t: 0\nvendor_id\t: User Mode Linux\nmodel name\t: UML\nmode\t\t: skas\n";
        let qemu =
            "processor\t: 0\nBogoMIPS\t: 125.00\nCPU implementer\t: 0x00\nCPU architecture: 8\n";
        let arm =
            "processor\t: 0\nBogoMIPS\t: 243.75\nCPU implementer\t: 0x41\nCPU architecture: 8\n";
        let amd = "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC\n";
        let of = |cpuinfo| (is_of_user_mode(cpuinfo), is_of_no_maker(cpuinfo));
        assert_eq!(of(user_mode), (true, false));
        assert_eq!(of(qemu), (false, true));
        assert_eq!((of(arm), of(amd)), ((false, false), (false, false)));
    }

    #[test]
    fn what_is_not_used_is_idle_waiting_or_stolen() {
        let text = "cpu  10 1 20 3000 400 5 6 70 8 0\ncpu0 5 1 10 1500 200 2 3 35 4 0\n\
                    cpu1 5 0 10 1500 200 3 3 35 4 0\nintr 1234 5 6\n";
        let ticks = Ticks {
            cpus: 2,
            all: 3512,
            unused: 3470,
            stolen: 70,
        };
        assert_eq!(parse(text), Some(ticks));
        assert_eq!(parse("cpu  10 1 20 3000"), None);
        assert_eq!(parse(""), None);
        assert!(Ticks::now().is_some_and(|ticks| ticks.cpus > 0));
    }
}
