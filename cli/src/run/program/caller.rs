//! The facts about a process that the kernel checks when the process executes a program.

use std::fs;
use std::io;

use rustix::process::{getegid, geteuid, getgid, getgroups, getuid};
use rustix::thread::{CapabilitySet, capabilities, capability_is_in_bounding_set, no_new_privs};

/// The identities and rights of a process.
#[derive(Clone, Debug)]
pub struct Caller {
    pub uid: u32,
    pub euid: u32,
    pub gid: u32,
    pub egid: u32,
    pub groups: Vec<u32>,
    /// Whether PR_SET_NO_NEW_PRIVS of prctl(2) is set.
    pub no_new_privs: bool,
    /// Capability sets, a bit for each capability.
    pub permitted: u64,
    pub inheritable: u64,
    pub bounding: u64,
    /// The users that exist in this process's user namespace.
    pub namespace_users: IdRanges,
    /// The groups that exist in it.
    pub namespace_groups: IdRanges,
}

/// The ids in a user namespace: pairs of a first id and a count. `None` means all.
#[derive(Clone, Debug)]
pub struct IdRanges(Option<Vec<(u32, u64)>>);

impl Caller {
    pub fn current() -> io::Result<Caller> {
        let sets = capabilities(None)?;
        let is_bounded = |one: &CapabilitySet| capability_is_in_bounding_set(*one).unwrap_or(false);
        let single_bits = (0..u64::BITS).map(|bit| CapabilitySet::from_bits_retain(1 << bit));
        let bounding = single_bits
            .filter(is_bounded)
            .fold(0, |set, one| set | one.bits());
        Ok(Caller {
            uid: getuid().as_raw(),
            euid: geteuid().as_raw(),
            gid: getgid().as_raw(),
            egid: getegid().as_raw(),
            groups: getgroups()?.iter().map(|group| group.as_raw()).collect(),
            no_new_privs: no_new_privs()?,
            permitted: sets.permitted.bits(),
            inheritable: sets.inheritable.bits(),
            bounding,
            namespace_users: IdRanges::read("/proc/self/uid_map"),
            namespace_groups: IdRanges::read("/proc/self/gid_map"),
        })
    }

    pub fn is_in(&self, group: u32) -> bool {
        group == self.egid || self.groups.contains(&group)
    }
}

impl IdRanges {
    #[cfg(test)]
    pub const ALL: IdRanges = IdRanges(None);

    #[cfg(test)]
    pub fn only(id: u32) -> IdRanges {
        IdRanges(Some(vec![(id, 1)]))
    }

    /// Reads a file in /proc in the format of user_namespaces(7).
    fn read(path: &str) -> IdRanges {
        let line = |line: &str| {
            let mut numbers = line.split_whitespace();
            let first = numbers.next()?.parse().ok()?;
            Some((first, numbers.nth(1)?.parse().ok()?))
        };
        IdRanges(
            fs::read_to_string(path)
                .ok()
                .and_then(|text| text.lines().map(line).collect()),
        )
    }

    pub fn contains(&self, id: u32) -> bool {
        let is_in =
            |&(first, count): &(u32, u64)| id >= first && u64::from(id) < u64::from(first) + count;
        self.0
            .as_ref()
            .is_none_or(|ranges| ranges.iter().any(is_in))
    }
}
