//! Keys that are typed while a run is shown, and the dialog in which the user skips a drive: `s`, the drive's number, Enter.
//!
//! They are not echoed, so they do not disturb the screen, and the terminal is
//! as before whenever this program does not own it: while it is stopped or in the background, and in the end.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use rustix::process::{Signal, getpid, kill_process};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};
use squall_tool_base::in_child;
use squall_tool_base::terminal::{input, is_ours};

/// The terminal on standard input, while a run is shown.
pub struct Keyboard {
    before: Termios,
    /// Whether the user has asked this program to stop (Ctrl-Z).
    is_stop_asked: Arc<AtomicBool>,
}

/// Whether keys can be read: this program owns the terminal on standard input.
pub fn is_there() -> bool {
    io::stdin().is_terminal() && is_ours()
}

impl Keyboard {
    /// Takes the keyboard; `None` if there is none.
    pub fn take() -> Option<Keyboard> {
        if !is_there() {
            return None;
        }
        let before = tcgetattr(input()).ok()?;
        let is_stop_asked = Arc::new(AtomicBool::new(false));
        in_child::note_stops(&is_stop_asked).ok()?;
        let keyboard = Keyboard {
            before,
            is_stop_asked,
        };
        keyboard.silence();
        Some(keyboard)
    }

    /// The bytes that were typed since the last call. Never waits.
    pub fn typed(&self) -> Vec<u8> {
        let mut typed = [0; 64];
        // A program that comes back to the foreground finds the terminal as the shell left it.
        if !self.silence() {
            return Vec::new();
        }
        let read = rustix::io::read(input(), &mut typed).unwrap_or(0);
        typed[..read].to_vec()
    }

    pub fn is_stop_asked(&self) -> bool {
        self.is_stop_asked.swap(false, Relaxed)
    }

    /// Stops this program, until it is told to continue.
    pub fn stop(&self) {
        self.restore();
        // This signal cannot be refused.
        let _ = kill_process(getpid(), Signal::STOP);
    }

    /// Turns echo and line editing off, if this program owns the terminal; tells whether it does.
    fn silence(&self) -> bool {
        if !is_ours() {
            return false;
        }
        let Ok(now) = tcgetattr(input()) else {
            return false;
        };
        let edits = LocalModes::ECHO | LocalModes::ICANON;
        if now.local_modes.intersects(edits) {
            let mut quiet = now;
            quiet.local_modes.remove(edits);
            quiet.special_codes[SpecialCodeIndex::VMIN] = 0;
            quiet.special_codes[SpecialCodeIndex::VTIME] = 0;
            return tcsetattr(input(), OptionalActions::Now, &quiet).is_ok();
        }
        true
    }

    fn restore(&self) {
        if is_ours() {
            // What was typed and not read was not meant for the shell.
            let _ = tcsetattr(input(), OptionalActions::Flush, &self.before);
        }
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        self.restore();
    }
}

/// The key that opens the dialog.
const OPEN: u8 = b's';

/// The dialog; closed by default.
#[derive(Debug, Default)]
pub struct SkipDialog {
    /// What was typed so far; `None` while the dialog is closed.
    typed: Option<String>,
}

impl SkipDialog {
    /// The question, with what was typed; `None` while the dialog is closed.
    pub fn question(&self) -> Option<String> {
        let typed = self.typed.as_ref()?;
        Some(format!(
            "skip which drive? number and Enter, Esc for none: {typed}"
        ))
    }

    pub fn is_open(&self) -> bool {
        self.typed.is_some()
    }

    /// Takes a key. Returns the number that was chosen, counted from 1.
    pub fn take(&mut self, key: u8) -> Option<usize> {
        let Some(typed) = &mut self.typed else {
            self.typed = (key == OPEN).then(String::new);
            return None;
        };
        match key {
            b'0'..=b'9' if typed.len() < 4 => typed.push(key.into()),
            0x08 | 0x7f => drop(typed.pop()),
            b'\r' | b'\n' => return self.typed.take()?.parse().ok(),
            // Any other key is no number, and perhaps the end of a key's sequence.
            _ => self.typed = None,
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(keys: &str) -> (Option<usize>, Option<String>) {
        let mut dialog = SkipDialog::default();
        let chosen = keys.bytes().filter_map(|key| dialog.take(key)).next();
        (chosen, dialog.question())
    }

    #[test]
    fn a_number_after_s_and_before_enter() {
        assert_eq!(typed("2\r"), (None, None));
        assert_eq!(typed("s12\n"), (Some(12), None));
        assert_eq!(typed("s13\x7f2\r"), (Some(12), None));
        assert_eq!(typed("s\r"), (None, None));
        for cancelled in ["s1\x1b", "s1q", "s\x1b[A", "s1s"] {
            assert_eq!(typed(cancelled), (None, None), "{cancelled:?}");
            assert_eq!(typed(&format!("{cancelled}\r")), (None, None));
        }
        let (_, question) = typed("s1");
        assert!(question.unwrap().ends_with(": 1"));
    }
}
