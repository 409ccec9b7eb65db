//! The ways in which monitors restore a machine and start it.

use fastrand::Rng;

use super::machine::CPUS;

/// MSR_KVM_SYSTEM_TIME_NEW, which has the address of the record, and its old number.
pub const SYSTEM_TIME: u32 = 0x4b56_4d01;
const OLD_SYSTEM_TIME: u32 = 0x12;

/// How a copy is restored and started: what differs from [`Way::PLAIN`].
pub struct Way(pub Vec<&'static str>);

pub const CLOCK_BEFORE: &str = "KVM_SET_CLOCK before the MSRs";
pub const CLOCK_AFTER: &str = "KVM_SET_CLOCK after the MSRs";
pub const PAUSE: &str = "KVM_KVMCLOCK_CTRL";
const OLD_MSR: &str = "MSR 12, as QEMU does, and not 4b564d01";
const NO_MSR: &str = "neither of these MSRs";
pub const LATE: &str = "memory slot after the MSRs";
pub const REPLACED: &str = "memory replaced behind its slot after the MSRs";
pub const LEAVE: &str = "entered with immediate_exit first";
const CPU_0_FIRST: &str = "CPU 0 runs alone first";
const CPU_1_FIRST: &str = "CPU 1 runs alone first";

/// Of each, one at most.
const CHOICES: [&[&str]; 6] = [
    &[CLOCK_BEFORE, CLOCK_AFTER],
    &[PAUSE],
    &[OLD_MSR],
    &[LATE, REPLACED],
    &[LEAVE],
    &[CPU_0_FIRST, CPU_1_FIRST],
];

impl Way {
    /// No clock is set, memory comes before the MSRs, and both CPUs run at once.
    pub const PLAIN: Way = Way(Vec::new());

    pub fn without_msr() -> Way {
        Way(vec![NO_MSR, CLOCK_AFTER])
    }

    pub fn any(random: &mut Rng) -> Way {
        let mut chosen = |of: &&[&'static str]| of.get(random.usize(..=of.len())).copied();
        Way(CHOICES.iter().filter_map(&mut chosen).collect())
    }

    pub fn has(&self, choice: &str) -> bool {
        self.0.contains(&choice)
    }

    /// The CPUs that run, and those that run then.
    pub fn turns(&self) -> &'static [&'static [usize]] {
        match (self.has(CPU_0_FIRST), self.has(CPU_1_FIRST)) {
            (true, _) => &[&[0], &[1]],
            (_, true) => &[&[1], &[0]],
            _ => &[&CPUS],
        }
    }

    /// The number by which an MSR is restored.
    pub fn number(&self, msr: u32) -> Option<u32> {
        match msr {
            SYSTEM_TIME if self.has(NO_MSR) => None,
            SYSTEM_TIME if self.has(OLD_MSR) => Some(OLD_SYSTEM_TIME),
            _ => Some(msr),
        }
    }
}
