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
"$python" -P -c 'import pytest, squall.cuda, torch' || {
    echo "gpu.sh: PYTHON ($python) needs squall, pytest and torch" >&2
    exit 1
}
"$python" -P -c 'import sys; from squall import _cuda_driver as cuda
try:
    cuda.driver().device(0)
except cuda.CudaError as error:
    sys.exit(f"gpu.sh: {error}")'
# Not what needs no GPU.
(cd python && timeout 150 "$python" -P -m pytest --quiet --durations 5 tests/with_cuda/test_gpu.py) || status=1
timeout 80 "$python" -P scripts/gpu-bench.py || status=1
exit "$status"
