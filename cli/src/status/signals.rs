//! The signals of copies that count on this machine, and how late each is.

use serde::Serialize;
use squall::{CloneGuard, MemoryKind, ReseedGuard, Status};

/// What shows a copy.
#[derive(Debug, PartialEq, Eq, Serialize)]
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

/// The signals that `status` has, those of clones of the machine first. `notices_restores` says whether the clone
/// generation changes in a restored process.
pub fn signals(status: &Status, notices_restores: bool) -> Vec<CopySignal> {
    let (is_wiped, is_compared) = match status.memory {
        MemoryKind::Droppable | MemoryKind::WipeOnFork => (true, false),
        MemoryKind::None => (false, false),
        _ => (false, true),
    };
    let sees_reseeds = status.reseed_guard != ReseedGuard::Time;
    #[rustfmt::skip]
    let all = [
        (status.has_kvm_clock, "kvm-clock", "machine", "none", "before a CPU of the clone runs"),
        (status.clone_guard == CloneGuard::VmClock, "vmclock", "machine", "none", "before the clone runs"),
        (status.has_vmgenid_page, "vmgenid-page", "machine", "none", "before the clone runs"),
        (status.has_vmgenid && sees_reseeds, "vmgenid", "machine", "milliseconds", "when the kernel has reseeded, milliseconds after the clone begins to run"),
        (status.follows_tick, "tick", "process", "none", "before the next request of the restored process"),
        (notices_restores, "start-time", "process", "none", "when the restored process asks for the clone generation"),
        (is_wiped, "wiped-memory", "fork", "none", "before the child runs"),
        (is_compared, "process-id", "fork", "none", "before the child's next request"),
        (true, "pthread-atfork", "fork", "none", "before the C library's fork returns in the child"),
    ];
    let counts = all.into_iter().filter(|signal| signal.0);
    let signal = |(_, signal, copy, delay, when)| CopySignal {
        signal,
        copy,
        delay,
        when,
    };
    counts.map(signal).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(status: &Status, notices_restores: bool) -> Vec<&'static str> {
        let signals = signals(status, notices_restores);
        signals.iter().map(|signal| signal.signal).collect()
    }

    #[test]
    fn each_signal_is_listed_where_it_counts() {
        let mut status = squall::status();
        (status.has_kvm_clock, status.has_vmgenid_page) = (false, false);
        (status.has_vmgenid, status.follows_tick) = (false, false);
        status.clone_guard = CloneGuard::NoSignal;
        status.memory = MemoryKind::None;
        status.reseed_guard = ReseedGuard::MappedGeneration;
        assert_eq!(names(&status, false), ["pthread-atfork"]);
        type Case = (fn(&mut Status), &'static str);
        let cases: [Case; 7] = [
            (|s| s.has_kvm_clock = true, "kvm-clock"),
            (|s| s.clone_guard = CloneGuard::VmClock, "vmclock"),
            (|s| s.has_vmgenid_page = true, "vmgenid-page"),
            (|s| s.has_vmgenid = true, "vmgenid"),
            (|s| s.follows_tick = true, "tick"),
            (|s| s.memory = MemoryKind::WipeOnFork, "wiped-memory"),
            (|s| s.memory = MemoryKind::Plain, "process-id"),
        ];
        for (change, name) in cases {
            let mut status = status.clone();
            change(&mut status);
            assert_eq!(names(&status, false), [name, "pthread-atfork"]);
        }
        assert_eq!(names(&status, true), ["start-time", "pthread-atfork"]);
        status.has_vmgenid = true;
        status.reseed_guard = ReseedGuard::Time;
        assert_eq!(names(&status, false), ["pthread-atfork"], "not seen");
    }
}
