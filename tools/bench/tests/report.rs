//! The report in its four forms: text, a page, CSV, and JSON with its schema. The page also in a real browser, as a person
//! sees it; and pages with faults, which must be found. What that needs stands at [`squall_testing::browser`].

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use squall_bench::report::document::document;
use squall_bench::report::model::workload::FILL;
use squall_bench::report::model::{Figure, Noise, Report};
use squall_bench::report::{advice, lines};
use squall_testing::browser::{self, Scheme, WIDTHS, show};
use squall_testing::needs::TEST_ALL;
use squall_testing::schema::Schema;
use squall_testing::suite::{self, Need, Test};
use squall_testing::tests;
use squall_tool_base::reports::csv;

use crate::fixture::fixture;

pub const TESTS: &[Test] = tests![
    the_text_is_as_it_was,
    pages_have_what_terminals_have_no_room_for,
    a_source_looks_the_same_in_every_plot_and_on_every_page,
    what_is_to_be_doubted_comes_first,
    of_no_figures_there_is_no_table,
    advice_follows_the_figures,
    csv_has_a_line_for_each_point,
    the_schema_describes_a_report_exactly,
    values_that_cannot_be_are_noticed,
    the_page_is_whole_on_every_screen: [TEST_ALL, CHROMIUM],
    what_is_folded_away_is_not_printed: [TEST_ALL, CHROMIUM],
    faults_are_found: [TEST_ALL, CHROMIUM],
    messages_on_the_console_are_noticed: [TEST_ALL, CHROMIUM],
];

/// `INSTA_UPDATE=always` takes a text that was changed on purpose.
fn the_text_is_as_it_was() {
    insta::assert_snapshot!("text", document(&fixture()).text(Some(140)));
}

/// Titles in place of names, ratios below every figure, what is known of security, every length of requests, plots,
/// what others published, and the method.
fn pages_have_what_terminals_have_no_room_for() {
    let page = document(&fixture()).page();
    for part in [
        "<th scope=\"row\">rand's ThreadRng</th>",
        // In the first column, which stays in view on a phone.
        "<th scope=\"row\">squall<small>fit for secrets</small></th>",
        "<th scope=\"row\">OpenSSL RAND_bytes<small>not for secrets: a VM clone repeats it</small></th>",
        "1.88 ns<small>208 ×</small>",
        "<small>kernel</small>",
        "<summary>Every length</summary>",
        ">40 KiB</th>",
        "published: Linux Kernel CSPRNG Performance (2014)",
        "Whirlwind: 64 B: 9.30 MB/s, 256 B: 21.8 MB/s (Whirlwind in the kernel, by read) <a href=\"#source-2\">[2]</a>",
        "/dev/urandom: 78.0 MB/s (ChaCha20 of OpenBSD) <a href=\"#source-1\">[1]</a>",
        "<code>squall bench --export-html bench.html</code>",
    ] {
        assert!(page.contains(part), "{part}");
    }
    // Four quantities, each with a plot of the most important sources and one of the others.
    let plots: Vec<&str> = page.split("<svg").skip(1).collect();
    assert_eq!(plots.len(), 8);
    let legends: Vec<&str> = page.split("<ul class=\"names\">").skip(1).collect();
    let of_plot = |legend: &&str| {
        legend
            .split("</ul>")
            .next()
            .unwrap_or_default()
            .matches("<li>")
            .count()
    };
    let counts: Vec<usize> = legends.iter().map(of_plot).collect();
    // Two of the first eight sources have figures that others published by length.
    assert_eq!(counts, [10, 1, 10, 1, 8, 1, 8, 1]);
    assert!(legends[0].contains(">squall<") && !legends[0].contains(">squall by AES-NI<"));
}

/// The class and the marker of each name in the legends of a page; no plot has a colour twice.
fn looks(report: &Report) -> BTreeMap<String, (String, String)> {
    let page = document(report).page();
    let mut looks = BTreeMap::new();
    for legend in page.split("<ul class=\"names\">").skip(1) {
        let legend = legend.split("</ul>").next().expect("a legend");
        let mut colours = BTreeSet::new();
        for line in legend.split("<span class=\"marker ").skip(1) {
            let (colour, rest) = line
                .split_once("\" aria-hidden=\"true\">")
                .expect("a colour");
            let (marker, rest) = rest.split_once("</span><span>").expect("a marker");
            let (name, _) = rest.split_once("</span>").expect("a name");
            assert!(marker == "╌○╌" || colours.insert(colour), "{legend}");
            let look = (colour.to_owned(), marker.to_owned());
            let before = looks.insert(name.to_owned(), look.clone());
            assert!(before.is_none_or(|before| before == look), "{name}");
        }
    }
    looks
}

fn a_source_looks_the_same_in_every_plot_and_on_every_page() {
    let usual = looks(&fixture());
    let different: BTreeSet<_> = usual.values().collect();
    assert!(
        usual.len() > 9 && different.len() == usual.len(),
        "{usual:?}"
    );
    // Another run, in which the fast ones are slow, and some are missing.
    let mut report = fixture();
    for workload in &mut report.workloads {
        workload
            .series
            .retain(|series| !["vdso", "thread-rng"].contains(&series.source.as_str()));
        for series in workload.series.iter_mut().take(3) {
            for point in &mut series.points {
                let slow = point.ns.samples.iter().map(|ns| ns * 1000.0).collect();
                point.ns = Figure::from_samples(slow);
            }
        }
    }
    let other = looks(&report);
    assert!(other.len() < usual.len());
    assert!(
        other.iter().all(|(name, look)| usual[name] == *look),
        "{usual:?} {other:?}"
    );
}

