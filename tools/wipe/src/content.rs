//! The bytes that a pass writes and that a verification expects, as a function of the offset.

use squall::Stream;

use crate::keys::Key;
use crate::record::ContentKind;

/// The bytes of a pass.
pub enum Content {
    /// Keystream under the pass's key, which the box keeps in one place.
    Keystream(Box<Stream>),
    /// This byte everywhere.
    Byte(u8),
}

impl Content {
    /// What a pass of this kind writes; `None` if it needs a key and there is none.
    pub fn of(kind: ContentKind, key: Option<&Key>) -> Option<Content> {
        match kind {
            ContentKind::Byte(byte) => Some(Content::Byte(byte)),
            ContentKind::Keystream => Some(Content::Keystream(Box::new(Stream::new(key?)))),
        }
    }

    /// Fills `out` with the bytes from `offset` on.
    pub fn fill(&mut self, offset: u64, out: &mut [u8]) {
        match self {
            Content::Keystream(stream) => {
                stream.seek(offset);
                // A target is shorter than 2^64 bytes, the stream's length.
                stream.fill(out).expect("an offset within the stream");
            }
            Content::Byte(byte) => out.fill(*byte),
        }
    }

    /// Whether the bytes are the same at every offset, so that a buffer is filled only once.
    pub fn is_constant(&self) -> bool {
        matches!(self, Content::Byte(_))
    }
}
