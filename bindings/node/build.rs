//! Keeps the module loaded. Node.js unloads it when a worker ends, but each thread that has drawn calls it when it ends.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo::rerun-if-changed=build.rs");
}
