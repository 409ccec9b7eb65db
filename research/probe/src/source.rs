//! The generators and accumulators that are recorded in a VM; and their records, of outputs and inputs with their
//! times.

/// Defines an enumeration whose variants have names.
macro_rules! named {
    (
        $(#[$meta:meta])*
        pub enum $type:ident {
            $($(#[$doc:meta])* $variant:ident $(= $value:literal)? => $name:literal,)*
        }
    ) => {
        $(#[$meta])*
        pub enum $type {
            $($(#[$doc])* $variant $(= $value)?,)*
        }

        impl $type {
            /// All of them.
            pub const ALL: &[$type] = &[$($type::$variant,)*];

            /// Its name, in reports, in files and on the kernel command line.
            pub fn name(self) -> &'static str {
                match self {
                    $($type::$variant => $name,)*
                }
            }
        }
    };
}

pub(crate) use named;

named! {
    /// What a channel records: the outputs of a generator, or an accumulator's inputs.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[repr(u64)]
    pub enum Source {
        /// A generator in user space that buffers and has no guards: a control, which must repeat.
        Naive = 1 => "naive",
        /// getrandom(2), the system call.
        Getrandom = 2 => "getrandom",
        /// squall with default settings: `fill` of 64 bytes.
        Squall = 3 => "squall",
        /// squall with default settings: eight `u64`.
        SquallWords = 4 => "squall_words",
        /// squall as on a machine without any signal of clones.
        SquallNoSignal = 5 => "squall_no_signal",
        /// squall with its guards against clones off: the control.
        SquallUnguarded = 6 => "squall_unguarded",
        /// squall whose requests do not differ by themselves, to test what the clone notification alone
        /// achieves.
        SquallSignalOnly = 7 => "squall_signal_only",
        /// Whirlwind itself, bootstrapped again when the machine notifies it of a clone.
        Whirlwind = 8 => "whirlwind",
        /// The inputs of that Whirlwind.
        WhirlwindInputs = 9 => "whirlwind_inputs",
        /// squall in a child that was forked before the snapshot.
        SquallChild = 10 => "squall_child",
        /// squall in children that are forked all the time, each for one output.
        SquallChildren = 11 => "squall_children",
        /// In a Go program: a buffer of crypto/rand's bytes, without guards.
        GoNaive = 12 => "go_naive",
        /// In the Go program: crypto/rand itself.
        GoCryptoRand = 13 => "go_crypto_rand",
        /// In the Go program: squall's Go module, `Read` of 64 bytes.
        GoSquall = 14 => "go_squall",
        /// In the Go program: squall's Go module, eight `Uint64`.
        GoSquallWords = 15 => "go_squall_words",
        /// In a C program that preloads squall: a buffer of the kernel's bytes, without guards.
        PreloadedNaive = 16 => "preloaded_naive",
        /// In the same C program, started without squall: getrandom(2).
        LibcKernel = 17 => "libc_kernel",
        /// In the C program that preloads squall: getrandom(2).
        PreloadedGetrandom = 18 => "preloaded_getrandom",
        /// In the C program that preloads squall: arc4random_buf(3).
        PreloadedArc4random = 19 => "preloaded_arc4random",
        /// In the C program that preloads squall: reads of /dev/urandom.
        PreloadedDevice = 20 => "preloaded_device",
        /// nginx with squall's OpenSSL provider: a handshake's server random and key exchange public key.
        NginxSquall = 21 => "nginx_squall",
        /// nginx with OpenSSL's own generator: the same values.
        NginxOpenssl = 22 => "nginx_openssl",
        /// squall with default settings: sixteen `u32`.
        SquallU32 = 26 => "squall_u32",
        /// In Python: the module `random`, seeded at its import.
        PythonRandom = 29 => "python_random",
        /// In Python: NumPy's global generator.
        NumpyRandom = 30 => "numpy_random",
        /// In Python: an object of NumPy's `default_rng()`.
        NumpyDefaultRng = 31 => "numpy_default_rng",
        /// In Python with squall installed: the module `random`.
        PythonRandomSquall = 32 => "python_random_squall",
        /// In Python with squall installed: NumPy's global generator.
        NumpyRandomSquall = 33 => "numpy_random_squall",
        /// In Python with squall installed: an object of NumPy's `default_rng()`.
        NumpyDefaultRngSquall = 34 => "numpy_default_rng_squall",
        /// In Python with squall installed: four `uuid.uuid4()`.
        PythonUuid4Squall = 35 => "python_uuid4_squall",
        /// In Node.js: four `crypto.randomUUID()`, which makes 128 in advance.
        NodeRandomUuid = 36 => "node_random_uuid",
        /// In Node.js: `crypto.randomBytes`, from OpenSSL's generator.
        NodeRandomBytes = 37 => "node_random_bytes",
        /// In Node.js: `Math.random`.
        NodeMathRandom = 38 => "node_math_random",
        /// In Node.js with squall: four `crypto.randomUUID()`.
        NodeRandomUuidSquall = 39 => "node_random_uuid_squall",
        /// In Node.js with squall: `crypto.randomBytes`.
        NodeRandomBytesSquall = 40 => "node_random_bytes_squall",
        /// In Node.js with squall: `Math.random`.
        NodeMathRandomSquall = 41 => "node_math_random_squall",
        /// In Python: `ssl.RAND_bytes`, from OpenSSL's generator.
        PythonOpenssl = 42 => "python_openssl",
        /// In Python with squall's OpenSSL provider: `ssl.RAND_bytes`.
        PythonOpensslSquall = 43 => "python_openssl_squall",
        /// In Java: a `SecureRandom` object, which is a NativePRNG. It keeps the kernel's bytes for 100 ms.
        JavaSecureRandom = 44 => "java_secure_random",
        /// In Java: a `SecureRandom` object that was asked for as DRBG.
        JavaDrbg = 45 => "java_drbg",
        /// In Java: four `UUID.randomUUID()`, from a NativePRNG.
        JavaRandomUuid = 46 => "java_random_uuid",
        /// In Java: `Math.random`, which squall does not reach.
        JavaMathRandom = 47 => "java_math_random",
        /// In Java with squall's provider first: a `SecureRandom` object.
        JavaSecureRandomSquall = 48 => "java_secure_random_squall",
        /// In Java with squall's provider first: a `SecureRandom` object that was asked for as DRBG.
        JavaDrbgSquall = 49 => "java_drbg_squall",
        /// In Java with squall's provider first: four `UUID.randomUUID()`.
        JavaRandomUuidSquall = 50 => "java_random_uuid_squall",
        /// On one CPU: a generator in user space that is seeded anew when the CPU's record of kvm-clock has changed, and
        /// has no other guard.
        KvmClock = 51 => "kvm_clock",
    }
}

impl Source {
    /// The source that `word` stands for.
    pub fn from_word(word: u64) -> Option<Source> {
        let mut sources = Source::ALL.iter().copied();
        sources.find(|&source| source as u64 == word)
    }

    /// Whether it must never repeat: squall with all its guards, and what is guarded by kvm-clock.
    pub fn is_guarded(self) -> bool {
        matches!(
            self,
            Source::Squall
                | Source::SquallWords
                | Source::SquallNoSignal
                | Source::SquallChild
                | Source::SquallChildren
                | Source::GoSquall
                | Source::GoSquallWords
                | Source::PreloadedGetrandom
                | Source::PreloadedArc4random
                | Source::PreloadedDevice
                | Source::NginxSquall
                | Source::SquallU32
                | Source::PythonRandomSquall
                | Source::NumpyRandomSquall
                | Source::NumpyDefaultRngSquall
                | Source::PythonUuid4Squall
                | Source::NodeRandomUuidSquall
                | Source::NodeRandomBytesSquall
                | Source::NodeMathRandomSquall
                | Source::PythonOpensslSquall
                | Source::JavaSecureRandomSquall
                | Source::JavaDrbgSquall
                | Source::JavaRandomUuidSquall
                | Source::KvmClock
        )
    }

    /// Whether an output needs a TLS handshake, which takes milliseconds.
    pub fn is_slow(self) -> bool {
        matches!(self, Source::NginxSquall | Source::NginxOpenssl)
    }

    /// Length of one of its records, in words.
    pub fn record_words(self) -> usize {
        match self {
            Source::WhirlwindInputs => Input::WORDS,
            _ => Output::WORDS,
        }
    }
}

/// A record of a fixed number of words.
pub trait Record: Sized {
    /// Length of the record in words.
    const WORDS: usize;

    /// The record as words, [`Self::WORDS`] of them.
    fn to_words(&self) -> impl AsRef<[u64]>;

    /// Reads the record from [`Self::WORDS`] words.
    fn from_words(words: &[u64]) -> Self;
}

/// 512 bits that a generator gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output {
    /// The cycle counter before the request.
    pub asked_at: u64,
    /// The cycle counter after it.
    pub given_at: u64,
    /// The kernel RNG's generation after it; 0 if the kernel does not expose it.
    pub generation: u64,
    /// vmclock's generation counter after it; 0 if there is no vmclock.
    pub vm_generation: u64,
    /// The output.
    pub bits: [u64; 8],
}

impl Record for Output {
    const WORDS: usize = 12;

    fn to_words(&self) -> impl AsRef<[u64]> {
        let mut words = [0; Self::WORDS];
        words[..4].copy_from_slice(&[
            self.asked_at,
            self.given_at,
            self.generation,
            self.vm_generation,
        ]);
        words[4..].copy_from_slice(&self.bits);
        words
    }

    fn from_words(words: &[u64]) -> Self {
        Output {
            asked_at: words[0],
            given_at: words[1],
            generation: words[2],
            vm_generation: words[3],
            bits: words[4..Self::WORDS].try_into().expect("eight words"),
        }
    }
}

/// An input of an accumulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input {
    /// The cycle count that went in.
    pub cycles: u64,
    /// Outputs of the accumulator before it.
    pub outputs_before: u64,
    /// Bootstraps that were begun before it.
    pub bootstraps_before: u64,
    /// Its number in this process, from 0, which shows its seed and block.
    pub number: u64,
}

impl Record for Input {
    const WORDS: usize = 4;

    fn to_words(&self) -> impl AsRef<[u64]> {
        [
            self.cycles,
            self.outputs_before,
            self.bootstraps_before,
            self.number,
        ]
    }

    fn from_words(words: &[u64]) -> Self {
        Input {
            cycles: words[0],
            outputs_before: words[1],
            bootstraps_before: words[2],
            number: words[3],
        }
    }
}
