//! Reports of a complete and an interrupted run: on terminals, as CSV, as pages, and against their
//! schemas.

mod browser;

use std::collections::HashMap;

use serde_json::Value;
use squall_testing::schema::Schema;

use super::fixture::{bench, interrupted, list};
use super::{csv, page, table};
use crate::model::{Bench, Failed, List};
use crate::verdict::Verdict;

/// Terminal widths in columns.
const WIDTHS: [usize; 3] = [120, 80, 60];

/// A name that tries to break HTML and the terminal.
const HOSTILE: &str =
    "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>&amp;</style>\x1b[2J\n";

fn value(report: &impl serde::Serialize) -> Value {
    serde_json::to_value(report).expect("JSON")
}

/// Without a terminal no line is wrapped and no table is split.
#[test]
fn without_a_width_every_specification_has_one_line() {
    let text = table::text(&bench(), None);
    let named = |line: &&str| line.starts_with("serpent-xts-plain64");
    assert_eq!(text.lines().filter(named).count(), 2, "rates and costs");
    assert_eq!(
        table::text(&bench(), Some(60))
            .lines()
            .filter(named)
            .count(),
        16
    );
    assert!(text.contains("percentages.\n"));
}

/// The lines of a recommendation that users copy.
fn to_copy(bench: &Bench) -> Vec<String> {
    let Some(recommendation) = &bench.recommendation else {
        return Vec::new();
    };
    let lines = super::phrases::to_copy(recommendation);
    lines.map(|(_, line)| line.to_owned()).into()
}

#[test]
fn the_text_of_a_wide_terminal() {
    insta::assert_snapshot!("wide", table::text(&bench(), Some(120)));
}

/// The words of `whole` that `narrow` has less often.
pub(super) fn missing<'a>(whole: &'a str, narrow: &str) -> Vec<&'a str> {
    let mut counts = HashMap::new();
    for word in narrow.split_whitespace() {
        *counts.entry(word).or_insert(0) += 1;
    }
    let words = whole.split_whitespace();
    words
        .filter(|&word| {
            let count = counts.get_mut(word).filter(|count| **count > 0);
            count.map(|count| *count -= 1).is_none()
        })
        .collect()
}

#[test]
fn a_narrow_terminal_misses_nothing() {
    assert_eq!(missing("one two one", "one\ntwo three"), ["one"]);
    for bench in [bench(), interrupted()] {
        let whole = table::text(&bench, None);
        for width in WIDTHS {
            let narrow = table::text(&bench, Some(width));
            assert!(missing(&whole, &narrow).is_empty(), "{narrow}");
        }
    }
}

/// It has no variants, none that are authenticated and no recommendation; the rest is as in a whole run.
#[test]
fn an_interrupted_run_has_its_figures_and_failures() {
    let [whole, text] = [bench(), interrupted()].map(|bench| table::text(&bench, None));
    let (_, parts) = text
        .split_once("\nThe device without")
        .expect("it is there");
    let (figures, rest) = parts.split_once("\nLeft out: ").expect("it is there");
    let (left_out, recommendation) = rest.split_once("\nRecommendation\n").expect("it is there");
    assert!(figures.contains("\nRanking, ") && figures.contains("\nWhat that costs: "));
    assert!(!figures.contains("\nThe best with ") && !figures.contains("dm-integrity"));
    assert!(left_out.contains("\nFAILED: aes-xts-eboiv 512: "));
    assert!(whole.contains(figures) && whole.contains(left_out));
    assert_eq!(recommendation.lines().count(), 1);
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in WIDTHS {
        for bench in [bench(), interrupted()] {
            let copied = to_copy(&bench);
            for line in table::text(&bench, Some(width)).lines() {
                let is_short = line.chars().count() <= width;
                assert!(
                    is_short || copied.iter().any(|copied| copied == line),
                    "{line}"
                );
            }
        }
    }
}

#[test]
fn lines_to_copy_stand_alone_and_whole() {
    let bench = bench();
    let copied = to_copy(&bench);
    assert_eq!(copied.len(), 4);
    let page = page::html(&bench);
    for line in copied {
        for width in WIDTHS {
            let text = table::text(&bench, Some(width));
            assert_eq!(
                text.lines().filter(|other| *other == line).count(),
                1,
                "{line}"
            );
        }
        assert!(
            page.contains(&format!("<pre tabindex=\"0\"><code>{line}</code></pre>")),
            "{line}"
        );
    }
}

