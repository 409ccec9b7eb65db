//! `squall completions`: scripts that shells can read, with all commands and options.

use std::process::{Command, Stdio};

use squall_testing::needs::{FISH, ZSH};
use squall_testing::suite::Test;
use squall_testing::tests;

use crate::common::{bytes, text};

fn script(shell: &str) -> String {
    text(&bytes(&format!("completions {shell}")))
}

/// What bash offers after these words, the last of which may be incomplete.
fn offered(words: &[&str]) -> Vec<String> {
    let program = r#"
        source /dev/stdin || exit
        COMP_WORDS=("$@")
        COMP_CWORD=$(($# - 1))
        _squall_run squall "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
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

/// The standard output of a shell, which must be all that it writes.
fn output_of(shell: &mut Command) -> String {
    let output = shell.stdin(Stdio::null()).output().expect("it runs");
    assert!(output.stderr.is_empty(), "{output:?}");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// A folder with the script of `shell` as `name`.
fn folder_with(name: &str, shell: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join(name), script(shell)).expect("room");
    folder
}

/// What fish offers after `line`.
fn offered_by_fish(line: &str) -> Vec<String> {
    let folder = folder_with("squall.fish", "fish");
    let program = "source $argv[1]/squall.fish; complete --do-complete $argv[2]";
    let mut fish = Command::new("fish");
    fish.args(["--no-config", "-c", program]);
    let offered = output_of(fish.arg(folder.path()).arg(line));
    let words = offered.lines().filter_map(|line| line.split('\t').next());
    words.map(str::to_owned).collect()
}

/// What zsh offers after `line`, which is typed into a terminal of its own.
fn offered_by_zsh(line: &str) -> Vec<String> {
    let folder = folder_with("_squall", "zsh");
    let mut zsh = Command::new("zsh");
    zsh.args(["-f", "-c", include_str!("completions/offered.zsh"), "zsh"]);
    let shown = output_of(zsh.arg(folder.path()).arg(line));
    assert!(shown.contains("offered-all"), "{shown}");
    let words = shown
        .lines()
        .filter_map(|line| line.split("offered:").nth(1));
    words.map(|word| word.trim_end().to_owned()).collect()
}

fn offered_by_bash(line: &str) -> Vec<String> {
    offered(&line.split(' ').collect::<Vec<_>>())
}

/// Fails unless the shell offers what is right, and nothing else where there is a list of values.
fn offers_values_and_programs(offered: fn(&str) -> Vec<String>) {
    for (line, values) in [
        ("squall stream --format ", "base64 hex raw"),
        ("squall stream --engine a", "aesni arm-aes"),
        ("squall bench --workload f", "fill fork"),
        ("squall bench --source go-", "go-crypto-rand go-math-rand"),
        ("squall wipe --verify ", "full none sample"),
        ("squall wipe --direct ", "auto off on"),
        ("squall completions ", "bash fish zsh"),
    ] {
        let mut offered = offered(line);
        offered.retain(|word| !word.starts_with('-'));
        offered.sort();
        offered.dedup();
        assert_eq!(offered.join(" "), values, "{line}");
    }
    for line in [
        "squall run mkfif",
        "squall run --counters x -- mkfif",
        "squall run --python mkfif",
    ] {
        let offered = offered(line);
        assert!(offered.contains(&"mkfifo".into()), "{line}: {offered:?}");
    }
}

fn bash_offers_values_and_programs() {
    offers_values_and_programs(offered_by_bash);
}

fn fish_offers_values_and_programs() {
    offers_values_and_programs(offered_by_fish);
}

fn zsh_offers_values_and_programs() {
    offers_values_and_programs(offered_by_zsh);
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

fn each_shell_finds_its_function() {
    assert!(script("zsh").starts_with("#compdef squall\n"));
    assert!(script("fish").contains("complete -c squall "));
    assert!(script("bash").contains("complete -F _squall "));
}

pub const TESTS: &[Test] = tests![
    bash_offers_values_and_programs,
    fish_offers_values_and_programs: [FISH],
    zsh_offers_values_and_programs: [ZSH],
    bash_offers_commands_and_options,
    each_shell_finds_its_function,
];
