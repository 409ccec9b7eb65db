//! The userland of the scenario `sandbox`: Debian's interpreters, squall's packages for them, and the scripts they run.

use std::fs;
use std::path::{Path, PathBuf};

use squall_guests::debian::Tree;
use squall_guests::emulator::{Initramfs, jar, java_program, library};
use squall_tools::Failure;
use squall_tools::failure::at;

/// The repository's root directory.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Directories of the repository, the extensions of the files that the guest needs, and their place below /sandbox.
const FILES: [(&str, &[&str], &str); 4] = [
    ("research/lab/programs", &["py", "js"], ""),
    ("python/squall", &["py"], "python/squall/"),
    ("python/squall_startup", &["py"], "python/squall_startup/"),
    ("bindings/node", &["js", "json"], "node/"),
];

/// Crates of native modules, and the modules' places below /sandbox.
const MODULES: [(&str, &str); 3] = [
    ("squall-python", "python/squall/_squall.abi3.so"),
    ("squall-node", "node/squall.linux-x64.node"),
    ("squall-openssl", "openssl/squall.so"),
];

/// The tree of interpreters, and the files for the guest.
#[derive(Debug)]
pub struct Sandbox {
    interpreters: Tree,
    /// Names in the guest, and contents. They are read once, so that a rebuild meanwhile changes no machine.
    files: Vec<(String, Vec<u8>)>,
}

impl Sandbox {
    /// Builds squall's packages, and the program in Java.
    pub fn build(interpreters: Tree) -> Result<Sandbox, Failure> {
        let mut paths = Vec::new();
        for (directory, extensions, place) in FILES {
            for name in names_of_files(&Path::new(ROOT).join(directory), extensions)? {
                let path = Path::new(ROOT).join(directory).join(&name);
                paths.push((format!("{place}{name}"), path));
            }
        }
        for (package, place) in MODULES {
            paths.push((place.to_owned(), library(package)?));
        }
        paths.push(("squall.jar".into(), jar()?));
        let classes = tempfile::tempdir().map_err(at(&std::env::temp_dir()))?;
        let class = java_program("research/lab/programs/Draws.java", classes.path())?;
        paths.push(("Draws.class".into(), class));
        let read = |(name, path): (String, PathBuf)| {
            let contents = fs::read(&path).map_err(at(&path))?;
            Ok((format!("sandbox/{name}"), contents))
        };
        Ok(Sandbox {
            interpreters,
            files: paths
                .into_iter()
                .map(read)
                .collect::<Result<_, Failure>>()?,
        })
    }

    /// The interpreters' names and versions.
    pub fn versions(&self) -> [(String, String); 4] {
        let version = |(name, package): (&str, _)| (name.into(), self.interpreters.field(package));
        let packages = [
            ("java", "openjdk-21-jre-headless"),
            ("nodejs", "nodejs"),
            ("numpy", "python3-numpy"),
            ("python", "python3.13"),
        ];
        packages.map(version)
    }

    /// Adds all files to an initramfs.
    pub(super) fn add(&self, initramfs: &mut Initramfs) -> Result<(), Failure> {
        let tree = &self.interpreters.place;
        super::add_userland(initramfs, tree)?;
        initramfs.directory("tmp");
        initramfs.tree("etc", &tree.join("etc"))?;
        let openssl = super::openssl_configuration("/sandbox/openssl/squall.so");
        initramfs.contents("sandbox/openssl/openssl.cnf", openssl.into());
        for (name, contents) in &self.files {
            initramfs.contents(name, contents.clone());
        }
        Ok(())
    }
}

/// The names of the files in `directory` that have one of these extensions.
fn names_of_files(directory: &Path, extensions: &[&str]) -> Result<Vec<String>, Failure> {
    let entries =
        fs::read_dir(directory).and_then(|entries| entries.collect::<Result<Vec<_>, _>>());
    let entries = entries.map_err(at(directory))?.into_iter();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let is_wanted = |name: &String| {
        let extension = Path::new(name).extension();
        extension.is_some_and(|extension| extensions.iter().any(|wanted| extension == *wanted))
    };
    Ok(names.filter(is_wanted).collect())
}