#[test]
fn every_form_says_what_is_to_be_doubted() {
    for (bench, is_doubted) in [(bench(), false), (interrupted(), true)] {
        let text = table::text(&bench, Some(120));
        assert_eq!(text.starts_with("EMULATED: "), is_doubted);
        assert_eq!(text.contains("\nINCOMPLETE: "), is_doubted);
        let page = page::html(&bench);
        let above = &page[..page.find("<h2").expect("a heading")];
        assert_eq!(above.contains("Emulated."), is_doubted);
        assert_eq!(above.contains("Incomplete."), is_doubted);
        let json = value(&bench);
        assert_eq!(json["is_complete"], !is_doubted);
        assert_eq!(json["machine"]["is_emulated"], is_doubted);
        for line in lines(&bench) {
            assert_eq!(line["is_complete"] == "false", is_doubted);
            assert_eq!(line["is_emulated"] == "true", is_doubted);
        }
    }
}

/// A recommendation from an emulated machine carries a warning of its own.
#[test]
fn a_recommendation_of_an_emulated_machine_is_doubted() {
    let mut bench = bench();
    bench.machine.is_emulated = true;
    let text = table::text(&bench, Some(120));
    let (_, below) = text.split_once("\nRecommendation: ").expect("it is there");
    let (above, _) = below.split_once("\nswap ").expect("a line to copy");
    assert!(above.contains("EMULATED: "));
    let page = page::html(&bench);
    let (_, below) = page
        .split_once("id=\"recommendation\"")
        .expect("it is there");
    let (above, _) = below.split_once("<pre").expect("a line to copy");
    assert!(above.contains("Emulated."));
}

#[test]
fn nothing_secure_is_nothing_recommended() {
    let bench = interrupted();
    let text = table::text(&bench, Some(120));
    assert!(text.contains("no secure combination without authentication was measured"));
    assert!(
        page::html(&bench).contains("no secure combination without authentication was measured")
    );
}

#[test]
fn a_device_that_was_named_is_named() {
    let bench = interrupted();
    let name = "the device /dev/disk/by-id/nvme-Samsung_SSD_990_PRO_2TB_S7DNNJ0W";
    assert!(table::text(&bench, Some(120)).contains(name));
    assert!(page::html(&bench).contains(name));
    assert!(
        lines(&bench)
            .iter()
            .all(|line| line["device"] == bench.backing.name)
    );
}

/// With `--all`, specifications that are not secure are ranked too, and marked.
#[test]
fn what_is_not_secure_is_marked() {
    let mut bench = bench();
    assert!(!table::text(&bench, Some(120)).contains("\ninsecure"));
    bench.ranking[0].verdict = Verdict::Insecure;
    let text = table::text(&bench, Some(120));
    assert!(text.contains("\ninsecure "), "{text}");
    assert!(page::html(&bench).contains("<small class=\"doubt\">insecure</small>"));
    let line = &lines(&bench)[bench.workloads.len()];
    assert_eq!(line["verdict"], "insecure");
}

#[test]
fn names_are_text() {
    let mut bench = bench();
    bench.backing.name = HOSTILE.into();
    bench.machine.cpu = HOSTILE.into();
    bench.machine.kernel = HOSTILE.into();
    bench.failures.push(Failed {
        name: HOSTILE.into(),
        reason: HOSTILE.into(),
    });
    bench.left_out[0].algorithms.push(HOSTILE.into());
    bench.ranking[0].spec.cipher = HOSTILE.into();
    bench.workloads[0].title = HOSTILE.into();
    if let Some(recommendation) = &mut bench.recommendation {
        recommendation.swap = HOSTILE.into();
        recommendation.spec.cipher = HOSTILE.into();
        recommendation.notes.push(HOSTILE.into());
    }
    let page = page::html(&bench);
    for tag in ["<script", "<img", "\"'>"] {
        assert!(!page.contains(tag), "{tag}");
    }
    assert_eq!(page.matches("</style>").count(), 1);
    assert!(page.matches("&lt;script&gt;").count() > 9);
    assert!(!table::text(&bench, Some(120)).contains('\x1b'));
}

/// The lines of the CSV, as maps from column names to values.
fn lines(bench: &Bench) -> Vec<HashMap<String, String>> {
    let text = csv::csv(bench).expect("it is written");
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let lines = reader.deserialize().collect::<Result<Vec<_>, _>>();
    lines.expect("as it was written")
}

