"""Installs squall when Python starts: `squall run --python` puts the folder of this file into PYTHONPATH.

This file hides Python's own sitecustomize, so it imports that afterwards, if there is one.
"""

import os
import sys

try:
    import squall_startup
except ImportError:
    error = "squall: %s does not have the Python package squall: install it there, or run without --python\n"
    sys.stderr.write(error % sys.executable)
    sys.stderr.flush()
    os._exit(2)
squall_startup.install()

sys.path.remove(os.path.dirname(__file__))
this = sys.modules.pop("sitecustomize")
try:
    import sitecustomize
except ImportError as error:
    if error.name != "sitecustomize":
        raise
    sys.modules["sitecustomize"] = this
