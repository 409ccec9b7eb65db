//! Keeps the library loaded: when a thread ends, a function of this library frees the thread's page
//! (pthread_key_create(3)), possibly long after OpenSSL has unloaded the provider.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo::rerun-if-changed=build.rs");
}
