//! Reads the command line; every wrong argument becomes one line that says what would be right.

use std::error::Error as _;

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
            printed.map_err(|error| Failure::of_write("standard output", &error))?;
            Ok(None)
        }
        Err(error) => Err(Failure::Usage(one_line(&error))),
    }
}

fn one_line(error: &clap::Error) -> String {
    let argument = first_word(error, ContextKind::InvalidArg);
    let value = text(error, ContextKind::InvalidValue);
    match error.kind() {
        ErrorKind::ValueValidation => match error.source() {
            Some(cause) => format!("{argument}: {cause}"),
            None => format!("{argument}: {value:?} is not valid"),
        },
        ErrorKind::InvalidValue if value.is_empty() => format!("{argument}: a value must follow"),
        ErrorKind::InvalidValue => format!(
            "{argument}: {value:?} is not known: use one of {}",
            text(error, ContextKind::ValidValue)
        ),
        ErrorKind::UnknownArgument => {
            let hint = match first_word(error, ContextKind::SuggestedArg) {
                suggested if suggested.is_empty() => format!("see {}", help_of_command()),
                suggested => format!("did you mean {suggested}?"),
            };
            format!("no argument {argument:?}: {hint}")
        }
        ErrorKind::InvalidSubcommand => format!(
            "no command {:?}: use one of {}",
            text(error, ContextKind::InvalidSubcommand),
            commands()
        ),
        ErrorKind::ArgumentConflict => match first_word(error, ContextKind::PriorArg) {
            prior if prior == argument => format!("{argument}: give it only once"),
            prior => format!("{argument}: it cannot be used with {prior}: give one of them"),
        },
        ErrorKind::TooManyValues => format!("{argument}: no value may follow"),
        _ => first_line(error),
    }
}

/// A context of the error as text: words of a list joined by commas.
fn text(error: &clap::Error, kind: ContextKind) -> String {
    match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::Strings(texts)) => texts.join(", "),
        _ => String::new(),
    }
}

/// `--size` of `--size <SIZE>`.
fn first_word(error: &clap::Error, kind: ContextKind) -> String {
    let text = text(error, kind);
    text.split([' ', ',']).next().unwrap_or_default().to_owned()
}

fn commands() -> String {
    let command = Arguments::command();
    let names: Vec<_> = command
        .get_subcommands()
        .map(|command| command.get_name())
        .collect();
    names.join(", ")
}

/// The help that tells more: that of the command that was given, which is always the first word.
fn help_of_command() -> String {
    let given = std::env::args_os().nth(1).unwrap_or_default();
    let command = Arguments::command();
    match command.find_subcommand(&given) {
        Some(command) => format!("squall {} --help", command.get_name()),
        None => "squall --help".to_owned(),
    }
}

fn first_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    line.trim_start_matches("error: ").to_owned()
}
