//! Runs QEMU for every kind of guest: a process that ends with the lab and is controlled through its
//! QMP socket.

mod arguments;
mod build;
mod initramfs;
mod machine;
mod qmp;

pub use arguments::{Arguments, Hardware, escaped};
pub use build::{
    Artifact, c_program, c_program_for_arm64, compile_for_arm64, go_program, go_tests_for_arm64,
    jar, java_program, library, module, program, root_of_arm64,
};
pub use initramfs::Initramfs;
pub use machine::{Host, Machine, PAUSE, Wait, reworded};
