//! Has two definitions of `getrandom`, of which squall's is named second. Prints which of them serves. Nothing
//! else refers to squall's.

#[rustfmt::skip]
mod in_this_order {
    use second as _;
    use squall_getrandom as _;
}

fn main() {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("bytes");
    println!("{}", if bytes == [2; 16] { "second" } else { "squall" });
}
