//! Single-steps code in unit tests, to show what a signal handler or another thread sees between two instructions.

use std::cell::Cell;

thread_local! {
    static ON_STEP: Cell<Option<&'static dyn Fn(usize)>> = const { Cell::new(None) };
    static STEPS: Cell<usize> = const { Cell::new(0) };
}

extern "C" fn handle_step(_: libc::c_int) {
    STEPS.set(STEPS.get() + 1);
    if let Some(on_step) = ON_STEP.get() {
        on_step(STEPS.get());
    }
}

/// Runs `work`, and in a signal handler `on_step` after each of its instructions, with their number so far.
/// Returns how many there were. `on_step` must not panic.
pub(crate) fn step_through(work: impl FnOnce(), on_step: &dyn Fn(usize)) -> usize {
    STEPS.set(0);
    // SAFETY: it is called only until `work` has returned.
    ON_STEP.set(Some(unsafe {
        core::mem::transmute::<&dyn Fn(usize), &'static dyn Fn(usize)>(on_step)
    }));
    // SAFETY: the handler runs what the test gave it.
    unsafe {
        libc::signal(
            libc::SIGTRAP,
            handle_step as *const () as libc::sighandler_t,
        )
    };
    with_trap_flag(work);
    ON_STEP.set(None);
    assert_ne!(STEPS.get(), 0, "the trap flag has no effect");
    STEPS.get()
}

#[inline(never)]
fn with_trap_flag(work: impl FnOnce()) {
    // SAFETY: sets the trap flag, and clears it again after the work.
    unsafe { core::arch::asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq") };
    work();
    // SAFETY: as above.
    unsafe { core::arch::asm!("pushfq", "and qword ptr [rsp], -0x101", "popfq") };
}
