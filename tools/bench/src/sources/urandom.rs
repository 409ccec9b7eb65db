//! /dev/urandom, kept open and read.

use std::fs::File;
use std::io::Read;

use squall_tools::failure::cause;

use crate::source::Draw;

/// The opened device.
#[derive(Debug)]
pub struct Urandom(File);

impl Urandom {
    /// Opens the device.
    ///
    /// # Errors
    /// Why it cannot be opened.
    pub fn open() -> Result<Urandom, String> {
        let opened = File::open("/dev/urandom").map(Urandom);
        opened.map_err(|error| format!("/dev/urandom: {}", cause(&error)))
    }
}

impl Draw for Urandom {
    /// Fills `out` with one read, or more where the kernel returns less.
    #[inline]
    fn fill(&mut self, out: &mut [u8]) {
        self.0.read_exact(out).expect("/dev/urandom has no end");
    }
}
