//! `squall wipe` where the system grants less than usual.

use std::process::Command;

use squall_testing::refuse::{Refusal, refusing};
use squall_testing::suite::Test;
use squall_testing::tests;

use super::workspace::{Workspace, assert_keystream, key, read, run_to_end};

const SIZE: usize = (6 << 20) + 513;

fn threads_replace_io_uring_where_it_is_refused() {
    for (refused, queue) in [(false, "io_uring"), (true, "threads")] {
        let workspace = Workspace::new();
        let target = workspace.target("target", SIZE);
        let mut command = workspace.wipe("--keep-key", &[&target]);
        if refused {
            let refusal = Refusal {
                call: libc::SYS_io_uring_setup,
                when: None,
                errno: libc::EPERM,
            };
            command = refusing(command, &[refusal]);
        }
        run_to_end(command).succeeded();
        let report = read(&workspace.reports()[0]);
        assert_eq!(report["drives"][0]["transfer"]["queue"], queue);
        assert_keystream(&target, SIZE, &key(&workspace.files("key")[0], 0));
    }
}

fn a_low_limit_on_locked_memory_suffices() {
    let workspace = Workspace::new();
    let targets = ["one", "two"].map(|name| workspace.target(name, SIZE));
    let wipe = workspace.wipe("--keep-key", &[&targets[0], &targets[1]]);
    let mut command = Command::new("bash");
    command
        .args([
            "-c",
            r#"ulimit -l 8192 && exec setpriv --bounding-set=-ipc_lock "$@""#,
            "-",
        ])
        .arg(wipe.get_program())
        .args(wipe.get_args());
    run_to_end(command).succeeded();
    for (target, file) in targets.iter().zip(workspace.files("key")) {
        assert_keystream(target, SIZE, &key(&file, 0));
    }
}

pub const TESTS: &[Test] = tests![
    threads_replace_io_uring_where_it_is_refused,
    a_low_limit_on_locked_memory_suffices,
];
