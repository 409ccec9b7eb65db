"""The pictures of docs/guides/numpy-and-dask.md: python plots.py DIRECTORY.

Needs NumPy, Dask and Matplotlib. What is seeded is the same in every run.
"""

import multiprocessing
import pathlib
import sys
from collections import Counter
from fractions import Fraction

import matplotlib
import numpy as np
from privacy import gaussian, laplace

import squall
import squall.dask
import squall.random

matplotlib.use("agg")
import matplotlib.pyplot as plt  # noqa: E402

# Made once, before the forks, as a module of a program does.
NUMPY = np.random.default_rng()
SQUALL = squall.random.default_rng()


def points(generator, count=12):
    return {"NumPy": NUMPY, "squall": SQUALL}[generator].random((count, 2))


def forks(axes):
    """Draw what four forked workers take from one generator each inherited."""
    for axis, generator in zip(axes, ["NumPy", "squall"]):
        drawn = []
        for _ in range(4):
            # A process of its own for each, or one of them might take all the tasks.
            with multiprocessing.get_context("fork").Pool(1) as pool:
                drawn.append(pool.apply(points, (generator,)))
        for worker, (marker, size) in enumerate([("o", 11), ("s", 8), ("D", 5.5), ("k.", 5)]):
            x, y = drawn[worker].T
            axis.plot(x, y, marker, markersize=size, label=f"worker {worker + 1}")
        different = len(np.unique(np.concatenate(drawn), axis=0))
        axis.set(title=f"{generator}: {different} different points of 48", xticks=[], yticks=[])
    axes[1].legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)


def convergence(axis):
    """Estimate pi by points in the unit square, from parts of one array of 2 * 10**8 numbers."""
    array = squall.dask.random((10**8, 2), chunks=(10**6, 2), seed=2026)
    inside = (array**2).sum(axis=1) <= 1
    hits = inside.map_blocks(lambda part: part.sum(keepdims=True), dtype=int, chunks=(1,)).compute()
    counts = 10**6 * np.arange(1, len(hits) + 1)
    axis.loglog(counts, abs(4 * np.cumsum(hits) / counts - np.pi), label="distance from π")
    axis.loglog(counts, np.sqrt(np.pi * (4 - np.pi) / counts), "--", label="standard deviation")
    axis.set(title="π from 100 million points", xlabel="points")
    axis.legend(frameon=False)


def noise(axis, title, sampler, parameter, weight):
    """Draw samples of exact noise beside its probabilities."""
    rng = squall.Random()
    counts = Counter(sampler(parameter, rng) for _ in range(20_000))
    y = np.arange(-12, 13)
    axis.bar(y, [counts[int(n)] / 20_000 for n in y], color="C0", alpha=0.5, label="20,000 samples")
    weights = weight(y)
    axis.plot(y, weights / weights.sum(), "k.", markersize=4, label="probability")
    axis.set(title=title, ylim=(0, 1.35 * max(weights) / weights.sum()))
    axis.legend(frameon=False)


def save(figure, directory, name):
    figure.tight_layout()
    figure.savefig(pathlib.Path(directory) / f"{name}.png", dpi=100)


def main(directory):
    plt.rcParams.update({"font.size": 9, "axes.titlesize": 10})
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.4))
    forks(axes)
    save(figure, directory, "forked-workers")
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.2))
    convergence(axes[0])
    noise(axes[1], "discrete Laplace, scale 2", laplace, Fraction(2), lambda y: np.exp(-abs(y) / 2))
    noise(axes[2], "discrete Gaussian, variance 4", gaussian, Fraction(4), lambda y: np.exp(-(y**2) / 8))
    save(figure, directory, "pi-and-noise")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python plots.py DIRECTORY")
    main(sys.argv[1])
