"""Opacus with the exact noise of dp_sgd.py: an optimizer in place of its DPOptimizer. It was run with
Opacus 1.6 on a CPU, with the noise of privacy.py, and not with a GPU yet.

    model, optimizer, loader = PrivacyEngine().make_private(...)
    optimizer = ExactOptimizer.of(optimizer)
"""

import torch
from dp_sgd import noisy, norms_of, step_of_grid, to_grid
from opacus.optimizers import DPOptimizer

import squall.cuda


class ExactOptimizer(DPOptimizer):
    @classmethod
    def of(cls, optimizer):
        """Return an optimizer of Opacus as one with exact noise."""
        optimizer.__class__ = cls
        optimizer.rng = squall.cuda.default_rng(framework="torch")
        return optimizer

    @property
    def _step(self):
        return step_of_grid(self.max_grad_norm, self.noise_multiplier)

    def clip_and_accumulate(self):
        norms = torch.stack(list(map(norms_of, self.grad_samples))).norm(dim=0)
        for parameter, gradients in zip(self.params, self.grad_samples):
            total = to_grid(gradients, norms, self.max_grad_norm, self._step)
            parameter.summed_grad = total if parameter.summed_grad is None else parameter.summed_grad + total

    def add_noise(self):
        for parameter in self.params:
            parameter.grad = noisy(parameter.summed_grad, self._step, self.rng).to(parameter.dtype)
