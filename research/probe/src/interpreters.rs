//! The interpreters in the scenario `sandbox`, how they are started, and the sources in each.

use squall_probe::Source;

/// An interpreter with its script, and the sources in it with the letters that ask for them.
pub struct Interpreter {
    pub command: &'static [&'static str],
    pub environment: &'static [(&'static str, &'static str)],
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
