//! A generator and the channel that records what it gives.

use squall::entropy::{Machine, ThisMachine};
use squall::testing::generations_for_testing;
use squall_probe::{Output, Source};

use crate::generator::Generator;
use crate::layout::Channels;
use crate::memory::Writer;

/// Draws from a generator and records the outputs. Neither allocates.
pub struct Drawer {
    writer: Writer,
    generator: Box<dyn Generator>,
    /// Whether the generator sees the machine's generations.
    sees_generations: bool,
}

impl Drawer {
    /// Records the outputs of `generator` as those of `source`.
    pub fn new(
        channels: &Channels,
        source: Source,
        instance: u64,
        generator: impl Generator + 'static,
    ) -> Drawer {
        Drawer {
            writer: channels.writer(source, instance),
            generator: Box::new(generator),
            // Without the comparison of generations, squall sees a generation that never changes.
            sees_generations: !matches!(
                source,
                Source::SquallUnguarded | Source::SquallBursts | Source::SquallEndlessBursts
            ),
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
        let (generation, vm_generation) = if self.sees_generations {
            generations_for_testing()
        } else {
            (0, 0)
        };
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

#[cfg(test)]
mod tests {
    use squall_probe::{Mode, RECORDS, Record};

    use super::*;
    use crate::generator::Bits;
    use crate::memory::tests::plain;

    /// A generator that gives each of its numbers once.
    struct Numbers(std::ops::Range<u64>);

    impl Generator for Numbers {
        fn draw(&mut self) -> Option<Bits> {
            self.0.next().map(|number| [number; 8])
        }
    }

    #[test]
    fn outputs_are_recorded_until_the_generator_ends() {
        let memory = plain();
        let channels = Channels::lay_out(memory, Mode::Ticks);
        // `Source::Squall` has the first channel of the mode.
        let mut drawer = Drawer::new(&channels, Source::Squall, 0, Numbers(0..2));
        assert_eq!(
            [drawer.draw(), drawer.draw(), drawer.draw()],
            [true, true, false]
        );
        let mut last = 0;
        for number in 0..2 {
            let first = RECORDS + number * Output::WORDS;
            let output = Output::from_words(&memory.words::<{ Output::WORDS }>(first));
            assert_eq!(output.bits, [number as u64; 8]);
            assert!(last <= output.asked_at && output.asked_at <= output.given_at);
            last = output.given_at;
        }
    }
}
