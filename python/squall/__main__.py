"""`python -m squall` prints the status, `python -m squall bench` compares the speed with the standard library's."""

import signal
import sys

from . import status

USAGE = "usage: python -m squall [--help | --version | bench [--dask [N]]]"


def main(arguments):
    match arguments:
        case []:
            for key, value in status().items():
                print(f"{key.replace('_', ' '):24}{_text(value)}")
        case ["bench", *options]:
            from ._bench import main as bench

            bench(options)
        case ["-h" | "--help"]:
            print(USAGE, __doc__, sep="\n\n")
        case ["--version"]:
            print("squall", status()["version"])
        case _:
            sys.exit(USAGE)


def _text(value):
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(value)
    return value


if __name__ == "__main__":
    # A reader that needs no more, as head(1), ends the program and is no error.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    main(sys.argv[1:])
