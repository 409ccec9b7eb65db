//! What holds a target's bytes: a drive, or something that the kernel shows like one.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Storage {
    /// A drive in or at this machine, as far as the kernel shows.
    Drive,
    /// Several drives, by md or a RAID controller.
    Array,
    /// Other devices, or a file: of a mapped device, a loop device, bcache.
    Layers,
    /// A file system.
    FileSystem,
    /// This machine's memory.
    Memory,
    /// Another machine.
    Network,
    /// The host of this virtual machine.
    Host,
    /// A program.
    Program,
    /// It is not known.
    #[default]
    Unknown,
}

impl Storage {
    pub fn words(self) -> &'static str {
        match self {
            Storage::Drive => "a drive",
            Storage::Array => "an array of drives",
            Storage::Layers => "other devices or a file",
            Storage::FileSystem => "a file system",
            Storage::Memory => "this machine's memory",
            Storage::Network => "another machine",
            Storage::Host => "the host of this virtual machine",
            Storage::Program => "a program",
            Storage::Unknown => "not known",
        }
    }
}
