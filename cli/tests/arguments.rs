//! Every wrong argument gives exit code 2 and one line that says what would be right.

use squall::Engine;
use squall_testing::suite::{NOTHING, Need, Test};
use squall_testing::tests;

use crate::common::{SEED, run, squall, text};

/// Fails unless the command refuses these arguments with this message, and prints nothing else.
#[track_caller]
fn refused(arguments: &str, message: &str) {
    let output = run(arguments);
    assert_eq!(text(&output.stderr), format!("squall: {message}\n"));
    assert_eq!(text(&output.stdout), "");
    assert_eq!(output.status.code(), Some(2), "{arguments}");
}

/// The cases of `arguments/refused.txt`.
fn wrong_arguments() {
    let commands = "stream, status, seed, clones, bench, drives, wipe, verify, blank, dmcrypt, schemas, run, openssl-conf, completions";
    let cases = include_str!("arguments/refused.txt")
        .replace("ENGINES", &Engine::ALL.map(Engine::name).join(", "))
        .replace("COMMANDS", commands);
    let mut lines = cases.lines().skip(2);
    while let Some(arguments) = lines.next() {
        let arguments = arguments.strip_prefix("$ squall ").expect(arguments);
        refused(
            &arguments.replace("SEED", SEED),
            lines.next().expect("what it prints"),
        );
    }
}

/// Every option of every command that takes a number, by the names that the helps give the values.
fn errors_about_numbers_name_the_range() {
    let mut tried = 0;
    for command in [
        "stream",
        "seed",
        "clones",
        "bench",
        "wipe",
        "verify",
        "blank",
        "dmcrypt bench",
    ] {
        let help = text(&run(&format!("{command} --help")).stdout);
        for line in help.lines() {
            let Some((option, value)) = line.trim_start().split_once(" <") else {
                continue;
            };
            let name = value.split('>').next().expect("a name");
            let is_number = ["N", "SIZE", "BITS", "TIME"];
            if !option.starts_with("--") || !is_number.contains(&name) {
                continue;
            }
            tried += 1;
            for value in [
                "x",
                "-1",
                "-1MiB",
                "0.0001",
                "1Gb",
                "9".repeat(30).as_str(),
                "",
            ] {
                let mut ways = vec![format!("{command} {option}={value}")];
                ways.extend((!value.is_empty()).then(|| format!("{command} {option} {value}")));
                for way in ways {
                    let start = format!("{option}: {value:?} is ");
                    crate::common::refused(&run(&way), 2, &[&start, ": use "]);
                }
            }
        }
    }
    assert!(tried >= 20, "{tried}");
}

/// Times have units in every command, which shows the time of its help to be one; a command that needs more says what.
fn times_have_units_everywhere() {
    for (arguments, words) in [
        ("wipe --checkpoint 5min --stall 90s", "TARGET"),
        ("seed --every 1h30min --test", "--every"),
        (
            "clones --hook-timeout 2min --hooks /nonexistent",
            "/nonexistent",
        ),
        ("dmcrypt bench --sample 20ms --size 1MiB", "--size"),
    ] {
        crate::common::refused(&run(arguments), 2, &[words]);
    }
}

/// A file or folder that an argument names and that is not there, in every command that takes one.
fn missing_files_are_wrong_arguments() {
    for command in [
        "stream --size 1 --seed-file",
        "stream --size 1 --output",
        "status --counters",
        "bench --quick --compare",
        "bench --quick --export-json",
        "bench --quick --export-csv",
        "bench --quick --export-html",
        "wipe --resume",
        "wipe --yes",
        "verify",
        "blank",
        "dmcrypt list --export-json",
        "dmcrypt bench --device",
    ] {
        let output = run(&format!("{command} /nonexistent/file"));
        crate::common::refused(&output, 2, &["/nonexistent/file: No such file"]);
    }
    for command in [
        "stream --seed-file",
        "status --counters",
        "verify",
        "wipe --resume",
    ] {
        let output = run(&format!("{command} /etc/passwd"));
        crate::common::refused(&output, 2, &["/etc/passwd: "]);
    }
    let output = run("stream --size 1 --output /dev/null/folder/file");
    crate::common::refused(&output, 2, &["/dev/null is not a folder\n"]);
}

