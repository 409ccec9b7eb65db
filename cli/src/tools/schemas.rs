//! Writes the JSON schemas of what the tools write.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use squall_tools::Failure;
use squall_tools::failure::{at, creating_folder};

#[derive(Args)]
pub struct SchemasArguments {
    /// Folder for the schemas; created if it is missing
    #[arg(value_name = "DIRECTORY")]
    directory: PathBuf,
}

/// Writes each schema to a file of its own.
///
/// # Errors
/// A file cannot be written.
pub fn write(SchemasArguments { directory }: &SchemasArguments) -> Result<(), Failure> {
    fs::create_dir_all(directory).map_err(creating_folder(directory))?;
    let schemas = squall_bench::schemas()
        .into_iter()
        .chain(squall_dmcrypt::schemas())
        .chain(squall_wipe::schemas());
    for (name, schema) in schemas {
        let path = directory.join(format!("{name}.schema.json"));
        let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
        fs::write(&path, text + "\n").map_err(at(&path))?;
    }
    Ok(())
}
