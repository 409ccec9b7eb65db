//! User-mode Linux: a kernel that runs as a process, at the CPU's speed, which `scripts/uml.sh` fetches.

use std::fs;
use std::path::PathBuf;

use squall_tools::Failure;
use squall_tools::failure::text_at;

use super::location;

/// A kernel that runs as a process.
#[derive(Debug)]
pub struct UserMode {
    /// The kernel's program.
    pub program: PathBuf,
    /// The directory of its modules, which is named after the kernel's release.
    pub modules: PathBuf,
}

impl UserMode {
    /// The kernel in the directory that `scripts/uml.sh` fills.
    pub fn open() -> Result<UserMode, Failure> {
        let directory = location::of_user_mode(|name| std::env::var_os(name))?;
        let modules = directory.join("usr/lib/uml/modules");
        let release = fs::read_dir(&modules).and_then(|mut entries| {
            entries
                .next()
                .unwrap_or_else(|| Err(std::io::ErrorKind::NotFound.into()))
        });
        let release = release.map_err(|error| {
            let text = text_at(&modules, &error);
            Failure::Runtime(format!("{text}: run scripts/uml.sh"))
        })?;
        Ok(UserMode {
            program: directory.join("usr/bin/linux.uml"),
            modules: release.path(),
        })
    }
}
