//! A model of squall's guards: the steps of requests, in the order of the code, and the events that may come between them.
//! The model checker stateright tries every order.
//!
//! What the model leaves out is in docs/SOUNDNESS.md.

mod guards;
mod request;
mod setting;
mod world;

use std::fmt::{self, Write as _};
use std::num::NonZero;

use stateright::{Checker, Model, Path, Property};

pub use guards::{Guard, Guards};
pub use setting::{Setting, bounds, limits, that_needs};
use world::{Broken, Event, World};

/// What happens next, and to which process and thread.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Step(usize, usize),
    Event(Event, usize, usize),
}

impl Model for Setting {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(self)]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        if world.broken.is_some() {
            return;
        }
        for (process, of) in world.processes.iter().enumerate() {
            for (thread, of) in of.threads.iter().enumerate() {
                if of.is_busy() && world.runs(process) {
                    actions.push(Action::Step(process, thread));
                }
                let possible = self.events.iter().chain([&Event::Tick]);
                let possible = possible.filter(|event| world.may_happen(**event, process, thread));
                actions.extend(possible.map(|event| Action::Event(*event, process, thread)));
            }
        }
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let mut world = world.clone();
        match action {
            Action::Step(process, thread) => request::step(&mut world, process, thread, self),
            Action::Event(event, process, thread) => world.happen(event, process, thread, self),
        }
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("no bytes are served twice", |_, world: &World| {
                world.broken != Some(Broken::Repeated)
            }),
            Property::always(
                "no bytes are older than the kernel's RNG",
                |_, world: &World| world.broken != Some(Broken::Stale),
            ),
            Property::always("all bytes were seeded", |_, world: &World| {
                world.broken != Some(Broken::Unseeded)
            }),
            Property::always("every request ends", |_, world: &World| {
                world.broken != Some(Broken::Endless)
            }),
            Property::eventually("no request waits for ever", |_, world: &World| {
                world.has_ended() || world.broken.is_some()
            }),
        ]
    }
}

/// What the checker found: how many states there are, and a way to a broken promise.
pub struct Outcome {
    pub states: usize,
    /// The promises that are broken.
    pub broken: Vec<&'static str>,
    pub counterexample: Option<(&'static str, Path<World, Action>)>,
}

impl Setting {
    pub fn without(self, guard: Guard) -> Setting {
        Setting {
            guards: self.guards.without(guard),
            ..self
        }
    }

    /// Tries every order of steps and events. With one thread, the counterexample is a shortest one.
    pub fn check(self, threads: usize) -> Outcome {
        let checker = self.checker().threads(threads).spawn_bfs().join();
        let found = checker.discoveries();
        let broken = found.keys().copied().collect();
        let counterexample = found
            .into_iter()
            .min_by_key(|(_, path)| path.clone().into_vec().len());
        Outcome {
            states: checker.unique_state_count(),
            broken,
            counterexample,
        }
    }
}

/// The CPUs that this program may use.
pub fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?}, requests {:?}, events {:?}",
            self.kind, self.requests, self.events
        )
    }
}

/// A counterexample, a line for each step.
pub fn trace(path: Path<World, Action>) -> String {
    let mut text = String::new();
    for (number, (world, action)) in path.into_vec().into_iter().enumerate() {
        let what = match action {
            None => break,
            Some(Action::Event(event, process, thread)) => {
                format!("{} -- {event:?}", name(process, thread))
            }
            Some(Action::Step(process, thread)) => {
                let step = world.processes[process].threads[thread]
                    .frames
                    .last()
                    .map(|frame| frame.step);
                let step = step.map_or("begins a request".into(), |step| step.to_string());
                format!("{}    {step}", name(process, thread))
            }
        };
        writeln!(text, "{:4}  {what}", number + 1).expect("a String takes it");
    }
    text
}

fn name(process: usize, thread: usize) -> String {
    format!("{:8}  thread {}", ["original", "copy"][process], thread + 1)
}
