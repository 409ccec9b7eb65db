//! The text of `squall --version`: the version, the build, and the engines that run on this CPU, by their names.

use std::sync::LazyLock;

use squall::Engine;

pub fn engine_names(engines: impl Iterator<Item = Engine>) -> String {
    let names: Vec<_> = engines.map(Engine::name).collect();
    names.join(", ")
}

/// The version, followed by a line each for the commit, the engines and the tools.
pub fn long() -> &'static str {
    static LONG: LazyLock<String> = LazyLock::new(|| {
        let engines = engine_names(Engine::available());
        let tools = if cfg!(feature = "tools") {
            "bench, drives, wipe, verify, blank, dmcrypt"
        } else {
            "none (built without the feature `tools`)"
        };
        format!(
            "{}\ncommit: {}\nengines: {engines}\ntools: {tools}",
            env!("CARGO_PKG_VERSION"),
            env!("SQUALL_COMMIT"),
        )
    });
    &LONG
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use crate::args::Arguments;

    #[test]
    fn the_short_version_is_one_line_and_the_long_one_describes_the_build() {
        let command = Arguments::command();
        let short = concat!("squall ", env!("CARGO_PKG_VERSION"), "\n");
        assert_eq!(command.render_version(), short);
        let long = command.render_long_version();
        let rest = long.strip_prefix(short).expect("the short one first");
        let lines: Vec<_> = rest.lines().collect();
        assert!(lines[0].starts_with("commit: "), "{long}");
        assert!(lines[1].starts_with("engines: "), "{long}");
        assert!(lines[1].ends_with("portable"), "{long}");
        assert!(lines[2].starts_with("tools: "), "{long}");
        assert_eq!(lines.len(), 3, "{long}");
    }
}
