//! Reads the command line; every wrong argument becomes one line that says what would be right.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser};

use crate::args::{Arguments, Command};
use crate::failure::Failure;
use crate::output;

/// The command asked for; none if help or version was, which are printed here.
pub fn parse() -> Result<Option<Command>, Failure> {
    match Arguments::try_parse() {
        Ok(Arguments {
            command: Some(command),
        }) => Ok(Some(command)),
        Ok(Arguments { command: None }) => {
            output::print(&Arguments::command().render_help().to_string())?;
            Ok(None)
        }
        Err(error) if !error.use_stderr() => {
            let printed = error.print();
            printed.map_err(|error| Failure::of_write(&error))?;
            Ok(None)
        }
        Err(error) => Err(Failure::Usage(one_line(&error))),
    }
}

fn one_line(error: &clap::Error) -> String {
    let argument = first_word(error, ContextKind::InvalidArg);
    match error.kind() {
        ErrorKind::UnknownArgument => {
            format!("no argument {argument:?}: see `{} --help`", command())
        }
        ErrorKind::InvalidSubcommand => format!(
            "no {} {:?}: use one of {}",
            if is_attack() { "attack" } else { "command" },
            first_word(error, ContextKind::InvalidSubcommand),
            choices()
        ),
        // What clap calls a command without the subcommand it needs.
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            format!("attack: say which: use one of {}", choices())
        }
        ErrorKind::ArgumentConflict => format!("{argument}: give it only once"),
        ErrorKind::TooManyValues => format!("{argument}: no value may follow"),
        _ => first_line(error),
    }
}

/// The first word of a context of the error.
fn first_word(error: &clap::Error, kind: ContextKind) -> String {
    let text = match error.get(kind) {
        Some(ContextValue::String(text)) => text,
        Some(ContextValue::Strings(texts)) => texts.first().map_or("", String::as_str),
        _ => "",
    };
    text.split(' ').next().unwrap_or_default().to_owned()
}

fn is_attack() -> bool {
    std::env::args_os()
        .nth(1)
        .is_some_and(|word| word == "attack")
}

/// The command with what it was given of commands, whose help tells more.
fn command() -> String {
    let root = Arguments::command();
    let mut words = vec!["squall-lab".to_owned()];
    let mut command = &root;
    for word in std::env::args_os().skip(1) {
        let Some(found) = command.find_subcommand(&word) else {
            break;
        };
        words.push(found.get_name().to_owned());
        command = found;
    }
    words.join(" ")
}

/// The commands, or the attacks if one of them must follow.
fn choices() -> String {
    let root = Arguments::command();
    let command = match root.find_subcommand("attack") {
        Some(attack) if is_attack() => attack,
        _ => &root,
    };
    let names: Vec<_> = command.get_subcommands().map(|c| c.get_name()).collect();
    names.join(", ")
}

fn first_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    line.trim_start_matches("error: ").to_owned()
}
