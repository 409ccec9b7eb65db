//! Where a program is kept, and whether it may be trusted.

use std::env;
use std::fs::{self, DirBuilder, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;
use squall_tools::failure::cause;
use tempfile::TempDir;

/// squall's directory in the user's cache, after the XDG base directory specification; none if the
/// user has none.
pub(super) fn directory() -> Option<PathBuf> {
    let absolute = |name| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    Some(cache?.join("squall"))
}

/// Makes `directory` if it is not there, and sees that nobody else can write to it.
pub(super) fn prepare(directory: &Path) -> io::Result<&Path> {
    let mut private = DirBuilder::new();
    private.recursive(true).mode(0o700).create(directory)?;
    let about = fs::symlink_metadata(directory)?;
    let above = directory.canonicalize()?;
    let is_safe = above
        .ancestors()
        .skip(1)
        .all(|above| fs::metadata(above).is_ok_and(keeps_names));
    if about.is_dir() && is_private(&about) && is_safe {
        Ok(directory)
    } else {
        Err(io::ErrorKind::PermissionDenied.into())
    }
}

/// Whether `path` is a file of this user that nobody else may write to.
pub(super) fn is_ours(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|about| about.is_file() && is_private(&about))
}

fn is_private(about: &Metadata) -> bool {
    about.uid() == geteuid().as_raw() && about.mode() & 0o022 == 0
}

/// Whether nobody but root and this user can give what is in a directory another name.
fn keeps_names(about: Metadata) -> bool {
    const STICKY: u32 = 0o1000;
    let is_ours = [0, geteuid().as_raw()].contains(&about.uid());
    is_ours && (about.mode() & 0o022 == 0 || about.mode() & STICKY != 0)
}

/// A directory to build in: in `cache`, or else where temporary files are.
pub(super) fn workshop(cache: Option<&Path>) -> Result<TempDir, String> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("build-");
    let here = cache.and_then(|cache| builder.tempdir_in(cache).ok());
    match here {
        Some(directory) => Ok(directory),
        None => builder.tempdir().map_err(|error| {
            let temporary = env::temp_dir();
            format!("{}: {}", temporary.display(), cause(&error))
        }),
    }
}
