//! Makes the manual pages, man(7), from the texts of `--help`.

use std::path::{Path, PathBuf};
use std::{fs, io};

use clap::{Arg, Args, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, roman};
use squall_tool_base::Failure;
use squall_tool_base::failure::{at, creating_folder};
use squall_tool_base::reports::Sink;

#[derive(Args)]
pub struct ManArguments {
    /// Folder for squall.1 and a page for each command; created if it is missing
    #[arg(value_name = "DIRECTORY")]
    pub directory: PathBuf,
}

/// The beginning of the paragraph on exit codes, which becomes a section of its own.
const EXIT_CODES: &str = "Exit codes: ";

/// Writes squall.1, and a page for each visible subcommand of `squall`, into `directory`.
pub fn write(directory: &Path, squall: Command) -> Result<(), Failure> {
    fs::create_dir_all(directory).map_err(creating_folder(directory))?;
    let mut command = squall.disable_help_subcommand(true);
    command.build();
    write_pages(&command, &[], directory)
}

/// Writes the pages of `command` and its subcommands; `related` are names for SEE ALSO.
fn write_pages(command: &Command, related: &[String], directory: &Path) -> Result<(), Failure> {
    let titled = command
        .clone()
        .override_usage(synopsis(command))
        .subcommand_value_name("command")
        .subcommand_help_heading("COMMANDS");
    let man = Man::new(titled)
        .date("")
        .source(concat!("squall ", env!("CARGO_PKG_VERSION")))
        .manual("squall");
    let path = directory.join(man.get_filename());
    let name = name(command);
    let mut names: Vec<String> = visible(command).map(self::name).collect();
    let related = related.iter().chain(&names).filter(|other| **other != name);
    let page = page(command, &man, related).map_err(at(&path))?;
    Sink::open(&path)?.write(&page)?;
    names.insert(0, name);
    visible(command).try_for_each(|command| write_pages(command, &names, directory))
}

fn name(command: &Command) -> String {
    let name = command.get_display_name().unwrap_or(command.get_name());
    name.to_owned()
}

/// The command's synopsis, with the values of options, which clap_mangen leaves out.
fn synopsis(command: &Command) -> String {
    if let Some(usage) = command.get_overridden_usage() {
        return usage.to_string();
    }
    let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let (arguments, options): (Vec<&Arg>, Vec<&Arg>) = shown.partition(|arg| arg.is_positional());
    let mut words = vec![command.get_bin_name().unwrap_or_default().to_owned()];
    words.extend(options.iter().map(|option| format!("[{option}]")));
    words.extend(arguments.iter().map(ToString::to_string));
    words.extend(
        command
            .has_subcommands()
            .then(|| match command.is_subcommand_required_set() {
                true => "COMMAND".to_owned(),
                false => "[COMMAND]".to_owned(),
            }),
    );
    words.join(" ").replace(['<', '>'], "")
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
}

fn page<'a>(
    command: &Command,
    man: &Man,
    related: impl Iterator<Item = &'a String>,
) -> io::Result<String> {
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if visible(command).next().is_some() {
        man.render_subcommands_section(&mut page)?;
    }
    if let Some(help) = command.get_after_help() {
        notes_section(&help.to_string()).to_writer(&mut page)?;
    }
    see_also(related).to_writer(&mut page)?;
    Ok(String::from_utf8_lossy(&page).chars().map(escape).collect())
}

/// Writes a character so that every version of roff(7) can read it.
fn escape(c: char) -> String {
    if c.is_ascii() {
        c.into()
    } else {
        format!("\\[u{:04X}]", u32::from(c))
    }
}

/// The text after the options in `--help`: sentences are filled, indented lines stay as they are.
fn notes_section(help: &str) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["NOTES"]);
    let mut is_verbatim = false;
    for line in help.lines() {
        let should_be_verbatim = line.starts_with(' ');
        if should_be_verbatim != is_verbatim {
            roff.control(if should_be_verbatim { "nf" } else { "fi" }, []);
            is_verbatim = should_be_verbatim;
        }
        let text: Vec<Inline> = match line.strip_prefix(EXIT_CODES) {
            Some(codes) => {
                roff.control("SH", ["EXIT STATUS"]);
                vec![roman(codes)]
            }
            None if line.is_empty() => {
                roff.control("PP", []);
                continue;
            }
            None => vec![roman(line)],
        };
        roff.text(text);
    }
    if is_verbatim {
        roff.control("fi", []);
    }
    roff
}

fn see_also<'a>(related: impl Iterator<Item = &'a String>) -> Roff {
    let related: Vec<String> = related.map(|name| format!("{name}(1)")).collect();
    let mut roff = Roff::new();
    roff.control("SH", ["SEE ALSO"]);
    roff.text([roman(related.join(", "))]);
    roff
}
