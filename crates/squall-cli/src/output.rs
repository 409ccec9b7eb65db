//! Text on standard output that survives a reader who leaves, and tells of a full disk.

use std::io::{self, Write};

use crate::failure::Failure;

/// Prints `text` on standard output.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .map_err(|error| Failure::of_write("standard output", &error))
}
