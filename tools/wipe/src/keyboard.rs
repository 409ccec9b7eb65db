//! Keys that are typed while a run is shown. They are not echoed, so they do not disturb the screen, and the terminal is
//! as before whenever this program does not own it: while it is stopped or in the background, and in the end.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rustix::process::{Signal, getpid, kill_process};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};
use squall_tools::in_child;
use squall_tools::terminal::{input, is_ours};

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

    /// Whether the user asks this program to stop.
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
