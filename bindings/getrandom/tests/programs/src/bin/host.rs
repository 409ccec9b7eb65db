//! Loads the plugin that the argument names, and prints what it says.

use std::ffi::CString;
use std::mem;

fn main() {
    let plugin = std::env::args().nth(1).expect("the path of the plugin");
    let plugin = CString::new(plugin).expect("a path");
    // SAFETY: both names end with null bytes, and the library runs nothing but initialisers when it is loaded.
    let is_reached = unsafe {
        let plugin = libc::dlopen(plugin.as_ptr(), libc::RTLD_NOW);
        libc::dlsym(plugin, c"is_reached".as_ptr())
    };
    assert!(!is_reached.is_null(), "the plugin has this function");
    // SAFETY: the function has this type.
    let is_reached: extern "C" fn() -> bool = unsafe { mem::transmute(is_reached) };
    println!("{}", is_reached());
}
