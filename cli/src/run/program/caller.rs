//! What the kernel looks at of a process that executes a program.

use std::fs;
use std::io;

use rustix::process::{getegid, geteuid, getgid, getgroups, getuid};
use rustix::thread::{CapabilitySet, capabilities, capability_is_in_bounding_set, no_new_privs};

/// Identities and rights of a process.
#[derive(Clone, Debug)]
pub struct Caller {
    pub uid: u32,
    pub euid: u32,
    pub gid: u32,
    pub egid: u32,
    pub groups: Vec<u32>,
    /// prctl(2), PR_SET_NO_NEW_PRIVS.
    pub no_new_privs: bool,
    /// Capabilities, a bit each: permitted.
    pub permitted: u64,
    pub inheritable: u64,
    pub bounding: u64,
    /// Users that this process's user namespace has.
    pub users: Range,
    pub groups_known: Range,
}

/// Ids that a user namespace has: first ones and how many. None if that is not known: all.
#[derive(Clone, Debug)]
pub struct Range(Option<Vec<(u32, u64)>>);

impl Caller {
    pub fn this() -> io::Result<Caller> {
        let sets = capabilities(None)?;
        let is_bounded = |one: &CapabilitySet| capability_is_in_bounding_set(*one).unwrap_or(false);
        let one_each = (0..u64::BITS).map(|bit| CapabilitySet::from_bits_retain(1 << bit));
        let bounding = one_each
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
            users: Range::read("/proc/self/uid_map"),
            groups_known: Range::read("/proc/self/gid_map"),
        })
    }

    pub fn is_in(&self, group: u32) -> bool {
        group == self.egid || self.groups.contains(&group)
    }
}

impl Range {
    #[cfg(test)]
    pub const ALL: Range = Range(None);

    #[cfg(test)]
    pub fn only(id: u32) -> Range {
        Range(Some(vec![(id, 1)]))
    }

    /// As user_namespaces(7) describes the files in /proc.
    fn read(path: &str) -> Range {
        let line = |line: &str| {
            let mut numbers = line.split_whitespace();
            let first = numbers.next()?.parse().ok()?;
            Some((first, numbers.nth(1)?.parse().ok()?))
        };
        Range(
            fs::read_to_string(path)
                .ok()
                .and_then(|text| text.lines().map(line).collect()),
        )
    }

    pub fn has(&self, id: u32) -> bool {
        let is_in =
            |&(first, count): &(u32, u64)| id >= first && u64::from(id) < u64::from(first) + count;
        self.0
            .as_ref()
            .is_none_or(|ranges| ranges.iter().any(is_in))
    }
}
