//! The page: what is on it, and reports that are not as usual.

mod reader;

use reader::{a_fault_is_found_by_its_check_alone, a_reader_finds_everything};
use squall_bench::report::model::{Noise, Report};
use squall_bench::report::page::page;

use crate::fixture::fixture;
use squall_testing::suite::Test;
use squall_testing::tests;

pub const TESTS: &[Test] = tests![
    a_reader_finds_everything,
    a_fault_is_found_by_its_check_alone,
    what_is_to_be_doubted_stands_above_everything,
    sources_without_figures_are_told_with_the_reason,
    only_sources_for_secrets_win,
    published_figures_stand_below_ours,
    squall_comes_first_and_no_column_is_empty,
    hostile_names_stay_text,
    a_report_without_figures_has_a_page,
];

fn what_is_to_be_doubted_stands_above_everything() {
    let usual = page(&fixture());
    let mut report = fixture();
    report.complete = false;
    report.noise = Noise {
        warning: Some("other processes took a third of the time".into()),
        ..report.noise
    };
    let doubted = page(&report);
    let first_table = doubted.find("<table").expect("a table");
    for text in ["Incomplete. ", "other processes took a third of the time"] {
        assert!(!usual.contains(text), "{text}");
        let place = doubted.find(text).expect("it is said");
        assert!(place < first_table, "{text}");
    }
}

fn sources_without_figures_are_told_with_the_reason() {
    let page = page(&fixture());
    for (heading, reason) in [
        ("Missing", "libsodium.so.23 is not installed"),
        ("Failed", "the process ended by signal 9"),
        ("Disqualified", "the block 00 00 00 00 is repeated"),
        ("Blocks through a pipe", "65536 bytes: it ended early"),
    ] {
        let heading = page.find(&format!(">{heading}</h2>")).expect("a heading");
        let reason = page.find(reason).expect("a reason");
        assert!(heading < reason);
    }
}

/// The fastest of all is not fit for secrets, and so not marked; the fastest that is fit is.
fn only_sources_for_secrets_win() {
    let line = |page: &str, source: &str| {
        let start = page
            .find(&format!("<th scope=\"row\">{source}</th>"))
            .expect("a line");
        page[start..]
            .split("</tr>")
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    let mark = "class=\"best\"";
    let usual = page(&fixture());
    assert!(line(&usual, "squall").contains(mark));
    let thread_rng = "rand's ThreadRng";
    assert!(!line(&usual, thread_rng).contains(mark));
    let mut report = fixture();
    let sources = report.sources.iter_mut();
    for source in sources.filter(|source| source.title == thread_rng) {
        source.secure = true;
    }
    assert!(line(&page(&report), thread_rng).contains(mark));
}

/// Where something is published, it is drawn dashed, as many short lines, and told below the table.
fn published_figures_stand_below_ours() {
    let page = page(&fixture());
    for text in [
        "published: <cite>Linux Kernel CSPRNG Performance</cite> (2014)",
        "published: <cite>Not-So-Random Numbers in Virtualized Linux and the Whirlwind RNG</cite>",
        "9.68 ns <a href=\"#document-4\">",
        "701 MB/s to 953 MB/s <a href=\"#document-1\">",
        "257 µs <a href=\"#document-3\">",
    ] {
        assert!(page.contains(text), "{text}");
    }
    let mut report = fixture();
    let fill = report
        .workloads
        .iter_mut()
        .find(|workload| workload.name == "fill");
    let series = &mut fill.expect("it is in it").series;
    series.retain(|series| !series.source.starts_with("openssl-aes"));
    assert!(!self::page(&report).contains("published: <cite>Linux Kernel CSPRNG"));
}

/// Most of the sources in a table have a figure in each of its columns.
fn squall_comes_first_and_no_column_is_empty() {
    let page = page(&fixture());
    let tables: Vec<_> = page.split("<table").skip(1).collect();
    assert_eq!(tables.len(), 1 + fixture().workloads.len() - 1);
    for table in tables {
        let (table, _) = table.split_once("</table>").expect("its end");
        let rows: Vec<_> = table.split("<th scope=\"row\">").skip(1).collect();
        assert!(rows[0].starts_with("squall</th>"), "{}", rows[0]);
        let columns = rows[0].matches("<td").count();
        let has_figure = |row: &&&str, column: usize| {
            let cell = row.split("<td").nth(column + 1).expect("a cell");
            !cell.contains("class=\"none\"") && !cell.contains(">–<")
        };
        for column in 0..columns {
            let figures = rows.iter().filter(|row| has_figure(row, column)).count();
            assert!(2 * figures > rows.len(), "column {column} of {table}");
        }
    }
}

/// Names come from elsewhere: they are text, whatever is in them.
fn hostile_names_stay_text() {
    const HOSTILE: &str = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>&amp;</style>";
    let count = |page: &str, what: &str| page.matches(what).count();
    let usual = page(&fixture());
    let hostile = page(&hostile(HOSTILE));
    for what in [
        "<script",
        "<img",
        "onerror=alert(1)>",
        "</style>",
        "&amp;</",
    ] {
        assert_eq!(count(&hostile, what), count(&usual, what), "{what}");
    }
    assert!(count(&hostile, "&lt;script&gt;alert(1)&lt;/script&gt;&quot;") > 40);
    assert!(hostile.contains("&amp;amp;&lt;/style&gt;"));
}

/// The fixture with `text` in the place of every text that comes from elsewhere.
fn hostile(text: &str) -> Report {
    let mut report = fixture();
    let machine = &mut report.machine;
    for place in [
        &mut machine.cpu,
        &mut machine.kernel,
        &mut machine.engine,
        &mut machine.clone_guard,
        &mut report.squall_version,
        &mut report.date,
        &mut report.advice,
    ] {
        *place = text.into();
    }
    machine.hypervisor = Some(text.into());
    machine.governor = Some(text.into());
    machine.warnings = vec![text.into()];
    report.noise.warning = Some(text.into());
    for version in &mut machine.versions {
        version.of = text.into();
        version.version = text.into();
    }
    for source in &mut report.sources {
        source.title = text.into();
        source.caveat = Some(text.into());
        source.reason = Some(text.into());
    }
    for workload in &mut report.workloads {
        workload.title = text.into();
        workload.operation = text.into();
        workload.axis = text.into();
        workload.failures = vec![text.into()];
    }
    report
}

/// A run that was interrupted at once has nothing to show, and a page.
fn a_report_without_figures_has_a_page() {
    let mut report = fixture();
    report.complete = false;
    report.workloads.clear();
    let page = page(&report);
    assert!(page.contains("Incomplete. ") && !page.contains("<svg"));
    assert!(page.ends_with("</html>"));
}
