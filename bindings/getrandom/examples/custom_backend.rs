//! A program whose crates draw from squall by the custom backend of `getrandom`, also where it is linked
//! statically:
//!
//!     RUSTFLAGS='--cfg getrandom_backend="custom" -C target-feature=+crt-static' \
//!         cargo run -p squall-getrandom --example custom_backend --target x86_64-unknown-linux-gnu

squall_getrandom::custom_backend!();

fn main() {
    println!("{}", uuid::Uuid::new_v4());
    let mut bytes = [0; 16];
    getrandom_03::fill(&mut bytes).expect("squall has a source of randomness");
    println!("{:032x}", u128::from_ne_bytes(bytes));
}
