//! Where the library is found: as it is installed, and as it is built.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::world::{LOADED, World, copy, library, output, refused, text_of};

/// A copy of the command at `place` in a world.
fn command(world: &World, place: &str) -> PathBuf {
    copy(Path::new(env!("CARGO_BIN_EXE_squall")), &world.path(place))
}

#[test]
fn below_the_prefix() {
    let multiarch = format!(
        "lib/{}-linux-gnu/libsquall-preload.so",
        std::env::consts::ARCH
    );
    for (command_at, library_at) in [
        ("bin/squall", "lib/libsquall-preload.so"),
        ("bin/squall", &multiarch),
        ("sbin/squall", &multiarch),
    ] {
        let world = World::new();
        let Some(teller) = world.teller() else { return };
        let command = command(&world, command_at);
        let run = |command: &Path| output(Command::new(command).args(["run", "--"]).arg(&teller));
        let looked = world.path("lib/libsquall-preload.so").display().to_string();
        refused(&run(&command), 1, &["not installed", &looked, "--library"]);
        copy(&library(), &world.path(library_at));
        assert_eq!(text_of(&run(&command).stdout), LOADED);
        let link = world.path("link");
        std::os::unix::fs::symlink(&command, &link).unwrap();
        assert_eq!(text_of(&run(&link).stdout), LOADED);
    }
}

#[test]
fn by_the_installation() {
    let world = World::new();
    let Some(teller) = world.teller() else { return };
    let mut command = Command::new(squall_programs::doors::command());
    let output = output(command.args(["run", "--"]).arg(&teller));
    assert_eq!(text_of(&output.stdout), LOADED);
}

#[test]
fn beside_a_command_that_was_built() {
    let world = World::new();
    let command = command(&world, "target/squall");
    copy(&library(), &world.path("target/libsquall_preload.so"));
    let script = "grep -c libsquall_preload.so /proc/self/maps > /dev/null && echo loaded";
    let output = output(Command::new(&command).args(["run", "sh", "-c", script]));
    assert_eq!(text_of(&output.stdout), "loaded\n");
}
