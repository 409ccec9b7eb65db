//! What `squall status --json`, C's `squall_status_json` and Python's `status` print. Keys are stable: new ones may be
//! added, none are removed.

use serde::Serialize;
use squall::{Engine, Status};

/// The protections of this process and the work of its generator.
#[derive(Clone, Debug, Serialize)]
pub struct Facts {
    /// Version of squall.
    pub version: &'static str,
    /// The engines that this CPU can run, most preferred first.
    pub engines_available: Vec<Engine>,
    #[serde(flatten)]
    pub status: Status,
}

impl From<Status> for Facts {
    fn from(status: Status) -> Facts {
        Facts {
            version: env!("CARGO_PKG_VERSION"),
            engines_available: Engine::available().collect(),
            status,
        }
    }
}
