//! What was claimed and what was found, as JSON and as Markdown.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde::Serialize;
use squall_tool_base::Failure;
use squall_tool_base::measure::machine::{cpu, hypervisor, kernel};

use super::guest::CODE;

/// After so many attempts a control has failed to show anything.
const ATTEMPTS: u32 = 1000;

#[derive(Debug, Serialize)]
pub struct Report {
    date: String,
    kernel: String,
    cpu: String,
    hypervisor: Option<String>,
    kvm_modules: Vec<String>,
    seed: u64,
    snapshots: u32,
    clones: u32,
    /// How often a clone became the machine of which copies are made.
    pub generations: u32,
    /// Whether every claim and every control held.
    held: bool,
    /// Looks of which none may be stale.
    pub claims: [Count; 4],
    /// Trials in each of which something must be stale.
    pub controls: [Count; 5],
    /// The looks of the first claim, by what was special in how the clone was restored.
    ways: Vec<Count>,
    /// Offsets of the instructions at which CPUs were stopped.
    stops: BTreeSet<u64>,
}

/// How many of how many are stale.
#[derive(Debug, Serialize)]
pub struct Count {
    name: &'static str,
    times: u64,
    stale: u64,
}

impl Report {
    pub fn new(seed: u64, snapshots: u32, clones: u32) -> Report {
        Report {
            date: jiff::Timestamp::now().strftime("%F").to_string(),
            kernel: kernel(),
            cpu: cpu(),
            hypervisor: hypervisor(),
            kvm_modules: modules(),
            seed,
            snapshots,
            clones,
            generations: 0,
            held: false,
            claims: [
                "a CPU's own record",
                "a CPU's own record, by the clone's first instruction",
                "the sum of both records",
                "numbers that a moved thread publishes",
            ]
            .map(Count::new),
            controls: [
                "A: the MSR is not restored",
                "B: memory and registers are rewound in the same machine",
                "C: KVM cannot reach the record when the CPU is first entered",
                "D: a thread that was moved looks at the record of the CPU it came from",
                "E: the CPU's number is read before the take",
            ]
            .map(Count::new),
            ways: Vec::new(),
            stops: BTreeSet::new(),
        }
    }

    /// Counts looks in a clone that was restored in this way.
    pub fn restored(&mut self, way: &[&'static str], are_stale: &[bool]) {
        for &name in way {
            let place = self.ways.binary_search_by_key(&name, |way| way.name);
            let place = place.unwrap_or_else(|place| {
                self.ways.insert(place, Count::new(name));
                place
            });
            self.ways[place].add(are_stale);
        }
    }

    pub fn stopped_at(&mut self, instruction: u64) {
        self.stops.insert(instruction - CODE);
    }

    /// Fails if a claim or a control did not hold.
    pub fn judge(&mut self) -> Result<(), Failure> {
        let claims = self.claims.iter().all(Count::is_never_stale);
        self.held = claims && self.controls.iter().all(Count::is_always_stale);
        let message = "kvm: a claim or a control did not hold: see the lines marked FAULT";
        let failure = || Failure::Runtime(message.into());
        self.held.then_some(()).ok_or_else(failure)
    }

    pub fn markdown(&self) -> String {
        let tables = [
            (
                "looks in clones",
                &self.claims[..],
                Count::is_never_stale as fn(&Count) -> bool,
            ),
            ("controls", &self.controls, Count::is_always_stale),
            (
                "looks at own records, by what was special",
                &self.ways,
                Count::is_never_stale,
            ),
        ];
        let mut text = self.heading();
        for (title, counts, held) in tables {
            let _ = write!(text, "\n| {title} | times | stale |\n| --- | --- | --- |\n");
            for count in counts {
                let Count { name, times, stale } = count;
                let fault = if held(count) { "" } else { " FAULT" };
                let _ = writeln!(text, "| {name} | {times} | {stale}{fault} |");
            }
        }
        text
    }

    fn heading(&self) -> String {
        let [date, kernel, cpu] = [&self.date, &self.kernel, &self.cpu];
        let below = match &self.hypervisor {
            Some(name) => format!("a guest of {name}"),
            None => "no hypervisor below".into(),
        };
        let modules = self.kvm_modules.join(", ");
        format!(
            "# kvm-clock's records in clones, {date}\n\nLinux {kernel}, {below}; KVM's modules: {modules}; {cpu}\n\n\
             {} snapshots of two guests, {} clones of each; {} times a clone became the guest that was copied; seed {}; \
             CPUs stopped at {} different instructions\n",
            self.snapshots,
            self.clones,
            self.generations,
            self.seed,
            self.stops.len()
        )
    }
}

impl Count {
    fn new(name: &'static str) -> Count {
        let (times, stale) = (0, 0);
        Count { name, times, stale }
    }

    pub fn add(&mut self, are_stale: &[bool]) {
        self.times += are_stale.len() as u64;
        self.stale += stale(are_stale);
    }

    /// Attempts a control until something is stale, unless it has failed before.
    pub fn show(
        &mut self,
        mut attempt: impl FnMut() -> Result<Vec<bool>, Failure>,
    ) -> Result<(), Failure> {
        let mut shown = false;
        for _ in 0..ATTEMPTS {
            if shown || self.stale < self.times {
                break;
            }
            shown = stale(&attempt()?) > 0;
        }
        self.add(&[shown]);
        Ok(())
    }

    fn is_never_stale(&self) -> bool {
        self.times > 0 && self.stale == 0
    }

    fn is_always_stale(&self) -> bool {
        self.times > 0 && self.stale == self.times
    }
}

fn stale(are_stale: &[bool]) -> u64 {
    are_stale.iter().map(|is_stale| u64::from(*is_stale)).sum()
}

/// KVM and the modules that it has for this CPU.
fn modules() -> Vec<String> {
    let entries = std::fs::read_dir("/sys/module").into_iter().flatten();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<_> = names.filter(|name| name.starts_with("kvm")).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A report in which everything held.
    fn good() -> Report {
        let mut report = Report::new(1, 2, 3);
        report
            .claims
            .iter_mut()
            .for_each(|claim| claim.add(&[false]));
        report
            .controls
            .iter_mut()
            .for_each(|control| control.add(&[true]));
        report
    }

    #[track_caller]
    fn is_judged(mut report: Report, held: bool) {
        assert_eq!(report.judge().is_ok(), held);
        assert_eq!(report.markdown().contains("FAULT"), !held);
    }

    #[test]
    fn one_fault_is_a_failure() {
        is_judged(good(), true);
        let faults: [fn(&mut Count); 2] =
            [|count| count.add(&[true, false]), |count| count.times = 0];
        for fault in faults {
            for index in 0..9 {
                let mut report = good();
                let mut counts = report.claims.iter_mut().chain(&mut report.controls);
                fault(counts.nth(index).expect("a count"));
                is_judged(report, false);
            }
        }
    }

    #[test]
    fn a_control_is_attempted_until_it_shows_something() {
        let mut results = [vec![false; 5], vec![], vec![false, true]].into_iter();
        let mut control = Count::new("");
        control
            .show(|| Ok(results.next().expect("an attempt")))
            .expect("no failure");
        assert!(results.next().is_none() && control.is_always_stale());
        let mut attempts = 0;
        let mut fail = || {
            attempts += 1;
            Ok(vec![false])
        };
        control.show(&mut fail).expect("no failure");
        control.show(&mut fail).expect("no failure");
        assert_eq!((attempts, control.times, control.stale), (ATTEMPTS, 3, 1));
    }
}
