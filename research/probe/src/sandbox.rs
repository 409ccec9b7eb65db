//! Interpreters in the scenario `sandbox`: Python and Node.js, each without squall and with it.
//!
//! Each runs a script that answers a letter with 64 bytes of a generator, as the C program of
//! [`programs`](crate::programs) does. Python with squall also returns its clone generation, which is recorded in place of
//! the kernel's.

use squall_probe::Source;

use crate::Result;
use crate::generator::Drawer;
use crate::layout::Channels;
use crate::programs::{Program, Programs, drawer};

/// An interpreter with its script, and the sources in it with the letters that ask for them.
pub struct Interpreter {
    command: &'static [&'static str],
    pub sources: &'static [(Source, u8)],
}

pub const INTERPRETERS: [Interpreter; 4] = [
    Interpreter {
        command: &["/usr/bin/python3.13", "/sandbox/draws.py"],
        sources: &[
            (Source::PythonRandom, b'r'),
            (Source::NumpyRandom, b'n'),
            (Source::NumpyDefaultRng, b'd'),
        ],
    },
    Interpreter {
        command: &["/usr/bin/python3.13", "/sandbox/draws.py", "squall"],
        sources: &[
            (Source::PythonUuid4Squall, b'u'),
            (Source::PythonRandomSquall, b'r'),
            (Source::NumpyRandomSquall, b'n'),
            (Source::NumpyDefaultRngSquall, b'd'),
        ],
    },
    Interpreter {
        command: &["/usr/bin/node", "/sandbox/draws.js"],
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
        sources: &[
            (Source::NodeRandomUuidSquall, b'u'),
            (Source::NodeRandomBytesSquall, b'b'),
            (Source::NodeMathRandomSquall, b'm'),
        ],
    },
];

/// Where Python finds squall, and where NumPy finds its libraries, which Debian's packages link only when installed.
const ENVIRONMENT: [(&str, &str); 2] = [
    ("PYTHONPATH", "/sandbox/python"),
    (
        "LD_LIBRARY_PATH",
        "/usr/lib/x86_64-linux-gnu/blas:/usr/lib/x86_64-linux-gnu/lapack",
    ),
];

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
        let program = Program::start(self.command, &ENVIRONMENT)?;
        let drawer = |&(source, letter): &(Source, u8)| {
            let drawer = drawer(channels, source, program.source(letter));
            if source != Source::PythonUuid4Squall {
                return drawer;
            }
            let program = program.clone();
            drawer.with_generation(move || program.ask(GENERATION)[0])
        };
        Ok(self.sources.iter().map(drawer).collect())
    }
}