const LACKING_ENGINE: Need = Need {
    check: || {
        let lacking = lacking_engine().map(drop);
        lacking.ok_or_else(|| "this CPU has every engine".into())
    },
    required_by: NOTHING,
};

fn lacking_engine() -> Option<Engine> {
    Engine::ALL
        .into_iter()
        .find(|engine| !engine.is_available())
}

fn engines_this_cpu_lacks() {
    let lacking = lacking_engine().expect("an engine");
    let names: Vec<_> = Engine::available().map(Engine::name).collect();
    refused(
        &format!("stream --engine {lacking}"),
        &format!(
            "--engine: this CPU cannot run {lacking}: use one of {}",
            names.join(", ")
        ),
    );
}

/// With `--json`, every command writes JSON to standard output.
fn json_takes_no_file() {
    for command in [
        "status",
        "bench",
        "wipe",
        "verify",
        "blank",
        "dmcrypt list",
        "dmcrypt bench",
    ] {
        refused(&format!("{command} --json=x"), "--json: it takes no value");
    }
}

/// Empty arguments, as from a script's variable that was never set.
fn empty_arguments() {
    for (arguments, message) in [
        (
            ["stream", "--output", ""],
            "--output: the value is empty: give a FILE",
        ),
        (
            ["stream", "--seed-file", ""],
            "--seed-file: the value is empty: give a FILE",
        ),
        (
            ["wipe", "--dry-run", ""],
            "TARGET is empty: give one, or leave it out",
        ),
    ] {
        let output = squall("").args(arguments).output();
        let output = output.expect("the command runs");
        assert_eq!(text(&output.stderr), format!("squall: {message}\n"));
        assert_eq!(output.status.code(), Some(2));
    }
}

fn seeds_take_aes() {
    let output = run(&format!("stream --seed {SEED} --engine chacha20"));
    let message = text(&output.stderr);
    crate::common::refused(
        &output,
        2,
        &[
            "--engine: chacha20 cannot make the stream of a seed",
            "portable",
        ],
    );
    assert_eq!(message.matches("chacha20").count(), 1, "{message}");
}

fn help_and_version_go_to_standard_output() {
    for (arguments, part) in [
        ("", "Usage: squall"),
        ("stream --help", &Engine::ALL.map(Engine::name).join(", ")),
        ("--help", "squall stream --size 32 --format hex"),
        ("help", "squall stream --size 32 --format hex"),
        ("help stream", "prefer --seed-file"),
        ("--help", "2 for a wrong argument"),
        ("stream --help", "prefer --seed-file"),
        ("stream --help", "2 for a wrong argument"),
        ("status --help", "kernel_generation"),
        ("seed --help", "systemctl enable --now squall-seed.service"),
        ("--version", concat!("squall ", env!("CARGO_PKG_VERSION"))),
    ] {
        let output = run(arguments);
        let shown = text(&output.stdout)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        assert!(shown.contains(part), "{arguments}: {shown}");
        assert_eq!(text(&output.stderr), "");
        assert_eq!(output.status.code(), Some(0));
    }
}

fn a_value_with_newlines_is_one_line() {
    for [argument, value] in [
        ["--size", "1\n2"],
        ["--threads", "a\nb"],
        ["--engine", "a\n\nb"],
        ["--format", "a\nb"],
        ["--output", "/nonexistent\n/file"],
        ["--seed-file", "/nonexistent\n/file"],
        ["a\nb", ""],
    ] {
        let output = squall("stream").args([argument, value]).output();
        let message = text(&output.expect("the command runs").stderr);
        assert_eq!(message.lines().count(), 1, "{message}");
        assert!(message.contains("\\n"), "{message}");
    }
}

pub const TESTS: &[Test] = tests![
    wrong_arguments,
    errors_about_numbers_name_the_range,
    times_have_units_everywhere,
    missing_files_are_wrong_arguments,
    engines_this_cpu_lacks: [LACKING_ENGINE],
    json_takes_no_file,
    empty_arguments,
    seeds_take_aes,
    help_and_version_go_to_standard_output,
    a_value_with_newlines_is_one_line,
];
