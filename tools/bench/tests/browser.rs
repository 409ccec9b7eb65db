//! The page in a real browser, as a person sees it; and pages with faults, which must be found.
//! What that needs stands at [`squall_testing::browser`].

use crate::fixture::fixture;
use squall_bench::report::document::document;
use squall_testing::browser::{self, Scheme, WIDTHS, show};
use squall_testing::needs::TEST_ALL;
use squall_testing::suite::{self, Need, Test};
use squall_testing::tests;

const CHROMIUM: Need = Need {
    check: || suite::command(browser::CHROMIUM),
    required_by: "SQUALL_REQUIRE_BROWSER",
};

pub const TESTS: &[Test] = tests![
    the_page_is_whole_on_every_screen: [TEST_ALL, CHROMIUM],
    what_is_folded_away_is_not_printed: [TEST_ALL, CHROMIUM],
    faults_are_found: [TEST_ALL, CHROMIUM],
    messages_on_the_console_are_noticed: [TEST_ALL, CHROMIUM],
];

fn the_page_is_whole_on_every_screen() {
    let seen = browser::check(browser::CHROMIUM, &[&document(&fixture()).page()]);
    assert!(seen.iter().all(|seen| seen.drawings > 0));
}

/// The plots and the long table that are folded away are a good part of what could be printed.
fn what_is_folded_away_is_not_printed() {
    let page = document(&fixture()).page();
    let unfolded = page.replace("<details>", "<details open>");
    let length = |page: &str| browser::print(browser::CHROMIUM, page).len();
    let [printed, all] = [length(&page), length(&unfolded)];
    assert!(printed * 10 < all * 9, "{printed} of {all} bytes");
}

/// Each fault is found, and none is found that is not there.
fn faults_are_found() {
    let whole = document(&fixture()).page();
    let with = |what: &str| whole.replacen("</main>", &format!("{what}</main>"), 1);
    let svg = |what: &str| with(&format!("<div role=\"img\" aria-label=\"x\">{what}</div>"));
    #[rustfmt::skip]
    let faulty = [
        ("overflow", with("<div style=\"width:1000px;height:9px\"></div>")),
        ("requests", with("<img alt=\"x\" src=\"http://127.0.0.1:9/x.png\">")),
        ("requests", with("<style>@import url(http://127.0.0.1:9/x.css);</style>")),
        ("scripts", with("<script></script>")),
        ("drawings", svg("<svg width=\"0\" height=\"0\"></svg>")),
        ("labels", svg("<svg width=\"50\" height=\"50\"><text x=\"45\" y=\"20\" fill=\"gray\">cut off</text></svg>")),
        ("contrast", with("<p style=\"color:#777;background:#888\">grey on grey</p>")),
        ("names", with("<h2>A heading</h2><h5>that skips some</h5>")),
        ("names", with("<table><tr><th>no scope</th></tr></table>")),
    ];
    let pages: Vec<_> = faulty.iter().map(|(_, page)| page.as_str()).collect();
    let (seen, _) = show(browser::CHROMIUM, &pages, Scheme::Dark);
    for ((fault, _), seen) in faulty.iter().zip(seen.chunks(WIDTHS.len())) {
        let found = seen[0].faults(Scheme::Dark);
        assert!(found.contains(fault), "{fault}: {found:?}");
        // What is drawn without a page's colours has no contrast either.
        let others = found.iter().filter(|found| *found != fault);
        assert_eq!(others.count(), 0, "{fault}: {found:?}: {seen:#?}");
    }
}

fn messages_on_the_console_are_noticed() {
    let (_, console) = show(
        browser::CHROMIUM,
        &["<!DOCTYPE html><script>console.error('heard')</script>"],
        Scheme::Light,
    );
    assert!(
        console.iter().any(|line| line.contains("heard")),
        "{console:?}"
    );
}
