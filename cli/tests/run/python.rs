//! `squall run --python`: Python imports squall's sitecustomize at its start, and then its own.
//!
//! A module of the test stands for the Python package, whose tests are in python/tests.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use squall_testing::artifacts;
use squall_testing::needs::PYTHON;
use squall_testing::suite::Test;
use squall_testing::tests;

use super::{Workspace, output};
use crate::common::{refused, text};

/// Runs a program of Python with `--python`, where PYTHONPATH has this folder.
fn run(folder: &Path, code: &str) -> Output {
    let mut squall = Command::new(artifacts::command());
    squall.args(["run", "--python", "--", "python3", "-c", code]);
    output(squall.env("PYTHONPATH", folder))
}

fn python_and_its_children_install_and_have_their_own_sitecustomize() {
    let workspace = Workspace::new();
    let stub = "def install(): print('installed', flush=True)";
    fs::write(workspace.path("squall_startup.py"), stub).expect("a file");
    let code = "import subprocess, sys\n\
                assert not any('share/squall' in folder for folder in sys.path)\n\
                subprocess.run([sys.executable, '-c', 'pass'], check=True)";
    for own in ["", "own\n"] {
        if !own.is_empty() {
            let sitecustomize = "print('own', flush=True)";
            fs::write(workspace.path("sitecustomize.py"), sitecustomize).expect("a file");
        }
        let output = run(&workspace.path(""), code);
        assert_eq!(text(&output.stderr), "");
        assert_eq!(text(&output.stdout), format!("installed\n{own}").repeat(2));
    }
}

fn a_python_without_squall_ends() {
    let workspace = Workspace::new();
    let parts = ["python3", "does not have the Python package squall"];
    // Nor may it be installed where the test runs.
    let stub = "raise ImportError";
    fs::write(workspace.path("squall_startup.py"), stub).expect("a file");
    refused(&run(&workspace.path(""), "print(1)"), 2, &parts);
}

fn a_command_that_is_not_installed_says_so() {
    let mut squall = super::run();
    let output = output(squall.args(["--python", "--", "true"]));
    refused(
        &output,
        1,
        &["sitecustomize.py is not installed", "make install"],
    );
}

pub const TESTS: &[Test] = tests![
    python_and_its_children_install_and_have_their_own_sitecustomize: [PYTHON],
    a_python_without_squall_ends: [PYTHON],
    a_command_that_is_not_installed_says_so,
];
