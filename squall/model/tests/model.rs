//! Every promise holds in the model; each guard is needed there; and the model has the code's order.

use clap::ValueEnum;
use squall_model::{Guard, Setting, bounds, cpus, limits, that_needs, trace};

/// Fails with the way to a broken promise.
fn assert_holds(setting: Setting) {
    let described = setting.to_string();
    if let Some((promise, path)) = setting.check(cpus()).counterexample {
        panic!("{described}\nbroken: {promise}\n{}", trace(path));
    }
}

#[test]
fn promises_hold_in_every_kind_of_copy() {
    bounds(0).into_iter().for_each(assert_holds);
}

#[test]
fn each_guard_is_needed() {
    for &guard in Guard::value_variants() {
        assert_holds(that_needs(guard));
        let broken = that_needs(guard).without(guard).check(cpus()).broken;
        assert!(
            broken.contains(&promise_of(guard)),
            "without {guard:?}: {broken:?}"
        );
    }
}

/// The promise that is broken without a guard.
fn promise_of(guard: Guard) -> &'static str {
    match guard {
        Guard::Generation | Guard::GenerationInFreshDraw => {
            "no bytes are older than the kernel's RNG"
        }
        Guard::CheckAfterRead | Guard::CheckAfterSeeding | Guard::NewTagIsNoProof => {
            "all bytes were seeded"
        }
        _ => "no bytes are served twice",
    }
}

/// SECURITY.md excepts these, so the model must find them.
#[test]
fn limits_are_real() {
    for setting in limits() {
        let described = setting.to_string();
        assert!(
            setting.check(cpus()).counterexample.is_some(),
            "{described}"
        );
    }
}

/// The control: with fewer steps allowed than a request needs, it counts as one that never ends.
#[test]
fn requests_that_do_not_end_are_noticed() {
    for mut setting in bounds(0) {
        setting.most_steps = 8;
        let (promise, _) = setting
            .check(cpus())
            .counterexample
            .expect("a request of nine steps");
        assert_eq!(promise, "every request ends");
    }
}

#[test]
fn each_guard_has_a_control_with_the_real_code() {
    let sources = [
        source("tests/guards/main.rs"),
        source("../scripts/orders.py"),
    ];
    for guard in Guard::value_variants() {
        let name = format!("\"{}\"", guard.control());
        assert!(
            sources.iter().any(|source| source.contains(&name)),
            "{guard:?}: {name}"
        );
    }
}

