//! Where a stream goes is opened here, unless something that is in use would be lost with it.
//!
//! A drive passes the guards of `squall wipe` and is confirmed as there. A file that is swap, or
//! attached to a loop device, is refused. Nothing is emptied or written before that.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::slice;

use squall_drives::confirm::{Consent, confirm};
use squall_drives::io::{Access, Device, Direct};
use squall_drives::{Purpose, Target, guards, shown};
use squall_tools::failure::at;
use squall_tools::{Failure, output};

use crate::args::Format;

/// What a drive is overwritten for.
const PURPOSE: Purpose = Purpose {
    verb: "overwrite",
    instead: |path| format!("name another drive than {}", shown(path)),
};

/// Opens `path` as a shell does for `>`. A new file of text, which may be a key, is its owner's alone.
pub fn open(path: &Path, format: Format, consent: &Consent) -> Result<File, Failure> {
    if fs::metadata(path).is_ok_and(|about| about.file_type().is_block_device()) {
        return drive(path, consent).map_err(refused);
    }
    is_not_for_a_drive(&shown(path), consent)?;
    let mode = match format {
        Format::Raw => 0o666,
        Format::Hex | Format::Base64 => 0o600,
    };
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(false).mode(mode);
    let file = options.open(path).map_err(at(path))?;
    is_free(&file, path)?;
    // As O_TRUNC, of which FIFOs and devices know nothing.
    if file.metadata().is_ok_and(|about| about.is_file()) {
        file.set_len(0).map_err(at(path))?;
    }
    Ok(file)
}

/// Standard output, as a file of its own.
pub fn standard_output(consent: &Consent) -> Result<File, Failure> {
    output::check()?;
    let name = "standard output";
    is_not_for_a_drive(name, consent)?;
    let file = io::stdout().as_fd().try_clone_to_owned().map(File::from);
    let file = file.map_err(at(Path::new(name)))?;
    is_free(&file, Path::new(name))?;
    Ok(file)
}

/// The drive at `path`, if it may be overwritten and is meant: ours alone for as long as it is open.
fn drive(path: &Path, consent: &Consent) -> Result<File, Failure> {
    let target = Target::find(path)?;
    let alone = slice::from_ref(&target);
    guards::check(alone, &PURPOSE)?;
    confirm(alone, consent, &PURPOSE)?;
    let device = Device::open(&target, Access::Write, Direct::Off)?;
    // It may have been mounted while the user was asked.
    guards::check(alone, &PURPOSE)?;
    let mut file = device.file().try_clone().map_err(at(path))?;
    file.rewind().map_err(at(path))?;
    Ok(file)
}

/// Fails if the user consents to a drive that is none: the name may be that of one which is gone.
fn is_not_for_a_drive(name: &str, consent: &Consent) -> Result<(), Failure> {
    if !consent.yes && consent.serial.is_empty() {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "{name} is not a drive, so --yes and --serial do not apply: leave them out; nothing was written"
    )))
}

/// Fails if what was opened without looking is a drive, or a file that is in use by the kernel.
fn is_free(file: &File, name: &Path) -> Result<(), Failure> {
    let about = file.metadata().map_err(at(name))?;
    if about.file_type().is_block_device() {
        return Err(Failure::Usage(format!(
            "{} is a block device, and nothing was written: use --output, which checks that it is \
             not in use, or `squall wipe`",
            shown(name)
        )));
    }
    if about.is_file() && about.len() > 0 {
        guards::check_file(name, &about).map_err(refused)
    } else {
        Ok(())
    }
}

/// What is refused before anything was written has the code of a wrong argument.
fn refused(failure: Failure) -> Failure {
    match failure {
        Failure::Runtime(text) => Failure::Usage(text),
        other => other,
    }
}
