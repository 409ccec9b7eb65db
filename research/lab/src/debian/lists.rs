//! Parses the entries of Debian's archive for its packages.

use serde::{Deserialize, Serialize};

/// A Debian release with its backports. Each is used with an apt of its own: with both in one, a
/// package's dependencies might come from the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// Debian 12.
    Bookworm,
    /// Debian 13.
    Trixie,
}

impl Release {
    /// All releases.
    pub const ALL: [Release; 2] = [Release::Bookworm, Release::Trixie];

    /// The release's own suite.
    pub fn suite(self) -> &'static str {
        match self {
            Release::Bookworm => "bookworm",
            Release::Trixie => "trixie",
        }
    }

    /// The release's suite of packages from later releases.
    pub fn backports(self) -> &'static str {
        match self {
            Release::Bookworm => "bookworm-backports",
            Release::Trixie => "trixie-backports",
        }
    }
}

/// CPUs that packages are made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Architecture {
    Amd64,
    Arm64,
}

impl Architecture {
    /// All of them.
    pub const ALL: [Architecture; 2] = [Architecture::Amd64, Architecture::Arm64];

    /// Debian's name.
    pub fn name(self) -> &'static str {
        match self {
            Architecture::Amd64 => "amd64",
            Architecture::Arm64 => "arm64",
        }
    }
}

/// A version of a package.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    pub name: String,
    pub version: String,
}

/// An archive's entry for a package.
#[derive(Debug)]
pub struct Stanza {
    pub package: Package,
    /// The names of its dependencies; of alternatives, the first.
    pub depends: Vec<String>,
}

impl Stanza {
    /// Parses the first stanza of `text`. None if it is not one.
    pub fn parse(text: &str) -> Option<Stanza> {
        let field = |name: &str| {
            let mut lines = text.lines().take_while(|line| !line.is_empty());
            lines.find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(": ")?.trim()))
        };
        Some(Stanza {
            package: Package {
                name: field("Package")?.to_owned(),
                version: field("Version")?.to_owned(),
            },
            depends: names(field("Depends").unwrap_or_default()),
        })
    }
}

fn names(depends: &str) -> Vec<String> {
    let name = |choice: &str| {
        let name = choice.trim().split([' ', '(', '|', ':']).next();
        name.unwrap_or_default().to_owned()
    };
    depends
        .split(',')
        .map(name)
        .filter(|name| !name.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stanza_is_read() {
        let text = "Package: a\nVersion: 1:2-3~x+1\n\
            Depends: b (= 2), c | d, e:any (>= 1),f\nDescription: g\n\nPackage: h\n";
        let stanza = Stanza::parse(text).expect("a stanza");
        assert_eq!(stanza.package.name, "a");
        assert_eq!(stanza.package.version, "1:2-3~x+1");
        assert_eq!(stanza.depends, ["b", "c", "e", "f"]);
    }

    #[test]
    fn a_package_without_dependencies() {
        let stanza = Stanza::parse("Package: a\nVersion: 1\n\nDepends: b\n").expect("a stanza");
        assert!(stanza.depends.is_empty());
    }

    #[test]
    fn incomplete_text_is_no_stanza() {
        assert!(Stanza::parse("").is_none());
        assert!(Stanza::parse("Package: a\n\nVersion: 1\n").is_none());
    }
}
