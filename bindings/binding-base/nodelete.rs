//! The build script of the shared libraries that a process may load and unload: OpenSSL unloads a provider, and Node.js a
//! module when a worker ends. It keeps them loaded, because each thread that has drawn calls the library when it ends, to
//! free its page (pthread_key_create(3)).

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo::rerun-if-changed=../binding-base/nodelete.rs");
}
