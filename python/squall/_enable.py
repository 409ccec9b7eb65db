"""`python -m squall enable`, `disable` and `status`: whether every Python of this environment installs squall.

The module `site` runs a line of the file squall.pth in site-packages when Python starts. If squall itself is not
installed, the line does nothing.
"""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from pathlib import Path

from . import _install

LINE = "import sys; exec('try: import squall_startup\\nexcept ImportError: pass\\nelse: squall_startup.install()')\n"


def _site_packages() -> Path:
    """Return the folder of this environment's packages, or that of the user's packages if squall is there."""
    in_environment = sys.prefix != sys.base_prefix
    users = site.getusersitepackages()
    if not in_environment and site.ENABLE_USER_SITE and Path(__file__).is_relative_to(users):
        return Path(users)
    return Path(sysconfig.get_path("purelib"))


def _enabling_files() -> list[Path]:
    """Return the files squall.pth that this Python reads when it starts."""
    folders = {str(_site_packages()): None, **dict.fromkeys(site.getsitepackages())}
    if site.ENABLE_USER_SITE:
        folders[site.getusersitepackages()] = None
    return [file for folder in folders if (file := Path(folder, "squall.pth")).exists()]


def enable() -> None:
    file = _site_packages() / "squall.pth"
    new = file.with_suffix(".new")
    try:
        new.write_text(LINE)
        os.replace(new, file)
    except OSError as error:
        sys.exit(f"squall: {file} cannot be written: {error.strerror}: use a virtual environment, or run as its owner")
    status()


def disable() -> None:
    file = _site_packages() / "squall.pth"
    try:
        file.unlink()
    except FileNotFoundError:
        print(f"nothing to remove: there is no {file}")
    except OSError as error:
        sys.exit(f"squall: {file} cannot be removed: {error.strerror}: run as the file's owner")
    else:
        print("removed", file)
    status()


def status() -> None:
    """Print whether the next Python of this environment installs squall, and whether this one did."""
    if files := _enabling_files():
        print("enabled: os.urandom, secrets, uuid.uuid4, random and numpy.random draw from squall, by", *files)
    else:
        print(f"not enabled: python -m squall enable writes {_site_packages() / 'squall.pth'}")
    print("this Python installed squall at its start:", "yes" if _install._installations else "no")
