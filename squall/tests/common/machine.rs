//! Which engines a test run covers.
//!
//! Engines for this architecture that the CPU lacks are listed on standard error, which the test harness
//! does not capture. If the environment variable `SQUALL_REQUIRE_ENGINES` names one of them, the run
//! fails.

use std::io::Write;
use std::sync::Once;

use squall::Engine;

/// The AES engines of this CPU.
///
/// # Panics
/// If this CPU lacks an engine that `SQUALL_REQUIRE_ENGINES` names, a list separated by commas.
pub fn aes_engines() -> Vec<Engine> {
    static REPORT: Once = Once::new();
    REPORT.call_once(report_lacking);
    let required = std::env::var("SQUALL_REQUIRE_ENGINES").unwrap_or_default();
    if let Some(engine) = first_lacking(&required, Engine::is_available) {
        panic!("SQUALL_REQUIRE_ENGINES names engine {engine}, which this CPU lacks");
    }
    Engine::available().filter(|e| e.is_aes()).collect()
}

fn report_lacking() {
    let is_of_this_kind = |engine| (engine == Engine::ArmAes) == cfg!(target_arch = "aarch64");
    for engine in Engine::ALL
        .into_iter()
        .filter(|&engine| is_of_this_kind(engine) && !engine.is_available())
    {
        let skip = format!("SKIP engine {engine}: this CPU lacks it\n");
        std::io::stderr()
            .write_all(skip.as_bytes())
            .expect("standard error takes a line");
    }
}

/// The first engine that `required` names and this CPU lacks.
fn first_lacking(required: &str, is_available: fn(Engine) -> bool) -> Option<Engine> {
    required
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .map(|name| name.parse().expect("SQUALL_REQUIRE_ENGINES names engines"))
        .find(|&engine| !is_available(engine))
}

#[test]
fn a_required_engine_that_is_lacking_is_found() {
    let all_but_vaes512 = |engine| engine != Engine::Vaes512;
    let lacking = |required| first_lacking(required, all_but_vaes512);
    assert_eq!(lacking("vaes512"), Some(Engine::Vaes512));
    assert_eq!(lacking("portable, vaes512"), Some(Engine::Vaes512));
    assert_eq!(lacking("aesni,portable,"), None);
    assert_eq!(lacking(""), None);
}
