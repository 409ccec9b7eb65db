//! Runs the machine's apt with directories in the cache: apt uses the machine's mirror with other
//! suites, considers no package as installed, and writes only into the cache.
//!
//! It reads the machine's configuration before ours, so the machine's proxies and passwords are used.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use squall_tools::Failure;
use squall_tools::failure::at;

use super::lists::{Architecture, Package, Release, Stanza};
use super::programs::{self, step};

/// The keys with which Debian signs its archive.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Files that apt computes from the lists and can compute again.
const CACHE: &str = "cache";

/// A release of Debian in the mirror's archive, with its backports.
pub struct Archive {
    directory: PathBuf,
}

impl Archive {
    /// Fetches the lists of `release` for these CPUs from `mirror` and keeps them below `directory`.
    pub fn open(
        release: Release,
        architecture: Architecture,
        directory: &Path,
        mirror: &str,
    ) -> Result<Archive, Failure> {
        let directory = directory.join(match architecture {
            Architecture::Amd64 => release.suite().to_owned(),
            Architecture::Arm64 => format!("{}-arm64", release.suite()),
        });
        configure(
            &directory,
            architecture,
            &sources(release, architecture, mirror),
        )?;
        let archive = Archive { directory };
        archive.update(release)?;
        Ok(archive)
    }

    fn update(&self, release: Release) -> Result<(), Failure> {
        let (suite, backports) = (release.suite(), release.backports());
        step(&format!(
            "{suite}, {backports}: fetching the lists of packages"
        ));
        let updated = programs::output(self.command("apt-get").args(["-qq", "update"]));
        updated.map(drop).map_err(|fault| {
            Failure::Runtime(if programs::is_full(&fault) {
                format!("{}: {fault}", self.directory.display())
            } else if !Path::new(KEYRING).exists() {
                format!("{KEYRING} is missing: install debian-archive-keyring: {fault}")
            } else {
                format!(
                    "the mirror cannot be reached or does not have {suite} and {backports}: {fault}"
                )
            })
        })
    }

    /// The archive's entry for `package` in `suite`.
    pub fn show(&self, package: &str, suite: &str) -> Result<Stanza, Failure> {
        let mut command = self.command("apt-cache");
        command.args(["show", "--no-all-versions", &format!("{package}/{suite}")]);
        let shown = programs::output(&mut command);
        let absent = |why| Failure::Runtime(format!("{package} is not in {suite}{why}"));
        let text = shown.map_err(|fault| absent(format!(": {fault}")))?;
        Stanza::parse(&text).ok_or_else(|| absent(": the archive has no such package".to_owned()))
    }

    /// Downloads `packages` into `directory`, without their dependencies.
    pub fn download(&self, packages: &[Package], directory: &Path) -> Result<(), Failure> {
        let mut command = self.command("apt-get");
        command.args(["-qq", "download"]).current_dir(directory);
        command.args(packages.iter().map(name_and_version));
        programs::output(&mut command)
            .map(drop)
            .map_err(Failure::Runtime)
    }

    /// Downloads `packages` of `suite` and all their dependencies into `directory`.
    pub fn download_closure(
        &self,
        packages: &[Package],
        suite: &str,
        directory: &Path,
    ) -> Result<(), Failure> {
        // apt downloads into this directory first, but does not create it.
        let partial = directory.join("partial");
        fs::create_dir_all(&partial).map_err(at(&partial))?;
        let mut command = self.command("apt-get");
        command
            .arg("-o")
            .arg(format!("Dir::Cache::archives={}", directory.display()));
        command.args(["-qq", "-y", "--download-only", "-t", suite, "install"]);
        command.args(packages.iter().map(name_and_version));
        programs::output(&mut command)
            .map(drop)
            .map_err(Failure::Runtime)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = programs::command(program);
        command.arg("-c").arg(self.directory.join("apt.conf"));
        command
    }
}

impl Drop for Archive {
    fn drop(&mut self) {
        // The computed files are four times as long as the lists, and quickly made again.
        let _ = fs::remove_dir_all(self.directory.join(CACHE));
    }
}

