"""Has Python install squall at its start: `squall run --python` puts this file's folder into PYTHONPATH.

Then Python's own sitecustomize, if there is one, which this file hides, has its turn.
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
