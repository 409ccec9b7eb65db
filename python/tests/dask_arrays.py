"""What the tests of `squall.dask` have in common: an array of each kind, and a cluster."""

import contextlib

import dask
import pytest

import squall.dask


def array(kind, shape, chunks="auto", seed=None):
    match kind:
        case "normal":
            return squall.dask.normal(0, 1, shape, chunks, seed=seed)
        case "integer":
            return squall.dask.integers(-50, 1000, shape, chunks, seed=seed)
        case "permutation":
            return squall.dask.permutation(shape[0], chunks, seed=seed)
        case "uniform":
            return squall.dask.random(shape, chunks, seed=seed)
    return squall.dask.words(shape, chunks, seed=seed)


KINDS = ["uniform", "normal", "integer", "word"]


@contextlib.contextmanager
def two_processes():
    """Run a cluster and give its client. It is not given up on a machine that is busy."""
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    timeouts = {f"distributed.comm.timeouts.{kind}": "600s" for kind in ["connect", "tcp"]}
    with dask.config.set(timeouts):
        with distributed.LocalCluster(dashboard_address=":0", **options) as cluster:
            with distributed.Client(cluster, timeout="600s") as client:
                yield client
