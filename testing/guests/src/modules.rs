//! A kernel's modules and their dependencies, as kmod reports them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use squall_tool_base::Failure;
use squall_tool_base::failure::at;

use crate::debian::Tree;
use crate::emulator::Initramfs;

/// Index files that the lab, modprobe and other programs in the guest read.
const INDEX: [&str; 7] = [
    "modules.alias",
    "modules.alias.bin",
    "modules.builtin.alias.bin",
    "modules.builtin.bin",
    "modules.dep",
    "modules.dep.bin",
    "modules.softdep",
];

/// The directories of a kernel's crypto modules.
const CRYPTO: [&str; 3] = [
    "kernel/arch/x86/crypto/",
    "kernel/crypto/",
    "kernel/lib/crypto/",
];

/// The modules of each kernel that this process has indexed, by their directory. Indexing takes more than a second.
static INDEXED: Mutex<BTreeMap<PathBuf, Arc<Modules>>> = Mutex::new(BTreeMap::new());

/// The modules of a kernel.
#[derive(Debug)]
pub struct Modules {
    /// The modules' directory in a guest.
    guest_directory: String,
    directory: PathBuf,
    /// The names and contents of the index files.
    index: Vec<(&'static str, Vec<u8>)>,
    /// The file of each module and the files of its dependencies, by the module's name.
    files: BTreeMap<String, Vec<String>>,
    builtin: BTreeSet<String>,
}

impl Modules {
    /// The modules of the kernel `release` in `files`, which a process indexes once. Indexing leaves files in
    /// `directory`.
    pub fn of(
        release: &str,
        files: &Path,
        tools: &Tree,
        directory: &Path,
    ) -> Result<Arc<Modules>, Failure> {
        let mut indexed = INDEXED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(modules) = indexed.get(files) {
            return Ok(Arc::clone(modules));
        }
        let modules = Arc::new(Modules::index(release, files, tools, directory)?);
        indexed.insert(files.to_owned(), Arc::clone(&modules));
        Ok(modules)
    }

    fn index(
        release: &str,
        files: &Path,
        tools: &Tree,
        directory: &Path,
    ) -> Result<Modules, Failure> {
        let base = directory.join("lib/modules");
        fs::create_dir_all(&base).map_err(at(&base))?;
        let link = base.join(release);
        symlink(files, &link).map_err(at(&link))?;
        let output = directory.join("index");
        tools.run("usr/bin/kmod", "depmod", |command| {
            command.arg("-b").arg(directory).arg("-o").arg(&output);
            command.arg(release);
        })?;
        let output = output.join("lib/modules").join(release);
        let read = |name| {
            let path = output.join(name);
            fs::read(&path)
                .map(|contents| (name, contents))
                .map_err(at(&path))
        };
        let lines = |path: PathBuf| fs::read_to_string(&path).map_err(at(&path));
        let dependencies = lines(output.join("modules.dep"))?;
        let builtin = lines(files.join("modules.builtin"))?;
        Ok(Modules {
            guest_directory: format!("usr/lib/modules/{release}"),
            directory: files.to_owned(),
            index: INDEX.into_iter().map(read).collect::<Result<_, _>>()?,
            files: dependencies.lines().filter_map(entry).collect(),
            builtin: builtin.lines().map(name).collect(),
        })
    }

    /// The names of all crypto modules.
    pub fn crypto(&self) -> impl Iterator<Item = &str> {
        let is_crypto =
            |files: &Vec<String>| CRYPTO.iter().any(|place| files[0].starts_with(place));
        let crypto = self.files.iter().filter(move |(_, files)| is_crypto(files));
        crypto.map(|(name, _)| name.as_str())
    }

    /// Adds the modules `names`, their dependencies, and the index.
    pub fn add(&self, names: &[&str], initramfs: &mut Initramfs) -> Result<(), Failure> {
        for (name, contents) in &self.index {
            let place = format!("{}/{name}", self.guest_directory);
            initramfs.contents(&place, contents.clone());
        }
        let mut files = BTreeSet::new();
        for wanted in names {
            let wanted = name(wanted);
            match self.files.get(&wanted) {
                Some(needed) => files.extend(needed),
                None if self.builtin.contains(&wanted) => {}
                None => return Err(no_module(&wanted)),
            }
        }
        for file in files {
            let place = format!("{}/{file}", self.guest_directory);
            initramfs.program(&place, &self.directory.join(file))?;
        }
        Ok(())
    }
}

fn no_module(name: &str) -> Failure {
    Failure::Runtime(format!("the kernel has no module {name}"))
}

/// Parses a line of modules.dep: a module's name, its file, and the files of its dependencies.
fn entry(line: &str) -> Option<(String, Vec<String>)> {
    let (file, needed) = line.split_once(':')?;
    let files = std::iter::once(file).chain(needed.split_whitespace());
    Some((name(file), files.map(str::to_owned).collect()))
}

/// The name of the module in `file`, with `_` for `-`.
fn name(file: &str) -> String {
    let file = file.rsplit('/').next().unwrap_or(file);
    let stem = file.split(".ko").next().unwrap_or(file);
    stem.replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_comes_with_its_dependencies() {
        let line = "kernel/md/dm-crypt.ko.xz: kernel/md/dm-mod.ko.xz kernel/x.ko";
        let (name, files) = entry(line).unwrap();
        assert_eq!(name, "dm_crypt");
        let expected = ["dm-crypt.ko.xz", "dm-mod.ko.xz", "x.ko"];
        assert!(
            files
                .iter()
                .zip(expected)
                .all(|(file, end)| file.ends_with(end))
        );
        assert_eq!(files.len(), 3);
        assert_eq!(
            entry("kernel/a-b.ko:").unwrap(),
            ("a_b".into(), vec!["kernel/a-b.ko".into()])
        );
    }
}
