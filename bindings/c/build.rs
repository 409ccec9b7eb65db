//! Gives the shared library its soname, and keeps it loaded.
//!
//! The soname has the major version alone (U. Drepper, "How To Write Shared Libraries", section
//! 3.1). A library that was loaded by dlopen(3) stays after dlclose(3), because each thread that
//! drew calls into it when it ends.

fn main() {
    let major = env!("CARGO_PKG_VERSION_MAJOR");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libsquall.so.{major}");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo::rerun-if-changed=build.rs");
}
