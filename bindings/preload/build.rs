//! Keeps the library loaded if a process has loaded it by dlopen(3): when a thread ends, a function of
//! this library frees the thread's page (pthread_key_create(3)).

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo::rerun-if-changed=build.rs");
}
