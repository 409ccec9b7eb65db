//! Finds targets that are named twice: by two names, by two paths to the same drive, or as a drive and
//! one of its partitions.

use crate::{Kind, Target, shown};

/// Why `target` must not be named beside the `earlier` ones. `None` if it may be.
pub(super) fn reason(earlier: &[Target], target: &Target) -> Option<String> {
    earlier.iter().find_map(|other| {
        let relation = relation(other, target)?;
        let name = shown(&other.identity.given);
        Some(format!(
            "{relation} {name}, which is also named: name only one"
        ))
    })
}

/// Which of the `earlier` targets `target` is another name of, for a list.
pub(super) fn same_drive(earlier: &[Target], target: &Target) -> Option<String> {
    earlier.iter().find_map(|other| {
        let relation = relation(other, target)?;
        Some(format!("{relation} {}", shown(&other.identity.path)))
    })
}

fn relation(other: &Target, target: &Target) -> Option<&'static str> {
    if let (Some(one), Some(two)) = (other.inode(), target.inode()) {
        return (one == two).then_some("the same file as");
    }
    let (one, two) = (other.device()?, target.device()?);
    let is_part = |part: &Target| part.identity.kind == Kind::Partition;
    match () {
        () if one.number == two.number => Some("the same device as"),
        () if is_part(target) && two.disk() == *one => Some("a partition of"),
        () if is_part(other) && one.disk() == *two => Some("the disk of"),
        () if other.identity.is_same_drive(&target.identity) => {
            Some("another path to the same drive as")
        }
        () => None,
    }
}
