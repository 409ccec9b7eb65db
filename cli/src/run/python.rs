//! `squall run --python`: puts the folder of squall's sitecustomize.py, which Python imports when it starts, into
//! PYTHONPATH.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use squall_tool_base::Failure;
use squall_tool_base::places;

/// The variable that lists folders in which Python looks for modules.
pub const VARIABLE: &str = "PYTHONPATH";

/// The variable's new value: the folder of sitecustomize.py, then the folders that it already lists.
/// Fails if that is missing, or the variable cannot hold its path.
pub fn path_value() -> Result<OsString, Failure> {
    let file = places::shared_file("python/sitecustomize.py")?;
    let folder = file.parent().expect("a folder").to_owned();
    let before = env::var_os(VARIABLE).unwrap_or_default();
    let others: Vec<PathBuf> = env::split_paths(&before)
        .filter(|other| !other.as_os_str().is_empty() && *other != folder)
        .collect();
    env::join_paths(std::iter::once(folder).chain(others))
        .map_err(|error| Failure::Usage(format!("--python: {}: {error}", file.display())))
}
