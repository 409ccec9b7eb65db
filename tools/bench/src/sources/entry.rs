//! What is known of a source before it is opened.

use crate::report::model::Group;
use crate::source::{Draw, Source};

/// A source ready for use, or why it is not there.
pub type Opened = Result<Box<dyn Source>, String>;

/// Where a source runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunsIn {
    /// The process that measures.
    ThisProcess,
    /// A process of its own, made of this program: what the source sets holds for a whole process.
    OwnProcess(Setting),
    /// The Go program, which knows it by this name.
    GoProgram(&'static str),
    /// A program that does nothing else: only workloads that start programs use it.
    OtherProgram,
}

/// What such a process finds in its environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// Nothing of the source's.
    None,
    /// A variable and its value.
    Variable(&'static str, &'static str),
    /// libsquall-preload.so, which the loader loads first.
    Preload,
}

/// A source of random bytes that is known.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name on the command line and in reports.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Its family.
    pub group: Group,
    /// Fit for secrets, as `report::model::SourceReport` has it.
    pub secure: bool,
    /// What is to be known of its security, in a few words; empty if nothing.
    pub caveat: &'static str,
    /// What is called, and how.
    pub explained: &'static str,
    /// Where it runs.
    pub runs_in: RunsIn,
    /// Makes one, for one thread, in the process that is its home.
    pub open: fn() -> Opened,
}

impl Entry {
    /// What an entry is if it does not say otherwise: not for secrets, and in this process.
    pub const DEFAULT: Entry = Entry {
        name: "",
        title: "",
        group: Group::Other,
        secure: false,
        caveat: "",
        explained: "",
        runs_in: RunsIn::ThisProcess,
        open: || Err("it runs in a program of its own alone".into()),
    };
}

/// A source in this process, ready for use.
pub fn in_process(draw: impl Draw + 'static) -> Opened {
    Ok(Box::new(draw))
}
