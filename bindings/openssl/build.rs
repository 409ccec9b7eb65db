//! Keeps the library in a process that has loaded it: squall gives a thread's page back when the
//! thread ends, by a function of this library (pthread_key_create(3)), which may be long after
//! OpenSSL has unloaded the provider.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo::rerun-if-changed=build.rs");
}
