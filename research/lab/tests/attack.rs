//! `squall-lab attack`: the results of each attack, and the reports.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use squall_testing::suite::Test;
use squall_testing::tests;

pub const TESTS: &[Test] = tests![
    the_estimator_credits_events_without_entropy,
    the_estimator_does_not_credit_events_with_entropy,
    urandom_without_credit_is_predicted,
    urandom_with_credit_is_not_predicted,
    random_is_predicted_until_it_blocks,
    json_has_exactly_the_documented_keys,
    the_text_report_has_a_table,
    wrong_arguments_are_one_line,
    no_arguments_print_the_help,
    a_closed_output_is_no_failure,
    a_full_disk_is_a_failure,
];

const ATTACKS: [&str; 3] = ["estimator", "urandom", "random"];

/// The documented keys of each level.
const KEYS: [&str; 3] = ["attack", "held", "scenarios"];
const SCENARIO_KEYS: [&str; 4] = ["name", "events", "secret_bits", "systems"];
const SYSTEM_KEYS: [&str; 9] = [
    "system",
    "credited_bits",
    "bytes_asked",
    "bytes_given",
    "bytes_predicted",
    "bytes_predicted_without_last_512_bits",
    "bytes_predicted_with_secrets",
    "claim",
    "fault",
];

/// The command with `arguments`, split at blanks.
fn lab(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_squall-lab"));
    command
        .args(arguments.split_whitespace())
        .stdin(Stdio::null());
    command
}

fn run(arguments: &str) -> Output {
    lab(arguments).output().expect("the command runs")
}

/// Standard output of a run that must succeed and write no errors.
#[track_caller]
fn text(arguments: &str) -> String {
    let output = run(arguments);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments}");
    assert_eq!(output.status.code(), Some(0), "{arguments}");
    String::from_utf8(output.stdout).expect("text is UTF-8")
}

fn json(attack: &str) -> Value {
    serde_json::from_str(&text(&format!("attack {attack} --json"))).expect("the report is JSON")
}

/// Bits credited, bytes given and bytes predicted for the system at `index`, after checking its
/// control.
#[track_caller]
fn figures(scenario: &Value, index: usize, system: &str) -> (Option<u64>, u64, u64) {
    let trial = &scenario["systems"][index];
    assert_eq!(trial["system"], system);
    let number = |key: &str| trial[key].as_u64();
    let given = number("bytes_given").expect("a number");
    assert_eq!(
        number("bytes_predicted_with_secrets"),
        Some(given),
        "{trial}"
    );
    assert_eq!(trial["fault"], Value::Null);
    let predicted = number("bytes_predicted").expect("a number");
    (number("credited_bits"), given, predicted)
}

/// Checks that the system gives everything asked for, and that neither attacker predicts more than
/// chance allows: 8 of 64 bytes and 17 of 512 are exceeded once in 10^11 runs.
#[track_caller]
fn withstands(scenario: &Value, index: usize, system: &str, credit: Option<u64>, asked: u64) {
    let most = match asked {
        64 => 8,
        512 => 17,
        _ => panic!("no bound for {asked}"),
    };
    let (credited, given, predicted) = figures(scenario, index, system);
    assert_eq!((credited, given), (credit, asked));
    let second = &scenario["systems"][index]["bytes_predicted_without_last_512_bits"];
    let second = second.as_u64().expect("a number");
    assert!(predicted <= most, "{system}: {predicted}");
    assert!(second <= most, "{system}: {second}");
}

#[track_caller]
fn accumulators_withstand(scenario: &Value, asked: u64) {
    withstands(scenario, 1, "whirlwind", None, asked);
    withstands(scenario, 2, "robust_489", None, asked);
}

fn the_estimator_credits_events_without_entropy() {
    let report = json("estimator");
    let scenario = &report["scenarios"][0];
    assert_eq!(scenario["name"], "no_entropy");
    assert_eq!(scenario["events"], 326);
    assert_eq!(scenario["secret_bits"], 0);
    let legacy = figures(scenario, 0, "legacy_dev_random");
    assert_eq!(legacy, (Some(326 * 11), 64, 64));
    // The events contain no secrets that could protect the other systems either.
    for (index, system) in [(1, "whirlwind"), (2, "robust_489")] {
        assert_eq!(figures(scenario, index, system), (None, 64, 64));
    }
}

fn the_estimator_does_not_credit_events_with_entropy() {
    let report = json("estimator");
    let scenario = &report["scenarios"][1];
    assert_eq!(scenario["name"], "no_credit");
    assert_eq!(scenario["secret_bits"], 64_000);
    let legacy = figures(scenario, 0, "legacy_dev_random");
    assert_eq!(legacy, (Some(0), 0, 0));
    accumulators_withstand(scenario, 64);
}

