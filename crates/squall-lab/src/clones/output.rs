//! Where reports go: standard output, and a directory of files each of which is whole or not there.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use squall_command::Failure;
use squall_command::failure::cause;
use squall_command::output::{print, print_json};
use tempfile::NamedTempFile;

use crate::analysis::{Campaign, Experiment, markdown, plot_uncertainty, plot_window};

/// Makes sure that `directory` can be written to, before hours are spent.
pub fn prepare(directory: &Path) -> Result<(), Failure> {
    fs::create_dir_all(directory)
        .and_then(|()| NamedTempFile::new_in(directory))
        .map(drop)
        .map_err(|error| of_file(directory, &error))
}

/// Prints the report, as JSON if asked for.
pub fn show(campaign: &Campaign, json: bool) -> Result<(), Failure> {
    match json {
        true => print_json(campaign),
        false => print(&markdown(campaign)),
    }
}

/// Writes `NAME.json`, `NAME.md` and the plots to `directory`.
pub fn write(campaign: &Campaign, directory: &Path, name: &str) -> Result<(), Failure> {
    let json = serde_json::to_string_pretty(campaign)
        .map_err(|error| Failure::Runtime(format!("report: {error}")))?;
    let mut files = vec![
        (format!("{name}.json"), json + "\n"),
        (format!("{name}.md"), markdown(campaign)),
    ];
    for experiment in &campaign.experiments {
        let plots = [
            ("window", plot_window(experiment)),
            ("uncertainty", plot_uncertainty(experiment)),
        ];
        for (kind, plot) in plots {
            let name = format!("{}-{kind}.svg", file_name(experiment));
            files.extend(plot.map(|plot| (name, plot)));
        }
    }
    for (name, text) in files {
        write_whole(&directory.join(name), &text)?;
    }
    Ok(())
}

fn file_name(experiment: &Experiment) -> String {
    let kind = experiment.kind.name();
    let setup = &experiment.setup;
    format!("{kind}-{}-{}", setup.machine, setup.mode).replace('+', "-")
}

fn write_whole(path: &Path, text: &str) -> Result<(), Failure> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let write = || -> io::Result<()> {
        let mut file = tempfile::Builder::new()
            .permissions(permissions())
            .tempfile_in(directory)?;
        file.write_all(text.as_bytes())?;
        file.persist(path)?;
        Ok(())
    };
    write().map_err(|error| of_file(path, &error))
}

/// Those of a file that anyone may read; the user's mask applies.
fn permissions() -> fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o666)
}

fn of_file(path: &Path, error: &io::Error) -> Failure {
    Failure::Runtime(format!("{}: {}", path.display(), cause(error)))
}
