//! What `squall --version` prints: the version, and what this build is and can do on this CPU.

use std::sync::LazyLock;

use squall::Engine;

use crate::args;

/// The version alone, and below it a line for each: the commit, the engines, the tools.
pub fn long() -> &'static str {
    static LONG: LazyLock<String> = LazyLock::new(|| {
        let engines = args::names(Engine::available());
        let tools = if cfg!(feature = "tools") {
            "bench, wipe, verify, dmcrypt"
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
