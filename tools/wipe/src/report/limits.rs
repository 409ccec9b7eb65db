//! What overwriting cannot reach, for the page about a drive.

use squall_drives::{Kind, Storage};
use squall_tool_base::report::Part;

use crate::advice::Advice;
use crate::record::Drive;

const MAGNETIC: &str = "Every sector that the drive shows was addressed. Out of reach are sectors that it had \
     replaced by spare ones before, of which a healthy disk has few or none (`smartctl -A` counts \
     them), and areas that are hidden from the host (`hdparm -N` shows whether there are any).";

const UNKNOWN_MEDIUM: &str = "The kernel does not report whether this is flash. If it is, its spare cells are out \
     of reach too, and only the drive itself can erase them.";

const ARRAY: &str = "This is an array of drives, not a drive. Drives that have left it keep what they held, and \
     its own records on its members (superblocks, bitmaps, journals) were not overwritten, nor what lies beside \
     it there. Wipe each drive by itself.";

const LAYERS: &str = "This device lies on others, which may move data between them, keep older copies or \
     have spare cells: what holds for them holds for it.";

const FILE: &str = "The file's bytes were overwritten where the filesystem keeps them. A filesystem that \
     writes elsewhere (btrfs, ZFS, bcachefs, some of XFS), a journal of data, a snapshot or \
     a backup may hold older copies; so may the spare cells of flash.";

const MEMORY: &str = "This device is in the machine's memory, and ends with the machine at the latest. What was \
     written out from there to swap or to a backing device was not overwritten.";

const NETWORK: &str = "Another machine holds these bytes, on drives that this one does not see. Snapshots, \
     replicas, caches and freed blocks there may hold older copies.";

const HOST: &str = "The host of this virtual machine holds these bytes, in a file or on drives that this machine \
     does not see. Snapshots, replicas, backups and freed blocks there may hold older copies.";

const PROGRAM: &str = "A program holds these bytes, where this machine's kernel does not see. It may keep older \
     copies.";

const UNKNOWN: &str = "squall does not know what holds the bytes of this device, nor whether older copies are \
     kept there.";

pub fn of_drive(drive: &Drive) -> Vec<Part> {
    let target = &drive.target;
    let sentences: &[&str] = match (target.storage, target.flash) {
        (Storage::Drive, Some(false)) => &[MAGNETIC],
        (Storage::Drive, None) => &[MAGNETIC, UNKNOWN_MEDIUM],
        (Storage::Drive, Some(true)) => &[],
        (Storage::Array, _) => &[ARRAY],
        (Storage::Layers, _) => &[LAYERS],
        (Storage::FileSystem, _) => &[FILE],
        (Storage::Memory, _) => &[MEMORY],
        (Storage::Network, _) => &[NETWORK],
        (Storage::Host, _) => &[HOST],
        (Storage::Program, _) => &[PROGRAM],
        (Storage::Unknown, _) => &[UNKNOWN],
    };
    let note = |sentence: &str| Part::Note(sentence.to_owned());
    let mut parts: Vec<_> = sentences.iter().map(|it| note(it)).collect();
    if let Some(Advice { text, commands }) = Advice::for_drive(drive) {
        parts.push(Part::Warning("Flash", text));
        let has_commands = !commands.is_empty();
        let copy = |(command, what): (String, &str)| Part::Copy(what.to_owned(), command);
        parts.extend(commands.into_iter().map(copy));
        let after = "After that, the drive may no longer hold what this page says was written.";
        parts.extend(has_commands.then(|| note(after)));
    }
    if target.kind == Kind::Partition {
        parts.push(note(
            "Only this partition was overwritten, and nothing beside it on the drive.",
        ));
    }
    parts
}
