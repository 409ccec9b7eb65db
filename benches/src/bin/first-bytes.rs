//! A tiny program that draws 32 bytes once and tells how long that took: `first-bytes
//! first-bytes squall|getrandom|nothing`. The `startup` benchmark runs it.

fn main() {
    squall_benches::startup::serve_child();
    eprintln!("usage: first-bytes first-bytes squall|getrandom|nothing");
    std::process::exit(2);
}