/// A version of a package in apt's notation.
fn name_and_version(package: &Package) -> String {
    format!("{}={}", package.name, package.version)
}

/// The archive as a sources.list file.
fn sources(release: Release, architecture: Architecture, mirror: &str) -> String {
    let (suite, backports) = (release.suite(), release.backports());
    let architecture = architecture.name();
    format!(
        "Types: deb\n\
         URIs: {mirror}\n\
         Suites: {suite} {backports}\n\
         Components: main\n\
         Architectures: {architecture}\n\
         Signed-By: {KEYRING}\n"
    )
}

/// Writes apt's configuration and directories below `directory`.
fn configure(directory: &Path, architecture: Architecture, sources: &str) -> Result<(), Failure> {
    for name in ["state", "lists/partial", CACHE, "preferences.d"] {
        let path = directory.join(name);
        fs::create_dir_all(&path).map_err(at(&path))?;
    }
    let files = [
        ("debian.sources", sources),
        ("status", ""),
        ("apt.conf", &configuration(directory, architecture)),
    ];
    for (name, text) in files {
        let path = directory.join(name);
        fs::write(&path, text).map_err(at(&path))?;
    }
    Ok(())
}

fn configuration(directory: &Path, architecture: Architecture) -> String {
    CONFIGURATION
        .replace("@", &directory.display().to_string())
        .replace("CPU", architecture.name())
}

/// Configuration for apt, in which `@` stands for the directory, and `CPU` for the packages' CPUs.
const CONFIGURATION: &str = r#"// Written by squall-lab.
#clear APT::Architectures;
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear Acquire::Languages;
APT::Architecture "CPU";
APT::Architectures { "CPU"; };
APT::Default-Release "";
APT::Get::AllowUnauthenticated "false";
Acquire::AllowInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
Acquire::AllowDowngradeToInsecureRepositories "false";
APT::Install-Recommends "false";
APT::Install-Suggests "false";
APT::Sandbox::User "root";
APT::Update::Error-Mode "any";
Acquire::GzipIndexes "true";
Acquire::Languages { "none"; };
Acquire::Retries "1";
Acquire::http::Timeout "20";
Acquire::https::Timeout "20";
Acquire::IndexTargets::deb::CNF::DefaultEnabled "false";
Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled "false";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
Acquire::IndexTargets::deb::DEP-11-icons::DefaultEnabled "false";
Acquire::IndexTargets::deb::DEP-11-icons-hidpi::DefaultEnabled "false";
Acquire::IndexTargets::deb::DEP-11-icons-large::DefaultEnabled "false";
Acquire::IndexTargets::deb::DEP-11-icons-large-hidpi::DefaultEnabled "false";
Acquire::IndexTargets::deb::DEP-11-icons-small::DefaultEnabled "false";
Dir::Etc::sourcelist "@/debian.sources";
Dir::Etc::sourceparts "-";
Dir::Etc::preferences "-";
Dir::Etc::preferencesparts "@/preferences.d";
Dir::State "@/state";
Dir::State::lists "@/lists";
Dir::State::status "@/status";
Dir::Cache "@/cache";
Dir::Cache::archives "archives";
Dir::Cache::pkgcache "pkgcache.bin";
Dir::Cache::srcpkgcache "srcpkgcache.bin";
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_directory_of_apt_is_in_the_cache() {
        let text = configuration(Path::new("/cache/apt/x"), Architecture::Amd64);
        assert!(!text.contains('@'));
        let places = text.lines().filter(|line| line.starts_with("Dir::"));
        for place in places.filter(|line| line.contains('/')) {
            assert!(place.contains("\"/cache/apt/x/"), "{place}");
        }
    }

    #[test]
    fn a_release_comes_with_its_backports_and_no_other() {
        let text = sources(
            Release::Trixie,
            Architecture::Arm64,
            "http://mirror.invalid/debian/",
        );
        assert!(text.contains("URIs: http://mirror.invalid/debian/\n"));
        assert!(text.contains("Suites: trixie trixie-backports\n"));
        assert!(text.contains("Architectures: arm64\n"));
    }
}
