//! A terminal as a user has it: a program runs on it, keys are typed, its size changes, and what is on its screen can
//! be read.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use vt100::Parser;

use super::{DEADLINE, reset_interrupts, terminal};

/// What a terminal does with the lines on it when it becomes narrower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resize {
    /// It breaks them into several.
    Breaks,
    /// It cuts them off.
    Cuts,
}

pub struct Emulator {
    ours: File,
    theirs: OwnedFd,
    parser: Parser,
    /// All that was written, also what was soon drawn over.
    written: Vec<u8>,
    has_input: bool,
}

impl Emulator {
    pub fn new(lines: u16, columns: u16) -> Emulator {
        let (ours, theirs) = terminal();
        let emulator = Emulator {
            ours,
            theirs,
            parser: Parser::new(lines, columns, 0),
            written: Vec::new(),
            has_input: true,
        };
        emulator.set_size(lines, columns);
        emulator
    }

    /// Programs do not get the terminal as standard input.
    pub fn has_no_input(&mut self) {
        self.has_input = false;
    }

    /// Starts a command in a session of its own, of which this is the terminal, an xterm unless the command knows better.
    pub fn start(&mut self, command: &mut Command) -> Child {
        let end = || Stdio::from(self.theirs.try_clone().expect("a descriptor"));
        if self.has_input {
            command.stdin(end());
        }
        command.stdout(end()).stderr(end());
        if !command.get_envs().any(|(name, _)| name == "TERM") {
            command.env("TERM", "xterm");
        }
        let number = self.theirs.as_raw_fd();
        let take_terminal = move || {
            // SAFETY: these calls take numbers, and the descriptor is open until the program starts.
            let taken =
                unsafe { libc::setsid() != -1 && libc::ioctl(number, libc::TIOCSCTTY, 0) != -1 };
            match taken {
                true => reset_interrupts(),
                false => Err(std::io::Error::last_os_error()),
            }
        };
        // SAFETY: the child makes system calls that may be made after a fork.
        unsafe { command.pre_exec(take_terminal) };
        command.spawn().expect("the command runs")
    }

    pub fn type_keys(&mut self, keys: &str) {
        self.ours.write_all(keys.as_bytes()).expect("a terminal");
    }

    /// What is on the screen, with what the program has written by now.
    pub fn shown(&mut self) -> String {
        while self.takes_more(0) {}
        let screen = self.parser.screen();
        let rows = screen.rows(0, screen.size().1);
        let rows: Vec<_> = rows.map(|row| row.trim_end().to_owned()).collect();
        rows.join("\n")
    }

    #[track_caller]
    pub fn wait_for(&mut self, words: &str) {
        self.wait_until(|screen| screen.contains(words));
    }

    /// Waits until the screen `is_it`, and returns it: a moment later another one may be half drawn.
    #[track_caller]
    pub fn wait_until(&mut self, is_it: impl Fn(&str) -> bool) -> String {
        let started = Instant::now();
        loop {
            let shown = self.shown();
            if is_it(&shown) {
                return shown;
            }
            assert!(started.elapsed() < DEADLINE, "the screen is:\n{shown}");
            self.takes_more(20);
        }
    }

    /// Waits until `words` were on the screen, if only for a moment.
    #[track_caller]
    pub fn wait_until_written(&mut self, words: &str) {
        let started = Instant::now();
        let words = words.as_bytes();
        while !self.written.windows(words.len()).any(|seen| seen == words) {
            assert!(started.elapsed() < DEADLINE, "it was never there");
            self.takes_more(20);
        }
    }

    /// Whether what is typed is echoed.
    pub fn echoes(&self) -> bool {
        let modes = tcgetattr(&self.theirs).expect("a terminal").local_modes;
        modes.contains(LocalModes::ECHO | LocalModes::ICANON)
    }

    #[track_caller]
    pub fn wait_until_echo_is(&mut self, expected: bool) {
        let started = Instant::now();
        while self.echoes() != expected {
            assert!(started.elapsed() < DEADLINE, "echo stays {}", !expected);
            self.takes_more(20);
        }
    }

    /// Waits until `child` has ended, and returns its exit code.
    #[track_caller]
    pub fn end(&mut self, mut child: Child) -> Option<i32> {
        let started = Instant::now();
        loop {
            if let Some(status) = child.try_wait().expect("the child can be waited for") {
                return status.code();
            }
            if started.elapsed() > DEADLINE {
                let _ = child.kill();
                panic!("the command hangs:\n{}", self.shown());
            }
            self.takes_more(20);
        }
    }

    /// Changes the terminal's size, as a user does with the mouse.
    pub fn resize(&mut self, lines: u16, columns: u16, resize: Resize) {
        while self.takes_more(0) {}
        match resize {
            Resize::Cuts => self.parser.screen_mut().set_size(lines, columns),
            Resize::Breaks => {
                // Rows without a line's end between them are one line, as the terminal sees it.
                let shown = self.parser.screen().contents();
                self.parser = Parser::new(lines, columns, 0);
                self.parser.process(shown.replace('\n', "\r\n").as_bytes());
            }
        }
        self.set_size(lines, columns);
    }

    /// Stops the program's processes, without their knowledge.
    pub fn pause(&mut self, child: &Child) {
        kill_process_group(Pid::from_child(child), Signal::STOP).expect("the run is there");
    }

    pub fn proceed(&mut self, child: &Child) {
        kill_process_group(Pid::from_child(child), Signal::CONT).expect("the run is there");
    }

    fn set_size(&self, ws_row: u16, ws_col: u16) {
        let size = Winsize {
            ws_row,
            ws_col,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&self.ours, size).expect("a terminal");
    }

    /// Takes what the program writes within so many milliseconds; tells whether that was anything.
    fn takes_more(&mut self, milliseconds: i64) -> bool {
        let time = Timespec {
            tv_sec: 0,
            tv_nsec: milliseconds * 1_000_000,
        };
        let mut ends = [PollFd::new(&self.ours, PollFlags::IN)];
        let ready = poll(&mut ends, Some(&time)).unwrap_or(0) > 0;
        let mut bytes = [0; 4096];
        match ready {
            true => {
                let length = self.ours.read(&mut bytes).unwrap_or(0);
                self.parser.process(&bytes[..length]);
                self.written.extend(&bytes[..length]);
                length > 0
            }
            false => false,
        }
    }
}
