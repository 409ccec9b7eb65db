//! Explains what overwriting cannot reach: much on flash, little on a magnetic disk.

use maud::{Markup, html};
use squall_drives::Kind;

use crate::record::Drive;
use crate::report::Advice;

/// The section on what overwriting cannot reach.
pub fn section(drive: &Drive) -> Markup {
    let target = &drive.target;
    html! {
        section {
            h2 { "What overwriting cannot reach" }
            @match (target.kind, target.flash) {
                (Kind::Disk | Kind::Partition, Some(false)) => (magnetic()),
                (Kind::Disk | Kind::Partition, None) => { (magnetic()) (unknown()) }
                (Kind::Disk | Kind::Partition, Some(true)) => {},
                (Kind::File, _) => (file()),
                (Kind::Loop | Kind::Mapped, _) => (layered()),
            }
            @if let Some(advice) = Advice::on(drive) { (flash(&advice)) }
            @if target.kind == Kind::Partition {
                p { "Only this partition was overwritten, and nothing beside it on the drive." }
            }
        }
    }
}

fn magnetic() -> Markup {
    html! {
        p {
            "Every sector that the drive shows was addressed. Out of reach are sectors that it had "
            "replaced by spare ones before, of which a healthy disk has few or none "
            "(" code { "smartctl -A" } " counts them), and areas that are hidden from the host "
            "(" code { "hdparm -N" } " shows whether there are any)."
        }
    }
}

fn unknown() -> Markup {
    html! {
        p {
            "The kernel does not report whether this is flash. If it is, its spare cells are out of "
            "reach too, and only the drive itself can erase them."
        }
    }
}

fn file() -> Markup {
    html! {
        p {
            "The file's bytes were overwritten where the filesystem keeps them. A filesystem that "
            "writes elsewhere (btrfs, ZFS, bcachefs, some of XFS), a journal of data, a snapshot or "
            "a backup may hold older copies; so may the spare cells of flash."
        }
    }
}

fn layered() -> Markup {
    html! {
        p {
            "This device lies on others, which may move data between them, keep older copies or "
            "have spare cells: what holds for them holds for it."
        }
    }
}

fn flash(advice: &Advice) -> Markup {
    html! {
        div.warning {
            p { (advice.text) }
            @if !advice.commands.is_empty() {
                dl.commands {
                    @for (command, what) in &advice.commands {
                        div { dt { code { (command) } } dd { (what) } }
                    }
                }
                p {
                    "After these, the drive may no longer hold what this page says was written."
                }
            }
        }
    }
}
