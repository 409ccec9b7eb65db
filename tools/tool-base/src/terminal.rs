//! The terminal: whether it is there, and what it can show.

use std::env;
use std::io::{self, IsTerminal};
use std::os::fd::BorrowedFd;

use rustix::termios::tcgetpgrp;

/// Whether standard error is a terminal on which bars can be redrawn. Elsewhere, indicatif draws nothing.
pub fn can_draw() -> bool {
    let is_dumb = env::var("TERM").map_or(true, |term| term == "dumb");
    io::stderr().is_terminal() && !is_dumb
}

/// The characters of a bar, the done ones first, that terminals of this locale can show.
pub fn bar_characters() -> &'static str {
    let variables = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter();
    let mut set =
        variables.filter_map(|name| env::var(name).ok().filter(|value| !value.is_empty()));
    let locale = set.next().unwrap_or_default().to_ascii_lowercase();
    match locale.contains("utf-8") || locale.contains("utf8") {
        true => "━┄",
        false => "=-",
    }
}

/// Standard input.
pub fn input() -> BorrowedFd<'static> {
    rustix::stdio::stdin()
}

/// Whether standard input is a terminal in whose foreground this program is. Others that touch the terminal are
/// stopped. May be called in a signal's handler.
pub fn is_ours() -> bool {
    tcgetpgrp(input()).is_ok_and(|group| group == rustix::process::getpgrp())
}
