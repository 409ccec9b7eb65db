//! Opens pages in a headless browser and checks them as on a phone and on a wide screen, in light and
//! dark mode, and on paper.
//!
//! Tests that need the browser belong to `make test-all`. Integration tests declare it; unit tests are
//! ignored, and scripts/test.sh runs them where there is a browser.

use std::path::Path;
use std::process::{Command, Output};

use serde::Deserialize;
use tempfile::TempDir;

/// The browser's command.
pub const CHROMIUM: &str = "chromium";

/// The page that shows and measures each page.
const HARNESS: &str = include_str!("browser/harness.html");

/// Widths in CSS pixels: a phone, a wide screen.
pub const WIDTHS: [u32; 2] = [390, 1280];

/// Least contrast of text and of curves to their background (WCAG 2.2, 1.4.3 and 1.4.11).
const TEXT: f64 = 4.5;
const CURVE: f64 = 3.0;

/// Least size of letters in a plot, in CSS pixels.
const LETTERS: f64 = 10.0;

/// The colour scheme that the browser prefers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    Dark,
    Light,
}

/// The harness's measurements of a page at one width.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seen {
    pub width: u32,
    pub drawings: usize,
    /// How far the page scrolls sideways, in CSS pixels.
    overflow: f64,
    /// Everything that the page requested from elsewhere.
    requests: Vec<String>,
    scripts: usize,
    /// Number of drawings without a size, and labels that are cut off.
    invisible: usize,
    cut_labels: Vec<String>,
    smallest_label: f64,
    /// Luminance of the page, from 0 to 1.
    luminance: f64,
    text: Contrast,
    curves: Contrast,
    /// Elements without a description for readers who cannot see them.
    unnamed: Vec<String>,
}

/// The least contrast, and where it is.
#[derive(Debug, Deserialize)]
struct Contrast {
    least: f64,
    #[expect(dead_code, reason = "shown when a check fails")]
    at: String,
}

impl Seen {
    /// The names of the checks that fail.
    pub fn faults(&self, scheme: Scheme) -> Vec<&'static str> {
        let is_of_scheme = match scheme {
            Scheme::Dark => self.luminance < 0.05,
            Scheme::Light => self.luminance > 0.8,
        };
        let checks = [
            ("overflow", self.overflow == 0.0),
            ("requests", self.requests.is_empty()),
            ("scripts", self.scripts == 0),
            ("drawings", self.invisible == 0),
            ("labels", self.cut_labels.is_empty()),
            ("letters", self.smallest_label >= LETTERS),
            ("scheme", is_of_scheme),
            ("contrast", self.text.least >= TEXT),
            ("curves", self.curves.least >= CURVE),
            ("names", self.unnamed.is_empty()),
        ];
        let failed = checks.into_iter().filter(|(_, is_met)| !is_met);
        failed.map(|(name, _)| name).collect()
    }
}

/// Fails if a check of any page fails at any width, in light or dark mode. Returns the measurements.
pub fn check(chromium: &str, pages: &[&str]) -> Vec<Seen> {
    let mut all = Vec::new();
    for scheme in [Scheme::Light, Scheme::Dark] {
        let (seen, console) = show(chromium, pages, scheme);
        assert_eq!(seen.len(), pages.len() * WIDTHS.len());
        for (seen, width) in seen.iter().zip(WIDTHS.into_iter().cycle()) {
            assert_eq!(seen.width, width);
            let faults = seen.faults(scheme);
            assert!(faults.is_empty(), "{scheme:?}: {faults:?}: {seen:#?}");
        }
        assert!(console.is_empty(), "{console:#?}");
        all.extend(seen);
    }
    all
}

/// Shows every page at each width. Returns the measurements and the console's messages.
pub fn show(chromium: &str, pages: &[&str], scheme: Scheme) -> (Vec<Seen>, Vec<String>) {
    let frames: Vec<_> = pages
        .iter()
        .flat_map(|page| WIDTHS.map(|width| serde_json::json!({ "width": width, "page": page })))
        .collect();
    // A script ends at `</script`, even inside a string.
    let frames = serde_json::Value::from(frames).to_string();
    let frames = frames.replace('<', "\\u003c");
    let harness = HARNESS.replace("\"FRAMES\"", &frames);
    let directory = TempDir::new().expect("a directory");
    let output = run(
        chromium,
        directory.path(),
        &harness,
        scheme,
        &["--dump-dom"],
    );
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

/// Prints `page` and returns the PDF.
pub fn print(chromium: &str, page: &str) -> Vec<u8> {
    let directory = TempDir::new().expect("a directory");
    let pdf = directory.path().join("page.pdf");
    let option = format!("--print-to-pdf={}", pdf.display());
    let options = ["--no-pdf-header-footer", option.as_str()];
    let output = run(chromium, directory.path(), page, Scheme::Light, &options);
    let stderr = String::from_utf8_lossy(&output.stderr);
    std::fs::read(&pdf).unwrap_or_else(|error| panic!("{error}: {stderr}"))
}

/// Opens `page` with these options. Files of the run are in `directory`.
fn run(chromium: &str, directory: &Path, page: &str, scheme: Scheme, options: &[&str]) -> Output {
    let path = directory.join("page.html");
    std::fs::write(&path, page).expect("a file");
    let scheme = match scheme {
        Scheme::Dark => 0,
        Scheme::Light => 1,
    };
    let mut command = Command::new(chromium);
    command.args([
        "--headless=new",
        // Chromium refuses a sandbox to root, and the pages are ours.
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--enable-logging=stderr",
        "--window-size=1400,1000",
    ]);
    command.args(options);
    command.arg(format!("--blink-settings=preferredColorScheme={scheme}"));
    command.arg(format!("--user-data-dir={}", directory.display()));
    command.arg(format!("file://{}", path.display()));
    command.output().expect("chromium runs")
}