fn urandom_without_credit_is_predicted() {
    let report = json("urandom");
    let scenario = &report["scenarios"][0];
    assert_eq!(scenario["events"], 1000);
    assert_eq!(scenario["secret_bits"], 64_000);
    let legacy = figures(scenario, 0, "legacy_dev_urandom");
    assert_eq!(legacy, (Some(0), 64, 64));
    accumulators_withstand(scenario, 64);
}

/// The random bits were in the input pool, and come out after 59 events are credited with 11 bits each.
fn urandom_with_credit_is_not_predicted() {
    let report = json("urandom");
    let scenario = &report["scenarios"][1];
    assert_eq!(scenario["name"], "urandom_with_credit");
    assert_eq!(scenario["events"], 1059);
    assert_eq!(scenario["secret_bits"], 64_000);
    withstands(scenario, 0, "legacy_dev_urandom", Some(59 * 11), 64);
    accumulators_withstand(scenario, 64);
}

/// 327 events of 11 bits are 3597 bits, so 449 bytes can be read.
fn random_is_predicted_until_it_blocks() {
    let report = json("random");
    let scenario = &report["scenarios"][0];
    assert_eq!(scenario["events"], 4327);
    assert_eq!(scenario["secret_bits"], 256_000);
    let legacy = figures(scenario, 0, "legacy_dev_random");
    assert_eq!(legacy, (Some(3597), 449, 449));
    accumulators_withstand(scenario, 512);
}

fn json_has_exactly_the_documented_keys() {
    #[track_caller]
    fn has_keys(value: &Value, keys: &[&str]) {
        let found: BTreeSet<_> = value.as_object().expect("an object").keys().collect();
        let keys: Vec<_> = keys.iter().map(|&key| key.to_owned()).collect();
        assert_eq!(found, keys.iter().collect());
    }
    for attack in ATTACKS {
        let report = json(attack);
        assert_eq!(report["attack"], attack);
        assert_eq!(report["held"], true);
        has_keys(&report, &KEYS);
        for scenario in report["scenarios"].as_array().expect("a list") {
            has_keys(scenario, &SCENARIO_KEYS);
            for system in scenario["systems"].as_array().expect("a list") {
                has_keys(system, &SYSTEM_KEYS);
            }
        }
        let help = text(&format!("attack {attack} --help"));
        for key in [&KEYS[..], &SCENARIO_KEYS, &SYSTEM_KEYS].concat() {
            assert!(help.contains(key), "{key} is not in the help");
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

#[track_caller]
fn refused(arguments: &str, message: &str) {
    let output = run(arguments);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(error, format!("squall-lab: {message}\n"));
    assert!(output.stdout.is_empty());
    assert_eq!(output.status.code(), Some(2), "{arguments}");
}

fn wrong_arguments_are_one_line() {
    let attacks = "use one of estimator, urandom, random";
    refused("attack", &format!("attack: say which: {attacks}"));
    refused("attack foo", &format!("no command \"foo\": {attacks}"));
    refused(
        "xyz",
        "no command \"xyz\": use one of attack, cost, bench, boot, reset, stops",
    );
    refused("--foo", "no argument \"--foo\": see squall-lab --help");
    refused(
        "attack --json",
        "no argument \"--json\": see squall-lab attack --help",
    );
    refused(
        "attack urandom now",
        "no argument \"now\": see squall-lab attack urandom --help",
    );
    refused("attack random --json=1", "--json: it takes no value");
    refused("attack random --json --json", "--json: give it only once");
}

fn no_arguments_print_the_help() {
    assert_eq!(text(""), text("-h"));
    assert!(text("--version").starts_with("squall-lab "));
}

fn a_closed_output_is_no_failure() {
    for arguments in [
        "attack urandom",
        "attack random --json",
        "attack --help",
        "",
    ] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = lab(arguments).stdout(writer).output();
        let output = output.expect("the command runs");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments}");
        assert_eq!(output.status.code(), Some(0), "{arguments}");
    }
}

fn a_full_disk_is_a_failure() {
    let full = OpenOptions::new().write(true).open("/dev/full");
    let output = lab("attack urandom")
        .stdout(full.expect("/dev/full"))
        .output();
    let output = output.expect("the command runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        error,
        "squall-lab: standard output: No space left on device\n"
    );
    assert_eq!(output.status.code(), Some(1));
}
