//! /dev/urandom, kept open and read.

use std::fs::File;
use std::io::Read;

/// The opened device.
pub struct Urandom(File);

impl Urandom {
    /// Opens the device; announces its absence.
    pub fn open() -> Option<Urandom> {
        match File::open("/dev/urandom") {
            Ok(device) => Some(Urandom(device)),
            Err(error) => {
                super::skip("urandom", &error.to_string());
                None
            }
        }
    }

    /// Fills `out` with one read, or more where the kernel returns less.
    pub fn fill(&mut self, out: &mut [u8]) {
        self.0.read_exact(out).expect("/dev/urandom has no end");
    }
}
