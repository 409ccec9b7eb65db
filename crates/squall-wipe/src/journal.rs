//! How far a job is, in a file that is whole at every moment: from it the job is resumed.

use std::fs::{DirBuilder, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use squall_command::Failure;
use squall_command::failure::at;
use tempfile::Builder;

use crate::record::{Drive, FORMAT, Identity, Job};

/// A job, and the file that says how far it is.
pub struct Journal {
    path: PathBuf,
    is_kept: bool,
    job: Mutex<Job>,
}

impl Journal {
    /// Begins one in `directory`.
    pub fn create(directory: &Path, job: Job) -> Result<Journal, Failure> {
        let path = directory.join(format!("{}.json", job.id));
        let journal = Journal {
            path,
            is_kept: true,
            job: Mutex::new(job),
        };
        journal.save().map_err(at(&journal.path))?;
        Ok(journal)
    }

    /// Goes on with the one at `path`.
    pub fn open(path: &Path) -> Result<Journal, Failure> {
        Ok(Journal {
            path: path.to_owned(),
            is_kept: true,
            job: Mutex::new(read(path)?),
        })
    }

    /// One of which nothing is kept.
    pub fn in_memory(job: Job) -> Journal {
        Journal {
            path: PathBuf::new(),
            is_kept: false,
            job: Mutex::new(job),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory it is in.
    pub fn directory(&self) -> &Path {
        match self.path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        }
    }

    /// Where the report of a drive goes, beside the journal.
    pub fn report_path(&self, drive: usize) -> PathBuf {
        let job = self.job();
        let name = label(&job.drives[drive].target);
        let file = format!("{}-{:02}-{name}.json", job.id, drive + 1);
        self.path.with_file_name(file)
    }

    /// The job, as it is now.
    pub fn job(&self) -> MutexGuard<'_, Job> {
        self.job.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what is known of a drive.
    pub fn update<T>(&self, drive: usize, change: impl FnOnce(&mut Drive) -> T) -> T {
        change(&mut self.job().drives[drive])
    }

    /// Writes it, so that it survives a power cut.
    pub fn save(&self) -> io::Result<()> {
        if !self.is_kept {
            return Ok(());
        }
        // Until it is written, so that no older one comes later.
        let job = self.job();
        let mut text = serde_json::to_string_pretty(&*job)?;
        text.push('\n');
        replace(&self.path, text.as_bytes(), 0o600)
    }

    /// Removes the file: the job is over.
    pub fn remove(&self) -> Result<(), Failure> {
        std::fs::remove_file(&self.path).map_err(at(&self.path))
    }
}

/// What files of a target are called: its serial number, or else its own name.
fn label(target: &Identity) -> String {
    let name = target
        .path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    let label = target.serial.as_deref().unwrap_or(&name);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let plain = label.chars().map(|c| if is_plain(c) { c } else { '_' });
    plain.take(64).collect()
}

/// The job that the file at `path` tells of.
pub fn read(path: &Path) -> Result<Job, Failure> {
    let text = std::fs::read(path).map_err(at(path))?;
    let wrong = |what: &str| {
        Failure::Runtime(format!(
            "{}: {what}: give a file that squall wipe wrote",
            path.display()
        ))
    };
    let job: Job = serde_json::from_slice(&text).map_err(|error| wrong(&error.to_string()))?;
    match job.format == FORMAT {
        true => Ok(job),
        false => Err(wrong("another format")),
    }
}

/// Where journals and reports go if nobody says where.
pub fn usual_directory() -> Result<PathBuf, Failure> {
    if rustix::process::geteuid().is_root() {
        return Ok("/var/lib/squall/wipe".into());
    }
    let state = std::env::var_os("XDG_STATE_HOME").filter(|path| !path.is_empty());
    let home = || std::env::home_dir().map(|home| home.join(".local/state"));
    let state = state.map(PathBuf::from).or_else(home).ok_or_else(|| {
        Failure::Runtime("no home directory: say where reports go with --report DIR".into())
    })?;
    Ok(state.join("squall/wipe"))
}

/// Makes a directory for journals and reports, and all above it.
pub fn make_directory(path: &Path) -> Result<(), Failure> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(at(path))
}

/// Puts `bytes` into the file at `path`: afterwards it is as before, or all of it is new and on the
/// disk.
pub fn replace(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let directory = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let mut file = Builder::new()
        .prefix(".squall-wipe-")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(directory)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    File::open(directory)?.sync_all()
}
