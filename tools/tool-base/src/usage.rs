//! Reads the command line; a wrong argument gives one line that says what would be right.

use std::error::Error as _;
use std::ffi::OsString;

use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::failure::Failure;
use crate::output;

/// The given subcommand, which `command` takes out of the arguments; `None` after printing help or the
/// version.
pub fn parse<A: Parser, C>(command: fn(A) -> Option<C>) -> Result<Option<C>, Failure> {
    match A::try_parse().map(command) {
        Ok(Some(command)) => Ok(Some(command)),
        Ok(None) => {
            output::print(&A::command().render_help().to_string())?;
            Ok(None)
        }
        Err(error) if !error.use_stderr() => {
            output::check()?;
            let printed = error.print();
            printed.map_err(|error| Failure::of_write("standard output", &error))?;
            Ok(None)
        }
        Err(error) => {
            let error = of_negative_value::<A>(&error).unwrap_or(error);
            Err(Failure::Usage(one_line(&error, &given(A::command()))))
        }
    }
}

/// The error about a negative number as the value of an option, which clap reports as an unknown option.
fn of_negative_value<A: Parser>(error: &clap::Error) -> Option<clap::Error> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let mut words: Vec<OsString> = Vec::new();
    for word in std::env::args_os() {
        match (words.last_mut(), word.as_encoded_bytes()) {
            (Some(option), [b'-', b'0'..=b'9', ..])
                if option.as_encoded_bytes().starts_with(b"--") =>
            {
                option.push("=");
                option.push(word);
            }
            _ => words.push(word),
        }
    }
    A::try_parse_from(words).err()
}

/// The innermost subcommand on the command line: its full name, and the subcommands it takes.
struct Given {
    name: String,
    /// The name of the innermost subcommand alone.
    last: String,
    choices: String,
}

fn given(mut command: clap::Command) -> Given {
    let mut name = command.get_name().to_owned();
    for word in std::env::args_os().skip(1) {
        let Some(found) = command.find_subcommand(&word).cloned() else {
            break;
        };
        name = format!("{name} {}", found.get_name());
        command = found;
    }
    let shown = command.get_subcommands().filter(|c| !c.is_hide_set());
    let choices: Vec<_> = shown.map(clap::Command::get_name).collect();
    Given {
        name,
        last: command.get_name().to_owned(),
        choices: choices.join(", "),
    }
}

/// As many values and more are not listed if one of them is nearly what was given.
const LONG_LIST: usize = 8;

fn one_line(error: &clap::Error, given: &Given) -> String {
    let argument = first_word(error, ContextKind::InvalidArg);
    let value = text(error, ContextKind::InvalidValue);
    match error.kind() {
        ErrorKind::ValueValidation => match error.source() {
            Some(cause) => format!("{argument}: {cause}"),
            None => format!("{argument}: {value:?} is not valid"),
        },
        ErrorKind::InvalidValue if value.is_empty() && has_empty_value() => {
            let full = text(error, ContextKind::InvalidArg);
            let names: Vec<_> = full
                .split(' ')
                .map(|name| name.trim_matches(['<', '[', ']', '>', '.']))
                .collect();
            match names[..] {
                [option, value] => format!("{option}: the value is empty: give a {value}"),
                _ => format!("{} is empty: give one, or leave it out", names[0]),
            }
        }
        ErrorKind::InvalidValue if value.is_empty() => {
            let full = text(error, ContextKind::InvalidArg);
            match full.split_once([' ', '=']) {
                Some((option, value)) => format!(
                    "{option}: a value is missing: give a {}",
                    value.trim_matches(['<', '[', ']', '>', '.'])
                ),
                None => format!("{argument}: a value is missing"),
            }
        }
        ErrorKind::InvalidValue => {
            let known = text(error, ContextKind::ValidValue);
            let is_long = known.split(", ").count() >= LONG_LIST;
            let suggested = suggestion(error, ContextKind::SuggestedValue).filter(|_| is_long);
            let hint = suggested.unwrap_or_else(|| format!("use one of {known}"));
            format!("{argument}: {value:?} is not known: {hint}")
        }
        ErrorKind::UnknownArgument => {
            let hint = suggestion(error, ContextKind::SuggestedArg);
            let hint = hint.unwrap_or_else(|| format!("see {} --help", given.name));
            format!("no argument {argument:?}: {hint}")
        }
        ErrorKind::InvalidSubcommand => {
            let hint = suggestion(error, ContextKind::SuggestedSubcommand);
            let hint = hint.unwrap_or_else(|| format!("use one of {}", given.choices));
            let wrong = text(error, ContextKind::InvalidSubcommand);
            format!("no command {wrong:?}: {hint}")
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            format!("{}: say which: use one of {}", given.last, given.choices)
        }
        ErrorKind::ArgumentConflict => match first_word(error, ContextKind::PriorArg) {
            prior if prior == argument => format!("{argument}: give it only once"),
            prior => format!("{argument}: it cannot be used with {prior}: give only one of them"),
        },
        ErrorKind::MissingRequiredArgument => {
            let missing = text(error, ContextKind::InvalidArg);
            format!("{missing} is missing: see {} --help", given.name)
        }
        ErrorKind::TooManyValues => format!("{argument}: it takes no value"),
        _ => first_line(error),
    }
}

/// Whether an option or argument is an empty word, which clap reports like a missing one.
fn has_empty_value() -> bool {
    std::env::args_os().any(|word| word.is_empty() || word.as_encoded_bytes().ends_with(b"="))
}

/// The suggestion in the error, if any: clap's best one is its last.
fn suggestion(error: &clap::Error, kind: ContextKind) -> Option<String> {
    let suggested = match error.get(kind)? {
        ContextValue::String(suggested) => suggested,
        ContextValue::Strings(all) => all.last()?,
        _ => return None,
    };
    Some(format!("did you mean {suggested}?"))
}

/// A context of the error as text, with the words of a list joined by commas.
fn text(error: &clap::Error, kind: ContextKind) -> String {
    match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::Strings(texts)) => texts.join(", "),
        _ => String::new(),
    }
}

/// The first word of a context: `--size` of `--size <SIZE>`.
fn first_word(error: &clap::Error, kind: ContextKind) -> String {
    let text = text(error, kind);
    text.split([' ', ',']).next().unwrap_or_default().to_owned()
}

fn first_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    line.trim_start_matches("error: ").to_owned()
}
