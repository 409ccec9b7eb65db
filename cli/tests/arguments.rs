//! Every wrong argument gives exit code 2 and one line that says what would be right.

use squall::Engine;
use squall_testing::suite::{NOTHING, Need, Test};
use squall_testing::tests;

use crate::common::{SEED, run, squall, text};

/// Fails unless the command refuses these arguments with this message, and prints nothing else.
#[track_caller]
pub fn refused(arguments: &str, message: &str) {
    let output = run(arguments);
    assert_eq!(text(&output.stderr), format!("squall: {message}\n"));
    assert_eq!(text(&output.stdout), "");
    assert_eq!(output.status.code(), Some(2), "{arguments}");
}

fn wrong_values() {
    for size in ["1x", "x", "16EiB", "1e3", "1_0"] {
        refused(
            &format!("stream --size {size}"),
            &format!(
                "--size: \"{size}\" is not a size below 16 EiB: use a number and a unit, such as \
                 10, 4KiB, 1.5MiB or 4GB"
            ),
        );
    }
    for threads in ["0", "-1", "two", "1025"] {
        refused(
            &format!("stream --threads={threads}"),
            &format!("--threads: \"{threads}\" is not a number of threads: use one from 1 to 1024"),
        );
    }
    refused(
        "stream --engine foo",
        &format!(
            "--engine: no engine \"foo\": use one of {}",
            squall::Engine::ALL.map(squall::Engine::name).join(", ")
        ),
    );
    refused(
        "stream --format octal",
        "--format: \"octal\" is not known: use one of raw, hex, base64",
    );
    refused("stream --size", "--size: a value is missing");
    refused(
        "stream --rate-limit 0",
        "--rate-limit: 0 bytes per second would never end: use more, such as 100MB",
    );
    refused(
        "stream --offset 5",
        "--offset: without a seed the bytes are new every time: add --seed-file or --seed",
    );
    refused(
        &format!("stream --seed {SEED} --offset 15EiB --size 1EiB"),
        "--offset: the stream of a seed ends at 16 EiB: at this offset use a --size of at most \
         1152921504606846975",
    );
    refused(
        "stream --numeric --progress",
        "--numeric: it cannot be used with --progress: give only one of them",
    );
    refused(
        "stream --output=",
        "--output: the value is empty: give a FILE",
    );
}

