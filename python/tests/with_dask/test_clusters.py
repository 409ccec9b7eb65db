"""squall.dask and Dask's own generators over squall's: the same on every scheduler, and after a worker was killed."""

import os
import signal

import pytest

np = pytest.importorskip("numpy")
dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

import squall.dask  # noqa: E402
import squall.random  # noqa: E402
from helpers import KINDS, SIZED, array  # noqa: E402


def pipeline(kind):
    """Return an array of which every chunk depends on two others."""
    x = array(kind, (300, 40), (50, 7), 5)
    return x + array(kind, (40, 300), (9, 50), 6).T


@pytest.fixture(scope="module")
def cluster():
    """It is not given up on a machine that is busy."""
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    timeouts = {f"distributed.comm.timeouts.{kind}": "600s" for kind in ["connect", "tcp"]}
    with dask.config.set(timeouts):
        with distributed.LocalCluster(dashboard_address=":0", **options) as cluster:
            with distributed.Client(cluster, timeout="600s") as client:
                yield client


def test_schedulers(cluster):
    """All kinds at once, because processes take long to start."""
    expected = [array(kind, (300, 40), -1, 5).compute() + array(kind, (40, 300), -1, 6).compute().T for kind in KINDS]
    pipelines = [pipeline(kind) for kind in KINDS]
    results = [dask.compute(*pipelines, scheduler=name) for name in ["synchronous", "threads", "processes"]]
    results.append(cluster.gather(cluster.compute(pipelines)))
    for result in results:
        for kind, found, wanted in zip(KINDS, result, expected, strict=True):
            np.testing.assert_array_equal(found, wanted, kind)


def test_a_permutation_on_a_cluster(cluster):
    expected = squall.dask.permutation(10**5, seed=1).compute(scheduler="synchronous")
    result = cluster.compute(squall.dask.permutation(10**5, 9999, seed=1)).result()
    np.testing.assert_array_equal(result, expected)


def test_a_worker_that_is_killed(cluster):
    """The chunks that it had are made again."""
    arrays = [array(kind, (300, 40), (50, 7), seed) for kind in KINDS for seed in [5, None]]
    kept = cluster.persist(arrays)
    cluster.gather([part for x in kept for part in cluster.futures_of(x)])
    os.kill(min(cluster.run(os.getpid).values()), signal.SIGKILL)
    for x, result in zip(arrays, cluster.gather(cluster.compute(kept))):
        np.testing.assert_array_equal(result, x.compute(scheduler="synchronous"))


# Dask's own generators over squall's.

def drawn(rng):
    """Return an array of each distribution."""
    arrays = {
        name: getattr(rng, name)(*SIZED[name], size=60, chunks=20)
        for name in SIZED
        # Dask has no others, but for one of vectors.
        if name not in ("dirichlet", "multivariate_hypergeometric", "multivariate_normal")
    }
    arrays["choice of an array"] = rng.choice(np.arange(50), size=60, p=np.full(50, 0.02), chunks=20)
    arrays["choice without replacement"] = rng.choice(1000, size=60, replace=False, chunks=60)
    arrays["permutation of n"] = rng.permutation(60)
    arrays["permutation"] = rng.permutation(da.arange(60, chunks=20))
    means = da.from_array(np.arange(60.0), chunks=20)
    arrays["normal with means"] = rng.normal(means, 0.1, size=60, chunks=20)
    return arrays


def test_every_distribution_of_dask_is_here():
    public = {name for name in dir(da.random.Generator) if not name.startswith("_")}
    assert public <= {*SIZED, "permutation"}


@pytest.mark.parametrize("make", [squall.random.default_rng, squall.random.AES256])
def test_dask_s_generators_with_a_seed(make, cluster):
    def rng():
        return da.random.default_rng(make(2026))

    one = dask.compute(drawn(rng()), scheduler="synchronous")[0]
    again = cluster.compute(drawn(rng()), sync=True)
    for name, values in one.items():
        np.testing.assert_array_equal(values, again[name], err_msg=name)
        assert len(values) == 60
        # The chunks are not the same again.
        assert not np.array_equal(values[:20], values[20:40]), name
    numpys = dask.compute(drawn(da.random.default_rng(2026)), scheduler="synchronous")[0]
    for name, values in numpys.items():
        assert values.shape == one[name].shape and values.dtype == one[name].dtype, name


def test_dask_s_generators_without_a_seed(cluster):
    def make():
        return da.random.default_rng(squall.random.default_rng())

    one, other = drawn(make()), drawn(make())
    assert not {x.name for x in one.values()} & {x.name for x in other.values()}
    values, others = dask.compute(one, other, scheduler="synchronous")
    again = cluster.compute(one, sync=True)
    for name in values:
        # Dask's `choice` has generators in its graph, which go on when it is computed again, as NumPy's do.
        if "choice" not in name:
            np.testing.assert_array_equal(values[name], again[name], err_msg=name)
        assert not np.array_equal(values[name], others[name]), name
