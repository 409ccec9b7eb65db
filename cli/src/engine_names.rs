//! The names of engines, as texts list them.

use squall::Engine;

/// The names of `engines`, with commas between them.
pub fn list(engines: impl Iterator<Item = Engine>) -> String {
    let names: Vec<_> = engines.map(Engine::name).collect();
    names.join(", ")
}
