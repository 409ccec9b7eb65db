//! Where a stream's bytes come from: the guarded generator, or a seed.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use squall::{Engine, Error, Stream};
use squall_command::Failure;
use squall_command::failure::cause;
use zeroize::Zeroizing;

use crate::args::{self, Seed};

/// Longest seed file that is read: 64 digits and room for blanks.
const MAX_SEED_FILE: u64 = 1024;

/// Where bytes come from.
pub enum Source {
    /// The generator: never the same twice.
    Fresh,
    /// A seed: the same bytes on every engine.
    Seeded { seed: Seed, engine: Engine },
}

impl Source {
    /// The source that the arguments name. Without a seed the generator is set to `engine`.
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
                args::names(Engine::available().filter(|engine| engine.is_aes()))
            )));
        }
        Ok(Source::Seeded { seed, engine })
    }

    /// A reader for one thread.
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
    /// Fills `out` with what the source has at `offset`; a fresh source has new bytes everywhere.
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

/// Reads a seed from `path`; `-` is standard input.
fn read_seed(path: &Path) -> Result<Seed, Failure> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_SEED_FILE as usize));
    let is_stdin = path == Path::new("-");
    let read = match is_stdin {
        true => std::io::stdin()
            .lock()
            .take(MAX_SEED_FILE)
            .read_to_end(&mut bytes),
        false => File::open(path).and_then(|file| file.take(MAX_SEED_FILE).read_to_end(&mut bytes)),
    };
    let name = match is_stdin {
        true => "standard input".into(),
        false => path.to_string_lossy(),
    };
    read.map_err(|error| Failure::Runtime(format!("--seed-file: {name}: {}", cause(&error))))?;
    let digits = bytes.trim_ascii();
    std::str::from_utf8(digits)
        .map_err(|_| "a seed with other characters than digits: write it in hexadecimal".to_owned())
        .and_then(args::parse_seed)
        .map_err(|problem| Failure::Runtime(format!("--seed-file: {name}: {problem}")))
}
