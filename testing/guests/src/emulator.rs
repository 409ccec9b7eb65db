//! Runs QEMU for every kind of guest: a process that ends with the lab and is controlled through its
//! QMP socket.

mod arguments;
mod build;
mod build_arm64;
mod build_c;
mod build_go;
mod build_module;
mod compiler;
mod die_with_parent;
mod host;
mod initramfs;
mod logs;
mod machine;
mod qmp;

pub use arguments::{Arguments, Board, Hardware, escaped};
pub use build::library;
pub use build::program;
pub use build_arm64::Artifact;
pub use build_arm64::{
    c_program as c_program_for_arm64, compile as compile_for_arm64, root as root_of_arm64,
};
pub use build_c::program as c_program;
pub use build_go::{program as go_program, tests_for_arm64 as go_tests_for_arm64};
pub use build_module::module;
pub use host::Host;
pub use initramfs::Initramfs;
pub use machine::{Machine, PAUSE, Wait};
