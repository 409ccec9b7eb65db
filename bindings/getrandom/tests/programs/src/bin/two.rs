//! A program with two definitions of `getrandom`, squall's and that of the crate `second`; a feature says which is
//! named first. With neither feature or with both (`--all-features`, where the linker might refuse two) it has only
//! `second`'s. Prints which one is called.

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
