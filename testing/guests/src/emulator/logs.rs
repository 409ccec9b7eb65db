//! The messages of a guest and its QEMU, in files that are removed with the machine.

use std::path::{Path, PathBuf};

use super::host::Host;

/// The files with the messages.
#[derive(Debug)]
pub struct Logs {
    /// The guest kernel's console.
    pub console: PathBuf,
    /// QEMU's standard error.
    pub messages: PathBuf,
}

impl Logs {
    /// The files of the machine of this number.
    pub fn of(host: &Host, number: usize) -> Logs {
        Logs {
            console: host.file(&format!("console-{number}")),
            messages: host.file(&format!("messages-{number}")),
        }
    }

    /// The most informative line of QEMU's messages, or else of the guest's console, as the end of a
    /// sentence.
    pub fn last_message(&self) -> String {
        let (messages, console) = (lines(&self.messages), lines(&self.console));
        let qemu = first_error(&messages).map(|line| format!("; QEMU says: {line}"));
        let kernel = || panic_or_last(&console).map(|line| format!("; its console says: {line}"));
        qemu.or_else(kernel).unwrap_or_default()
    }
}

impl Drop for Logs {
    fn drop(&mut self) {
        for path in [&self.console, &self.messages] {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The non-empty lines of a file. Empty if it cannot be read.
fn lines(path: &Path) -> Vec<String> {
    let text = std::fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(str::to_owned).collect()
}

/// QEMU's first line that is not a warning. Hints and registers may follow it.
fn first_error(messages: &[String]) -> Option<&String> {
    messages.iter().find(|line| !line.contains("warning:"))
}

/// The line that reports a kernel panic (a trace follows it), or else the last line.
fn panic_or_last(console: &[String]) -> Option<&String> {
    let panic = console.iter().find(|line| line.contains("Kernel panic"));
    panic.or(console.last())
}
