//! What the checker tries: a machine, requests, events, and the guards that are there.

use crate::Event::*;
use crate::guards::{Guard, Guards};
use crate::request::Size::{self, Large, Small};
use crate::world::Event;

/// What shows clones on the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing, because there are none.
    BareMetal,
    /// The records of kvm-clock.
    Kvm,
    /// Nothing.
    NoSignal,
}
use Kind::*;

/// The requests of each thread.
pub type Requests = &'static [&'static [Size]];

/// One that seeds; a second from the buffer; a third that refills it; a second in place; two threads that seed.
const ONE: Requests = &[&[Small]];
const SMALL: Requests = &[&[Small, Small]];
const THREE: Requests = &[&[Small, Small, Small]];
const LARGE: Requests = &[&[Small, Large]];
const TWO_THREADS: Requests = &[&[Small], &[Small]];

#[derive(Clone, Debug)]
pub struct Setting {
    pub kind: Kind,
    pub requests: Requests,
    /// The events that may happen, each once.
    pub events: Vec<Event>,
    pub guards: Guards,
    /// The most steps of a request: more than any makes that ends.
    pub most_steps: u16,
    /// Whether the limits of SECURITY.md ("What remains") are no broken promises.
    pub allows_limits: bool,
}

impl Setting {
    fn new(kind: Kind, requests: Requests, events: &[Event]) -> Setting {
        Setting {
            kind,
            requests,
            events: events.to_vec(),
            guards: Guards::ALL,
            most_steps: 500,
            allows_limits: true,
        }
    }
}

/// Machines and requests, with each copy that can be made there and so many other events; two threads with copies alone.
pub fn bounds(others: usize) -> Vec<Setting> {
    let rows: [(_, _, _, &[Event]); 8] = [
        (0, Kvm, TWO_THREADS, &[Clone]),
        (0, Kvm, THREE, &[Clone, Restore, Fork, OldFork, RawClone]),
        (0, BareMetal, THREE, &[Restore]),
        (
            others,
            Kvm,
            SMALL,
            &[Clone, Restore, Fork, OldFork, RawClone],
        ),
        (others, Kvm, LARGE, &[Clone, Restore, Fork]),
        (others, BareMetal, LARGE, &[Restore, Fork, OldFork]),
        (others, NoSignal, SMALL, &[Clone, Restore]),
        (others, NoSignal, LARGE, &[Clone]),
    ];
    let mut all = Vec::new();
    for (others, kind, requests, copies) in rows {
        for copy in copies {
            for others in subsets(&[Reseed, Tick, Drop, Move, Signal], others) {
                let events = [&[*copy], &others[..]].concat();
                all.push(Setting::new(kind, requests, &events));
            }
        }
    }
    all
}

fn subsets(events: &[Event], len: usize) -> Vec<Vec<Event>> {
    match (len, events) {
        (0, _) => vec![vec![]],
        (_, []) => vec![],
        (_, [first, rest @ ..]) => {
            let with_first = subsets(rest, len - 1)
                .into_iter()
                .map(|set| [&[*first], &set[..]].concat());
            with_first.chain(subsets(rest, len)).collect()
        }
    }
}

/// Where a promise is broken without a guard. Where another guard would do alone, it is missing too.
pub fn that_needs(guard: Guard) -> Setting {
    let (kind, requests, events, missing): (_, _, &[Event], &[Guard]) = match guard {
        Guard::WipeOnFork => (Kvm, SMALL, &[RawClone], &[]),
        Guard::ForkHandler => (Kvm, SMALL, &[OldFork], &[]),
        Guard::ProcessMark => (BareMetal, LARGE, &[OldFork], &[]),
        Guard::SeedingMarker => (Kvm, SMALL, &[RawClone], &[Guard::RefillInput]),
        Guard::ProcessIdInFreshDraw => (Kvm, ONE, &[Fork, Signal], &[]),
        Guard::Generation => (Kvm, SMALL, &[Reseed], &[]),
        Guard::GenerationInFreshDraw => (Kvm, ONE, &[Signal, Reseed], &[]),
        Guard::CheckAfterRead | Guard::NewTagIsNoProof => (Kvm, SMALL, &[Drop], &[]),
        Guard::CheckAfterSeeding => (Kvm, LARGE, &[Drop], &[]),
        Guard::Lock => (Kvm, SMALL, &[Signal], &[]),
        Guard::Record => (Kvm, SMALL, &[Clone], &[]),
        Guard::RecordInFreshDraw | Guard::FreshInput => (Kvm, ONE, &[Clone, Signal], &[]),
        Guard::NumberAfterBytes => (Kvm, SMALL, &[Clone, Move], &[]),
        Guard::ForgetTag | Guard::SeedInput => (Kvm, SMALL, &[Clone], &[Guard::RefillInput]),
        Guard::TickInLastCheck => (Kvm, THREE, &[Restore], &[]),
        Guard::Tick | Guard::RefillInput => (Kvm, SMALL, &[Restore], &[]),
        Guard::LongInput => (BareMetal, LARGE, &[Restore], &[]),
        Guard::Pads => (NoSignal, SMALL, &[Clone], &[]),
    };
    let guards = missing
        .iter()
        .fold(Guards::ALL, |guards, &guard| guards.without(guard));
    Setting {
        guards,
        ..Setting::new(kind, requests, events)
    }
}

/// What SECURITY.md excepts: a checkpoint in a long request, or in one that is served afresh; a clone that nothing shows; and a
/// reseed in the last attempt at a request that is served afresh.
pub fn limits() -> Vec<Setting> {
    let rows: [(_, _, &[Event]); 4] = [
        (BareMetal, LARGE, &[Restore]),
        (Kvm, ONE, &[Restore, Signal]),
        (NoSignal, ONE, &[Clone]),
        (Kvm, ONE, &[Clone, Reseed, Signal]),
    ];
    let setting = |(kind, requests, events)| Setting {
        allows_limits: false,
        ..Setting::new(kind, requests, events)
    };
    rows.map(setting).into()
}
