"""A copy of the tree, in which scripts/orders.py and scripts/omissions.py make changes that tests must notice."""

import pathlib
import re
import shutil
import subprocess

TREE = pathlib.Path("target/orders/tree")
# The seconds for which cargo builds, and runs tests, at most.
LIMIT = 1800


def copy_tree():
    shutil.rmtree(TREE, ignore_errors=True)
    listed = subprocess.run(["git", "ls-files", "-z"], check=True, capture_output=True, text=True)
    for name in filter(None, listed.stdout.split("\0")):
        (TREE / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(name, TREE / name, follow_symlinks=False)


def cargo(suite, *arguments, limit=LIMIT):
    limited = ["timeout", "--kill-after=9", str(limit), "cargo", "test"]
    command = [*limited, "--profile", "mutants", *suite, "--target-dir", "..", *arguments]
    return subprocess.run(command, cwd=TREE, capture_output=True, text=True)


def outcome(suite, tests="", limit=LIMIT):
    """What becomes of `tests`, which are among the targets that `suite` tells cargo, in the copy. Tests that have not ended
    after `limit` seconds have noticed a change."""
    if cargo(suite, "--no-run").returncode != 0:
        return "does not build"
    ran = cargo(suite, "--no-fail-fast", "--", tests, limit=limit)
    if ran.returncode != 0:
        return "noticed"
    return "not noticed" if re.search(r"\b[1-9]\d* passed", ran.stdout) else "ran no test"


def outcome_of(file, text, suite, tests="", limit=LIMIT):
    """The same while `file` has this text."""
    path = TREE / file
    source = path.read_text()
    path.write_text(text)
    try:
        return outcome(suite, tests, limit)
    finally:
        path.write_text(source)
