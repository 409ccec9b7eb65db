//! The journal of a job: a file from which the job can be resumed. It is complete at any time.

use std::fs::{DirBuilder, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use squall_drives::Identity;
use squall_tool_base::failure::at;
use squall_tool_base::{Failure, named_file};
use tempfile::Builder;

use crate::record::{ContentKind, Drive, Extent, FORMAT, JOURNAL, Job, Pass, Verification};

/// A job, and the file that records its progress.
pub struct Journal {
    path: PathBuf,
    /// Whether the file is written. If not, its path only says where reports go.
    is_saved: bool,
    job: Mutex<Job>,
    /// Held while the file is written, so that no older state replaces a newer one. Updates of
    /// `job` do not wait for it.
    saving: Mutex<()>,
}

impl Journal {
    /// Begins a journal that is saved in `directory`.
    pub fn create(directory: &Path, job: Job) -> Journal {
        let job = Job {
            format: JOURNAL.into(),
            ..job
        };
        Journal {
            is_saved: true,
            ..Journal::unsaved(directory, job)
        }
    }

    /// Reads the journal at `path`. Fails if another user may have written it.
    pub fn open(path: &Path) -> Result<Journal, Failure> {
        let file = open(path, JOURNAL)?;
        let about = file.metadata().map_err(at(path))?;
        let is_ours = about.uid() == rustix::process::geteuid().as_raw();
        if !is_ours || about.mode() & 0o022 != 0 {
            return Err(Failure::Runtime(format!(
                "{}: another user may have written it: use a file that you own, with mode 600",
                path.display()
            )));
        }
        Ok(Journal {
            path: path.to_owned(),
            is_saved: true,
            job: Mutex::new(read_open(&file, path, JOURNAL)?),
            saving: Mutex::new(()),
        })
    }

    /// A journal that is never saved, of a job whose reports go to `directory`.
    pub fn unsaved(directory: &Path, job: Job) -> Journal {
        Journal {
            path: directory.join(format!("{}.json", job.id)),
            is_saved: false,
            job: Mutex::new(job),
            saving: Mutex::new(()),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn directory(&self) -> &Path {
        directory(self.path())
    }

    /// The path of a drive's report, beside the journal.
    pub fn report_path(&self, drive: usize) -> PathBuf {
        report_path(self.directory(), &self.job(), drive)
    }

    pub fn job_report_path(&self) -> PathBuf {
        let file = format!("{}-job.json", self.job().id);
        self.directory().join(file)
    }

    /// The job as it is now, locked.
    pub fn job(&self) -> MutexGuard<'_, Job> {
        self.job.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a drive to the job, and returns its number.
    pub fn add(&self, drive: Drive) -> usize {
        let mut job = self.job();
        job.drives.push(drive);
        job.drives.len() - 1
    }

    /// Takes the drive that was added last out of the job.
    pub fn withdraw(&self) {
        self.job().drives.pop();
    }

    pub fn update<T>(&self, drive: usize, change: impl FnOnce(&mut Drive) -> T) -> T {
        change(&mut self.job().drives[drive])
    }

    /// Saves the journal, so that it survives a power cut.
    pub fn save(&self) -> io::Result<()> {
        if !self.is_saved {
            return Ok(());
        }
        let _saving = self.saving.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = serde_json::to_string_pretty(&*self.job())?;
        text.push('\n');
        replace(&self.path, text.as_bytes(), 0o600)
    }

    pub fn remove(&self) -> Result<(), Failure> {
        std::fs::remove_file(self.path()).map_err(at(self.path()))
    }
}

/// The path of a drive's report in `directory`.
pub fn report_path(directory: &Path, job: &Job, drive: usize) -> PathBuf {
    let name = label(&job.drives[drive].target);
    let what = match job.drives[drive].wipe {
        Some(_) => "-verified",
        None => "",
    };
    let number = drive + 1;
    directory.join(format!("{}-{number:02}-{name}{what}.json", job.id))
}

/// What a target's files are named after: its serial number, or else its own name.
fn label(target: &Identity) -> String {
    let name = target.path.file_name().unwrap_or_default();
    let name = name.to_string_lossy();
    let label = target.serial.as_deref().unwrap_or(&name);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let plain = label.chars().map(|c| if is_plain(c) { c } else { '_' });
    plain.take(64).collect()
}

/// Reads the job in the file at `path`. Fails unless it has this layout.
pub fn read(path: &Path, format: &str) -> Result<Job, Failure> {
    read_open(&open(path, format)?, path, format)
}

/// What to name for a file of this layout.
fn wanted(format: &str) -> &'static str {
    match format {
        JOURNAL => "the journal that squall wipe named in its last line",
        _ => "a report of squall wipe",
    }
}

fn open(path: &Path, format: &str) -> Result<File, Failure> {
    named_file::open(path, wanted(format))
}

fn read_open(file: &File, path: &Path, format: &str) -> Result<Job, Failure> {
    let wrong = |what: &str| Failure::Runtime(format!("{}: {what}", path.display()));
    let job: Job = named_file::json_in(file, path, wanted(format))?;
    match job.format.as_str() {
        found if found == format => {}
        JOURNAL => return Err(wrong("a journal, not a report: resume the job first")),
        FORMAT => {
            let journal = path.with_file_name(format!("{}.json", job.id));
            let shown = journal.display();
            return Err(wrong(&match journal.exists() {
                true => format!("a report: resume the job by its journal, {shown}"),
                false => "the report of a job that is over: there is nothing to resume".into(),
            }));
        }
        _ => return Err(wrong("of another version of squall wipe")),
    }
    match inconsistency(&job) {
        None => Ok(job),
        Some(what) => Err(wrong(&format!("it was changed: {what}"))),
    }
}

/// What is wrong with a job that squall wipe cannot have written.
fn inconsistency(job: &Job) -> Option<&'static str> {
    let is_id = |c: char| c.is_ascii_digit() || "TZ-".contains(c);
    if job.id.is_empty() || !job.id.chars().all(is_id) {
        return Some("not the name of a job");
    }
    if job.plan.passes.is_empty() {
        return Some("no passes");
    }
    job.drives.iter().find_map(|drive| {
        let size = drive.target.size;
        let is_within = |extent: &Extent| {
            let end = extent.offset.checked_add(extent.length);
            extent.length > 0 && end.is_some_and(|end| end <= size)
        };
        let passes = &drive.passes;
        let are_finished = passes.iter().rev().skip(1).all(|pass| pass.ended.is_some());
        if passes.len() > job.plan.passes.len() || !are_finished {
            return Some("passes that were not asked for");
        }
        let is_whole = |(pass, content): (&Pass, &ContentKind)| {
            let is_finished = pass.ended.is_none() || pass.offset == size;
            let is_sound = pass.seconds >= 0.0 && pass.content == *content;
            is_finished && is_sound && pass.offset <= size && pass.unwritten.iter().all(is_within)
        };
        if !passes.iter().zip(&job.plan.passes).all(is_whole) {
            return Some("a pass beyond the target");
        }
        let is_inside = |it: &Verification| {
            let mut found = it.differing.iter().chain(&it.unreadable);
            it.offset <= size && found.all(is_within)
        };
        let is_sound = drive.verifications().all(is_inside);
        (!is_sound).then_some("a verification beyond the target")
    })
}

pub fn default_directory() -> Result<PathBuf, Failure> {
    if rustix::process::geteuid().is_root() {
        return Ok("/var/lib/squall/wipe".into());
    }
    let state = std::env::var_os("XDG_STATE_HOME").filter(|path| !path.is_empty());
    let home = || std::env::home_dir().map(|home| home.join(".local/state"));
    let state = state.map(PathBuf::from).or_else(home).ok_or_else(|| {
        Failure::Runtime(
            "no home directory: choose a directory for reports with --report DIR".into(),
        )
    })?;
    Ok(state.join("squall/wipe"))
}

/// Fails if a directory for journals and reports cannot be made at `path`, or cannot be written to. Leaves nothing behind.
pub fn check_directory(path: &Path) -> Result<(), Failure> {
    let folder = existing_folder(path);
    if !folder.is_dir() {
        return Err(Failure::Usage(format!(
            "--report {}: {} is a file: name a folder",
            path.display(),
            folder.display()
        )));
    }
    tempfile::tempfile_in(folder).map(drop).map_err(at(path))
}

/// `path`, or the nearest folder above it that exists.
pub fn existing_folder(path: &Path) -> &Path {
    let existing = path.ancestors().find(|folder| folder.exists());
    existing.unwrap_or(Path::new("."))
}

/// Creates a directory for journals and reports, and its parents.
pub fn make_directory(path: &Path) -> Result<(), Failure> {
    check_directory(path)?;
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(at(path))
}

/// Replaces the file at `path` by `bytes`. Even after a power cut, the file is either as before, or
/// complete and on the disk.
pub fn replace(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut file = Builder::new()
        .prefix(".squall-wipe-")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(directory(path))?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    File::open(directory(path))?.sync_all()
}

pub fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}
