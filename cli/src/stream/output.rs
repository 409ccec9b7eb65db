//! The output of a stream: opens it, unless that would destroy something in use, and writes to it.
//!
//! A drive must pass the guards of `squall wipe`, and the user must confirm it. A file is refused if
//! it is swap or attached to a loop device. Nothing is emptied or written before these checks.
//!
//! A sink counts the bytes that were really written, so that errors can report them. Data for a disk
//! is on the disk once [`Sink::sync`] has succeeded.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::FileType;
use rustix::io::Errno;
use squall_drives::confirm::Consent;
use squall_drives::io::{Access, Direct, OtherPaths};
use squall_drives::{Checked, Purpose, Target, guards, shown};
use squall_tool_base::failure::{at, cause, opening};
use squall_tool_base::{Failure, output};

use crate::stream::args::Format;
use crate::stream::buffer::{self, Buffer, Memory, send_all};

/// The words with which guards and prompts describe the use of a drive.
const PURPOSE: Purpose = Purpose {
    verb: "overwrite",
    instead: |path| format!("name a drive other than {}", shown(path)),
};

/// An open output; of a drive also its other paths, which nobody may use meanwhile.
type Opened = (File, Option<OtherPaths>);

/// Opens `path` as a shell does for `>`, but only the owner can read a new text file: it may be a key.
pub fn open(path: &Path, format: Format, consent: &Consent) -> Result<Opened, Failure> {
    if fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_block_device()) {
        return open_drive(path, consent).map_err(as_usage_error);
    }
    refuse_drive_consent(&shown(path), consent)?;
    let mode = match format {
        Format::Raw => 0o666,
        Format::Hex | Format::Base64 => 0o600,
    };
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(false).mode(mode);
    let file = options.open(path).map_err(opening(path))?;
    check_not_in_use(&file, path)?;
    // Like O_TRUNC, which has no effect on FIFOs and devices.
    if file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        file.set_len(0).map_err(at(path))?;
    }
    Ok((file, None))
}

/// Fails if an endless stream would go to a regular file: it would fill the disk in seconds. The file is standard output if
/// `path` is `None`.
pub fn refuse_an_endless_file(path: Option<&Path>) -> Result<(), Failure> {
    let (name, is_file) = match path {
        Some(path) => {
            let is_file = match fs::metadata(path) {
                Ok(metadata) => metadata.is_file(),
                Err(error) => error.kind() == io::ErrorKind::NotFound,
            };
            (shown(path), is_file)
        }
        None => {
            let file = io::stdout().as_fd().try_clone_to_owned().map(File::from);
            let metadata = file.and_then(|file| file.metadata());
            let is_file = metadata.is_ok_and(|metadata| metadata.is_file());
            ("standard output".into(), is_file)
        }
    };
    match is_file {
        true => Err(Failure::Usage(format!(
            "{name} is a regular file, and an endless stream would fill the disk: add --size, such as --size 1GiB; nothing was \
             written"
        ))),
        false => Ok(()),
    }
}

/// Duplicates standard output as a file.
pub fn standard_output(consent: &Consent) -> Result<File, Failure> {
    output::check()?;
    let name = "standard output";
    refuse_drive_consent(name, consent)?;
    let file = io::stdout().as_fd().try_clone_to_owned().map(File::from);
    let file = file.map_err(at(Path::new(name)))?;
    check_not_in_use(&file, Path::new(name))?;
    Ok(file)
}

/// Opens the drive at `path` exclusively, if it may be overwritten and the user confirms it.
fn open_drive(path: &Path, consent: &Consent) -> Result<Opened, Failure> {
    let checked = Checked::new(vec![Target::find(path)?], PURPOSE)?;
    let confirmed = checked.confirm(consent)?;
    let device = confirmed.open(|_| Access::Write, Direct::Off)?.remove(0);
    let mut file = device.file().try_clone().map_err(at(path))?;
    file.rewind().map_err(at(path))?;
    Ok((file, Some(device.into_other_paths())))
}

/// Fails if the user consented to a drive and the output is none: the name may be that of a removed
/// drive.
fn refuse_drive_consent(name: &str, consent: &Consent) -> Result<(), Failure> {
    if !consent.yes && consent.serial.is_empty() {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "{name} is not a drive, so --yes and --serial do not apply: leave them out; nothing was written"
    )))
}

/// Fails if an opened output is a drive, or a file that the kernel uses.
fn check_not_in_use(file: &File, name: &Path) -> Result<(), Failure> {
    let metadata = file.metadata().map_err(at(name))?;
    if metadata.file_type().is_block_device() {
        return Err(Failure::Usage(format!(
            "{} is a block device, and nothing was written: use --output, which checks that it is \
             not in use, or `squall wipe`",
            shown(name)
        )));
    }
    if metadata.is_file() && metadata.len() > 0 {
        guards::check_file(name, &metadata).map_err(as_usage_error)
    } else {
        Ok(())
    }
}

/// Turns a refusal into a usage error, because nothing was written yet.
fn as_usage_error(failure: Failure) -> Failure {
    match failure {
        Failure::Runtime(text) => Failure::Usage(text),
        other => other,
    }
}

/// The size to request for a pipe: the most that users may set (/proc/sys/fs/pipe-max-size).
const PIPE_SIZE: usize = 1 << 20;

pub struct Sink {
    file: File,
    name: String,
    is_pipe: bool,
    written: u64,
}

impl Sink {
    pub fn new(file: File, name: String) -> Sink {
        let is_pipe = rustix::fs::fstat(&file)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Fifo);
        if is_pipe {
            // Fails for users with much pipe memory; then the size stays as it is.
            let _ = rustix::pipe::fcntl_setpipe_size(&file, PIPE_SIZE);
        }
        Sink {
            file,
            name,
            is_pipe,
            written: 0,
        }
    }

    pub fn is_pipe(&self) -> bool {
        self.is_pipe
    }

    /// Whether the output takes given memory and that is faster.
    pub fn takes_gifts(&self) -> bool {
        self.is_pipe && buffer::takes_gifts(self.file.as_fd())
    }

    /// Writes all of `buffer`. Returns a kept buffer for reuse; a given one is gone.
    pub fn write(&mut self, Buffer { memory, len }: Buffer) -> Result<Option<Buffer>, Failure> {
        let fd = self.file.as_fd();
        let (result, kept) = match memory {
            Memory::Kept(bytes) => {
                let write = |rest: &[u8]| rustix::io::write(fd, rest);
                let result = send_all(fd, &bytes[..len], &mut self.written, write);
                (result, Some(Memory::Kept(bytes)))
            }
            Memory::Given(gift) => (gift.give(len, fd, &mut self.written), None),
        };
        let kept = kept.map(|memory| Buffer { memory, len });
        result.map(|()| kept).map_err(|error| self.failure(&error))
    }

    /// Waits until all data is on the disk, if the output is on one.
    pub fn sync(&self) -> Result<(), Failure> {
        match rustix::io::retry_on_intr(|| rustix::fs::fdatasync(&self.file)) {
            // Pipes, terminals and most character devices have nothing to sync.
            Ok(()) | Err(Errno::INVAL | Errno::NOTSUP) => Ok(()),
            Err(error) => Err(Failure::Runtime(format!(
                "{}: {}, while {} bytes were synchronised to the disk",
                self.name,
                cause(&error.into()),
                self.written
            ))),
        }
    }

    fn failure(&self, error: &io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::Closed,
            _ => Failure::Runtime(format!(
                "{}: {}, after {} bytes were written",
                self.name,
                cause(error),
                self.written
            )),
        }
    }
}
