//! Tests by their functions' names. Some run once, others on each AES engine.
//!
//! On an engine that this CPU lacks, a test is ignored. It fails if the environment variable
//! `SQUALL_REQUIRE_ENGINES`, a list with commas, names the engine.

use libtest_mimic::{Completion, Failed, Trial};
use squall_drbg::Engine;

/// A test. `F` is `fn()`, or `fn(Engine)` for one that runs on each engine.
pub struct Test<F> {
    pub name: &'static str,
    pub run: F,
}

/// The step between the cases that a test runs: `under_miri`, which takes a thousand times as long, or 1.
pub const fn step(under_miri: usize) -> usize {
    if cfg!(miri) { under_miri } else { 1 }
}

/// Lists tests by their functions' names.
macro_rules! tests {
    ($($(#[$attribute:meta])* $name:ident),* $(,)?) => {
        &[$($(#[$attribute])* $crate::suite::Test {
            name: concat!(module_path!(), "::", stringify!($name)),
            run: $name,
        }),*]
    };
}
pub(crate) use tests;

impl<F> Test<F> {
    /// The name without the binary's.
    fn path(&self) -> &'static str {
        self.name
            .split_once("::")
            .map_or(self.name, |(_, path)| path)
    }
}

impl Test<fn()> {
    pub fn trial(&self) -> Trial {
        let run = self.run;
        Trial::test(self.path(), move || {
            run();
            Ok(())
        })
    }
}

impl Test<fn(Engine)> {
    /// The test on each AES engine that this kind of CPU has, and on those that are `required`.
    pub fn trials(&self, required: &[Engine]) -> impl Iterator<Item = Trial> {
        let is_meant = |engine: &Engine| {
            let is_of_this_kind = (*engine == Engine::ArmAes) == cfg!(target_arch = "aarch64");
            engine.is_aes()
                && (is_of_this_kind || engine.is_available() || required.contains(engine))
        };
        let run = self.run;
        let name = self.path();
        Engine::ALL.into_iter().filter(is_meant).map(move |engine| {
            let is_required = required.contains(&engine);
            Trial::ignorable_test(format!("{name}::{engine}"), move || {
                outcome(engine.is_available(), is_required, || run(engine))
            })
        })
    }
}

/// Runs a test if its engine is available. Otherwise it fails if the engine is required.
fn outcome(
    is_available: bool,
    is_required: bool,
    run: impl FnOnce(),
) -> Result<Completion, Failed> {
    let why = "this CPU lacks the engine";
    match (is_available, is_required) {
        (true, _) => {
            run();
            Ok(Completion::Completed)
        }
        (false, false) => Ok(Completion::ignored_with(why)),
        (false, true) => Err(why.into()),
    }
}

/// The engines whose tests may not be ignored.
pub fn required() -> Vec<Engine> {
    let names = std::env::var("SQUALL_REQUIRE_ENGINES").unwrap_or_default();
    engines(&names).expect("SQUALL_REQUIRE_ENGINES names engines")
}

/// The engines in a list with commas. Fails with a name that is no engine's.
fn engines(names: &str) -> Result<Vec<Engine>, &str> {
    let names = names.split(',').map(str::trim);
    names
        .filter(|name| !name.is_empty())
        .map(|name| name.parse().map_err(|_| name))
        .collect()
}

fn lists_of_engines_are_read() {
    use Engine::{Portable, Vaes512};
    assert_eq!(engines("portable, vaes512,"), Ok(vec![Portable, Vaes512]));
    assert_eq!(engines(""), Ok(vec![]));
    assert_eq!(engines("portable,sse"), Err("sse"));
}

fn an_engine_that_is_lacking_fails_only_if_it_is_required() {
    let unreachable = || panic!("there is no engine to run it on");
    let ignored = outcome(false, false, unreachable);
    assert!(matches!(
        ignored,
        Ok(Completion::Ignored { reason: Some(_) })
    ));
    assert!(outcome(false, true, unreachable).is_err());
    for is_required in [false, true] {
        let mut has_run = false;
        let completed = outcome(true, is_required, || has_run = true);
        assert!(has_run && matches!(completed, Ok(Completion::Completed)));
    }
}

pub const TESTS: &[Test<fn()>] = tests![
    lists_of_engines_are_read,
    an_engine_that_is_lacking_fails_only_if_it_is_required,
];
