//! Predicts whether the kernel sets `AT_SECURE` for a program, because it gets more rights than its
//! caller. In that mode the loader restricts LD_PRELOAD, ld.so(8).
//!
//! The rules are those of execve(2), capabilities(7) and Linux 6.18's security/commoncap.c. Older
//! kernels differ only for callers whose identities differ already. Rules of security modules
//! (transitions of AppArmor and SELinux) are not known here.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;

use rustix::fs::{StatVfsMountFlags, fgetxattr, fstatvfs};
use rustix::io::Errno;

use super::caller::Caller;

const SET_USER: u32 = 0o4000;
const SET_GROUP: u32 = 0o2000;
const GROUP_EXECUTES: u32 = 0o0010;

/// The facts about a program's file that the kernel checks.
#[derive(Clone, Copy, Debug)]
pub struct FileFacts {
    pub owner: u32,
    pub group: u32,
    pub mode: u32,
    /// Whether its file system is mounted nosuid, so that neither mode bits nor capabilities count.
    pub is_nosuid: bool,
    pub capabilities: Option<FileCapabilities>,
}

/// A file's capabilities, a bit for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileCapabilities {
    /// Granted to every caller, within the bounding set.
    pub permitted: u64,
    /// Granted to callers that have them in their inheritable set.
    pub inheritable: u64,
    /// Whether granted capabilities take effect at once.
    pub is_effective: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecureReason {
    /// The caller's effective ids differ from its real ones.
    Caller,
    /// The program runs as this user.
    User(u32),
    /// The program runs as this group.
    Group(u32),
    Capabilities,
}

impl FileFacts {
    /// Reads the facts about `file`.
    ///
    /// # Errors
    /// The file system cannot be asked.
    pub fn read(file: &File) -> io::Result<FileFacts> {
        let metadata = file.metadata()?;
        let is_nosuid = fstatvfs(file)?.f_flag.contains(StatVfsMountFlags::NOSUID);
        Ok(FileFacts {
            owner: metadata.uid(),
            group: metadata.gid(),
            mode: metadata.mode(),
            is_nosuid,
            capabilities: capabilities_of(file)?,
        })
    }
}

/// Reads the attribute `security.capability`, as seen in this process's user namespace.
fn capabilities_of(file: &File) -> io::Result<Option<FileCapabilities>> {
    let mut value = [0u8; 64];
    match fgetxattr(file, c"security.capability", &mut value) {
        Ok(len) => Ok(parse(&value[..len])),
        // The file has none, cannot have any, or has those of another namespace, which do not count.
        Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::OVERFLOW) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Parses `struct vfs_cap_data` of linux/capability.h.
fn parse(value: &[u8]) -> Option<FileCapabilities> {
    const EFFECTIVE: u32 = 1;
    let words: Vec<_> = value
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes(word.try_into().expect("a word's length")))
        .collect();
    let wide = |low: usize| u64::from(words[low]) | u64::from(words[low + 2]) << 32;
    let (permitted, inheritable) = match (words.first()? >> 24, words.len()) {
        (1, 3) => (u64::from(words[1]), u64::from(words[2])),
        (2, 5) => (wide(1), wide(2)),
        // Version 3 names the root user of the namespace that the capabilities are for.
        (3, 6) if words[5] == 0 => (wide(1), wide(2)),
        _ => return None,
    };
    Some(FileCapabilities {
        permitted,
        inheritable,
        is_effective: words[0] & EFFECTIVE != 0,
    })
}

/// Why `file` would run in secure mode if `caller` executed it; `None` if it would not.
pub fn secure_reason(file: &FileFacts, caller: &Caller) -> Option<SecureReason> {
    let (euid, egid) = identities(file, caller);
    let changes_identity = euid != caller.euid || !caller.is_in(egid);
    let differs_from_real = euid != caller.uid || egid != caller.gid;
    if !changes_identity && !differs_from_real {
        return gains_capabilities(file, caller).then_some(SecureReason::Capabilities);
    }
    Some(match () {
        () if caller.euid != caller.uid || caller.egid != caller.gid => SecureReason::Caller,
        () if euid != caller.euid => SecureReason::User(euid),
        () => SecureReason::Group(egid),
    })
}

/// The effective user and group that the program would run as.
fn identities(file: &FileFacts, caller: &Caller) -> (u32, u32) {
    let (mut euid, mut egid) = (caller.euid, caller.egid);
    let is_mapped =
        caller.namespace_users.contains(file.owner) && caller.namespace_groups.contains(file.group);
    if !file.is_nosuid && !caller.no_new_privs && is_mapped {
        if file.mode & SET_USER != 0 {
            euid = file.owner;
        }
        // Set-group-ID without group execution once meant mandatory locking, and has no effect.
        if file.mode & (SET_GROUP | GROUP_EXECUTES) == SET_GROUP | GROUP_EXECUTES {
            egid = file.group;
        }
    }
    (euid, egid)
}

/// Whether the file's capabilities give the caller more than it has anyway; root has all of them.
fn gains_capabilities(file: &FileFacts, caller: &Caller) -> bool {
    let Some(capabilities) = file.capabilities.filter(|_| !file.is_nosuid) else {
        return false;
    };
    let mut gained =
        capabilities.permitted & caller.bounding | capabilities.inheritable & caller.inheritable;
    if caller.no_new_privs {
        gained &= caller.permitted;
    }
    caller.uid != 0 && (capabilities.is_effective || gained != 0)
}

#[cfg(test)]
mod tests {
    use super::super::caller::IdRanges;
    use super::*;

    fn user(id: u32) -> Caller {
        Caller {
            uid: id,
            euid: id,
            gid: id,
            egid: id,
            groups: vec![id],
            no_new_privs: false,
            permitted: 0,
            inheritable: 0,
            bounding: u64::MAX,
            namespace_users: IdRanges::ALL,
            namespace_groups: IdRanges::ALL,
        }
    }

    fn file(owner: u32, mode: u32) -> FileFacts {
        FileFacts {
            owner,
            group: owner,
            mode,
            is_nosuid: false,
            capabilities: None,
        }
    }

    #[test]
    fn callers_whose_effective_ids_differ() {
        let caller = Caller { euid: 0, ..user(1) };
        assert_eq!(
            secure_reason(&file(1, 0o755), &caller),
            Some(SecureReason::Caller)
        );
        let caller = Caller { egid: 0, ..user(1) };
        assert_eq!(
            secure_reason(&file(1, 0o755), &caller),
            Some(SecureReason::Caller)
        );
    }

    #[test]
    fn capabilities_are_parsed_as_setcap_writes_them() {
        // cap_net_raw=ep, as getfattr(1) shows it.
        let value = [
            1, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        ];
        let expected = FileCapabilities {
            permitted: 1 << 13,
            inheritable: 0,
            is_effective: true,
        };
        assert_eq!(parse(&value), Some(expected));
        let of_root = |root: u8| {
            let mut value = value.to_vec();
            value[3] = 3;
            value.extend([root, 0, 0, 0]);
            parse(&value)
        };
        assert_eq!(of_root(0), Some(expected));
        assert_eq!(of_root(5), None);
        assert_eq!(parse(&value[..19]), None);
        assert_eq!(parse(&[]), None);
    }

    #[test]
    fn users_that_a_namespace_does_not_have() {
        let file = file(0, 0o4755);
        assert_eq!(secure_reason(&file, &user(1)), Some(SecureReason::User(0)));
        let caller = Caller {
            namespace_users: IdRanges::only(1),
            ..user(1)
        };
        assert_eq!(secure_reason(&file, &caller), None);
    }
}
