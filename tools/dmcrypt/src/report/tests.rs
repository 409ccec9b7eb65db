//! Reports of a complete and an interrupted run, and of a list: as text, as CSV, as pages, and against their schemas.

use std::collections::HashMap;

use serde_json::Value;
use squall_testing::browser::{CHROMIUM, check};
use squall_testing::schema::Schema;
use squall_tools::reports::csv;

use super::document::{AUTHENTICATED, document};
use super::fixture::{bench, debian, interrupted};
use super::{fixture, list};
use crate::model::by_reason;
use crate::model::{Bench, Entry, List};
use crate::rules::Verdict;
use crate::spec::Spec;

/// Terminal widths in columns.
const WIDTHS: [usize; 3] = [120, 80, 60];

fn value(report: &impl serde::Serialize) -> Value {
    serde_json::to_value(report).expect("JSON")
}

fn text(bench: &Bench, width: Option<usize>) -> String {
    document(bench).text(width)
}

/// `INSTA_UPDATE=always` takes texts that were changed on purpose.
#[test]
fn texts_are_as_they_were() {
    insta::assert_snapshot!("bench", text(&bench(), None));
    insta::assert_snapshot!("list", list::document(&fixture::list()).text(None));
}

/// The words of `whole` that `narrow` has less often.
fn missing<'a>(whole: &'a str, narrow: &str) -> Vec<&'a str> {
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

/// Only lines to copy are wider than the terminal, and whole.
#[test]
fn narrow_terminals_miss_nothing() {
    assert_eq!(missing("one two one", "one\ntwo three"), ["one"]);
    let recommended = bench().recommendation.expect("one");
    let copied = [
        &recommended.swap,
        &recommended.luks_format,
        &recommended.luks_open,
        &recommended.luks_crypttab,
    ];
    let documents = [
        (document(&bench()), 4),
        (document(&interrupted()), 0),
        (list::document(&debian()), 0),
    ];
    for (document, count) in documents {
        let whole = document.text(None);
        for width in WIDTHS {
            let narrow = document.text(Some(width));
            assert_eq!(missing(&whole, &narrow), [""; 0], "{narrow}");
            let (to_copy, lines): (Vec<_>, Vec<_>) = narrow
                .lines()
                .partition(|line| copied.iter().any(|copied| copied == line));
            assert_eq!(to_copy.len(), count, "{narrow}");
            let is_wide = |line: &&str| line.chars().count() > width;
            assert_eq!(lines.into_iter().find(is_wide), None);
        }
    }
}

/// The fixture names a drive, and has no variants, none that are authenticated and no recommendation.
#[test]
fn an_interrupted_run_has_its_figures_and_failures() {
    let text = text(&interrupted(), None);
    assert!(text.contains("the device /dev/disk/by-id/nvme-Samsung_SSD_990_PRO_2TB_S7DNNJ0W"));
    assert!(text.contains("\nRanking\n") && text.contains("\nRanking: what it costs\n"));
    assert!(!text.contains("\nThe best with ") && !text.contains("dm-integrity"));
    assert!(text.contains("\n- aes-xts-eboiv 512: "));
    let (_, last) = text.split_once("\nRecommendation\n").expect("it is last");
    assert!(last.contains("no secure combination without authentication was measured"));
}

#[test]
fn every_form_says_what_is_to_be_doubted() {
    for (bench, is_doubted) in [(bench(), false), (interrupted(), true)] {
        let text = text(&bench, None);
        assert_eq!(text.starts_with("EMULATED: "), is_doubted);
        assert_eq!(text.contains("\nINCOMPLETE: "), is_doubted);
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
    let text = text(&bench, None);
    let (_, below) = text.split_once("\nRecommendation\n").expect("it is there");
    let (above, _) = below.split_once("\nswap ").expect("a line to copy");
    assert!(above.contains("EMULATED: "));
}

/// The lines of the CSV, as maps from column names to values.
fn lines(bench: &Bench) -> Vec<HashMap<String, String>> {
    let text = csv(super::lines(bench)).expect("it is written");
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
    let [raw, last] = [&lines[0], &lines[lines.len() - 1]];
    let columns =
        |line: &HashMap<String, String>, names: [&str; 3]| names.map(|it| line[it].clone());
    assert_eq!(
        columns(raw, ["part", "ratio", "specification"]),
        ["raw", "1.0", ""]
    );
    assert_eq!(
        columns(last, ["part", "integrity", "journal"]),
        ["authenticated", "hmac-sha256", "true"]
    );
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
        ("device", "/dev/ram0".into()),
    ] {
        assert_eq!(variant[column], expected, "{column}");
    }
    assert_eq!(
        lines[8]["cpu_seconds_per_gb"], "",
        "there was too little to measure"
    );
    let cpu = bench.ranking[0].figures[1].cpu_seconds_per_gb;
    assert_eq!(
        lines[9]["cpu_seconds_per_gb"],
        cpu.expect("some").to_string()
    );
}

