//! `squall-lab attack`: the results of each attack, and the reports; and that `squall-lab cost` has every figure,
//! however large it is.

use squall_testing::suite::Test;
use squall_testing::tests;

use crate::common::{lab, report_with, text};

pub const TESTS: &[Test] = tests![
    each_attack_has_its_results,
    the_text_report_has_a_table,
    costs_have_every_figure,
    wrong_arguments_are_one_line,
];

const ATTACKS: [&str; 3] = ["estimator", "urandom", "random"];

/// Every key of the reports, at any level.
const KEYS: &str = "attack held scenarios name events secret_bits systems system credited_bits bytes_asked \
    bytes_given bytes_predicted bytes_predicted_without_last_512_bits bytes_predicted_with_secrets claim fault";

/// The scenarios of each attack: events, secret bits, the system, bits that are credited, bytes that it gives, and
/// the claim. 326 events of 11 bits are 3586 bits; the random bits that were in the input pool come out after 59 such
/// events; 327 are 3597 bits, so 449 bytes can be read.
type Scenario = (&'static str, u64, u64, &'static str, u64, u64, &'static str);
#[rustfmt::skip]
const RESULTS: [(&str, &[Scenario]); 3] = [
    ("estimator", &[
        ("no_entropy", 326, 0, "legacy_dev_random", 3586, 64, PREDICTED),
        ("no_credit", 1000, 64_000, "legacy_dev_random", 0, 0, "nothing_given"),
    ]),
    ("urandom", &[
        ("urandom", 1000, 64_000, "legacy_dev_urandom", 0, 64, PREDICTED),
        ("urandom_with_credit", 1059, 64_000, "legacy_dev_urandom", 649, 64, UNPREDICTED),
    ]),
    ("random", &[("random", 4327, 256_000, "legacy_dev_random", 3597, 449, PREDICTED)]),
];

const PREDICTED: &str = "everything_predicted";
const UNPREDICTED: &str = "nothing_predicted";

/// That a claim and its control held is judged by the command itself, whose unit tests have systems of which they do
/// not.
fn each_attack_has_its_results() {
    for (attack, expected) in RESULTS {
        let report = report_with(KEYS, &format!("attack {attack}"));
        assert_eq!(report["attack"], attack);
        assert_eq!(report["held"], true);
        let scenarios = report["scenarios"].as_array().expect("a list");
        assert_eq!(scenarios.len(), expected.len());
        for (scenario, expected) in scenarios.iter().zip(expected) {
            let (name, events, secret_bits, system, credited, given, claim) = *expected;
            assert_eq!(scenario["name"], name);
            assert_eq!(scenario["events"], events, "{name}");
            assert_eq!(scenario["secret_bits"], secret_bits, "{name}");
            let [legacy, whirlwind, robust] = [0, 1, 2].map(|index| &scenario["systems"][index]);
            assert_eq!(legacy["system"], system, "{name}");
            assert_eq!(legacy["credited_bits"], credited, "{name}");
            assert_eq!(legacy["bytes_given"], given, "{name}");
            assert_eq!(legacy["claim"], claim, "{name}");
            // Without secrets, nothing could protect the accumulators either.
            let claim = if secret_bits == 0 {
                PREDICTED
            } else {
                UNPREDICTED
            };
            for (system, accumulator) in [("whirlwind", whirlwind), ("robust_489", robust)] {
                assert_eq!(accumulator["system"], system, "{name}");
                assert_eq!(
                    accumulator["bytes_given"], accumulator["bytes_asked"],
                    "{name}"
                );
                assert_eq!(accumulator["claim"], claim, "{name}");
            }
        }
    }
}

fn the_text_report_has_a_table() {
    let report = text("attack urandom");
    assert!(report.contains("1000 events, 64000 secret bits"));
    let row = "old /dev/urandom          0 bits      64 of 64          64        64        64\n";
    assert!(report.contains(row), "{report}");
    for attack in ATTACKS {
        let report = text(&format!("attack {attack}"));
        assert!(!report.contains("FAULT"), "{report}");
        assert!(report.lines().all(|line| line.len() <= 100), "{report}");
    }
}

fn costs_have_every_figure() {
    const KEYS: &str = "cpu kernel release_build quick rows operation generator low median high ratio interval_95 paper";
    let report = report_with(KEYS, "cost --quick");
    assert_eq!(report["quick"], true);
    assert_eq!(report["release_build"], !cfg!(debug_assertions));
    let rows = report["rows"].as_array().expect("a list");
    for (operation, generators, published) in [
        ("add-input", 5, 1),
        ("16 bytes in", 5, 0),
        ("61 bytes in", 2, 0),
        ("generate 4 bytes", 5, 2),
        ("generate 16 bytes", 5, 2),
        ("generate 64 bytes", 5, 2),
        ("generate 256 bytes", 5, 2),
        ("bootstrap", 3, 1),
        ("fork and exit", 4, 2),
    ] {
        let rows = || rows.iter().filter(|row| row["operation"] == operation);
        assert_eq!(rows().count(), generators, "{operation}");
        assert!(rows().all(|row| row["median"].as_f64() > Some(0.0)));
        let papers = rows().filter(|row| row["paper"].is_string());
        assert_eq!(papers.count(), published, "{operation}");
    }
    let text = text("cost --quick");
    assert!(
        text.contains("\nadd-input           Whirlwind, SHA-512"),
        "{text}"
    );
    assert!(text.contains("414 ± 5 µs, old kernel"), "{text}");
}

#[track_caller]
fn refused(arguments: &str, message: &str) {
    let output = lab(arguments).output().expect("the command runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(error, format!("squall-lab: {message}\n"));
    assert!(output.stdout.is_empty());
    assert_eq!(output.status.code(), Some(2), "{arguments}");
}

fn wrong_arguments_are_one_line() {
    let attacks = "use one of estimator, urandom, random";
    refused("attack", &format!("attack: say which: {attacks}"));
    refused("attack foo", &format!("no command \"foo\": {attacks}"));
    let last = if cfg!(target_arch = "x86_64") {
        ", kvm"
    } else {
        ""
    };
    let commands = format!("attack, cost, bench, boot, reset{last}, processes");
    refused("xyz", &format!("no command \"xyz\": use one of {commands}"));
    refused("--foo", "no argument \"--foo\": see squall-lab --help");
    refused(
        "attack --json",
        "no argument \"--json\": see squall-lab attack --help",
    );
    refused(
        "attack urandom now",
        "no argument \"now\": see squall-lab attack urandom --help",
    );
    refused(
        "reset --machine 6.1+vmgennid",
        "--machine: \"6.1+vmgennid\" is not known: did you mean 6.1+vmgenid?",
    );
    refused(
        "reset --scenario ticcks",
        "--scenario: \"ticcks\" is not known: use one of ticks, together, threads, forks, go, programs, sandbox",
    );
    refused("attack random --json=1", "--json: it takes no value");
    refused("attack random --json --json", "--json: give it only once");
}
