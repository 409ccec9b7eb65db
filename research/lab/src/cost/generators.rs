//! The generators that are compared, and what each does for an operation.
//!
//! Where possible, all are called as accumulators, through one virtual call each.

use std::hint::black_box;

use serde::Serialize;
use squall::entropy::whirlwind::{Functions, Whirlwind, WithDaviesMeyer, WithSha256, WithSha512};
use squall::entropy::{Accumulator, Input, Machine, ThisMachine};
use squall_legacy_rng::Legacy;
use squall_robust_prng::{Field, Gf489, Gf579, Gf705, Robust};
use squall_tools::Failure;
use squall_tools::measure::Peer;

use super::hardware;

/// The source and the values of the event that is timed.
pub const SOURCE: u32 = 7;
pub const VALUES: [u32; 2] = [0x0123_4567, 0x89ab_cdef];

/// The same 16-byte input for all.
const INPUT: Input = Input {
    source: SOURCE,
    cycles: 0x3243_f6a8,
    values: VALUES,
};

/// A design and its building block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Generator {
    #[serde(rename = "whirlwind_sha512")]
    WhirlwindSha512,
    #[serde(rename = "whirlwind_sha256")]
    WhirlwindSha256,
    #[serde(rename = "whirlwind_davies_meyer")]
    WhirlwindDaviesMeyer,
    #[serde(rename = "robust_489")]
    Robust489,
    #[serde(rename = "robust_579")]
    Robust579,
    #[serde(rename = "robust_705")]
    Robust705,
    #[serde(rename = "legacy")]
    Legacy,
}

/// Generators that are measured in turns.
pub type Peers<'a> = Vec<(Generator, Peer<'a>)>;

/// All generators that are measured.
pub struct Generators {
    sha512: Whirlwind<WithSha512>,
    sha256: Whirlwind<WithSha256>,
    davies_meyer: Whirlwind<WithDaviesMeyer>,
    n489: Robust<Gf489>,
    n579: Robust<Gf579>,
    n705: Robust<Gf705>,
    legacy: LegacyPools,
}

impl Generators {
    /// Creates generators that are ready to use. Those that can use the CPU's random instruction:
    /// Whirlwind hashes it in, and the old RNG XORs it to a pool's output. The robust PRNG needs none.
    pub fn new() -> Result<Generators, Failure> {
        Ok(Generators {
            sha512: whirlwind(),
            sha256: whirlwind(),
            davies_meyer: whirlwind(),
            n489: robust()?,
            n579: robust()?,
            n705: robust()?,
            legacy: LegacyPools {
                model: legacy(),
                jiffies: 0,
            },
        })
    }

    /// What `peer` does with each accumulator, and `of_legacy` with the old RNG.
    fn peers<'a>(
        &'a mut self,
        peer: impl Fn(&'a mut dyn Accumulator) -> Peer<'a>,
        of_legacy: impl FnOnce(&'a mut LegacyPools) -> Peer<'a>,
    ) -> Peers<'a> {
        let accumulators: [(Generator, &mut dyn Accumulator); 6] = [
            (Generator::WhirlwindSha512, &mut self.sha512),
            (Generator::WhirlwindSha256, &mut self.sha256),
            (Generator::WhirlwindDaviesMeyer, &mut self.davies_meyer),
            (Generator::Robust489, &mut self.n489),
            (Generator::Robust579, &mut self.n579),
            (Generator::Robust705, &mut self.n705),
        ];
        let accumulators = accumulators.into_iter();
        let peers = accumulators.map(|(generator, accumulator)| (generator, peer(accumulator)));
        peers
            .chain([(Generator::Legacy, of_legacy(&mut self.legacy))])
            .collect()
    }

    /// An event, from reading the cycle counter on.
    pub fn events(&mut self) -> Peers<'_> {
        self.peers(event, |legacy| event(legacy))
    }

    /// An interrupt, from reading the cycle counter on. Only the old RNG treats it differently from an
    /// event: it mixes it into its fast pool.
    pub fn interrupts(&mut self) -> Peers<'_> {
        self.peers(event, LegacyPools::interrupts)
    }

    /// The same 16 bytes for each: `add`, `refresh`, or mixing into the old RNG's input pool.
    pub fn inputs(&mut self) -> Peers<'_> {
        let input = INPUT.to_bytes();
        vec![
            (Generator::WhirlwindSha512, add(&self.sha512)),
            (Generator::WhirlwindSha256, add(&self.sha256)),
            (Generator::WhirlwindDaviesMeyer, add(&self.davies_meyer)),
            (Generator::Robust489, refresh(&mut self.n489, input)),
            (Generator::Robust579, refresh(&mut self.n579, input)),
            (Generator::Robust705, refresh(&mut self.n705, input)),
            (Generator::Legacy, mix(&self.legacy.model, input)),
        ]
    }

    /// An input for each field, of as many whole bytes as n bits hold: `refresh`, and mixing the same
    /// into the old RNG's input pool.
    pub fn wide_inputs(&mut self) -> [Peers<'_>; 3] {
        let model = &self.legacy.model;
        [
            wide::<_, { 489 / 8 }>(Generator::Robust489, &mut self.n489, model),
            wide::<_, { 579 / 8 }>(Generator::Robust579, &mut self.n579, model),
            wide::<_, { 705 / 8 }>(Generator::Robust705, &mut self.n705, model),
        ]
    }

    /// `len` bytes of output; the old RNG's come from /dev/urandom.
    pub fn outputs(&mut self, len: usize) -> Peers<'_> {
        self.peers(
            |accumulator| output(accumulator, len),
            |legacy| output(legacy, len),
        )
    }

    /// 4 bytes of output; the old RNG's come from get_random_int.
    pub fn words(&mut self) -> Peers<'_> {
        self.peers(
            |accumulator| output(accumulator, size_of::<u32>()),
            LegacyPools::words,
        )
    }
}

