//! The signals of copies: their names, what each shows, and how soon.

use core::ffi::CStr;
use core::fmt;

/// What shows that a machine, a process or a fork is a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[repr(u8)]
pub enum Signal {
    /// kvm-clock's records, which Linux maps into each process. KVM rewrites a CPU's record before that CPU runs in a
    /// clone.
    KvmClock = 1,
    /// vmclock's generation counter.
    VmClock,
    /// vmgenid's page, which squall's kernel module shows.
    VmgenidPage,
    /// vmgenid: the kernel reseeds when it has handled the device's interrupt. Until then, squall makes requests
    /// different in each clone.
    Vmgenid,
    /// The message that the kernel writes to its log when vmgenid has reported a clone (Linux 5.18). Reading the log
    /// takes /dev/kmsg, and CAP_SYSLOG or kernel.dmesg_restrict=0.
    KernelLog,
    /// The kernel's tick, in the vDSO's data.
    Tick,
    /// The start of this process, which the kernel shows in /proc.
    Process,
    /// Memory that the kernel wipes in a forked child (MAP_DROPPABLE or MADV_WIPEONFORK).
    WipedMemory,
    /// The process id.
    ProcessId,
    /// The handlers of pthread_atfork(3).
    AtFork,
}

/// What was copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copied {
    /// The virtual machine, from a snapshot.
    Machine,
    /// The process, restored from a checkpoint.
    Process,
    /// The process, by fork(2).
    Fork,
}

impl Signal {
    /// All signals, in the order of their numbers, those of machines first.
    pub const ALL: [Signal; 10] = [
        Signal::KvmClock,
        Signal::VmClock,
        Signal::VmgenidPage,
        Signal::Vmgenid,
        Signal::KernelLog,
        Signal::Tick,
        Signal::Process,
        Signal::WipedMemory,
        Signal::ProcessId,
        Signal::AtFork,
    ];

    /// The name, what was copied, and when the copy is shown.
    const fn facts(self) -> (&'static CStr, Copied, &'static str) {
        use Copied::{Fork, Machine, Process};
        #[rustfmt::skip]
        return match self {
            Signal::KvmClock => (c"kvm-clock", Machine, "before a CPU of the clone runs"),
            Signal::VmClock => (c"vmclock", Machine, "before the clone runs"),
            Signal::VmgenidPage => (c"vmgenid-page", Machine, "before the clone runs"),
            Signal::Vmgenid => (c"vmgenid", Machine, "when the kernel has reseeded, milliseconds after the clone begins to run"),
            Signal::KernelLog => (c"kernel-log", Machine, "when the kernel has handled vmgenid's interrupt, milliseconds after the clone begins to run"),
            Signal::Tick => (c"tick", Process, "before the next request of the restored process"),
            Signal::Process => (c"process", Process, "when the restored process asks for the clone generation"),
            Signal::WipedMemory => (c"wiped-memory", Fork, "before the child runs"),
            Signal::ProcessId => (c"process-id", Fork, "before the child's next request"),
            Signal::AtFork => (c"pthread-atfork", Fork, "before the C library's fork returns in the child"),
        };
    }

    /// The name, as [`Display`](fmt::Display) shows it.
    pub const fn name(self) -> &'static str {
        match self.c_name().to_str() {
            Ok(name) => name,
            Err(_) => unreachable!(),
        }
    }

    /// The name as a string of C.
    pub const fn c_name(self) -> &'static CStr {
        self.facts().0
    }

    /// What was copied.
    pub const fn copied(self) -> Copied {
        self.facts().1
    }

    /// When it shows the copy, for people: "before …" or "when …".
    pub const fn when(self) -> &'static str {
        self.facts().2
    }

    /// Whether it shows the copy before that uses what it inherited. Otherwise the signal comes milliseconds late.
    pub const fn is_immediate(self) -> bool {
        !matches!(self, Signal::Vmgenid | Signal::KernelLog)
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Copied {
    /// `machine`, `process` or `fork`.
    pub const fn name(self) -> &'static str {
        match self {
            Copied::Machine => "machine",
            Copied::Process => "process",
            Copied::Fork => "fork",
        }
    }
}

/// What keeps a VM clone from repeating its sibling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CloneGuard {
    /// No hypervisor announces itself, and there is no vmgenid or vmclock.
    NotAVm,
    /// A signal: [`KvmClock`](Signal::KvmClock), [`VmClock`](Signal::VmClock) or [`VmgenidPage`](Signal::VmgenidPage),
    /// which change before a clone runs, or [`Vmgenid`](Signal::Vmgenid), which is late.
    Signal(Signal),
    /// There is no signal, or none that the program relies on ([`distrust_clone_signals`]): requests are
    /// always made different in each clone.
    ///
    /// [`distrust_clone_signals`]: crate::hazmat::distrust_clone_signals
    NoSignal,
}

impl CloneGuard {
    /// The guard whose [`name`](CloneGuard::name) this is.
    pub fn from_name(name: &str) -> Option<CloneGuard> {
        let signals = Signal::ALL.map(CloneGuard::Signal);
        [CloneGuard::NotAVm, CloneGuard::NoSignal]
            .into_iter()
            .chain(signals)
            .find(|guard| guard.name() == name)
    }

    /// `not-a-vm`, the signal's name, or `no-signal`.
    pub const fn name(self) -> &'static str {
        match self {
            CloneGuard::NotAVm => "not-a-vm",
            CloneGuard::Signal(signal) => signal.name(),
            CloneGuard::NoSignal => "no-signal",
        }
    }

    /// Whether a clone is shown before it runs, or this is no VM.
    pub const fn is_immediate(self) -> bool {
        match self {
            CloneGuard::NotAVm => true,
            CloneGuard::Signal(signal) => signal.is_immediate(),
            CloneGuard::NoSignal => false,
        }
    }
}

impl fmt::Display for CloneGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_places_in_the_list() {
        for (place, signal) in Signal::ALL.into_iter().enumerate() {
            assert_eq!(usize::from(signal as u8), place + 1, "{signal}");
        }
    }

    #[test]
    fn guards_are_found_by_their_names() {
        for name in ["not-a-vm", "no-signal", "kvm-clock", "vmgenid"] {
            let guard = CloneGuard::from_name(name).expect(name);
            assert_eq!(guard.to_string(), name);
        }
        assert_eq!(CloneGuard::from_name("vmgen"), None);
    }
}
