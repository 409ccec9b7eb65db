//! A source that is opened by its first draw.

use squall_tools::Failure;

use crate::source::{NOTHING, Source};
use crate::sources::{self, Opened};

/// A source that is opened by its first draw, as in a program that needs it. Its library is loaded
/// before, as in a program that is linked with it.
pub struct Unopened {
    name: String,
    open: fn(&str) -> Opened,
    source: Option<Box<dyn Source>>,
}

impl Unopened {
    pub fn new(name: &str, open: fn(&str) -> Opened) -> Unopened {
        match name {
            "openssl-rand" => drop(sources::libcrypto::version()),
            "libsodium" => drop(sources::libraries::sodium_version()),
            _ => {}
        }
        let (name, source) = (name.to_owned(), None);
        Unopened { name, open, source }
    }

    /// Whether it draws at all.
    pub fn is_nothing(&self) -> bool {
        self.name == NOTHING
    }

    pub fn draw(&mut self, out: &mut [u8]) -> Result<(), Failure> {
        if let Some(source) = &mut self.source {
            return source.fill(out);
        }
        if self.is_nothing() {
            return Ok(());
        }
        let opened = (self.open)(&self.name).map_err(Failure::Runtime)?;
        self.source.insert(opened).fill(out)
    }
}
