//! The generators and accumulators that are recorded in a VM.

use crate::record::{Input, Output, Reading, Record};

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
        /// squall without notification of clones, in bursts: eight `u64`, without pause.
        SquallBursts = 23 => "squall_bursts",
        /// The same without the detection of machine stops: a burst never ends. The control.
        SquallEndlessBursts = 24 => "squall_endless_bursts",
        /// Not a generator: readings of the cycle counter, in a ring.
        CycleCounter = 25 => "cycle_counter",
        /// squall with default settings: sixteen `u32`.
        SquallU32 = 26 => "squall_u32",
        /// In the Go program: squall's Go module in bursts, as [`Source::SquallBursts`].
        GoSquallBursts = 27 => "go_squall_bursts",
        /// In the Go program: bursts that never end, as [`Source::SquallEndlessBursts`]. The control.
        GoSquallEndlessBursts = 28 => "go_squall_endless_bursts",
    }
}

impl Source {
    /// The source that `word` stands for.
    pub fn from_word(word: u64) -> Option<Source> {
        let mut sources = Source::ALL.iter().copied();
        sources.find(|&source| source as u64 == word)
    }

    /// Whether it is squall with all its guards, which must never repeat.
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
                | Source::SquallBursts
                | Source::SquallU32
                | Source::GoSquallBursts
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
            Source::CycleCounter => Reading::WORDS,
            _ => Output::WORDS,
        }
    }
}
