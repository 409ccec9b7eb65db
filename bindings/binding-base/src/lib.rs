//! Code that squall's interfaces share. The interfaces are the libraries through which C programs, existing
//! programs, OpenSSL and Rust's crates reach the generator.
//!
//! - [`counters`]: counts of requests and bytes for each interface, in a file that anyone may watch.
//! - [`facts`]: the status of `squall::status`, with names for programs.
//! - [`request`]: which requests of getrandom(2) squall may serve in the kernel's place.
//!
//! Code that runs on a request takes no lock and allocates nothing, so it is safe in signal handlers,
//! within `malloc`, and before constructors.

pub mod counters;
#[cfg(feature = "serde")]
pub mod facts {
    //! What `squall status --json`, C's `squall_status_json` and Python's `status` print. Keys are stable: new ones may be
    //! added, none are removed.

    use serde::Serialize;
    use squall::{Engine, Error, Status};

    /// The protections of this process and the work of its generator.
    #[derive(Clone, Debug, Serialize)]
    pub struct Facts {
        /// Version of squall.
        pub version: &'static str,
        /// The engines that this CPU can run, most preferred first.
        pub engines_available: Vec<&'static str>,
        #[serde(flatten)]
        pub status: Status,
    }

    impl From<Status> for Facts {
        fn from(status: Status) -> Facts {
            Facts {
                version: env!("CARGO_PKG_VERSION"),
                engines_available: Engine::available().map(Engine::name).collect(),
                status,
            }
        }
    }

    /// This process's facts as one line of JSON, after a draw.
    ///
    /// # Errors
    /// There is no source of randomness, without which `squall::status` would end the program.
    pub fn json() -> Result<String, Error> {
        squall::try_fill(&mut [0])?;
        Ok(serde_json::to_string(&Facts::from(squall::status())).expect("names and numbers"))
    }
}
pub mod request;
