//! Whether a run has the memory that it needs, and may write to the ends of its files: asked before any target is touched.

use std::fs;
use std::path::Path;

use rustix::process::{Resource, getrlimit};
use squall_drives::{Kind, Target, shown};
use squall_tool_base::{Failure, units};

use crate::pipeline::TRANSFER;

/// Fails unless this process may write all of `targets` (RLIMIT_FSIZE is for files only), and there is memory for the work
/// on them.
pub fn check(targets: &[Target]) -> Result<(), Failure> {
    let longest = getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX);
    for target in targets {
        let size = target.identity.size;
        if target.identity.kind == Kind::File && size > longest {
            return Err(Failure::Usage(format!(
                "{}: it has {size} bytes, and this process may write {longest} bytes of a file (`ulimit -f`): nothing \
                 was written: raise the limit",
                shown(&target.identity.given)
            )));
        }
    }
    check_memory(targets.len())
}

/// Fails unless there is memory for the work on this many drives.
pub fn check_memory(drives: usize) -> Result<(), Failure> {
    match free_memory() {
        Some(free) if fitting(1, drives, free) == 0 => Err(Failure::Runtime(format!(
            "{drives} targets need {} of memory, and {} are free: no target was touched: name fewer at a time",
            units::volume(needed(1, drives)),
            units::volume(free)
        ))),
        _ => Ok(()),
    }
}

/// How many transfers a drive may have in flight, at most `asked`, while memory must do for `drives`.
pub fn depth(asked: u32, drives: usize) -> u32 {
    let fitting = free_memory().map(|free| fitting(asked, drives, free));
    fitting.unwrap_or(asked).max(1)
}

/// The most transfers, up to `asked`, that each of `drives` can have in flight in three quarters of `free` bytes.
fn fitting(asked: u32, drives: usize, free: u64) -> u32 {
    let fits = |depth: &u32| needed(*depth, drives) <= free / 4 * 3;
    (1..=asked).rev().find(fits).unwrap_or(0)
}

/// The memory that `drives` take: each has a buffer for each transfer in flight, and one for what is compared.
fn needed(depth: u32, drives: usize) -> u64 {
    (u64::from(depth) + 1) * drives as u64 * TRANSFER as u64
}

/// The memory that the kernel can give without swapping, as far as this process's control groups allow it; `None` if it
/// does not tell.
fn free_memory() -> Option<u64> {
    let known = fs::read_to_string("/proc/meminfo").ok()?;
    let line = known
        .lines()
        .find_map(|it| it.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let left = left_by_groups(Path::new("/sys/fs/cgroup"), &own);
    Some(kib.checked_mul(1024)?.min(left.unwrap_or(u64::MAX)))
}

/// The least that the group in `own`, which is what /proc/self/cgroup says, and those above it leave (cgroup v2).
fn left_by_groups(root: &Path, own: &str) -> Option<u64> {
    let group = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let group = root.join(group);
    let groups = group.ancestors().take_while(|it| it.starts_with(root));
    groups.filter_map(left_in).min()
}

/// What the limit of `group` leaves besides the page cache, which the kernel takes back; `None` without a limit.
fn left_in(group: &Path) -> Option<u64> {
    let read = |name| fs::read_to_string(group.join(name)).ok();
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let limit = number(&read("memory.max")?)?;
    let used = number(&read("memory.current")?)?;
    let uses = read("memory.stat")?;
    let cached = ["active_file ", "inactive_file "].map(|name| {
        let size = uses.lines().find_map(|line| line.strip_prefix(name));
        size.and_then(number).unwrap_or(0)
    });
    let kept = used.saturating_sub(cached.iter().sum());
    Some(limit.saturating_sub(kept))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn many_drives_have_fewer_transfers_in_flight() {
        for (drives, mib, expected) in [
            (1, 1000, 4),
            (128, 1000, 4),
            (128, 600, 2),
            (128, 400, 1),
            (128, 300, 0),
            (0, 0, 4),
        ] {
            assert_eq!(fitting(4, drives, mib * MIB), expected, "{drives} {mib}");
        }
        assert!(free_memory().is_some_and(|free| free > MIB));
    }

    #[test]
    fn the_least_that_a_control_group_leaves_counts() {
        let root = tempfile::tempdir().expect("a folder");
        let set = |group: &str, name: &str, text: &str| {
            let group = root.path().join(group);
            fs::create_dir_all(&group).expect("room");
            fs::write(group.join(name), text).expect("room");
        };
        let left = |own: &str| left_by_groups(root.path(), own);
        for group in ["", "unit", "unit/inner"] {
            set(group, "memory.max", "max\n");
            set(group, "memory.current", "700\n");
            let uses = "anon 400\nfile 300\nactive_file 200\ninactive_file 50\n";
            set(group, "memory.stat", uses);
        }
        let own = "1:name=systemd:/other\n0::/unit/inner\n";
        assert_eq!(left(own), None);
        set("unit", "memory.max", "1000\n");
        assert_eq!(left(own), Some(550));
        set("unit/inner", "memory.max", "300\n");
        assert_eq!(left(own), Some(0));
        set("", "memory.max", "900\n");
        assert_eq!([left("0::/\n"), left("0::/missing\n")], [Some(450); 2]);
        assert_eq!([left(""), left("4:memory:/unit\n")], [None; 2]);
    }
}
