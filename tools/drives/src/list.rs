//! `squall drives`: the drives of this machine, what uses each, and whether it can erase itself. Changes nothing.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use squall_tool_base::columns::{columns, hide, lines, whole};
use squall_tool_base::text::in_a_line;
use squall_tool_base::{Failure, output, units};

use crate::erase::{self, EraseChoice};
use crate::{Hidden, Kind, Purpose, Storage, Target, guards, shown};

/// Shown in place of a value that is missing.
pub const NONE: &str = "–";

#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  squall drives
      whole drives: size, bus, medium, temperature, model, serial number,
      what uses them, and what they hide
  squall drives --json --all
      everything that has blocks, for programs

The state of a drive is `free` if squall wipe would take it, or else why it would not.

Exit codes: 0 for success, 1 for a failure, 2 for a wrong argument.")]
pub struct DrivesArguments {
    /// Also show partitions, loop devices, mapped devices, and virtual devices (RAID, memory, nbd)
    #[arg(long)]
    pub all: bool,

    /// Print a JSON array; unknown values are null
    ///
    /// Keys of a drive: path, name (below /dev/disk/by-id), kind, storage (what holds its bytes), size (bytes), model,
    /// serial, bus, flash, celsius, other_paths (to the same drive), uses (why it cannot be wiped), hidden (bytes behind
    /// hpa and dco), erase. New keys may be added.
    #[arg(long)]
    pub json: bool,
}

/// A drive, as it is printed as JSON.
#[derive(Serialize)]
struct Entry {
    /// Its path in /dev.
    path: PathBuf,
    /// A name below /dev/disk/by-id that always means this drive.
    name: Option<PathBuf>,
    kind: Kind,
    /// What holds its bytes.
    storage: Storage,
    /// Length in bytes.
    size: u64,
    model: Option<String>,
    serial: Option<String>,
    /// What it is attached by, such as nvme, sata, usb or virtio.
    bus: Option<String>,
    /// Whether it is flash; null if the kernel does not know.
    flash: Option<bool>,
    /// Degrees Celsius; null if the kernel has no sensor for it.
    celsius: Option<f64>,
    /// The file behind a loop device.
    file: Option<String>,
    /// The paths in /dev of other devices that lead to the same drive.
    other_paths: Vec<PathBuf>,
    /// Why `squall wipe` would refuse it; empty if it would not.
    uses: Vec<String>,
    /// What it hides from its host; null if it is no ATA drive, or cannot be asked.
    hidden: Option<Hidden>,
    /// How it can erase itself, which `squall wipe --purge` has it do; null if that is not known.
    erase: Option<String>,
}

/// Prints the drives, and whether each may be overwritten for `purpose`.
pub fn list(options: &DrivesArguments, purpose: &Purpose) -> Result<(), Failure> {
    let targets = match options.all {
        true => Target::all()?,
        false => Target::drives()?,
    };
    let uses = guards::uses(&targets, purpose)?;
    let other_paths = guards::names_of_other_paths(&targets)?;
    let all = targets.into_iter().zip(uses).zip(other_paths);
    let entries = all.map(|((target, uses), others)| entry(target, uses, others));
    let entries: Vec<_> = entries.collect();
    if options.json {
        return output::print(&(serde_json::to_string_pretty(&entries).expect("text keys") + "\n"));
    }
    output::print(&table(&entries, options.all, output::width()))
}

fn entry(target: Target, uses: Vec<String>, other_paths: Vec<PathBuf>) -> Entry {
    let erase = erase::ask(&target, std::slice::from_ref(&target));
    let erase = erase.and_then(|erase| erase.known(EraseChoice::Auto).ok());
    Entry {
        name: target.stable_name(),
        file: target.backing_file(),
        other_paths,
        bus: target.bus(),
        celsius: target.temperature(),
        hidden: target.hidden(),
        erase: erase.map(|means| means.name().to_owned()),
        path: target.identity.path,
        kind: target.identity.kind,
        storage: target.identity.storage,
        size: target.identity.size,
        model: target.identity.model,
        serial: target.identity.serial,
        flash: target.identity.flash,
        uses,
    }
}