fn whirlwind<F: Functions>() -> Whirlwind<F> {
    let whirlwind = Whirlwind::default();
    whirlwind.bootstrap();
    whirlwind
}

fn robust<F: Field>() -> Result<Robust<F>, Failure> {
    let mut seed = [(); 2].map(|()| vec![0; Robust::<F>::ELEMENT_LEN]);
    seed.iter_mut().for_each(|element| squall::fill(element));
    let [x, x_prime] = seed;
    Robust::new(&x, &x_prime).map_err(|error| Failure::Runtime(format!("robust PRNG: {error}")))
}

fn legacy() -> Legacy {
    let mut model = Legacy::new(&INPUT.to_bytes());
    if let Some(source) = hardware::random() {
        model = model.with_hardware_random(source);
    }
    model.draw_int_secret();
    model
}

fn event(accumulator: &mut dyn Accumulator) -> Peer<'_> {
    Peer::new(|| accumulator.add_input(Input::now(SOURCE, black_box(VALUES))))
}

fn output(accumulator: &mut dyn Accumulator, len: usize) -> Peer<'_> {
    let mut out = vec![0; len];
    Peer::new(move || {
        accumulator.generate(black_box(&mut out));
        black_box(&out);
    })
}

fn add<F: Functions>(whirlwind: &Whirlwind<F>) -> Peer<'_> {
    Peer::new(|| whirlwind.add(black_box(INPUT)))
}

fn refresh<F: Field, const N: usize>(robust: &mut Robust<F>, input: [u8; N]) -> Peer<'_> {
    Peer::new(move || {
        let refreshed = robust.refresh(black_box(&input));
        refreshed.expect("an input is shorter than an element");
    })
}

fn mix<const N: usize>(legacy: &Legacy, input: [u8; N]) -> Peer<'_> {
    Peer::new(move || legacy.mix(black_box(&input)))
}

fn wide<'a, F: Field, const N: usize>(
    generator: Generator,
    robust: &'a mut Robust<F>,
    legacy: &'a Legacy,
) -> Peers<'a> {
    let input = [0x5a; N];
    vec![
        (generator, refresh(robust, input)),
        (Generator::Legacy, mix(legacy, input)),
    ]
}

/// The old RNG as an accumulator of timer events, which are 12 bytes and an entropy estimate. Steps of
/// one jiffy are credited nothing, so no event is dropped and no pool is refilled.
struct LegacyPools {
    model: Legacy,
    jiffies: u32,
}

impl LegacyPools {
    fn interrupts(&mut self) -> Peer<'_> {
        let [low, high] = VALUES.map(u64::from);
        let instruction = high << u32::BITS | low;
        Peer::new(move || {
            let cycles = ThisMachine.cycles() as u32;
            let model = &self.model;
            model.add_interrupt(SOURCE, black_box(instruction), self.jiffies, cycles);
        })
    }

    fn words(&mut self) -> Peer<'_> {
        let LegacyPools { model, jiffies } = self;
        // A kernel knows the process ID without asking.
        let process = std::process::id();
        Peer::new(move || {
            *jiffies = jiffies.wrapping_add(1);
            let cycles = ThisMachine.cycles() as u32;
            black_box(model.get_random_int(process, *jiffies, cycles));
        })
    }
}

impl Accumulator for LegacyPools {
    fn add_input(&mut self, input: Input) {
        self.jiffies = self.jiffies.wrapping_add(1);
        self.model
            .add_timer_event(self.jiffies, input.cycles, input.source);
    }

    fn generate(&mut self, out: &mut [u8]) {
        self.model.urandom(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If there is a hardware random source, copies of a generator give different bytes.
    #[test]
    fn copies_of_the_old_rng_differ_by_hardware_randomness() {
        let model = legacy();
        let [one, other] = [model.clone(), model].map(|model| {
            let mut out = [0; 20];
            model.urandom(&mut out);
            out
        });
        assert_eq!(one != other, hardware::random().is_some());
    }

    /// A field of n bits has elements that are one byte longer than the input.
    #[test]
    fn wide_inputs_are_as_wide_as_fields_allow() {
        assert_eq!(Robust::<Gf489>::ELEMENT_LEN, 61 + 1);
        assert_eq!(Robust::<Gf579>::ELEMENT_LEN, 72 + 1);
        assert_eq!(Robust::<Gf705>::ELEMENT_LEN, 88 + 1);
    }
}
