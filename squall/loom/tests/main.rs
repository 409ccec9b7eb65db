//! The code holds in every order that loom tries. Without any of its steps it does not, which is the control.

use squall_loom::*;

macro_rules! tests {
    ($($check:ident: $($mistake:ident)*;)*) => {
        $(#[test]
        fn $check() {
            real::checks::$check();
        }

        $(#[test]
        #[should_panic]
        fn $mistake() {
            $mistake::checks::$check();
        })*)*
    };
}

tests! {
    each_thread_gets_its_own_seed:
        commit_is_not_checked
        nobody_waits_for_a_commit
        commit_may_come_before_taking_away
        lock_is_relaxed;
    no_seed_is_made_of_zeros: zeros_are_compressed;
    a_token_s_value_is_read: check_is_not_fenced claim_is_not_fenced;
    no_emptied_value_is_ready: finish_is_not_checked;
    one_thread_prepares: claim_is_not_checked;
    one_page_is_mapped: page_is_not_compared;
}
