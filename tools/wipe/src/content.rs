//! What a pass writes: by the words of the command line, which are those of records too, and as bytes, which are a
//! function of the offset and which a verification expects.

use std::borrow::Cow;
use std::fmt::{self, Display};
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use squall::Stream;
use zeroize::Zeroizing;

/// Length of a key, in bytes.
pub const KEY: usize = 32;

/// A key of a pass's keystream, which is wiped on drop.
pub type Key = Zeroizing<[u8; KEY]>;

pub enum Content {
    /// Keystream under the pass's key, which the box keeps in one place.
    Keystream(Box<Stream>),
    /// This byte everywhere.
    Byte(u8),
}

impl Content {
    /// What a pass of this kind writes; `None` if it needs a key and there is none.
    pub fn new(kind: ContentKind, key: Option<&Key>) -> Option<Content> {
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

/// What a pass writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum ContentKind {
    /// Byte `i` of the target is byte `i` of `squall::Stream` under the pass's key.
    Keystream,
    /// This byte everywhere.
    Byte(u8),
}

impl ContentKind {
    pub const ZEROS: ContentKind = ContentKind::Byte(0);
    pub const ONES: ContentKind = ContentKind::Byte(0xff);

    /// What it is, for people.
    pub fn description(self) -> String {
        match self {
            ContentKind::Keystream => "keystream of AES-256".into(),
            ContentKind::ZEROS => "zeros".into(),
            ContentKind::ONES => "ones".into(),
            ContentKind::Byte(byte) => format!("bytes {byte:#04x}"),
        }
    }
}

impl Display for ContentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ContentKind::Keystream => f.write_str("random"),
            ContentKind::ZEROS => f.write_str("zero"),
            ContentKind::ONES => f.write_str("one"),
            ContentKind::Byte(byte) => write!(f, "{byte:#04x}"),
        }
    }
}

impl FromStr for ContentKind {
    type Err = String;

    fn from_str(word: &str) -> Result<ContentKind, String> {
        let byte = |digits: &str| {
            let is_plain = digits.len() == 2 && digits.chars().all(|c| c.is_ascii_hexdigit());
            let byte = is_plain.then(|| u8::from_str_radix(digits, 16).ok());
            byte.flatten()
        };
        match word {
            "random" => Ok(ContentKind::Keystream),
            "zero" => Ok(ContentKind::ZEROS),
            "one" => Ok(ContentKind::ONES),
            _ => word
                .strip_prefix("0x")
                .and_then(byte)
                .map(ContentKind::Byte)
                .ok_or_else(|| {
                    format!("{word:?} is no pass: use random, zero, one, or a byte such as 0x55")
                }),
        }
    }
}

impl From<ContentKind> for String {
    fn from(kind: ContentKind) -> String {
        kind.to_string()
    }
}

impl TryFrom<String> for ContentKind {
    type Error = String;

    fn try_from(word: String) -> Result<ContentKind, String> {
        word.parse()
    }
}

impl JsonSchema for ContentKind {
    fn schema_name() -> Cow<'static, str> {
        "ContentKind".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "What a pass writes: `random` (byte `i` of the target is byte `i` of \
                            `squall::Stream` under the pass's key), `zero`, `one` (bytes 0xff), or \
                            another byte, such as `0x55`.",
            "type": "string",
        })
    }
}

/// What all of `passes` write, to follow the word "overwritten".
pub fn in_words(passes: &[ContentKind]) -> String {
    let all: Vec<_> = passes.iter().map(|pass| pass.description()).collect();
    match passes {
        [] | [_] => format!("once with {}", all.concat()),
        [first, rest @ ..] if rest.iter().all(|other| other == first) => {
            format!("{} times with {}", all.len(), all[0])
        }
        _ => format!("with {}", all.join(", then ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_they_are_written() {
        for (word, kind, canonical) in [
            ("random", ContentKind::Keystream, "random"),
            ("zero", ContentKind::Byte(0), "zero"),
            ("0x00", ContentKind::Byte(0), "zero"),
            ("one", ContentKind::Byte(0xff), "one"),
            ("0xFF", ContentKind::Byte(0xff), "one"),
            ("0x5a", ContentKind::Byte(0x5a), "0x5a"),
            ("0x05", ContentKind::Byte(5), "0x05"),
        ] {
            assert_eq!(word.parse(), Ok(kind));
            assert_eq!(kind.to_string(), canonical);
        }
        for wrong in ["", "0x", "0x5", "0x100", "0x+5", "55", "Random", "zeros"] {
            assert!(wrong.parse::<ContentKind>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn equal_passes_are_counted() {
        let random = ContentKind::Keystream;
        let zeros = ContentKind::ZEROS;
        assert_eq!(in_words(&[zeros]), "once with zeros");
        assert_eq!(in_words(&[zeros; 3]), "3 times with zeros");
        assert_eq!(
            in_words(&[random, zeros, ContentKind::Byte(0x55)]),
            "with keystream of AES-256, then zeros, then bytes 0x55"
        );
    }
}
