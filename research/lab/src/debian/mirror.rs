//! Finds the mirror of Debian's archive that this machine's apt uses.

use squall_tools::Failure;

use super::programs;

/// Filters for apt's sources that may be the archive's main part.
const FILTERS: [&str; 2] = ["Created-By: Packages", "Component: main"];

/// The mirror's address.
pub fn find() -> Result<String, Failure> {
    let known = targets(true).map(|text| first(&text, |_| true))?;
    let mirror = match known {
        Some(mirror) => Some(mirror),
        None => targets(false).map(|text| first(&text, is_named_debian))?,
    };
    mirror.ok_or_else(|| {
        Failure::Runtime(
            "apt's sources contain no mirror of Debian: run this on Debian, or add one".to_owned(),
        )
    })
}

/// The addresses of apt's sources, one per line. If `known`, only those whose lists say that they are
/// Debian's; otherwise all, because lists may not have been fetched yet.
fn targets(known: bool) -> Result<String, Failure> {
    let mut command = programs::command("apt-get");
    command
        .arg("indextargets")
        .args(["--format", "$(REPO_URI)"]);
    command.args(FILTERS);
    if known {
        command.args(["Origin: Debian", "Label: Debian"])
    } else {
        command.args(["-o", "APT::Get::IndexTargets::ReleaseInfo=false"])
    };
    programs::output(&mut command).map_err(Failure::Runtime)
}

fn first(addresses: &str, fits: impl Fn(&str) -> bool) -> Option<String> {
    let mut addresses = addresses.lines().map(str::trim);
    addresses
        .find(|address| !address.is_empty() && !address.starts_with("cdrom:") && fits(address))
        .map(str::to_owned)
}

/// Whether the address ends like mirrors of Debian's main archive, or like apt's lists of mirrors.
/// Others, such as the security archive, have other names.
fn is_named_debian(address: &str) -> bool {
    let last = address.trim_end_matches('/').rsplit('/').next();
    matches!(last, Some("debian" | "debian.list"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_main_archive_is_recognised_by_its_name() {
        let addresses = "cdrom:[disc]/debian/\n\
            http://host.invalid/debian-security/\n\
            http://host.invalid/apt/\n\
            http://host.invalid/debian/\n";
        assert_eq!(
            first(addresses, is_named_debian).as_deref(),
            Some("http://host.invalid/debian/")
        );
        assert!(is_named_debian("mirror+file:/etc/apt/mirrors/debian.list/"));
        assert_eq!(first("\n", |_| true), None);
    }
}
