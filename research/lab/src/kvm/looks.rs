//! Two CPUs that look at both records without pause: what they see after they were stopped and copied.

use fastrand::Rng;
use squall_tool_base::Failure;

use super::guest::{line_end, look, looker, own, record};
use super::machine::{CPUS, Host, Machine, Snapshot, failure};
use super::report::Report;
use super::way::Way;

/// Lines that each CPU of a copy publishes.
pub const LINES: u16 = 128;

pub struct Looks<'a> {
    host: &'a Host,
    source: Machine,
}

impl<'a> Looks<'a> {
    pub fn boot(host: &'a Host) -> Result<Looks<'a>, Failure> {
        let mut source = host.boot(looker(), CPUS)?;
        source.publish(&CPUS, 1)?;
        Ok(Looks { host, source })
    }

    /// Stops the machine at some instruction, or where the next one of each CPU looks at the CPU's own record: a CPU that
    /// has halted is put where it would be two instructions later.
    pub fn stop(&mut self, before_look: bool, random: &mut Rng) -> Result<(), Failure> {
        self.source.publish(&CPUS, 1)?;
        if !before_look {
            return self.source.interrupt(&CPUS, random);
        }
        for cpu in CPUS {
            let mut regs = self.source.regs(cpu)?;
            (regs.rip, regs.rdx) = (look(), regs.rdx + 1);
            self.source.set_regs(cpu, &regs)?;
        }
        Ok(())
    }

    /// Copies the machine, and examines the copies. One of them may take the machine's place.
    pub fn copies(
        &mut self,
        count: u32,
        random: &mut Rng,
        report: &mut Report,
    ) -> Result<(), Failure> {
        let snapshot = self.host.snapshot(&self.source)?;
        for cpu in CPUS {
            report.stopped_at(snapshot.regs(cpu).rip);
        }
        self.controls(&snapshot, random, report)?;
        let heir = random.u32(..3 * count);
        for number in 0..count {
            let way = Way::any(random);
            let copy = self.copy(&snapshot, &way)?;
            for cpu in CPUS {
                let (are_stale, sums) = seen(&copy, &snapshot, cpu)?;
                let [own, first, both, _] = &mut report.claims;
                own.add(&are_stale);
                both.add(&sums);
                if snapshot.regs(cpu).rip == look() {
                    first.add(&are_stale[..1]);
                }
                report.restored(&way.0, &are_stale);
            }
            if number == heir {
                self.source = copy;
                report.generations += 1;
            }
        }
        Ok(())
    }

    /// A copy that has looked.
    fn copy(&self, snapshot: &Snapshot, way: &Way) -> Result<Machine, Failure> {
        let mut copy = self.host.restore(snapshot, way)?;
        for cpus in way.turns() {
            copy.publish(cpus, LINES)?;
        }
        Ok(copy)
    }

    fn controls(
        &mut self,
        snapshot: &Snapshot,
        random: &mut Rng,
        report: &mut Report,
    ) -> Result<(), Failure> {
        let [no_msr, rewound, unreachable, other, _] = &mut report.controls;
        no_msr.show(|| stale(&self.copy(snapshot, &Way::without_msr())?, snapshot))?;
        unreachable.show(|| self.records_unreachable(snapshot))?;
        other.show(|| self.others_record(snapshot))?;
        rewound.show(|| self.rewound(snapshot, random))
    }

    /// Rewinds memory and registers of the same machine, which has run on. Whether looks are stale after that.
    fn rewound(&mut self, snapshot: &Snapshot, random: &mut Rng) -> Result<Vec<bool>, Failure> {
        self.stop(false, random)?;
        self.source.rewind(snapshot)?;
        self.source.publish(&CPUS, LINES)?;
        stale(&self.source, snapshot)
    }

    /// Enters CPU 1 of a copy while KVM cannot reach its record (CPU 0's is written with the MSR already by some kernels):
    /// the CPU looks elsewhere then. Whether looks are stale when the record can be reached again.
    fn records_unreachable(&self, snapshot: &Snapshot) -> Result<Vec<bool>, Failure> {
        let mut copy = self.host.restore(snapshot, &Way::PLAIN)?;
        let regs = snapshot.regs(1);
        let mut elsewhere = regs;
        (elsewhere.rip, elsewhere.rbp, elsewhere.rsi) = (looker(), own(1), own(1));
        // Not over the line that may be half written.
        elsewhere.rdi ^= 0x8000;
        copy.set_regs(1, &elsewhere)?;
        copy.memory.let_records_be_reached(false)?;
        copy.publish(&[1], 1)?;
        copy.memory.let_records_be_reached(true)?;
        copy.set_regs(1, &regs)?;
        copy.publish(&[1], LINES)?;
        stale(&copy, snapshot)
    }

    /// Has CPU 0 of a copy look at the record of CPU 1, which does not run. Whether its looks are stale.
    fn others_record(&self, snapshot: &Snapshot) -> Result<Vec<bool>, Failure> {
        let mut copy = self.host.restore(snapshot, &Way::PLAIN)?;
        let mut regs = snapshot.regs(0);
        (regs.rip, regs.rbp, regs.rsi) = (looker(), record(1), record(0));
        copy.set_regs(0, &regs)?;
        copy.publish(&[0], LINES)?;
        let lines = copy.lines(0, &regs, &copy.regs(0)?);
        let is_stale = |[_, version, _]: &[u32; 3]| *version == snapshot.version(1);
        Ok(lines.iter().map(is_stale).collect())
    }
}

/// For each pair of looks of a CPU of a copy since it was restored, whether they show the version of its own record that was
/// copied, and whether they show the sum of both versions that was copied.
fn seen(
    copy: &Machine,
    snapshot: &Snapshot,
    cpu: usize,
) -> Result<(Vec<bool>, Vec<bool>), Failure> {
    let before = snapshot.regs(cpu);
    let lines = copy.lines(cpu, &before, &copy.regs(cpu)?);
    let has_number = (look()..=line_end()).contains(&before.rip);
    let first = (before.rdx as u32).wrapping_add(u32::from(!has_number));
    let is_next = |(index, line): (usize, &[u32; 3])| line[0] == first.wrapping_add(index as u32);
    if !lines.iter().enumerate().all(is_next) {
        return Err(failure("a guest's lines are not in order"));
    }
    let has_looked = has_number && before.rip != look();
    let [old, others] = [cpu, 1 - cpu].map(|cpu| snapshot.version(cpu));
    let is_old = |[_, own, other]: [u32; 3]| {
        let sum = own.wrapping_add(other);
        (own == old, sum == old.wrapping_add(others))
    };
    let since = lines.into_iter().skip(usize::from(has_looked));
    Ok(since.map(is_old).unzip())
}

/// Whether the looks of both CPUs at their own records show the copied versions.
fn stale(copy: &Machine, snapshot: &Snapshot) -> Result<Vec<bool>, Failure> {
    let mut are_stale = Vec::new();
    for cpu in CPUS {
        are_stale.extend(seen(copy, snapshot, cpu)?.0);
    }
    Ok(are_stale)
}