#[test]
fn csv_has_every_figure() {
    let bench = bench();
    let lines = lines(&bench);
    let devices = 1 + bench.ranking.len() + bench.variants.len() + bench.authenticated.len();
    assert_eq!(lines.len(), devices * bench.workloads.len());
    assert_eq!(
        (lines[0]["part"].as_str(), lines[0]["ratio"].as_str()),
        ("raw", "1.0")
    );
    assert_eq!(lines[0]["specification"], "");
    let variant = &lines[(1 + bench.ranking.len()) * bench.workloads.len() + 5];
    let figure = &bench.variants[0].figures[5];
    for (column, expected) in [
        ("part", "variant".to_owned()),
        ("specification", "aes-xts-plain64".into()),
        ("key_bits", "512".into()),
        ("sector_size", "4096".into()),
        ("no_workqueues", "true".into()),
        ("same_cpu", "false".into()),
        ("high_priority", "false".into()),
        ("journal", String::new()),
        ("integrity", String::new()),
        ("latency_p50_ns", format!("{:?}", figure.latency.p50_ns)),
        ("latency_p99_ns", format!("{:?}", figure.latency.p99_ns)),
        ("verdict", "secure".into()),
        ("score", bench.variants[0].score.to_string()),
        ("workload", "write-random".into()),
        ("bytes_per_second", format!("{:?}", figure.rate.median)),
        ("ratio_low", figure.ratio.low.to_string()),
        ("ratio_high", figure.ratio.high.to_string()),
        ("samples", "30".into()),
    ] {
        assert_eq!(variant[column], expected, "{column}");
    }
}

/// Authenticated ones stand apart, with their journals, what is to be known, and the reasons against
/// those that are not secure.
#[test]
fn authenticated_ones_have_their_notes() {
    let bench = bench();
    let last = &lines(&bench)[lines(&bench).len() - 1];
    assert_eq!(
        [&last["part"], &last["integrity"], &last["journal"]],
        ["authenticated", "hmac-sha256", "true"]
    );
    let text = table::text(&bench, None);
    let page = page::html(&bench);
    for note in super::phrases::AUTHENTICATED {
        assert!(text.contains(note) && page.contains(note), "{note}");
    }
    for report in [&text, &page] {
        assert_eq!(report.matches("aes-gcm-random 256 aead: ").count(), 1);
        assert!(report.contains("SP 800-38D"));
        assert!(report.contains("without a journal"));
    }
    assert!(!table::text(&interrupted(), None).contains("dm-integrity"));
}

/// Each figure has its CPU time and latency, and too little CPU time is a dash.
#[test]
fn costs_are_in_every_form() {
    let mut bench = bench();
    bench.ranking[0].figures[0].cpu_seconds_per_gb = Some(0.4321);
    bench.ranking[0].figures[0].latency.p99_ns = 765_432.0;
    bench.ranking[0].figures[1].cpu_seconds_per_gb = None;
    let text = table::text(&bench, None);
    assert!(text.contains(" 0.432 ") && text.contains(" 765 "), "{text}");
    assert!(
        text.lines()
            .any(|line| line.starts_with("aes-xts") && line.contains(" – "))
    );
    let page = page::html(&bench);
    assert!(page.contains("0.432 CPU s/GB") && page.contains("765 µs"));
    let line = &lines(&bench)[bench.workloads.len()];
    assert_eq!(line["cpu_seconds_per_gb"], "0.4321");
    let line = &lines(&bench)[bench.workloads.len() + 1];
    assert_eq!(line["cpu_seconds_per_gb"], "");
}

fn bench_schema() -> Schema {
    Schema::derive::<Bench>()
}

#[test]
fn the_schemas_know_every_report() {
    let reports = [bench(), interrupted()].map(|bench| value(&bench));
    let removed = bench_schema().check(&reports, &[]);
    assert!(removed > 80, "{removed}");
    let removed = Schema::derive::<List>().check(&[value(&list())], &[]);
    assert!(removed > 15, "{removed}");
}

#[test]
fn values_that_cannot_be_are_noticed() {
    let schema = bench_schema();
    for (place, wrong) in [
        ("/format", "squall-dmcrypt-bench/2".into()),
        ("/at", "22 November 2026".into()),
        ("/rounds", 0.into()),
        ("/backing/kind", "disk".into()),
        ("/backing/bytes", 0.5.into()),
        ("/workloads/0/direction", "both".into()),
        ("/workloads/0/depth", 0.into()),
        ("/raw/0/samples/0", (-1.0).into()),
        ("/ranking/0/verdict", "Secure".into()),
        ("/ranking/0/options/sector_size", 513.into()),
        ("/ranking/0/key_bits", 7.into()),
        ("/ranking/0/figures/0/latency/p99_ns", (-1.0).into()),
        ("/ranking/0/figures/0/cpu_seconds_per_gb", "1".into()),
        ("/authenticated/1/integrity", "crc32".into()),
        ("/authenticated/1/options/journal", "J".into()),
    ] {
        let mut report = value(&bench());
        assert!(schema.takes(&report));
        *report.pointer_mut(place).expect("a place of it") = wrong;
        assert!(!schema.takes(&report), "{place}");
    }
}
