//! What a guest and its QEMU say, in files that go with the machine.

use std::path::{Path, PathBuf};

/// The files.
#[derive(Debug)]
pub struct Words {
    /// What the guest's kernel writes.
    pub console: PathBuf,
    /// What QEMU writes.
    pub messages: PathBuf,
}

impl Words {
    /// The line of QEMU's messages, or else of the guest's console, that tells most, to end a
    /// sentence with.
    pub fn last(&self) -> String {
        let (messages, console) = (lines(&self.messages), lines(&self.console));
        let said = complaint(&messages).map(|line| format!("; QEMU says: {line}"));
        let shown = || end(&console).map(|line| format!("; its console says: {line}"));
        said.or_else(shown).unwrap_or_default()
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        for path in [&self.console, &self.messages] {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The lines of a file that are not empty; none if it cannot be read.
fn lines(path: &Path) -> Vec<String> {
    let text = std::fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(str::to_owned).collect()
}

/// QEMU's first error. Hints and registers may follow it.
fn complaint(messages: &[String]) -> Option<&String> {
    messages.iter().find(|line| !line.contains("warning:"))
}

/// Why the kernel ended, or else the last that it said: a panic is followed by a trace.
fn end(console: &[String]) -> Option<&String> {
    let panic = console.iter().find(|line| line.contains("Kernel panic"));
    panic.or(console.last())
}
