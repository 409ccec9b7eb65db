//! Userlands of Debian for guests whose programs know nothing of squall: nginx, OpenSSL and a C program, or
//! interpreters; with squall's libraries or packages for them, and what configures them.

use std::fs;
use std::path::{Path, PathBuf};

use squall_guests::debian::Tree;
use squall_guests::emulator::{Host, Initramfs, c_program, jar, java_program, library};
use squall_tool_base::Failure;
use squall_tool_base::failure::at;

/// The repository's root directory.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// OpenSSL's configuration with the provider, and the word in it that stands for the provider's path.
const FRAGMENT: &str = include_str!("../../../../bindings/openssl/fragment.cnf");
const PROVIDER_PLACEHOLDER: &str = "{module}";

/// nginx's configuration.
const CONFIGURATION: &str = include_str!("../../programs/nginx.conf");

/// What nginx needs: a user and a group, and a directory for the bodies of requests.
const USERS: &str = "root:x:0:0::/:/\n";
const GROUPS: &str = "root:x:0:\n";
const BODIES_DIRECTORY: &str = "var/lib/nginx";

/// Links to directories below /usr, where Debian has all programs and libraries.
const LINKS: [&str; 4] = ["bin", "lib", "lib64", "sbin"];

/// Directories of the repository, the extensions of the files that interpreters need, and their place below /sandbox.
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

/// The packages of the interpreters, by the names under which reports have their versions.
const INTERPRETERS: [(&str, &str); 4] = [
    ("java", "openjdk-21-jre-headless"),
    ("nodejs", "nodejs"),
    ("numpy", "python3-numpy"),
    ("python", "python3.13"),
];

/// A tree of Debian's, and files for the guest.
#[derive(Debug)]
pub struct Userland {
    tree: Tree,
    /// The directories of the tree that the guest gets.
    parts: &'static [&'static str],
    /// An empty directory of the guest.
    directory: &'static str,
    /// Names in the guest, and contents. They are read once, so that a rebuild meanwhile changes no machine.
    files: Vec<(String, Vec<u8>)>,
    /// Names and versions of the programs.
    pub versions: Vec<(String, String)>,
}

impl Userland {
    /// nginx with a certificate, and the C program, with squall's libraries for them.
    pub fn of_programs(host: &Host, tree: Tree) -> Result<Userland, Failure> {
        let draws = host.file("draws");
        c_program("draws", &draws)?;
        let (preload, provider) = (library("squall-preload")?, library("squall-openssl")?);
        let (certificate, key) = (host.file("certificate.pem"), host.file("key.pem"));
        tree.run("usr/bin/openssl", "openssl", |command| {
            command
                .args(["req", "-x509", "-newkey", "ec", "-nodes"])
                .args(["-pkeyopt", "ec_paramgen_curve:P-256", "-days", "36500"])
                .args(["-subj", "/CN=squall-lab", "-out"])
                .arg(&certificate)
                .arg("-keyout")
                .arg(&key)
                .env("OPENSSL_CONF", "/dev/null");
        })?;
        let built = [
            ("draws", draws),
            ("certificate.pem", certificate),
            ("key.pem", key),
            ("libsquall-preload.so", preload),
            ("squall.so", provider),
        ];
        let built = built.map(|(name, path)| (format!("programs/{name}"), path));
        let mut files = read(built.into())?;
        for (name, text) in [
            (
                "programs/openssl.cnf",
                &*openssl_configuration("/programs/squall.so"),
            ),
            ("programs/nginx.conf", CONFIGURATION),
            ("etc/passwd", USERS),
            ("etc/group", GROUPS),
        ] {
            files.push((name.into(), text.into()));
        }
        Ok(Userland {
            versions: vec![("nginx".into(), tree.field("version"))],
            tree,
            parts: &["usr"],
            directory: BODIES_DIRECTORY,
            files,
        })
    }

    /// The interpreters with squall's packages, and the scripts that they run.
    pub fn of_interpreters(tree: Tree) -> Result<Userland, Failure> {
        let mut paths = Vec::new();
        for (directory, extensions, place) in FILES {
            for name in names_of_files(&Path::new(ROOT).join(directory), extensions)? {
                let path = Path::new(ROOT).join(directory).join(&name);
                paths.push((format!("sandbox/{place}{name}"), path));
            }
        }
        for (package, place) in MODULES {
            paths.push((format!("sandbox/{place}"), library(package)?));
        }
        paths.push(("sandbox/squall.jar".into(), jar()?));
        let classes = tempfile::tempdir().map_err(at(&std::env::temp_dir()))?;
        let class = java_program("research/lab/programs/Draws.java", classes.path())?;
        paths.push(("sandbox/Draws.class".into(), class));
        let mut files = read(paths)?;
        let openssl = openssl_configuration("/sandbox/openssl/squall.so");
        files.push(("sandbox/openssl/openssl.cnf".into(), openssl.into()));
        let version = |(name, package): (&str, _)| (name.into(), tree.field(package));
        Ok(Userland {
            versions: INTERPRETERS.into_iter().map(version).collect(),
            tree,
            parts: &["usr", "etc"],
            directory: "tmp",
            files,
        })
    }

    /// Adds everything to an initramfs.
    pub(super) fn add(&self, initramfs: &mut Initramfs) -> Result<(), Failure> {
        for link in LINKS {
            initramfs.link(link, &Path::new("usr").join(link));
        }
        for part in self.parts {
            initramfs.tree(part, &self.tree.place.join(part))?;
        }
        initramfs.directory(self.directory);
        for (name, contents) in &self.files {
            initramfs.contents(name, contents.clone());
        }
        Ok(())
    }
}

fn read(paths: Vec<(String, PathBuf)>) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let read = |(name, path): (_, PathBuf)| Ok((name, fs::read(&path).map_err(at(&path))?));
    paths.into_iter().map(read).collect()
}

/// OpenSSL's configuration with the provider at this path.
pub fn openssl_configuration(module: &str) -> String {
    FRAGMENT.replace(PROVIDER_PLACEHOLDER, module)
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
