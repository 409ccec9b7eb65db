//! Prints what two crates draw by the custom backend of `getrandom`.

squall_getrandom::custom_backend!();

fn main() {
    println!("{}", uuid::Uuid::new_v4());
    let mut bytes = [0; 16];
    getrandom_03::fill(&mut bytes).expect("squall has a source of randomness");
    println!("{:032x}", u128::from_ne_bytes(bytes));
}
