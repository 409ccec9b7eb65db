//! A test for all advice: whatever command line squall prints, in messages, plans, pages and help, is read by its own
//! parser. They are found in the source, so none is forgotten.

use std::fs;
use std::path::Path;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use crate::args::{Arguments, Command};
use crate::tools::Tool;

/// What stands for each value that the source leaves open: it is a number, a name and a path.
const VALUE: &str = "64";

/// The command lines in `source`: what begins with squall's name behind a backtick, or with the name of a command behind a
/// colon or a quote or on a line of its own. A second column and what a shell does with the output are left out.
fn command_lines(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    let code: Vec<_> = code.lines().filter(is_code).collect();
    let code = code.join("\n").replace("\\\\\n", "  ").replace("\\\"", "'");
    let parts: Vec<_> = code.split("\\\n").map(str::trim_start).collect();
    let code = parts.concat();
    let begins = code.match_indices("squall ").filter(|(at, _)| {
        let before = code[..*at].trim_end_matches(' ');
        before.ends_with(['`', '\n', '"']) || before.ends_with(": ") || before.ends_with("with:")
    });
    let line = |(at, _): (usize, &str)| {
        let rest = &code[at..];
        let ends = ["`", "\n", "\"", "; ", " | ", " > ", "(", "[", "  #", "   "];
        let end = ends.iter().filter_map(|end| rest.find(end)).min();
        rest[..end.unwrap_or(rest.len())].trim().to_owned()
    };
    let names = Arguments::command();
    let is_command = |(at, line): &(usize, String)| {
        let word = line.split([' ', '{']).nth(1).unwrap_or_default();
        code[..*at].ends_with('`') || names.find_subcommand(word).is_some()
    };
    let lines = begins.map(|it| (it.0, line(it))).filter(is_command);
    lines.map(|(_, line)| line).collect()
}

/// The words of a command line, with a value for each part in braces; one that continues a word is left out.
fn words(line: &str) -> Vec<String> {
    let mut text = line.to_owned();
    while let (Some(start), Some(end)) = (text.find('{'), text.find('}')) {
        let continues = text[..start].ends_with(char::is_alphanumeric);
        text.replace_range(start..=end, if continues { "" } else { VALUE });
    }
    let quoted = text.split('\'').enumerate();
    let words = quoted.flat_map(|(number, part)| match number % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect(),
        _ => vec![part.to_owned()],
    });
    words.collect()
}

/// Fails unless squall takes `line`; a command alone is only its name.
fn check(line: &str) -> Result<(), String> {
    let words = words(line);
    let mut parsed = Arguments::try_parse_from(&words);
    let is_missing = |error: &clap::Error| error.kind() == ErrorKind::MissingRequiredArgument;
    if parsed.as_ref().err().is_some_and(is_missing) {
        parsed = Arguments::try_parse_from(words.iter().map(String::as_str).chain([VALUE]));
    }
    match parsed.map(|given| given.command) {
        Ok(Some(Command::Tool(Tool::Wipe(options)))) => {
            squall_wipe::check(&options).map_err(|failure| failure.into_text())
        }
        Ok(_) => Ok(()),
        Err(error) if !error.use_stderr() => Ok(()),
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

/// Adds the command lines in the files below `folder`.
fn collect(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") && !path.ends_with("tests.rs") {
            let source = fs::read_to_string(&path).expect("source");
            found.extend(command_lines(&source));
        }
    }
}

#[test]
fn squall_takes_every_command_line_that_it_prints() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    for part in [
        "cli",
        "tools/bench",
        "tools/tool-base",
        "tools/dmcrypt",
        "tools/drives",
        "tools/wipe",
    ] {
        collect(&root.join(part).join("src"), &mut found);
    }
    for expected in [
        "squall wipe --purge --untried-on-hardware {names}",
        "squall wipe --purge=discard --untried-on-hardware {}",
        "squall wipe --resume {}",
        "squall drives",
        "squall wipe --dry-run /dev/sdb /dev/sdc",
        "squall clones --exec 'systemctl restart my-agent'",
    ] {
        assert!(
            found.iter().any(|line| line == expected),
            "{expected}: {found:#?}"
        );
    }
    let wrong = found
        .iter()
        .filter_map(|line| Some((line, check(line).err()?)));
    assert_eq!(wrong.collect::<Vec<_>>(), []);
}

#[test]
fn what_squall_does_not_take_is_found() {
    let source = "
        // Comments are not printed: `squall wipe --mistyped`.
        let one = \"use `squall wipe --purge {}` on it\";
        \"continue with: squall wipe --resume \\
         {path} --mistyped\"";
    let found = command_lines(source);
    assert_eq!(
        found,
        [
            "squall wipe --purge {}",
            "squall wipe --resume {path} --mistyped"
        ]
    );
    assert!(found.iter().all(|line| check(line).is_err()));
}
