//! Interpreters in the scenario `sandbox`: Python, Node.js and Java, each without squall and with it.
//!
//! Each runs a script that answers a letter with 64 bytes of a generator, as the C program of
//! [`programs`](crate::programs) does. Python with squall also answers with its clone generation, which it reads before
//! an output, and which is recorded in place of the kernel's.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use squall_probe::Source;

use crate::Result;
use crate::generator::Drawer;
use crate::layout::Channels;
use crate::programs::{Program, Programs, drawer};

/// An interpreter with its script, and the sources in it with the letters that ask for them.
pub struct Interpreter {
    command: &'static [&'static str],
    environment: &'static [(&'static str, &'static str)],
    pub sources: &'static [(Source, u8)],
}

pub const INTERPRETERS: [Interpreter; 6] = [
    Interpreter {
        command: &["/usr/bin/python3.13", "/sandbox/draws.py"],
        environment: &[NUMPY_LIBRARIES],
        sources: &[
            (Source::PythonRandom, b'r'),
            (Source::NumpyRandom, b'n'),
            (Source::NumpyDefaultRng, b'd'),
            (Source::PythonOpenssl, b'o'),
        ],
    },
    Interpreter {
        command: &["/usr/bin/python3.13", "/sandbox/draws.py", "squall"],
        environment: &[
            NUMPY_LIBRARIES,
            ("PYTHONPATH", "/sandbox/python"),
            ("OPENSSL_CONF", "/sandbox/openssl/openssl.cnf"),
        ],
        sources: &[
            (Source::PythonUuid4Squall, b'u'),
            (Source::PythonRandomSquall, b'r'),
            (Source::NumpyRandomSquall, b'n'),
            (Source::NumpyDefaultRngSquall, b'd'),
            (Source::PythonOpensslSquall, b'o'),
        ],
    },
    Interpreter {
        command: &["/usr/bin/node", "/sandbox/draws.js"],
        environment: &[],
        sources: &[
            (Source::NodeRandomUuid, b'u'),
            (Source::NodeRandomBytes, b'b'),
            (Source::NodeMathRandom, b'm'),
        ],
    },
    Interpreter {
        command: &[
            "/usr/bin/node",
            "--require",
            "/sandbox/node/register.js",
            "/sandbox/draws.js",
        ],
        environment: &[],
        sources: &[
            (Source::NodeRandomUuidSquall, b'u'),
            (Source::NodeRandomBytesSquall, b'b'),
            (Source::NodeMathRandomSquall, b'm'),
        ],
    },
    Interpreter {
        command: &[JAVA, SMALL_HEAP, "-cp", "/sandbox", "Draws"],
        environment: &[],
        sources: &[
            (Source::JavaSecureRandom, b's'),
            (Source::JavaDrbg, b'd'),
            (Source::JavaRandomUuid, b'u'),
            (Source::JavaMathRandom, b'm'),
        ],
    },
    Interpreter {
        command: &[
            JAVA,
            SMALL_HEAP,
            "-javaagent:/sandbox/squall.jar",
            "-cp",
            "/sandbox",
            "Draws",
        ],
        environment: &[],
        sources: &[
            (Source::JavaSecureRandomSquall, b's'),
            (Source::JavaDrbgSquall, b'd'),
            (Source::JavaRandomUuidSquall, b'u'),
        ],
    },
];

/// Where NumPy finds its libraries, which Debian's packages link only when installed.
const NUMPY_LIBRARIES: (&str, &str) = (
    "LD_LIBRARY_PATH",
    "/usr/lib/x86_64-linux-gnu/blas:/usr/lib/x86_64-linux-gnu/lapack",
);

const JAVA: &str = "/usr/lib/jvm/java-21-openjdk-amd64/bin/java";

/// Without this, Java plans with a quarter of the guest's memory.
const SMALL_HEAP: &str = "-Xmx64m";

/// The letter that asks Python with squall for its clone generation.
const GENERATION: u8 = b'g';

/// Starts all interpreters.
pub fn start(channels: &Channels) -> Result<Programs> {
    let drawers = INTERPRETERS
        .iter()
        .map(|interpreter| interpreter.start(channels));
    Ok(Programs::new(
        channels.memory,
        drawers.collect::<Result<_>>()?,
    ))
}

impl Interpreter {
    fn start(&self, channels: &Channels) -> Result<Vec<Drawer>> {
        let program = Program::start(self.command, self.environment)?;
        let drawer = |&(source, letter): &(Source, u8)| {
            if source != Source::PythonUuid4Squall {
                return drawer(channels, source, program.source(letter));
            }
            let program = program.clone();
            let read = Arc::new(AtomicU64::new(0));
            let generation = read.clone();
            let generator = move || {
                generation.store(program.ask(GENERATION)[0], Relaxed);
                program.ask(letter)
            };
            drawer(channels, source, generator).with_generation(move || read.load(Relaxed))
        };
        Ok(self.sources.iter().map(drawer).collect())
    }
}
