//! The inputs that accumulators collect, and the trait that accumulators implement.

use super::cpu;

/// Length of an input, in bytes.
pub const INPUT_LEN: usize = 16;

/// An event: what kind it is, when it happened, and up to 64 bits about it.
///
/// Only the low bits of the cycle count are thought to be unpredictable; the rest may be public,
/// or chosen by an attacker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input {
    /// The kind of event. Callers choose their own numbers, except 0x57510001 to 0x57510004, which
    /// are [`Whirlwind`](super::whirlwind::Whirlwind)'s.
    pub source: u32,
    /// The low half of the cycle counter.
    pub cycles: u32,
    /// Up to 64 bits about the event.
    pub values: [u32; 2],
}

impl Input {
    /// An event of kind `source` that happens now.
    #[inline]
    pub fn now(source: u32, values: [u32; 2]) -> Input {
        Input {
            source,
            cycles: cpu::cycles() as u32,
            values,
        }
    }

    /// An event of kind `source` at a cycle count, with 64 bits about it: the low half first.
    #[inline]
    pub(crate) fn new(source: u32, cycles: u64, about: u64) -> Input {
        Input {
            source,
            cycles: cycles as u32,
            values: [about as u32, (about >> 32) as u32],
        }
    }

    /// The input as 16 bytes: source, cycles and values in big-endian order.
    #[inline]
    pub fn to_bytes(self) -> [u8; INPUT_LEN] {
        let [v1, v2] = self.values;
        let words = [self.source, self.cycles, v1, v2];
        let mut bytes = [0; INPUT_LEN];
        for (place, word) in bytes.chunks_exact_mut(size_of::<u32>()).zip(words) {
            place.copy_from_slice(&word.to_be_bytes());
        }
        bytes
    }
}

/// Collects unpredictability that arrives in small, unknown amounts, and returns it all at once.
///
/// No accumulator estimates entropy: only whoever knows where the inputs come from can tell how
/// much went in.
pub trait Accumulator {
    /// Mixes an input into the state.
    fn add_input(&mut self, input: Input);

    /// Fills `out`, of any length. Afterwards these bytes cannot be computed from the state.
    fn generate(&mut self, out: &mut [u8]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_encoded_in_big_endian_order() {
        let input = Input::new(0x0102_0304, 0xffff_ffff_0506_0708, 0x0d0e_0f10_090a_0b0c);
        assert_eq!(input.to_bytes(), core::array::from_fn(|i| i as u8 + 1));
        let now = Input::now(5, [6, 7]);
        assert_eq!((now.source, now.values), (5, [6, 7]));
    }
}
