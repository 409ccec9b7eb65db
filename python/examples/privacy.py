"""Differential privacy with exact noise.

Noise of floating-point numbers gives away what it should hide (Mironov, "On Significance of the Least Significant
Bits for Differential Privacy", 2012), and so does noise that somebody can predict. Here it is integers, their
probabilities are exact, and they come from a cryptographic generator.

The samplers are algorithms 1 to 3 of Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy"
(2020). How long they take depends on what they draw: do not let an attacker measure it.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction

import squall


def laplace(scale: Fraction, rng: random.Random) -> int:
    """Return an integer y with a probability proportional to exp(-abs(y) / scale)."""
    if scale <= 0:
        raise ValueError(f"the scale is {scale}: it must be positive")
    t, s = scale.as_integer_ratio()
    while True:
        u = rng.randrange(t)
        if not _bernoulli_exp(Fraction(u, t), rng):
            continue
        v = 0
        while _bernoulli_exp(Fraction(1), rng):
            v += 1
        size = (u + t * v) // s
        negative = rng.getrandbits(1)
        # Or 0 would come twice as often as it should.
        if not (negative and size == 0):
            return -size if negative else size


def gaussian(variance: Fraction, rng: random.Random) -> int:
    """Return an integer y with a probability proportional to exp(-y**2 / (2 * variance))."""
    if variance <= 0:
        raise ValueError(f"the variance is {variance}: it must be positive")
    t = math.isqrt(math.floor(variance)) + 1
    while True:
        y = laplace(Fraction(t), rng)
        if _bernoulli_exp((abs(y) - variance / t) ** 2 / (2 * variance), rng):
            return y


def _bernoulli(p: Fraction, rng: random.Random) -> bool:
    """Return True with probability `p`."""
    return rng.randrange(p.denominator) < p.numerator


def _bernoulli_exp(x: Fraction, rng: random.Random) -> bool:
    """Return True with probability exp(-x)."""
    while x > 1:
        if not _bernoulli_exp(Fraction(1), rng):
            return False
        x -= 1
    k = 1
    while _bernoulli(x / k, rng):
        k += 1
    return k % 2 == 1


def main() -> None:
    rng = squall.Random()
    patients = [31, 45, 45, 52, 60, 67, 71, 80]
    epsilon = Fraction(1, 2)
    # One person more or less changes a count by 1.
    count = sum(age >= 50 for age in patients)
    print(f"patients of 50 and more, with epsilon = {epsilon}: {count + laplace(1 / epsilon, rng)}")
    rho = Fraction(1, 8)
    print(f"the same with rho = {rho} (zCDP): {count + gaussian(1 / (2 * rho), rng)}")


if __name__ == "__main__":
    main()