/// A file of the crate squall.
fn source(name: &str) -> String {
    let path = format!("{}/../{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Functions, and in them texts in the order in which the model has their steps.
const ORDERS: &[(&str, &str, &[&str])] = &[
    (
        "thread_generator.rs",
        "fn draw<T>(",
        &[
            "line.lock.lock()",
            "line.place(left, len)",
            "take(page, at)",
            "line.is_fresh_if_simple(page)",
            "SlowPath { left: at }",
            "line.unlock(at)",
        ],
    ),
    (
        "thread_generator.rs",
        "fn finish<T>(",
        &["pad(page, taken)", "line.is_fresh(page)", "line.unlock(at)"],
    ),
    (
        "guard/page.rs",
        "fn take_word<",
        &[
            "place.read_unaligned()",
            "place.write_unaligned(",
            "read_before_checking()",
        ],
    ),
    (
        "guard/freshness.rs",
        "fn tag(",
        &["self.tag_under(self.generation())"],
    ),
    (
        "guard/freshness.rs",
        "fn tag_under(",
        &["Tag::new(generation, self.tick(), unsafe { self.signal.word() })"],
    ),
    (
        "guard/freshness.rs",
        "fn tag_if_simple(",
        &["self.generation()", "self.tick()", "word_if_simple()"],
    ),
    (
        "guard/kvm_clock.rs",
        "unsafe fn own_record(",
        &["rdpid", "record.word(0)"],
    ),
    (
        "guard/page.rs",
        "fn is_fresh(",
        &["tag_vm)", "tag_complement)", "== 0"],
    ),
    (
        "thread_generator.rs",
        "fn serve_slowly(",
        &[
            "left >= HOLDER",
            "line.lock.give_up()",
            "fresh::fill(out)",
            "request.serve(kind, out)",
            "line.unlock(left)",
        ],
    ),
    (
        "thread_generator.rs",
        "fn serve(&mut self,",
        &[
            "for _ in 0..ATTEMPTS",
            "page.is_of_process(fork::mark())",
            "self.line.is_fresh(page)",
            "self.is_current(page)",
            "self.discard()",
            "self.seed(page)?",
            "self.has_new_tag = !was_fresh",
            "self.produce(page, kind, out)",
            "!self.has_new_tag && self.line.is_fresh(page)",
            "may_be_served && (self.has_new_tag || out.len() > SMALL)",
            "epoch_suffices && self.is_current(page)",
            "page.forget_freshness_tag()",
            "fresh::fill(out)",
        ],
    ),
    (
        "thread_generator/seeding.rs",
        "fn seed(",
        &[
            "self.policy.epoch_without_kernel()",
            "page.wipe_if_inherited(",
            "page.begin_seeding(",
            "self.kernel_bytes(page,",
            "root::draw(",
            "entropy::seed(",
            "page.set_generation(generation)",
            "Generator::in_page(page,",
            "generator.reseed(&seed)",
        ],
    ),
    (
        "thread_generator/generator.rs",
        "fn in_page(",
        &["page.load_state(", "Self::in_state(", "page.store_state("],
    ),
    (
        "thread_generator.rs",
        "fn produce(",
        &[
            "self.generate(page, out)",
            "self.begin_tick(page)",
            "self.refill(page)",
            "self.left -= out.len()",
            "page.take(self.left, out)",
            "request_pad::apply(page, out)",
            "page.is_fresh(self.tag(page))",
        ],
    ),
    (
        "thread_generator.rs",
        "fn begin_tick(",
        &[
            "page.is_fresh(self.tag(page))",
            "self.discard()",
            "page.set_freshness_tag(self.tag(page))",
            "self.has_new_tag = true",
        ],
    ),
    (
        "thread_generator.rs",
        "fn tag(&self, page: Page)",
        &["tag_under(page.generation())"],
    ),
    (
        "thread_generator.rs",
        "fn refill(",
        &[
            "additional_input::<2>()",
            "Generator::in_page(page,",
            "page.with_buffer(len,",
            "generator.generate(buffer, &input,",
        ],
    ),
    (
        "thread_generator.rs",
        "fn generate(&mut self,",
        &[
            "Generator::in_page(page,",
            "for _ in 0..2",
            "self.begin_tick(page) || self.policy.needs_input()",
            "generator.generate(part, &entropy::additional_input::<3>()",
            "page.is_fresh(self.tag(page))",
        ],
    ),
    (
        "guard/policy.rs",
        "fn epoch(",
        &[
            "freshness::mapped_generation()",
            "self.epoch_without_kernel()",
        ],
    ),
    (
        "guard/policy.rs",
        "fn epoch_without_kernel(",
        &["CloneSignal::value", "fork::mark()"],
    ),
    (
        "guard/page.rs",
        "fn is_current(",
        &["vm)", "seeding_marker)", "self.is_of_generation("],
    ),
    (
        "thread_generator/fresh.rs",
        "fn fill(",
        &[
            "= epoch()",
            "generate(out)?",
            "= epoch()",
            "may_be_served(before, after, attempt)",
        ],
    ),
    (
        "thread_generator/fresh.rs",
        "fn epoch(",
        &[
            "freshness::mapped_generation()",
            "fork::process()",
            "epoch_without_kernel()",
        ],
    ),
    (
        "thread_generator/fresh.rs",
        "fn generate(",
        &[
            "kernel::fill(",
            "stateless_root_bytes(",
            "entropy::seed(",
            "additional_input::<3>()",
        ],
    ),
    (
        "thread_generator.rs",
        "fn begin_anew_in_child()",
        &["fork::count_one()", "line().begin_anew_in_child()"],
    ),
    (
        "guard/thread_line.rs",
        "fn begin_anew_in_child(",
        &[
            "self.lock.lock() < HOLDER",
            "self.lock.unlock(0)",
            "page.wipe()",
        ],
    ),
];

/// The body of a function, up to the next line that ends a function with the same indentation.
fn body<'a>(source: &'a str, function: &str) -> &'a str {
    let at = source
        .find(function)
        .unwrap_or_else(|| panic!("there is no {function}"));
    let start = source[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let indentation: String = source[start..]
        .chars()
        .take_while(|letter| *letter == ' ')
        .collect();
    let end = source[at..]
        .find(&format!("\n{indentation}}}\n"))
        .expect("a function ends");
    &source[at..at + end]
}

/// The first text that does not follow the one before it.
fn missing<'a>(body: &str, texts: &[&'a str]) -> Option<&'a str> {
    let mut rest = body;
    texts
        .iter()
        .copied()
        .find(|text| match rest.split_once(text) {
            Some((_, after)) => {
                rest = after;
                false
            }
            None => true,
        })
}

#[test]
fn steps_are_in_the_order_of_the_code() {
    for (file, function, texts) in ORDERS {
        let source = source(&format!("src/{file}"));
        let body = body(&source, function);
        assert_eq!(
            missing(body, texts),
            None,
            "{file}, {function}: not in the model's order"
        );
        // The control.
        let reversed: Vec<&str> = texts.iter().rev().copied().collect();
        assert!(
            texts.len() == 1 || missing(body, &reversed).is_some(),
            "{file}, {function}"
        );
    }
}
