//! The page in a real browser, headless: what a person sees on a phone and on a wide screen, by
//! day and by night; and pages with faults, which must be found.
//!
//! Needs `chromium`. Where it is not there the test is skipped, which is said on standard error,
//! where the test harness does not hide it; and fails if the environment variable
//! SQUALL_REQUIRE_BROWSER is set.

mod common;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};

use serde::Deserialize;
use squall_bench::report::page::page;
use tempfile::TempDir;

/// Shows each page and measures it.
const HARNESS: &str = include_str!("browser/harness.html");

/// Widths in CSS pixels: a phone, a wide screen.
const WIDTHS: [u32; 2] = [390, 1280];

/// Least contrast of text and of curves to what is behind them (WCAG 2.2, 1.4.3 and 1.4.11).
const TEXT: f64 = 4.5;
const CURVE: f64 = 3.0;

/// Least height of letters in a plot, in CSS pixels.
const LETTERS: f64 = 10.0;

/// What the browser prefers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scheme {
    Dark,
    Light,
}

/// What the harness measures of a page at a width.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Seen {
    width: u32,
    /// How far the page can be scrolled sideways.
    overflow: f64,
    /// Everything that was asked for from elsewhere.
    requests: Vec<String>,
    scripts: usize,
    drawings: usize,
    /// Drawings without a size, and labels cut off at their edges.
    invisible: usize,
    cut_labels: Vec<String>,
    smallest_label: f64,
    /// Luminance of the page, from 0 to 1.
    luminance: f64,
    text: Contrast,
    curves: Contrast,
    /// What a reader who sees nothing would miss.
    unnamed: Vec<String>,
}

/// The least contrast, and where.
#[derive(Debug, Deserialize)]
struct Contrast {
    least: f64,
    #[expect(dead_code, reason = "shown when a check fails")]
    at: String,
}

/// What is wrong with a page, by the names of the checks.
fn faults(seen: &Seen, scheme: Scheme) -> Vec<&'static str> {
    let is_of_scheme = match scheme {
        Scheme::Dark => seen.luminance < 0.05,
        Scheme::Light => seen.luminance > 0.8,
    };
    let checks = [
        ("overflow", seen.overflow == 0.0),
        ("requests", seen.requests.is_empty()),
        ("scripts", seen.scripts == 0),
        ("drawings", seen.drawings > 0 && seen.invisible == 0),
        ("labels", seen.cut_labels.is_empty()),
        ("letters", seen.smallest_label >= LETTERS),
        ("scheme", is_of_scheme),
        ("contrast", seen.text.least >= TEXT),
        ("curves", seen.curves.least >= CURVE),
        ("names", seen.unnamed.is_empty()),
    ];
    let failed = checks.into_iter().filter(|(_, is_met)| !is_met);
    failed.map(|(name, _)| name).collect()
}

#[test]
fn the_page_is_whole_on_every_screen() {
    let Some(chromium) = chromium() else { return };
    let page = page(&common::fixture());
    for scheme in [Scheme::Light, Scheme::Dark] {
        let (seen, console) = show(&chromium, &[&page], scheme);
        assert_eq!(seen.len(), WIDTHS.len());
        for (seen, width) in seen.iter().zip(WIDTHS) {
            assert_eq!(seen.width, width);
            let faults = faults(seen, scheme);
            assert!(faults.is_empty(), "{scheme:?}: {faults:?}: {seen:#?}");
        }
        assert!(console.is_empty(), "{console:#?}");
    }
}

