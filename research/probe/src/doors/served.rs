//! A source whose output must come from squall; output from another generator would prove nothing.

use std::path::Path;

use squall_bindings::counters::{self, Door};

use crate::generator::{Bits, Generator};

/// Number of outputs between two checks of the counters.
const CHECK_INTERVAL: u64 = 16;

/// A source whose requests squall counts. The counters are in the machine's memory, so a snapshot
/// contains them.
pub struct Served<G> {
    inner: G,
    door: Door,
    counters: &'static str,
    outputs: u64,
}

impl<G> Served<G> {
    /// Wraps `inner`, which alone is served at `door`. The counters are in the file `counters`.
    pub fn new(inner: G, door: Door, counters: &'static str) -> Served<G> {
        Served {
            inner,
            door,
            counters,
            outputs: 0,
        }
    }

    /// Fails unless squall has counted at least one request for each output.
    fn check(&self) {
        let counted = match counters::read(Path::new(self.counters)) {
            Ok(totals) => totals.of(self.door).requests,
            Err(error) => panic!("{}: {error}", self.counters),
        };
        assert!(
            counted >= self.outputs,
            "the source returned {} outputs, but squall has served {counted} requests at the door {}",
            self.outputs,
            self.door.name()
        );
    }
}

impl<G: Generator> Generator for Served<G> {
    fn draw(&mut self) -> Option<Bits> {
        let bits = self.inner.draw()?;
        self.outputs += 1;
        if self.outputs % CHECK_INTERVAL == 1 {
            self.check();
        }
        Some(bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Constant;

    impl Generator for Constant {
        fn draw(&mut self) -> Option<Bits> {
            Some([7; 8])
        }
    }

    #[test]
    #[should_panic(expected = "squall has served 0 requests at the door arc4random")]
    fn output_that_squall_did_not_serve_is_a_failure() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("counters");
        counters::create(&file).expect("counters");
        let file = file.to_str().expect("a path").to_owned().leak();
        Served::new(Constant, Door::Arc4random, file).draw();
    }
}
