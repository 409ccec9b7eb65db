//! The sources of a stream: the guarded generator, or a seed.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use squall::{Engine, Error, Stream};
use squall_tool_base::Failure;
use squall_tool_base::failure::text_at;
use zeroize::Zeroizing;

use super::args::{self, Seed};
use crate::version::engine_names;

/// How many bytes of a seed file are read: 64 digits, with room for blanks.
const MAX_SEED_FILE: u64 = 1024;

/// The advice on how to make a seed file.
const SEED_FILE_ADVICE: &str =
    "make a seed file with `squall stream --format hex --size 32 --output FILE`";

pub enum Source {
    /// The generator, which never repeats itself.
    Fresh,
    /// A seed, which gives the same bytes on every engine.
    Seeded { seed: Seed, engine: Engine },
}

impl Source {
    /// The source that the arguments select. Without a seed, sets the generator to `engine`.
    pub fn new(
        engine: Option<Engine>,
        seed: Option<&Seed>,
        seed_file: Option<&Path>,
    ) -> Result<Source, Failure> {
        let seed = match (seed, seed_file) {
            (Some(seed), _) => Some(seed.clone()),
            (None, Some(file)) => Some(read_seed(file)?),
            (None, None) => None,
        };
        let Some(seed) = seed else {
            if let Some(engine) = engine {
                squall::hazmat::use_engine(engine)
                    .map_err(|error| Failure::Usage(format!("--engine: {error}")))?;
            }
            return Ok(Source::Fresh);
        };
        let engine = engine.unwrap_or_else(Engine::best_aes);
        if !engine.is_aes() {
            return Err(Failure::Usage(format!(
                "--engine: {engine} cannot make the stream of a seed, which is AES-256 in \
                 counter mode: use one of {}",
                engine_names(Engine::available().filter(|engine| engine.is_aes()))
            )));
        }
        Ok(Source::Seeded { seed, engine })
    }

    pub fn reader(&self) -> Result<Reader, Error> {
        Ok(match self {
            Source::Fresh => Reader::Fresh,
            Source::Seeded { seed, engine } => {
                Reader::Seeded(Box::new(Stream::new_on(*engine, seed)?))
            }
        })
    }
}

/// One thread's view of a source.
pub enum Reader {
    Fresh,
    Seeded(Box<Stream>),
}

impl Reader {
    /// Fills `out` with the bytes at `offset`; a fresh source has new bytes at every offset.
    pub fn fill(&mut self, offset: u64, out: &mut [u8]) -> Result<(), Error> {
        match self {
            Reader::Fresh => squall::try_fill(out),
            Reader::Seeded(stream) => {
                stream.seek(offset);
                stream.fill(out)
            }
        }
    }
}

/// Reads a seed from `path`; `-` means standard input.
fn read_seed(path: &Path) -> Result<Seed, Failure> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_SEED_FILE as usize));
    let is_stdin = path == Path::new("-");
    let read = if is_stdin {
        std::io::stdin()
            .lock()
            .take(MAX_SEED_FILE)
            .read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|file| file.take(MAX_SEED_FILE).read_to_end(&mut bytes))
    };
    let name = if is_stdin {
        "standard input".into()
    } else {
        path.to_string_lossy()
    };
    read.map_err(|error| {
        let problem = text_at(Path::new(&*name), &error);
        Failure::Usage(format!("--seed-file: {problem}"))
    })?;
    let digits = bytes.trim_ascii();
    let seed = match std::str::from_utf8(digits) {
        Ok("") => Err(format!("the file is empty: {SEED_FILE_ADVICE}")),
        Ok(digits) if digits.bytes().all(|digit| digit.is_ascii_hexdigit()) => {
            args::parse_seed(digits)
        }
        _ => Err(format!(
            "not a seed (64 hexadecimal digits): {SEED_FILE_ADVICE}"
        )),
    };
    seed.map_err(|problem| Failure::Usage(format!("--seed-file: {name}: {problem}")))
}
