//! Chooses the cache's directory: the caller's choice, or else the environment's.

use std::ffi::OsString;
use std::path::{self, Path, PathBuf};

use squall_tools::Failure;
use squall_tools::failure::at;

/// The source tree that the lab was built from.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The cache's directory: `given`, or else one from the environment, which is read with `variable`.
pub fn choose(
    given: Option<&Path>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<PathBuf, Failure> {
    let chosen = match given {
        Some(given) => given.to_owned(),
        None => by_environment(variable).ok_or_else(|| {
            Failure::Runtime(
                "no directory for the cache: set SQUALL_LAB_CACHE or HOME, or use --cache"
                    .to_owned(),
            )
        })?,
    };
    let directory = path::absolute(&chosen).map_err(at(&chosen))?;
    match unsuitable(&directory) {
        Some(why) => Err(Failure::Runtime(format!(
            "{}: {why}: use another directory for the cache",
            directory.display()
        ))),
        None => Ok(directory),
    }
}

fn by_environment(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let ours = path("SQUALL_LAB_CACHE", &variable);
    ours.or_else(|| Some(caches(variable)?.join("squall-lab")))
}

/// Where `scripts/uml.sh` puts user-mode Linux.
pub fn of_user_mode(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, Failure> {
    let place = caches(variable).map(|caches| caches.join("squall-uml"));
    place.ok_or_else(|| Failure::Runtime("HOME is not set".to_owned()))
}

/// The user's directory of caches (XDG Base Directory Specification).
fn caches(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    path("XDG_CACHE_HOME", &variable)
        .filter(|path| path.is_absolute())
        .or_else(|| Some(path("HOME", &variable)?.join(".cache")))
}

fn path(name: &str, variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let value = variable(name).filter(|value| !value.is_empty());
    value.map(PathBuf::from)
}

/// Why the cache cannot be in `directory`. None if it can.
fn unsuitable(directory: &Path) -> Option<&'static str> {
    // The path is written into apt's configuration and into a list of directories for the loader.
    let strange = |c: char| c.is_control() || ['"', ':', ';'].contains(&c);
    match directory.to_str() {
        None => return Some("its name is not UTF-8"),
        Some(text) if text.contains(strange) => {
            return Some("its name has a quotation mark, colon, semicolon or control character");
        }
        Some(_) => {}
    }
    let there = directory
        .ancestors()
        .find_map(|path| path.canonicalize().ok())?;
    let sources = Path::new(SOURCES).canonicalize().ok()?;
    there
        .starts_with(sources)
        .then_some("it is inside the source tree")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(variables: &[(&str, &str)]) -> Result<PathBuf, Failure> {
        choose(None, |name| {
            let (_, value) = variables.iter().find(|(given, _)| *given == name)?;
            Some(OsString::from(value))
        })
    }

    #[test]
    fn variables_have_their_precedence() {
        let home = ("HOME", "/home/x");
        let xdg = ("XDG_CACHE_HOME", "/xdg");
        let ours = ("SQUALL_LAB_CACHE", "/ours");
        let is = |variables: &[_], path: &str| {
            assert_eq!(chosen(variables).expect("a place"), Path::new(path));
        };
        is(&[home], "/home/x/.cache/squall-lab");
        is(&[home, xdg], "/xdg/squall-lab");
        is(&[home, xdg, ours], "/ours");
        is(
            &[home, ("SQUALL_LAB_CACHE", "")],
            "/home/x/.cache/squall-lab",
        );
        is(
            &[home, ("XDG_CACHE_HOME", "xdg")],
            "/home/x/.cache/squall-lab",
        );
    }

    #[test]
    fn a_given_directory_overrides_the_environment() {
        let place = choose(Some(Path::new("/given")), |_| Some("/other".into()));
        assert_eq!(place.expect("a place"), Path::new("/given"));
    }

    #[test]
    fn a_missing_directory_is_reported_with_what_to_set() {
        let Err(Failure::Runtime(message)) = chosen(&[]) else {
            panic!("there is no place");
        };
        assert!(message.contains("SQUALL_LAB_CACHE"), "{message}");
    }

    #[test]
    fn unsuitable_directories_are_refused() {
        for place in ["/a\"b", "/a:b", "/a\nb", &format!("{SOURCES}/new/cache")] {
            let refused = choose(Some(Path::new(place)), |_| None);
            assert!(refused.is_err(), "{place}");
        }
    }
}
