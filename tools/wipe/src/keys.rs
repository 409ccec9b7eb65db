//! The keys of a drive's random passes. They are in a file that only its owner can read, for as
//! long as the job needs them.
//!
//! The file has a line of 64 hexadecimal digits for each pass, as `squall stream --seed-file` reads
//! them. It is written once, before the first pass, and is overwritten and removed in the end. On
//! flash or on a copy-on-write filesystem, an old copy may outlive that. A key can show where a
//! drive still holds keystream, but tells nothing about what was there before.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use squall_tool_base::Failure;
use squall_tool_base::failure::at;
use zeroize::Zeroizing;

use crate::content::{KEY, Key};
use crate::journal::Journal;

/// Length of a line, in bytes: digits and a newline.
const LINE: usize = 2 * KEY + 1;

pub struct Keys {
    path: PathBuf,
    keys: Vec<Key>,
}

impl Keys {
    /// Draws `count` keys and saves them at `path`, where nothing may exist yet.
    pub fn draw(path: PathBuf, count: u32) -> Result<Keys, Failure> {
        let keys: Vec<Key> = (0..count).map(|_| draw_key()).collect();
        let create = || -> io::Result<()> {
            let mut options = OpenOptions::new();
            let options = options.read(true).write(true).create_new(true).mode(0o600);
            let mut file = options.open(&path)?;
            file.write_all(&text(&keys))?;
            file.sync_all()
        };
        if let Err(error) = create() {
            // A file that existed before is not ours to remove.
            if error.kind() != io::ErrorKind::AlreadyExists {
                let _ = std::fs::remove_file(&path);
            }
            return Err(at(&path)(error));
        }
        Ok(Keys { path, keys })
    }

    /// Loads the keys at `path`. Fails unless there are `count`.
    pub fn load(path: PathBuf, count: u32) -> Result<Keys, Failure> {
        let file = open(&path).map_err(at(&path))?;
        let mut text = Zeroizing::new(Vec::new());
        let longest = u64::from(count) * LINE as u64;
        let read = file.take(longest + 1).read_to_end(&mut text);
        read.map_err(at(&path))?;
        let keys: Option<Vec<Key>> = text.chunks(LINE).map(key).collect();
        match keys {
            Some(keys) if keys.len() == count as usize => Ok(Keys { path, keys }),
            _ => Err(Failure::Runtime(format!(
                "{}: not {count} keys: use the file as squall wipe left it",
                path.display()
            ))),
        }
    }

    /// The key of pass `number`, counted from 1.
    pub fn of_pass(&self, number: u32) -> Option<&Key> {
        self.keys.get(number as usize - 1)
    }

    /// The key of the last pass, whose keystream is on the drive in the end.
    pub fn last(&self) -> Option<&Key> {
        self.keys.last()
    }
}

/// Draws the keys of the drives with these numbers, if the passes have any, and saves the journal. If one of this
/// fails, all of these keys are destroyed.
pub fn draw_all(journal: &Journal, numbers: Range<usize>) -> Result<Vec<Option<Keys>>, Failure> {
    let plan = journal.job().plan.clone();
    let mut drawn = Vec::new();
    let draw = |number| {
        let path = path_for_report(&journal.report_path(number));
        let has_keys = plan.has_keys();
        let keys = has_keys.then(|| Keys::draw(path, plan.count()));
        drawn.push(keys.transpose()?);
        Ok(())
    };
    let save = |()| journal.save().map_err(at(journal.path()));
    if let Err(failure) = numbers.into_iter().try_for_each(draw).and_then(save) {
        for keys in drawn.into_iter().flatten() {
            // Nothing was written with these keys, so a file that stays reveals nothing.
            let _ = remove(&keys.path, false);
        }
        return Err(failure);
    }
    Ok(drawn)
}

/// Overwrites and removes the key file at `path` when its drive is done. If the file `is_kept`, it is
/// reduced to the key of the last pass, for a later verification. Does nothing if this was done before.
pub fn remove(path: &Path, is_kept: bool) -> Result<(), Failure> {
    let file = match open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(at(path)(error)),
    };
    let ended = match is_kept {
        true => keep_last(&file),
        false => overwrite(&file).and_then(|()| std::fs::remove_file(path)),
    };
    ended.map_err(at(path))
}

fn keep_last(file: &File) -> io::Result<()> {
    let len = file.metadata()?.len();
    let mut last = Zeroizing::new([0; LINE]);
    file.read_exact_at(&mut last[..], len.saturating_sub(LINE as u64))?;
    overwrite(file)?;
    file.write_all_at(&last[..], 0)?;
    file.set_len(LINE as u64)?;
    file.sync_all()
}

fn overwrite(file: &File) -> io::Result<()> {
    let len = file.metadata()?.len();
    file.write_all_at(&vec![b'0'; len as usize], 0)?;
    file.sync_data()
}

/// Opens the key file at `path`. Follows no link, and does not block.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(flags.bits() as i32)
        .open(path)
}

pub fn path_for_report(path: &Path) -> PathBuf {
    path.with_extension("key")
}

fn draw_key() -> Key {
    let mut key = Key::default();
    squall::fill_fresh(&mut key[..]);
    key
}

fn text(keys: &[Key]) -> Zeroizing<Vec<u8>> {
    let mut text = Zeroizing::new(vec![b'\n'; keys.len() * LINE]);
    for (line, key) in text.chunks_exact_mut(LINE).zip(keys) {
        data_encoding::HEXLOWER.encode_mut(&key[..], &mut line[..2 * KEY]);
    }
    text
}

fn key(line: &[u8]) -> Option<Key> {
    let digits = line.strip_suffix(b"\n").unwrap_or(line);
    let mut key = Key::default();
    if digits.len() != 2 * KEY {
        return None;
    }
    let decoded = data_encoding::HEXLOWER.decode_mut(digits, &mut key[..]);
    decoded.is_ok().then_some(key)
}
