"""`python -m squall enable`, `disable` and `status`: whether Pythons of this environment install squall at their start.

A file squall.pth in the environment's site-packages says so to the module `site`. Without squall it does nothing.
"""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from pathlib import Path

from . import _random

LINE = "import sys; exec('try: import squall_startup\\nexcept ImportError: pass\\nelse: squall_startup.install()')\n"


def _folder() -> Path:
    """Return the folder of this environment's packages, or the user's if squall itself is there."""
    in_environment = sys.prefix != sys.base_prefix
    users = site.getusersitepackages()
    if not in_environment and site.ENABLE_USER_SITE and Path(__file__).is_relative_to(users):
        return Path(users)
    return Path(sysconfig.get_path("purelib"))


def _files() -> list[Path]:
    """Return the files that have this Python install squall."""
    folders = {str(_folder()): None, **dict.fromkeys(site.getsitepackages())}
    if site.ENABLE_USER_SITE:
        folders[site.getusersitepackages()] = None
    return [file for folder in folders if (file := Path(folder, "squall.pth")).exists()]


def enable() -> None:
    file = _folder() / "squall.pth"
    new = file.with_suffix(".new")
    try:
        new.write_text(LINE)
        os.replace(new, file)
    except OSError as error:
        sys.exit(f"squall: {file} cannot be written: {error.strerror}: use a virtual environment, or be its owner")
    status()


def disable() -> None:
    file = _folder() / "squall.pth"
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        sys.exit(f"squall: {file} cannot be removed: {error.strerror}: be its owner")
    status()


def status() -> None:
    """Print what the next Python of this environment does, and what this one did."""
    if files := _files():
        print("enabled: os.urandom, secrets, uuid.uuid4, random and numpy.random draw from squall, by", *files)
    else:
        print(f"not enabled: python -m squall enable writes {_folder() / 'squall.pth'}")
    print("this Python installed squall at its start:", "yes" if _random._installations else "no")