fn table(entries: &[Entry], are_all: bool, width: Option<usize>) -> String {
    match (entries.is_empty(), are_all) {
        (true, true) => return "no drives\n".into(),
        (true, false) => {
            return "no drives: --all also shows loop devices, mapped devices and partitions\n"
                .into();
        }
        (false, _) => {}
    }
    let titles = [
        "drive", "size", "bus", "medium", "°C", "model", "serial", "state",
    ];
    let rows = [titles.map(str::to_owned)].into_iter();
    let rows = rows.chain(entries.iter().map(row));
    let rows = aligned(rows, &[1, 4], &[5, 7], &[3, 4, 5], width);
    let drives = one_path_each(entries);
    let free = drives.iter().filter(|entry| entry.uses.is_empty()).count();
    format!("{rows}\n{}, {free} free\n", count(drives.len()))
}

/// `entries` without further paths to drives that are among them already.
fn one_path_each(entries: &[Entry]) -> Vec<&Entry> {
    let is_first = |(number, entry): &(usize, &Entry)| {
        let mut earlier = entries[..*number].iter();
        !earlier.any(|earlier| earlier.other_paths.contains(&entry.path))
    };
    let first = entries.iter().enumerate().filter(is_first);
    first.map(|(_, entry)| entry).collect()
}

/// Rows for a terminal of this width. Columns that are `numbers` are aligned to the right, only those that are `prose` are
/// broken between words, and on a narrow terminal those that it `lacks` are left out.
pub fn aligned<const N: usize>(
    rows: impl Iterator<Item = [String; N]>,
    numbers: &[usize],
    prose: &[usize],
    lacks: &[usize],
    width: Option<usize>,
) -> String {
    let mut table = columns(width);
    table.add_rows(rows);
    for column in (0..N).filter(|column| !prose.contains(column)) {
        whole(&mut table, column);
    }
    if width.is_some_and(|columns| columns < 80) {
        lacks.iter().for_each(|column| hide(&mut table, *column));
    }
    lines(&mut table, 2, |column| numbers.contains(&column))
}

fn row(entry: &Entry) -> [String; 8] {
    let celsius = entry
        .celsius
        .map_or(NONE.into(), |celsius| format!("{celsius:.0}"));
    [
        shown(&entry.path),
        units::volume(entry.size),
        or_none(&entry.bus),
        medium(entry.flash).into(),
        celsius,
        or_none(&entry.model),
        or_none(&entry.serial),
        state(entry),
    ]
}

/// Why it cannot be wiped, or that it can; its other paths, what it hides, and how it can erase itself.
fn state(entry: &Entry) -> String {
    let use_of_it = match &entry.uses[..] {
        [reason, ..] => in_a_line(reason),
        [] => "free".into(),
    };
    let hidden = entry.hidden.and_then(Hidden::text);
    let hidden = hidden.map(|hidden| format!("hides {hidden}"));
    let erase = entry.erase.as_ref().filter(|_| entry.uses.is_empty());
    let erase = erase.map(|erase| format!("erases itself by {erase}"));
    let others: Vec<String> = entry.other_paths.iter().map(|path| shown(path)).collect();
    let others = (!others.is_empty()).then(|| format!("the same drive as {}", others.join(", ")));
    let file = entry.file.as_ref().map(|file| format!("the file {file}"));
    let all = [Some(use_of_it), file, others, hidden, erase];
    all.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// A value in a table, which may be unknown.
pub fn or_none(value: &Option<String>) -> String {
    value.as_deref().map_or(NONE.into(), in_a_line)
}

/// What a drive stores on, if it is known whether it `is_flash`.
pub fn medium(is_flash: Option<bool>) -> &'static str {
    match is_flash {
        Some(true) => "flash",
        Some(false) => "magnetic",
        None => NONE,
    }
}

/// A number of drives, in words.
pub fn count(drives: usize) -> String {
    match drives {
        0 => "no drive".into(),
        1 => "1 drive".into(),
        count => format!("{count} drives"),
    }
}
