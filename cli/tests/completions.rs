//! `squall completions`: scripts that shells can read, with all commands and options.

use std::process::{Command, Output, Stdio};

use squall_testing::suite::Test;
use squall_testing::tests;

fn squall(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_squall"));
    let command = command.args(arguments).stdin(Stdio::null());
    command.output().expect("the command runs")
}

fn script(shell: &str) -> String {
    let output = squall(&["completions", shell]);
    assert!(output.status.success(), "{shell}: {output:?}");
    assert!(output.stderr.is_empty(), "{shell}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// What bash offers after these words, the last of which may be incomplete.
fn offered(words: &[&str]) -> Vec<String> {
    let program = r#"
        source /dev/stdin || exit
        COMP_WORDS=("$@")
        COMP_CWORD=$(($# - 1))
        _squall squall "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    let bash = Command::new("bash")
        .args(["--norc", "-uc", program, "bash"])
        .args(words)
        .stdin(reader)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("bash runs");
    std::io::Write::write_all(&mut writer, script("bash").as_bytes()).expect("bash reads");
    drop(writer);
    let output = bash.wait_with_output().expect("bash ends");
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    let offered = String::from_utf8(output.stdout).expect("text");
    offered.lines().map(str::to_owned).collect()
}

fn bash_offers_commands_and_options() {
    let commands = offered(&["squall", ""]);
    for command in ["stream", "status", "seed", "wipe", "completions"] {
        assert!(commands.iter().any(|word| word == command), "{commands:?}");
    }
    assert_eq!(
        offered(&["squall", "stream", "--see"]),
        ["--seed", "--seed-file"]
    );
    assert_eq!(offered(&["squall", "completions", "f"]), ["fish"]);
}

fn options_of_wipe_are_there() {
    let options = offered(&["squall", "wipe", "--"]);
    for option in ["--dry-run", "--purge", "--resume"] {
        assert!(options.iter().any(|word| word == option), "{options:?}");
        for shell in ["zsh", "fish"] {
            let name = option.trim_start_matches('-');
            assert!(script(shell).contains(name), "{shell}: {option}");
        }
    }
}

fn each_shell_finds_its_function() {
    assert!(script("zsh").starts_with("#compdef squall\n"));
    assert!(script("fish").contains("complete -c squall "));
    assert!(script("bash").contains("complete -F _squall "));
}

fn another_shell_is_refused() {
    let output = squall(&["completions", "tcsh"]);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("bash, zsh, fish"), "{message}");
}

pub const TESTS: &[Test] = tests![
    bash_offers_commands_and_options,
    options_of_wipe_are_there,
    each_shell_finds_its_function,
    another_shell_is_refused,
];
