#!/usr/bin/env bash
# Tests squall.cuda on the GPU of this machine and measures it beside PyTorch, in under four minutes. Prints a record
# for docs/records. PYTHON is a Python with the wheel of squall (`make wheels`), pytest and PyTorch; NumPy, Dask, CuPy,
# Numba and JAX are used if they are there. It builds nothing.
#
#     PYTHON=.venv/bin/python scripts/gpu.sh
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
status=0
# Compiles the kernels too.
"$python" -P -c 'import sys
try:
    from squall import _cuda_driver as cuda
    cuda.driver()
    import pytest, torch
    torch.cuda.init()
    cuda.driver().device(0)
except ImportError as error:
    sys.exit(f"gpu.sh: {error}: {sys.executable} needs squall, pytest and torch")
except (AssertionError, RuntimeError) as error:
    sys.exit(f"gpu.sh: {error}")'
# JAX would take most of the memory.
export XLA_PYTHON_CLIENT_PREALLOCATE=false
# Not what needs no GPU.
(cd python && timeout 110 "$python" -P -m pytest --quiet --durations 5 tests/with_cuda/test_gpu.py) || status=1
timeout 70 "$python" -P scripts/gpu-bench.py || status=1
exit "$status"
