//! The keys of a drive's random passes: in a file that only its owner can read, for as long as the
//! job needs them.
//!
//! A line a pass, each 64 hexadecimal digits: what `squall stream --seed-file` reads. The file is
//! written once, before the first pass. In the end it is overwritten and removed; where it lies on
//! flash or on a copy-on-write filesystem, an old copy of it may outlive that. What a key could
//! tell is where on a drive there is still keystream, and nothing of what was there before.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use squall_command::Failure;
use squall_command::failure::at;
use zeroize::Zeroizing;

/// Length of a key, in bytes.
const KEY: usize = 32;

/// Length of a line: digits and a newline.
const LINE: usize = 2 * KEY + 1;

/// A key that is wiped when it is no longer needed.
pub type Key = Zeroizing<[u8; KEY]>;

/// The keys of one drive.
pub struct Keys {
    path: PathBuf,
    file: File,
    keys: Vec<Key>,
}

impl Keys {
    /// Draws `count` keys and keeps them at `path`, where nothing may be.
    pub fn draw(path: PathBuf, count: u32) -> Result<Keys, Failure> {
        let keys: Vec<Key> = (0..count).map(|_| fresh()).collect();
        let create = || -> io::Result<File> {
            let mut options = OpenOptions::new();
            let options = options.read(true).write(true).create_new(true).mode(0o600);
            let mut file = options.open(&path)?;
            file.write_all(&text(&keys))?;
            file.sync_all()?;
            Ok(file)
        };
        let file = create().map_err(at(&path))?;
        Ok(Keys { path, file, keys })
    }

    /// The keys at `path`.
    pub fn load(path: PathBuf) -> Result<Keys, Failure> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&path)
            .map_err(at(&path))?;
        let mut text = Zeroizing::new(Vec::new());
        file.read_to_end(&mut text).map_err(at(&path))?;
        let keys: Option<Vec<Key>> = text.chunks(LINE).map(key).collect();
        match keys {
            Some(keys) if !keys.is_empty() => Ok(Keys { path, file, keys }),
            _ => Err(Failure::Runtime(format!(
                "{}: no keys in it: use the file as squall wipe left it",
                path.display()
            ))),
        }
    }

    /// The key of pass `number`, from 1 on.
    pub fn of_pass(&self, number: u32) -> Option<&Key> {
        self.keys.get(number as usize - 1)
    }

    /// Keeps only the key of the last pass, for a later verification.
    pub fn keep_last(self) -> Result<(), Failure> {
        let last = &self.keys[self.keys.len() - 1..];
        let keep = || -> io::Result<()> {
            self.file
                .write_all_at(&vec![b'0'; self.keys.len() * LINE], 0)?;
            self.file.sync_data()?;
            self.file.write_all_at(&text(last), 0)?;
            self.file.set_len(LINE as u64)?;
            self.file.sync_all()
        };
        keep().map_err(at(&self.path))
    }

    /// Overwrites and removes the file.
    pub fn destroy(self) -> Result<(), Failure> {
        let destroy = || -> io::Result<()> {
            self.file
                .write_all_at(&vec![b'0'; self.keys.len() * LINE], 0)?;
            self.file.sync_data()?;
            std::fs::remove_file(&self.path)
        };
        destroy().map_err(at(&self.path))
    }
}

/// Where the keys of the record at `path` are.
pub fn beside(path: &Path) -> PathBuf {
    path.with_extension("key")
}

fn fresh() -> Key {
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
    let is_whole = digits.len() == 2 * KEY;
    let decoded = is_whole
        && data_encoding::HEXLOWER
            .decode_mut(digits, &mut key[..])
            .is_ok();
    decoded.then_some(key)
}
