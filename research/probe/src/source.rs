//! The generators and accumulators that are recorded in a VM.

use crate::record::{Input, Output, Reading, Record};

/// What a channel records: the outputs of a generator, or an accumulator's inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u64)]
pub enum Source {
    /// A generator in user space that buffers and has no guards: a control, which must repeat.
    Naive = 1,
    /// getrandom(2), the system call.
    Getrandom = 2,
    /// squall with default settings: `fill` of 64 bytes.
    Squall = 3,
    /// squall with default settings: eight `u64`.
    SquallWords = 4,
    /// squall as on a machine without any signal of clones.
    SquallNoSignal = 5,
    /// squall with its guards against clones off: the control.
    SquallUnguarded = 6,
    /// squall whose requests do not differ by themselves, to test what the clone notification alone
    /// achieves.
    SquallSignalOnly = 7,
    /// Whirlwind itself, bootstrapped again when the machine notifies it of a clone.
    Whirlwind = 8,
    /// The inputs of that Whirlwind.
    WhirlwindInputs = 9,
    /// squall in a child that was forked before the snapshot.
    SquallChild = 10,
    /// squall in children that are forked all the time, each for one output.
    SquallChildren = 11,
    /// In a Go program: a buffer of crypto/rand's bytes, without guards.
    GoNaive = 12,
    /// In the Go program: crypto/rand itself.
    GoCryptoRand = 13,
    /// In the Go program: squall's Go module, `Read` of 64 bytes.
    GoSquall = 14,
    /// In the Go program: squall's Go module, eight `Uint64`.
    GoSquallWords = 15,
    /// In a C program that preloads squall: a buffer of the kernel's bytes, without guards.
    DoorNaive = 16,
    /// In the same C program, started without squall: getrandom(2).
    DoorKernel = 17,
    /// In the C program that preloads squall: getrandom(2).
    DoorGetrandom = 18,
    /// In the C program that preloads squall: arc4random_buf(3).
    DoorArc4random = 19,
    /// In the C program that preloads squall: reads of /dev/urandom.
    DoorDevice = 20,
    /// nginx with squall's OpenSSL provider: a handshake's server random and key exchange public key.
    NginxSquall = 21,
    /// nginx with OpenSSL's own generator: the same values.
    NginxOpenssl = 22,
    /// squall without notification of clones, in bursts: eight `u64`, without pause.
    SquallBursts = 23,
    /// The same without the detection of machine stops: a burst never ends. The control.
    SquallEndlessBursts = 24,
    /// Not a generator: readings of the cycle counter, in a ring.
    CycleCounter = 25,
    /// squall with default settings: sixteen `u32`.
    SquallU32 = 26,
    /// In the Go program: squall's Go module in bursts, as [`Source::SquallBursts`].
    GoSquallBursts = 27,
    /// In the Go program: bursts that never end, as [`Source::SquallEndlessBursts`]. The control.
    GoSquallEndlessBursts = 28,
}

impl Source {
    /// All sources.
    pub const ALL: [Source; 28] = [
        Source::Naive,
        Source::Getrandom,
        Source::Squall,
        Source::SquallWords,
        Source::SquallNoSignal,
        Source::SquallUnguarded,
        Source::SquallSignalOnly,
        Source::Whirlwind,
        Source::WhirlwindInputs,
        Source::SquallChild,
        Source::SquallChildren,
        Source::GoNaive,
        Source::GoCryptoRand,
        Source::GoSquall,
        Source::GoSquallWords,
        Source::DoorNaive,
        Source::DoorKernel,
        Source::DoorGetrandom,
        Source::DoorArc4random,
        Source::DoorDevice,
        Source::NginxSquall,
        Source::NginxOpenssl,
        Source::SquallBursts,
        Source::SquallEndlessBursts,
        Source::CycleCounter,
        Source::SquallU32,
        Source::GoSquallBursts,
        Source::GoSquallEndlessBursts,
    ];

    /// The source that `word` stands for.
    pub fn from_word(word: u64) -> Option<Source> {
        Self::ALL.into_iter().find(|&source| source as u64 == word)
    }

    /// Its name in reports and files.
    pub fn name(self) -> &'static str {
        match self {
            Source::Naive => "naive",
            Source::Getrandom => "getrandom",
            Source::Squall => "squall",
            Source::SquallWords => "squall_words",
            Source::SquallNoSignal => "squall_no_signal",
            Source::SquallUnguarded => "squall_unguarded",
            Source::SquallSignalOnly => "squall_signal_only",
            Source::Whirlwind => "whirlwind",
            Source::WhirlwindInputs => "whirlwind_inputs",
            Source::SquallChild => "squall_child",
            Source::SquallChildren => "squall_children",
            Source::GoNaive => "go_naive",
            Source::GoCryptoRand => "go_crypto_rand",
            Source::GoSquall => "go_squall",
            Source::GoSquallWords => "go_squall_words",
            Source::DoorNaive => "door_naive",
            Source::DoorKernel => "door_kernel",
            Source::DoorGetrandom => "door_getrandom",
            Source::DoorArc4random => "door_arc4random",
            Source::DoorDevice => "door_device",
            Source::NginxSquall => "nginx_squall",
            Source::NginxOpenssl => "nginx_openssl",
            Source::SquallBursts => "squall_bursts",
            Source::SquallEndlessBursts => "squall_endless_bursts",
            Source::CycleCounter => "cycle_counter",
            Source::SquallU32 => "squall_u32",
            Source::GoSquallBursts => "go_squall_bursts",
            Source::GoSquallEndlessBursts => "go_squall_endless_bursts",
        }
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
                | Source::DoorGetrandom
                | Source::DoorArc4random
                | Source::DoorDevice
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
