//! What a tree is made of, written into it last.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use squall_tools::Failure;
use squall_tools::failure::at;

use super::lists::Package;

const NAME: &str = "record.json";

/// What a tree is made of.
#[derive(Debug, Serialize, Deserialize)]
pub struct Record {
    /// Of the package whose version counts.
    pub version: String,
    /// What the kernel calls itself; null for what is none.
    pub release: Option<String>,
    /// The length of its files.
    pub bytes: u64,
    /// What was unpacked for it.
    pub packages: Vec<Package>,
    /// The list that it was made by; empty for what is always made alike.
    #[serde(default)]
    pub list: Vec<String>,
}

impl Record {
    /// The record of the tree at `place`; none if there is no tree.
    pub fn read(place: &Path) -> Result<Option<Record>, Failure> {
        match fs::read(place.join(NAME)) {
            Ok(text) => match serde_json::from_slice(&text) {
                Ok(record) => Ok(Some(record)),
                Err(_) => Err(damaged(place, "its record.json cannot be understood")),
            },
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(at(&place.join(NAME))(error))
            }
            Err(_) if place.exists() => Err(damaged(place, "it has no record.json")),
            Err(_) => Ok(None),
        }
    }

    /// Writes it into the tree at `place`.
    pub fn write(&self, place: &Path) -> Result<(), Failure> {
        let path = place.join(NAME);
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| Failure::Runtime(format!("{}: {error}", path.display())))?;
        fs::write(&path, text + "\n").map_err(at(&path))
    }
}

/// Tells of a tree that is not as it was made.
pub fn damaged(place: &Path, why: &str) -> Failure {
    Failure::Runtime(format!(
        "{}: damaged: {why}: `squall-lab deps --update` mends it",
        place.display()
    ))
}