fn what_is_to_be_doubted_comes_first() {
    let usual = document(&fixture()).text(None);
    assert!(!usual.contains("INCOMPLETE") && !usual.contains("NOISY"));
    let mut report = fixture();
    report.complete = false;
    report.noise = Noise {
        warning: Some("other processes took a third of the time".into()),
        ..report.noise
    };
    let doubted = document(&report).text(None);
    assert!(doubted.starts_with("INCOMPLETE: "), "{doubted}");
    assert!(doubted.contains("\nNOISY: other processes took a third of the time\n"));
}

/// A run that was interrupted at once has nothing to show.
fn of_no_figures_there_is_no_table() {
    let mut report = fixture();
    report.workloads.clear();
    let document = document(&report);
    assert!(!document.text(None).contains("fit for secrets"));
    let page = document.page();
    assert!(!page.contains("<table") && !page.contains("<svg"));
}

/// The snapshot has the usual advice. squall is not praised for what it is no better at, and nothing is
/// advised without figures.
fn advice_follows_the_figures() {
    let mut report = fixture();
    let fill = report.workloads.iter_mut().find(|it| it.name == FILL);
    let fill = fill.expect("it is in it");
    let kernel = fill.kernel.clone().expect("a source");
    for series in &mut fill.series {
        if series.source == kernel {
            series.source = "squall".into();
        } else if series.source == "squall" {
            series.source.clone_from(&kernel);
        }
    }
    report.machine.clone_guard = "not-a-vm".into();
    assert_eq!(
        advice(&report),
        "For a key, /dev/urandom is as good on this machine: 32 bytes take 40.2 ns (squall: \
         477 ns). Use squall for numbers. A process that draws only a few times does not need it: \
         plain getrandom will do."
    );
    report.workloads.retain(|it| it.name != FILL);
    assert!(advice(&report).contains("run squall bench without --workload"));
}

fn csv_has_a_line_for_each_point() {
    let report = fixture();
    let text = csv(lines(&report)).expect("CSV");
    assert_eq!(
        text.lines().next(),
        Some(
            "workload,source,at,bytes,median_ns,low_ns,high_ns,bytes_per_second,speedup_over_kernel,secure,samples"
        )
    );
    let series = report.workloads.iter().flat_map(|it| &it.series);
    let points: usize = series.map(|series| series.points.len()).sum();
    assert_eq!(text.lines().count(), 1 + points);
    let line = |start: &str| {
        let line = text.lines().find(|line| line.starts_with(start));
        let line = line.unwrap_or_else(|| panic!("no line {start}"));
        line.split(',').map(str::to_owned).collect::<Vec<_>>()
    };
    let fill = report.workload(FILL).expect("it is in it");
    let point = fill.point("squall", 1024).expect("a point");
    let squall = line("fill,squall,1024,");
    assert_eq!(squall[4], point.ns.median.to_string());
    assert_eq!(squall[7], point.rate().expect("bytes").to_string());
    let ratio = fill.speedup_over_kernel(point).expect("the kernel's");
    assert!(ratio > 10.0);
    assert_eq!(squall[8], ratio.to_string());
    assert_eq!(squall[9..], ["true", "9"]);
    assert_eq!(line("fill,urandom,1024,")[8], "1.0");
    assert_eq!(line("fill,thread-rng,1024,")[9], "false");
    // A fork whose child draws nothing makes no bytes, and so has no rate.
    assert_eq!(line("fork,squall,0,")[7], "");
}

fn the_schema_describes_a_report_exactly() {
    /// Keys that may be left out.
    const OPTIONAL: [&str; 1] = ["failures"];
    let report = serde_json::to_value(fixture()).expect("JSON");
    let removed = Schema::derive::<Report>().check(&[report], &OPTIONAL);
    assert!(removed > 50, "{removed}");
}

fn values_that_cannot_be_are_noticed() {
    let schema = Schema::derive::<Report>();
    let point = "/workloads/0/series/0/points/0";
    for (place, wrong) in [
        ("/schema", json!(2)),
        ("/date", json!("22 November 2026")),
        ("/effort", json!("huge")),
        ("/machine/cpus", json!(0)),
        ("/sources/0/group", json!("kernels")),
        ("/sources/0/state", json!("unknown")),
        (&format!("{point}/ns/median"), json!(-1.0)),
        (&format!("{point}/ns/samples"), json!([])),
        (&format!("{point}/at"), json!(1.5)),
    ] {
        let mut report: Value = serde_json::to_value(fixture()).expect("JSON");
        *report.pointer_mut(place).expect("a place of the report") = wrong;
        assert!(!schema.takes(&report), "{place}");
    }
}

const CHROMIUM: Need = Need {
    check: || suite::command(browser::CHROMIUM),
    required_by: "SQUALL_REQUIRE_BROWSER",
};

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
