//! The record of a tree's packages and files, which is written last.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use squall_tools::Failure;
use squall_tools::failure::at;

use super::lists::Package;

const NAME: &str = "record.json";

/// What a tree consists of.
#[derive(Debug, Serialize, Deserialize)]
pub struct Record {
    /// The version of the item's main package.
    pub version: String,
    /// The kernel's release. None if the item is not a kernel.
    pub release: Option<String>,
    /// The total length of the files, in bytes.
    pub bytes: u64,
    /// The unpacked packages.
    pub packages: Vec<Package>,
    /// The lists from which the tree was built. Empty for items whose lists never change.
    #[serde(default)]
    pub list: Vec<String>,
}

impl Record {
    /// The record of the tree at `place`. None if there is no tree.
    pub fn read(place: &Path) -> Result<Option<Record>, Failure> {
        match fs::read(place.join(NAME)) {
            Ok(text) => match serde_json::from_slice(&text) {
                Ok(record) => Ok(Some(record)),
                Err(_) => Err(damaged(place, "its record.json is invalid")),
            },
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(at(&place.join(NAME))(error))
            }
            Err(_) if place.exists() => Err(damaged(place, "it has no record.json")),
            Err(_) => Ok(None),
        }
    }

    /// Writes the record into the tree at `place`.
    pub fn write(&self, place: &Path) -> Result<(), Failure> {
        let path = place.join(NAME);
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| Failure::Runtime(format!("{}: {error}", path.display())))?;
        fs::write(&path, text + "\n").map_err(at(&path))
    }
}

/// The failure for a tree that was changed or is incomplete.
pub fn damaged(place: &Path, why: &str) -> Failure {
    Failure::Runtime(format!(
        "{}: damaged: {why}: repair it with `squall-lab deps --update`",
        place.display()
    ))
}
