#!/usr/bin/env python3
"""Proves the AES engines for x86-64: see README.md.

    python3 drbg/proof                  all claims
    python3 drbg/proof aesni/256 split  claims whose names begin so
    python3 drbg/proof --control        that mistakes in the engines are found
    python3 drbg/proof --control tail   mistakes whose names have this part
    python3 drbg/proof --check          only that each mistake can be made
    python3 drbg/proof --packages       only installs what it needs, if that is missing"""

import concurrent.futures
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

from faults import FAULTS

TREE = pathlib.Path(__file__).resolve().parents[2]
TRIPLE = "x86_64-unknown-linux-gnu"
# The solver, the disassembler, and a reader of object files, from PyPI.
PACKAGES = {"z3": "z3-solver==5.4.1.0", "capstone": "capstone==5.0.9", "elftools": "pyelftools==0.33"}


def fail(error):
    sys.exit(f"drbg/proof: {error}")


def target():
    """The folder that cargo builds in."""
    ran = subprocess.run(["cargo", "metadata", "--no-deps", "--format-version=1"], cwd=TREE, capture_output=True, text=True)
    if ran.returncode != 0:
        fail(f"cargo metadata failed: {ran.stderr.strip().splitlines()[-1]}")
    return pathlib.Path(json.loads(ran.stdout)["target_directory"], "proof")


def with_packages(folder):
    """Starts again in an environment that has the packages, which is made if it must be."""
    if all(importlib.util.find_spec(name) for name in PACKAGES):
        return
    python, wanted = folder / "venv/bin/python", " ".join(PACKAGES.values())
    made_of = folder / "venv/made-of"
    if os.environ.get("SQUALL_PROOF_VENV"):
        fail(f"{python} lacks {wanted}: remove {folder / 'venv'}")
    if not made_of.exists() or made_of.read_text() != wanted:
        print(f"drbg/proof: installs {wanted} from PyPI into {folder / 'venv'}: 120 MB unpacked, once", file=sys.stderr)
        shutil.rmtree(folder / "venv", ignore_errors=True)
        for command in ([sys.executable, "-m", "venv", folder / "venv"],
                        [folder / "venv/bin/pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES.values()]):
            ran = subprocess.run(command, capture_output=True, text=True)
            if ran.returncode != 0:
                fail(f"{command[0]} failed: {' '.join((ran.stdout + ran.stderr).split())[-300:]}")
        made_of.write_text(wanted)
    os.execve(python, [python, *sys.argv], {**os.environ, "SQUALL_PROOF_VENV": "1"})


def prove(objects, name):
    """The outcome of a claim: None, or why it is not proved and whether that says nothing; and its seconds."""
    import binary
    import engines

    begun, (function, *arguments), error = time.monotonic(), engines.CLAIMS[name], None
    try:
        function(binary.Image(objects), *arguments)
    except binary.Unproved as unproved:
        error = str(unproved), isinstance(unproved, binary.Unsupported)
    return error, time.monotonic() - begun


def proofs(folder, claims):
    import binary

    objects = binary.build(TREE, folder, TRIPLE)
    failed = 0
    with concurrent.futures.ProcessPoolExecutor() as pool:
        outcomes = {pool.submit(prove, objects, name): name for name in claims}
        for outcome in concurrent.futures.as_completed(outcomes):
            error, seconds = outcome.result()
            failed += error is not None
            print(f"{outcomes[outcome]:14}{seconds:6.1f} s  {f'NOT PROVED: {error[0]}' if error else 'proved'}", flush=True)
    if failed:
        fail(f"{failed} of {len(claims)} claims are not proved")
    print(f"{len(claims)} claims are proved")


def try_faults(folder, faults):
    """Makes each mistake in a copy of the tree. Returns how many are not found."""
    import binary

    tree, missed = folder / "tree", 0
    shutil.rmtree(tree, ignore_errors=True)
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=TREE, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TREE / name, tree / name, follow_symlinks=False)
    for name, claim, file, text, replacement in faults:
        path = tree / "drbg/src" / file
        source = path.read_text()
        path.write_text(source.replace(text, replacement))
        try:
            error, seconds = prove(binary.build(tree, folder, TRIPLE), claim)
        except binary.Unsupported as unsupported:
            error, seconds = (str(unsupported), True), 0
        path.write_text(source)
        # What the proof does not know says nothing of the mistake.
        is_found = error is not None and not error[1]
        missed += not is_found
        said = error[0] if error else "proved all the same"
        print(f"{'found' if is_found else 'NOT FOUND':10}{seconds:5.1f} s  {claim:13} {name}: {said}", flush=True)
    return missed


def check():
    """Whether each mistake can be made."""
    for name, _, file, text, _ in FAULTS:
        if (TREE / "drbg/src" / file).read_text().count(text) != 1:
            fail(f"{name}: {file} does not have the text to be replaced once")


def control(folder, wanted):
    check()
    tried = [fault for fault in FAULTS if not wanted or any(part in fault[0] for part in wanted)]
    if not tried:
        fail(f"no mistake has {' or '.join(wanted)} in its name")
    parts = os.cpu_count() or 1
    with concurrent.futures.ProcessPoolExecutor(parts) as pool:
        missed = sum(pool.map(try_faults, [folder / f"control-{i}" for i in range(parts)],
                              [tried[i::parts] for i in range(parts)]))
    if missed:
        fail(f"{missed} of {len(tried)} mistakes are not found")
    print(f"{len(tried)} mistakes are found")


def main(arguments):
    if arguments in (["-h"], ["--help"]):
        return print(__doc__)
    if arguments == ["--check"]:
        return check()
    folder = target()
    with_packages(folder)
    if arguments == ["--packages"]:
        return None
    import binary
    import engines

    try:
        if arguments[:1] == ["--control"]:
            return control(folder, arguments[1:])
        for wanted in arguments:
            if not any(name.startswith(wanted) for name in engines.CLAIMS):
                fail(f"there is no claim {wanted}: use some of {' '.join(engines.CLAIMS)}, or --control")
        proofs(folder, [name for name in engines.CLAIMS if not arguments or name.startswith(tuple(arguments))])
    except binary.Unproved as error:
        fail(error)


if __name__ == "__main__":
    main(sys.argv[1:])
