//! Loads the page in a real browser.

use squall_testing::browser::{CHROMIUM, check};

use crate::report::fixture::{bench, interrupted};
use crate::report::page::html;

#[test]
#[ignore = "needs chromium: `make test-all` runs it"]
fn every_page_is_whole_on_every_screen() {
    let mut emulated = bench();
    emulated.machine.is_emulated = true;
    let mut bare = interrupted();
    bare.ranking.clear();
    let pages = [bench(), interrupted(), emulated, bare].map(|bench| html(&bench));
    let pages = pages.each_ref().map(String::as_str);
    let seen = check(CHROMIUM, &pages);
    let drawings: Vec<_> = seen.iter().map(|seen| seen.drawings).collect();
    // Four kinds of transfers, each with the end of the ranking folded away below it.
    assert_eq!(drawings[..8], [8, 8, 8, 8, 8, 8, 0, 0]);
}
