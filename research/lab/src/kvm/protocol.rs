//! The whole protocol of a reader, whose thread is moved from CPU to CPU as a guest's scheduler does: it remembers the
//! records, takes a seed and then numbers, and publishes a number with its seed if the record of the CPU, whose number it
//! reads after it has taken the number, is as remembered.

use std::iter::once;

use fastrand::Rng;
use kvm_bindings::kvm_regs;
use squall_tool_base::Failure;

use super::guest::{early_reader, early_take, reader};
use super::looks::LINES;
use super::machine::{Host, Machine, failure};
use super::report::Report;
use super::way::Way;

/// How often a thread may be moved before it is copied, and after.
const MOVES: usize = 2;

/// A machine with one thread, which runs on one of the CPUs.
struct Thread {
    machine: Machine,
    cpu: usize,
}

pub struct Protocol<'a> {
    host: &'a Host,
    source: Thread,
    /// The reader that reads the CPU's number before it takes a number.
    early: Thread,
}

impl<'a> Protocol<'a> {
    pub fn boot(host: &'a Host) -> Result<Protocol<'a>, Failure> {
        let thread = |program| {
            let machine = host.boot(program, [0, 0])?;
            Ok(Thread { machine, cpu: 1 })
        };
        let (source, early) = (thread(reader())?, thread(early_reader())?);
        Ok(Protocol {
            host,
            source,
            early,
        })
    }

    /// Copies the machine, and examines the copies. One of them may take the machine's place.
    pub fn copies(
        &mut self,
        count: u32,
        random: &mut Rng,
        report: &mut Report,
    ) -> Result<(), Failure> {
        for _ in 0..MOVES {
            self.source.move_perhaps(random)?;
            let cpu = [self.source.cpu];
            self.source.machine.publish(&cpu, 1)?;
            self.source.machine.interrupt(&cpu, random)?;
        }
        let cpu = self.source.cpu;
        let snapshot = self.host.snapshot(&self.source.machine)?;
        let old = snapshot.regs(cpu);
        let heir = random.u32(..3 * count);
        for number in 0..count {
            let machine = self.host.restore(&snapshot, &Way::any(random))?;
            let mut copy = Thread { machine, cpu };
            let lines = copy.go_on(random)?;
            let [.., protocol] = &mut report.claims;
            protocol.add(&are_stale(&lines, &old));
            if number == heir {
                self.source = copy;
                report.generations += 1;
            }
        }
        let [.., early] = &mut report.controls;
        early.show(|| self.early())
    }

    /// Moves a thread of a copy that was stopped between the CPU's number and the take. Whether its numbers have the old seed.
    fn early(&mut self) -> Result<Vec<bool>, Failure> {
        let Thread { machine, cpu } = &mut self.early;
        let other = 1 - *cpu;
        machine.publish(&[*cpu], LINES)?;
        // It has halted, and has the CPU's number still: this is where it would be two instructions later.
        let mut old = machine.regs(*cpu)?;
        old.rip = early_take();
        let snapshot = self.host.snapshot(machine)?;
        let mut copy = self.host.restore(&snapshot, &Way::PLAIN)?;
        copy.set_regs(other, &old)?;
        copy.publish(&[other], LINES)?;
        let lines = copy.lines(0, &old, &copy.regs(other)?);
        Ok(are_stale(&lines, &old))
    }
}

impl Thread {
    fn move_perhaps(&mut self, random: &mut Rng) -> Result<(), Failure> {
        let regs = self.machine.regs(self.cpu)?;
        self.cpu = random.usize(..2);
        self.machine.set_regs(self.cpu, &regs)
    }

    /// Lets the thread of a copy run, and returns the lines of the numbers that it has taken since then.
    fn go_on(&mut self, random: &mut Rng) -> Result<Vec<[u32; 3]>, Failure> {
        let old = self.machine.regs(self.cpu)?.rdx as u32;
        let mut lines = Vec::new();
        for turn in 0..=MOVES {
            self.move_perhaps(random)?;
            let before = self.machine.regs(self.cpu)?;
            match turn {
                MOVES => self.machine.publish(&[self.cpu], LINES)?,
                _ => self.machine.publish_some(self.cpu, random)?,
            }
            let after = self.machine.regs(self.cpu)?;
            lines.extend(self.machine.lines(0, &before, &after));
        }
        // The number that it had when it was stopped was taken before.
        lines.retain(|[number, ..]| *number != old);
        let numbers = once(old).chain(lines.iter().map(|[number, ..]| *number));
        let is_later = |one: &u32, other: &u32| (other.wrapping_sub(*one) as i32) > 0;
        match numbers.is_sorted_by(is_later) {
            true => Ok(lines),
            false => Err(failure("a thread's numbers are not in order")),
        }
    }
}

/// Whether each line has the seed that a thread had.
fn are_stale(lines: &[[u32; 3]], thread: &kvm_regs) -> Vec<bool> {
    let seed = thread.rbp as u32;
    lines.iter().map(|line| line[1] == seed).collect()
}
