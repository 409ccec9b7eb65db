//! Has the second definition of `getrandom` alone. Prints which definition serves.

use second as _;

fn main() {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("bytes");
    println!("{}", if bytes == [2; 16] { "second" } else { "another" });
}
