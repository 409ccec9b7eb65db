//! Has two definitions of `getrandom`, in an order, or the second alone: also with all features, because the linker may
//! refuse two. Prints which definition serves. Nothing else refers to them.

#[rustfmt::skip]
mod in_this_order {
    #[cfg(all(feature = "squall_first", not(feature = "squall_last")))]
    use squall_getrandom as _;
    use second as _;
    #[cfg(all(feature = "squall_last", not(feature = "squall_first")))]
    use squall_getrandom as _;
}

fn main() {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("bytes");
    println!(
        "{}",
        if bytes == [2; 16] {
            "second"
        } else {
            "another"
        }
    );
}
