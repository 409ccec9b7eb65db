//! The staging area of the cache: the packages of an item, their files, and the tree that is built from
//! them. It is removed when the item is finished or has failed. The next run removes the staging area
//! of a killed run.

use std::fs::{self, DirBuilder, Metadata};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use squall_tools::Failure;
use squall_tools::failure::at;

use super::lists::Package;
use super::programs;
use super::record::Record;

/// Temporary directories on the cache's file system.
pub struct Staging {
    directory: PathBuf,
    packages: PathBuf,
    unpacked: PathBuf,
    tree: PathBuf,
}

impl Staging {
    /// Creates empty directories in the cache at `cache`, which must be locked.
    pub fn begin(cache: &Path) -> Result<Staging, Failure> {
        let directory = cache.join("part");
        remove(&directory).map_err(at(&directory))?;
        // Packages may have set-user-ID programs, which no other user should reach.
        let made = DirBuilder::new().mode(0o700).create(&directory);
        made.map_err(at(&directory))?;
        let part = Staging {
            packages: directory.join("packages"),
            unpacked: directory.join("unpacked"),
            tree: directory.join("tree"),
            directory,
        };
        for path in [&part.packages, &part.unpacked, &part.tree] {
            fs::create_dir(path).map_err(at(path))?;
        }
        Ok(part)
    }

    /// The directory for downloaded packages.
    pub fn packages(&self) -> &Path {
        &self.packages
    }

    /// The directory for unpacked packages.
    pub fn unpacked(&self) -> &Path {
        &self.unpacked
    }

    /// The directory for files that are kept.
    pub fn tree(&self) -> &Path {
        &self.tree
    }

    /// Unpacks the downloaded packages and returns their names and versions.
    pub fn unpack(&self) -> Result<Vec<Package>, Failure> {
        let mut packages = Vec::new();
        for path in self.archives()? {
            packages.push(identify(&path)?);
            let mut command = programs::command("dpkg-deb");
            command.arg("--extract").arg(&path).arg(&self.unpacked);
            programs::output(&mut command).map_err(Failure::Runtime)?;
        }
        Ok(packages)
    }

    fn archives(&self) -> Result<Vec<PathBuf>, Failure> {
        let entries = fs::read_dir(&self.packages).map_err(at(&self.packages))?;
        let paths: io::Result<Vec<_>> = entries.map(|entry| Ok(entry?.path())).collect();
        let mut paths = paths.map_err(at(&self.packages))?;
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "deb"));
        paths.sort();
        Ok(paths)
    }

    /// The total length of the tree's files, in bytes.
    pub fn length(&self) -> Result<u64, Failure> {
        length(&self.tree).map_err(at(&self.tree))
    }

    /// Writes the tree's record and moves the tree to `place`, replacing what is there.
    pub fn finish(self, record: &Record, place: &Path) -> Result<(), Failure> {
        record.write(&self.tree)?;
        self.replace(place).map_err(at(place))
    }

    fn replace(&self, place: &Path) -> io::Result<()> {
        if let Some(parent) = place.parent() {
            fs::create_dir_all(parent)?;
        }
        match fs::rename(place, self.directory.join("old")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        fs::rename(&self.tree, place)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // If this fails, the next run removes it.
        let _ = remove(&self.directory);
    }
}

fn identify(path: &Path) -> Result<Package, Failure> {
    let mut command = programs::command("dpkg-deb");
    command.arg("--show").arg(path);
    let shown = programs::output(&mut command).map_err(Failure::Runtime)?;
    let (name, version) = shown.trim().split_once('\t').unwrap_or_default();
    Ok(Package {
        name: name.to_owned(),
        version: version.to_owned(),
    })
}

/// Moves the files and directories named in `kept` from `unpacked` to `tree`.
pub fn keep(kept: &[&str], unpacked: &Path, tree: &Path) -> Result<(), Failure> {
    for name in kept {
        let (from, to) = (unpacked.join(name), tree.join(name));
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).map_err(at(parent))?;
        }
        fs::rename(&from, &to).map_err(at(&from))?;
    }
    Ok(())
}

/// Removes a directory or a file, if there is one.
pub fn remove(path: &Path) -> io::Result<()> {
    let removed = if path.is_file() {
        fs::remove_file(path)
    } else {
        fs::remove_dir_all(path)
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Calls `visit` for everything below `directory`.
pub fn walk(directory: &Path, visit: &mut impl FnMut(&Path, &Metadata)) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        visit(&entry.path(), &metadata);
        if metadata.is_dir() {
            walk(&entry.path(), visit)?;
        }
    }
    Ok(())
}

/// The total length of all files below `directory`, in bytes.
fn length(directory: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    walk(directory, &mut |_, metadata| {
        if metadata.is_file() {
            bytes += metadata.len();
        }
    })?;
    Ok(bytes)
}