/// Every option of every command that takes a number, by the names that the helps give the values.
fn errors_about_numbers_name_the_range() {
    let mut tried = 0;
    for command in [
        "stream",
        "seed",
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
            let is_number = ["N", "SIZE", "MS", "SECONDS", "BITS", "TIME", "DURATION"];
            if !option.starts_with("--") || !is_number.contains(&name) {
                continue;
            }
            tried += 1;
            for value in ["x", "-1", "-1MiB", "0.0001", "9".repeat(30).as_str(), ""] {
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

fn ranges_of_numbers() {
    for (arguments, message) in [
        (
            "wipe --rounds 0",
            "--rounds: \"0\" is not a number of rounds: use one from 1 to 35",
        ),
        (
            "blank --depth 0",
            "--depth: \"0\" is not a number of transfers: use one from 1 to 64",
        ),
        (
            "wipe --all --count 0",
            "--count: \"0\" is not a number of drives: use one from 1 to 100000",
        ),
        (
            "stream --size 0.0001",
            "--size: \"0.0001\" is not a whole number of bytes: use one, such as 1",
        ),
        (
            "stream --size -1",
            "--size: \"-1\" is not a size: sizes are positive: use a number and a unit, such as 10, 4KiB, \
             1.5MiB or 4GB",
        ),
        (
            "seed --every 500000000000years",
            "--every: \"500000000000years\" is longer than a year: use one such as 10min or 1h",
        ),
    ] {
        refused(arguments, message);
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
    // `squall run` looks for its library first.
    squall_testing::artifacts::preload();
    let output = run("run --counters /nonexistent/file -- true");
    crate::common::refused(&output, 2, &["there is no folder /nonexistent\n"]);
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

fn seeds_are_checked_and_not_repeated() {
    let advice = "use exactly 64 hexadecimal digits (32 bytes)";
    refused(
        "stream --seed abcd",
        &format!("--seed: a seed of 4 characters: {advice}"),
    );
    let long = format!("stream --seed {SEED}0");
    refused(&long, &format!("--seed: a seed of 65 characters: {advice}"));
    let odd = format!("stream --seed {}", SEED.replace('f', "g"));
    refused(
        &odd,
        &format!("--seed: the seed has characters that are not hexadecimal digits: {advice}"),
    );
}

fn names() {
    refused("strem", "no command \"strem\": did you mean stream?");
    refused("dmcrypt lst", "no command \"lst\": did you mean list?");
    refused(
        "dance",
        "no command \"dance\": use one of stream, status, seed, bench, drives, wipe, verify, blank, dmcrypt, schemas, \
         run, openssl-conf, completions",
    );
    refused(
        "stream --sise 1",
        "no argument \"--sise\": did you mean --size?",
    );
    refused(
        "stream --zz",
        "no argument \"--zz\": see squall stream --help",
    );
    refused(
        "stream extra",
        "no argument \"extra\": see squall stream --help",
    );
    refused(
        "status --zz",
        "no argument \"--zz\": see squall status --help",
    );
    refused("--zz", "no argument \"--zz\": see squall --help");
    refused(
        "help strem",
        "no command \"strem\": use one of stream, status, seed, bench, drives, wipe, verify, blank, dmcrypt, schemas, \
         run, openssl-conf, completions",
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

fn disk_encryption() {
    let advice = "use one such as \"aes-xts-plain64 512\", or \"aes-xts-plain64 512 hmac-sha256\" \
                  with what authenticates it (aead, poly1305, hmac-sha256 or hmac-sha512)";
    refused(
        "dmcrypt bench --cipher aes-xts-plain64",
        &format!(
            "--cipher: \"aes-xts-plain64\" is not a cipher with the length of its key in \
             bits: {advice}"
        ),
    );
    refused(
        "dmcrypt bench --size 1MiB",
        "--size: too few to measure anything: use at least 16MiB",
    );
    refused(
        "dmcrypt bench --size 20000001",
        "--size: it must be a multiple of 1 MiB",
    );
    refused(
        "dmcrypt bench --all --secure",
        "--all: it cannot be used with --secure: give only one of them",
    );
    refused(
        "dmcrypt list --json --export-csv -",
        "standard output takes one report: write the others to files",
    );
    refused(
        "dmcrypt dance",
        "no command \"dance\": use one of list, bench",
    );
}

fn contradictions() {
    refused("stream --size 1 --size 2", "--size: give it only once");
    refused(
        &format!("stream --seed {SEED} --seed-file x"),
        "--seed: it cannot be used with --seed-file: give only one of them",
    );
    let output = run(&format!("stream --seed {SEED} --engine chacha20"));
    let message = text(&output.stderr);
    assert!(
        message.starts_with(
            "squall: --engine: chacha20 cannot make the stream of a seed, which is AES-256 in \
             counter mode: use one of "
        ),
        "{message}"
    );
    assert!(message.ends_with("portable\n"), "{message}");
    assert_eq!(message.matches("chacha20").count(), 1, "{message}");
    assert_eq!(output.status.code(), Some(2));
}

fn help_and_version_go_to_standard_output() {
    for (arguments, part) in [
        ("", "Usage: squall"),
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

fn help_names_every_engine() {
    let help = text(&run("stream --help").stdout);
    for engine in Engine::ALL {
        assert!(help.contains(engine.name()), "{engine}");
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
    wrong_values,
    errors_about_numbers_name_the_range,
    ranges_of_numbers,
    missing_files_are_wrong_arguments,
    engines_this_cpu_lacks: [LACKING_ENGINE],
    seeds_are_checked_and_not_repeated,
    names,
    json_takes_no_file,
    empty_arguments,
    disk_encryption,
    contradictions,
    help_and_version_go_to_standard_output,
    help_names_every_engine,
    a_value_with_newlines_is_one_line,
];
