"""Training with differential privacy on a GPU, with exact noise: DP-SGD in plain PyTorch.

Each example's gradient is clipped and rounded towards zero to a grid of integers, so its norm grows no further.
Integers are added without rounding, and so is the noise, whose probabilities are exact: nothing of what floating-point
noise gives away (Mironov, "On Significance of the Least Significant Bits for Differential Privacy", 2012) is there. One
step has rho = 1 / (2 * multiplier**2) of zero-concentrated privacy for the examples that are in it.
"""

import torch

import squall.cuda

# The noise's standard deviation in steps of the grid.
DEVIATION = 1 << 16


def step_of_grid(clip, multiplier):
    return clip * multiplier / DEVIATION


def norms_of(gradients):
    """Return the norm of each example's gradient, as float64: in float32 that of a large model could be too small."""
    return torch.linalg.vector_norm(gradients.flatten(1), dim=1, dtype=torch.float64)


def to_grid(gradients, norms, clip, step):
    """Return the sum over examples, the first axis, of clipped gradients, in steps of the grid, as int64."""
    # Less than 1, for the rounding of the norms.
    factors = (clip / norms).clamp(max=1) * (1 - 1e-6)
    factors = factors.reshape(-1, *[1] * (gradients.dim() - 1))
    # An example whose gradient has overflowed counts as 0: as an integer, NaN may be -2**63.
    return (gradients.double() * factors / step).nan_to_num().trunc().long().sum(0)


def noisy(total, step, rng):
    """Return a sum of the grid with noise, as float64."""
    return (total + rng.discrete_gaussian(DEVIATION**2, tuple(total.shape))).double() * step


def private_mean(gradients, clip, multiplier, rng, batch):
    """Return the mean of gradients, one example a row, divided by the expected number of examples `batch`."""
    step = step_of_grid(clip, multiplier)
    return noisy(to_grid(gradients, norms_of(gradients), clip, step), step, rng) / batch


def main():
    rng = squall.cuda.default_rng(framework="torch")
    x, weights = torch.randn(4096, 8, device="cuda"), torch.zeros(8, device="cuda")
    y = x @ torch.arange(8.0, device="cuda")
    for _ in range(300):
        # Each example is in a step with probability 1/8.
        chosen = rng.integers(8, size=4096) == 0
        gradients = (x[chosen] @ weights - y[chosen])[:, None] * x[chosen]
        weights -= 0.5 * private_mean(gradients, 1.0, 1.0, rng, 512).float()
    print("weights, which should be 0 to 7:", weights.tolist())


if __name__ == "__main__":
    main()