/// What is to be known of the authenticated ones, and the reasons against those that are not secure.
#[test]
fn pages_have_plots_and_notes() {
    let page = document(&bench()).page();
    for note in AUTHENTICATED {
        assert!(page.contains(note), "{note}");
    }
    assert_eq!(page.matches("<li>aes-gcm-random 256 aead: ").count(), 1);
    assert!(page.contains("<h3>4 KiB, random, 32 at once</h3>"));
    assert!(page.contains("--rounds 30 --sample 100 --size 1024MiB --export-html"));
}

#[test]
#[ignore = "needs chromium: `make test-all` runs it"]
fn every_page_is_whole_on_every_screen() {
    let mut emulated = bench();
    emulated.machine.is_emulated = true;
    let mut bare = interrupted();
    bare.ranking.clear();
    let pages = [bench(), interrupted(), emulated, bare].map(|bench| document(&bench).page());
    let pages = pages.each_ref().map(String::as_str);
    let seen = check(CHROMIUM, &pages);
    let drawings: Vec<_> = seen.iter().map(|seen| seen.drawings).collect();
    // Four kinds of transfers.
    assert_eq!(drawings[..8], [4, 4, 4, 4, 4, 4, 0, 0]);
}

#[test]
fn every_specification_is_in_one_group() {
    let list = debian();
    assert!(list.accepted.len() > 2000, "{}", list.accepted.len());
    let (secure, others): (Vec<&Entry>, Vec<&Entry>) = list
        .accepted
        .iter()
        .partition(|entry| entry.verdict == Verdict::Secure);
    let counted = by_reason(others.iter().copied());
    let counted: usize = counted.iter().map(|(_, specs)| specs.len()).sum();
    assert_eq!(counted, others.len());
    let plain: Vec<&Spec> = secure
        .iter()
        .map(|entry| &entry.spec)
        .filter(|spec| spec.integrity.is_none())
        .collect();
    let rows = list::rows(plain.iter().copied());
    let counted = rows
        .iter()
        .map(|(row, digests)| row.key_bits.len() * digests.len());
    assert_eq!(counted.sum::<usize>(), plain.len());
}

/// A kernel without dm-integrity, one that accepts nothing secure, an emulated machine, and an interrupted run.
#[test]
fn what_a_list_lacks_is_said() {
    let text = |change: &dyn Fn(&mut List)| {
        let mut list = debian();
        change(&mut list);
        list::document(&list).text(None)
    };
    let usual = text(&|_| {});
    let none = "\nNone: that takes dm-integrity ";
    assert!(!usual.contains(none));
    assert!(text(&|list| list.has_integrity = false).contains(none));
    let insecure = |entry: &Entry| entry.verdict == Verdict::Insecure;
    let bare = text(&|list| list.accepted.retain(insecure));
    assert!(
        bare.contains("Nothing that this kernel accepts is."),
        "{bare}"
    );
    assert!(usual.starts_with("Linux "));
    assert!(text(&|list| list.machine.is_emulated = true).starts_with("EMULATED: "));
    assert!(text(&|list| list.is_complete = false).starts_with("INCOMPLETE: "));
}

#[test]
fn csv_has_a_line_for_each_specification() {
    let list = debian();
    let csv = csv(list::lines(&list)).expect("it is written");
    assert_eq!(csv.lines().count(), list.accepted.len() + 1);
    let find = |start: &str| csv.lines().find(|line| line.starts_with(start)).unwrap();
    assert_eq!(
        csv.lines().next().unwrap(),
        "specification,cipher,mode,iv,digest,key_bits,integrity,verdict,rules,reason,source,same_as"
    );
    assert_eq!(
        find("aes-xts-plain64,"),
        "aes-xts-plain64,aes,xts,plain64,,256,,secure,,,,"
    );
    assert!(find("aes-ecb-benbi,").ends_with(",aes-ecb-null 128"));
    let rules = ",insecure,predictable-iv short-block short-key plain,";
    assert!(find("blowfish-cbc-plain,").contains(rules));
}

#[test]
fn the_schemas_know_every_report() {
    let reports = [bench(), interrupted()].map(|bench| value(&bench));
    let removed = Schema::derive::<Bench>().check(&reports, &[]);
    assert!(removed > 80, "{removed}");
    let removed = Schema::derive::<List>().check(&[value(&fixture::list())], &[]);
    assert!(removed > 15, "{removed}");
}

#[test]
fn values_that_cannot_be_are_noticed() {
    let schema = Schema::derive::<Bench>();
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
