//! Keeps the library in a process that has loaded it by dlopen(3): squall gives a thread's page back when
//! the thread ends, by a function of this library (pthread_key_create(3)).

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo::rerun-if-changed=build.rs");
}