/// Each fault is found, and none is found that is not there.
#[test]
fn faults_are_found() {
    let Some(chromium) = chromium() else { return };
    let whole = page(&common::fixture());
    let with = |what: &str| whole.replacen("</main>", &format!("{what}</main>"), 1);
    let svg = |what: &str| with(&format!("<div role=\"img\" aria-label=\"x\">{what}</div>"));
    let faulty = [
        (
            "overflow",
            with("<div style=\"width:1000px;height:9px\"></div>"),
        ),
        (
            "requests",
            with("<img alt=\"x\" src=\"http://127.0.0.1:9/x.png\">"),
        ),
        (
            "requests",
            with("<style>@import url(http://127.0.0.1:9/x.css);</style>"),
        ),
        ("scripts", with("<script></script>")),
        ("drawings", svg("<svg width=\"0\" height=\"0\"></svg>")),
        (
            "labels",
            svg(
                "<svg width=\"50\" height=\"50\"><text x=\"45\" y=\"20\" fill=\"gray\">cut off</text></svg>",
            ),
        ),
        (
            "contrast",
            with("<p style=\"color:#777;background:#888\">grey on grey</p>"),
        ),
        ("names", with("<h2>A heading</h2><h5>that skips some</h5>")),
        ("names", with("<table><tr><th>no scope</th></tr></table>")),
    ];
    let pages: Vec<_> = faulty.iter().map(|(_, page)| page.as_str()).collect();
    let (seen, _) = show(&chromium, &pages, Scheme::Dark);
    for ((fault, _), seen) in faulty.iter().zip(seen.chunks(WIDTHS.len())) {
        let found = faults(&seen[0], Scheme::Dark);
        assert!(found.contains(fault), "{fault}: {found:?}");
        // What is drawn without a page's colours has no contrast either.
        let others = found.iter().filter(|found| *found != fault);
        assert_eq!(others.count(), 0, "{fault}: {found:?}: {seen:#?}");
    }
}

/// What is said on the console is heard.
#[test]
fn the_console_is_heard() {
    let Some(chromium) = chromium() else { return };
    let (_, console) = show(
        &chromium,
        &["<!DOCTYPE html><script>console.error('heard')</script>"],
        Scheme::Light,
    );
    assert!(
        console.iter().any(|line| line.contains("heard")),
        "{console:?}"
    );
}

/// Shows every page at each width: what was measured, and what the console said.
fn show(chromium: &str, pages: &[&str], scheme: Scheme) -> (Vec<Seen>, Vec<String>) {
    let directory = TempDir::new().expect("a directory");
    let frames: Vec<_> = pages
        .iter()
        .flat_map(|page| WIDTHS.map(|width| serde_json::json!({ "width": width, "page": page })))
        .collect();
    // A script ends where this stands, even in a string.
    let frames = serde_json::Value::from(frames).to_string();
    let frames = frames.replace('<', "\\u003c");
    let path = directory.path().join("harness.html");
    std::fs::write(&path, HARNESS.replace("\"FRAMES\"", &frames)).expect("a file");
    let output = run(chromium, directory.path(), &path, scheme);
    let dom = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    let result = dom.split_once("<pre id=\"seen\">");
    let result = result.and_then(|(_, rest)| rest.split_once("</pre>"));
    let Some((json, _)) = result else {
        panic!("the harness did not end: {stderr}");
    };
    let seen = serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"));
    let console = stderr.lines().filter(|line| line.contains("CONSOLE"));
    (seen, console.map(str::to_owned).collect())
}

fn run(chromium: &str, directory: &Path, page: &Path, scheme: Scheme) -> Output {
    let scheme = match scheme {
        Scheme::Dark => 0,
        Scheme::Light => 1,
    };
    let mut command = Command::new(chromium);
    command.args([
        "--headless=new",
        // Root may not have a sandbox, and the pages are ours.
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--enable-logging=stderr",
        "--window-size=1400,1000",
        "--dump-dom",
    ]);
    command.arg(format!("--blink-settings=preferredColorScheme={scheme}"));
    command.arg(format!("--user-data-dir={}", directory.display()));
    command.arg(format!("file://{}", page.display()));
    command.output().expect("chromium runs")
}

/// The browser's name, if it is there.
fn chromium() -> Option<String> {
    let name = "chromium";
    let found = Command::new(name).arg("--version").output();
    if found.is_ok_and(|output| output.status.success()) {
        return Some(name.into());
    }
    let required = std::env::var_os("SQUALL_REQUIRE_BROWSER").is_some();
    assert!(
        !required,
        "required, but skipped: pages in a browser: no chromium"
    );
    let said = std::io::stderr().write_all(b"SKIP pages in a browser: no chromium\n");
    said.expect("standard error takes a line");
    None
}
