//! The terminal on standard input.

use std::os::fd::BorrowedFd;

use rustix::termios::tcgetpgrp;

pub fn input() -> BorrowedFd<'static> {
    rustix::stdio::stdin()
}

/// Whether standard input is a terminal in whose foreground this program is. Others that touch the terminal are
/// stopped. May be called in a signal's handler.
pub fn is_ours() -> bool {
    tcgetpgrp(input()).is_ok_and(|group| group == rustix::process::getpgrp())
}
