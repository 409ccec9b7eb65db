//! Generators, which return 512 bits for each request, and drawers, which record a generator's outputs in its channel.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rustix::rand::GetRandomFlags;
use squall::entropy::{Machine, ThisMachine};
use squall::testing::generations_for_testing;
use squall_probe::{Output, Source};

use crate::layout::Channels;
use crate::memory::Writer;

/// The output of one request.
pub type Bits = [u64; 8];

/// Length of an output, in bytes.
const LEN: usize = size_of::<Bits>();

/// A generator of random bits.
pub trait Generator: Send {
    /// Makes a request. Returns `None` if the generator has ended.
    fn draw(&mut self) -> Option<Bits>;
}

impl<F: FnMut() -> Bits + Send> Generator for F {
    fn draw(&mut self) -> Option<Bits> {
        Some(self())
    }
}

/// Draws from squall by one request for all bits.
pub fn squall_bytes() -> Bits {
    let mut bytes = [0; LEN];
    squall::fill(&mut bytes);
    words(&bytes)
}

/// Draws from squall by one request for each word of 64 bits.
pub fn squall_u64s() -> Bits {
    core::array::from_fn(|_| squall::u64())
}

/// Draws from squall by one request for each 32 bits.
pub fn squall_u32s() -> Bits {
    let half = || u64::from(squall::u32());
    core::array::from_fn(|_| half() << 32 | half())
}

/// Draws from the kernel's generator by the system call. rustix does not use the vDSO for it.
pub fn kernel_bytes() -> Bits {
    let mut bytes = [0; LEN];
    getrandom(&mut bytes);
    words(&bytes)
}

/// A generator that is seeded from the kernel once and has no guards.
pub fn unguarded_rng() -> impl Generator {
    let mut seed = [0; 32];
    getrandom(&mut seed);
    let mut rng = StdRng::from_seed(seed);
    move || core::array::from_fn(|_| rng.next_u64())
}

/// Waits until the kernel's generator is ready. A process that draws from squall before that does not
/// see the kernel's generation for a minute; the processes that this probe stands for start later.
pub fn wait_for_kernel() {
    getrandom(&mut [0]);
}

fn getrandom(out: &mut [u8]) {
    let len = out.len();
    let got = rustix::rand::getrandom(out, GetRandomFlags::empty());
    assert_eq!(got, Ok(len), "getrandom");
}

/// A generator's bytes as little-endian words.
pub fn words(bytes: &[u8; LEN]) -> Bits {
    let (words, _) = bytes.as_chunks();
    core::array::from_fn(|at| u64::from_le_bytes(words[at]))
}

/// Draws from a generator and records the outputs. Neither allocates.
pub struct Drawer {
    writer: Writer,
    generator: Box<dyn Generator>,
    /// The kernel's and vmclock's generations, as the generator sees them.
    generations: Box<dyn FnMut() -> (u64, u64) + Send>,
}

impl Drawer {
    /// Records the outputs of `generator` as those of `source`.
    pub fn new(
        channels: &Channels,
        source: Source,
        instance: u64,
        generator: impl Generator + 'static,
    ) -> Drawer {
        // Without the comparison of generations, squall sees a generation that never changes.
        let sees_generations = source != Source::SquallUnguarded;
        Drawer {
            writer: channels.writer(source, instance),
            generator: Box::new(generator),
            generations: match sees_generations {
                true => Box::new(generations_for_testing),
                false => Box::new(|| (0, 0)),
            },
        }
    }

    /// Records the results of `generation` in place of the machine's generations.
    pub fn with_generation(self, mut generation: impl FnMut() -> u64 + Send + 'static) -> Drawer {
        let generations = Box::new(move || (generation(), 0));
        Drawer {
            generations,
            ..self
        }
    }

    /// Whether there is room for another record.
    pub fn has_room(&self) -> bool {
        self.writer.room() > 0
    }

    /// Draws once. Returns false if the channel is full or the generator has ended.
    pub fn draw(&mut self) -> bool {
        if !self.has_room() {
            return false;
        }
        let asked_at = ThisMachine.cycles();
        let Some(bits) = self.generator.draw() else {
            return false;
        };
        let given_at = ThisMachine.cycles();
        let (generation, vm_generation) = (self.generations)();
        self.writer.write(&Output {
            asked_at,
            given_at,
            generation,
            vm_generation,
            bits,
        });
        true
    }
}
