"""Fresh models that are trained by a compiled loop, one after the other."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np

from engine.backends.loops import kept_at
from engine.backends.nets.code import code_of
from engine.backends.nets.kernels import Nets, train
from engine.core.activations import slope
from engine.core.lazy import torch
from engine.core.params import Params
from engine.problems.scaled_identity import ScaledIdentity
from engine.protocols import Floats
from engine.protocols.erm import Drawn, Group
from engine.training.training_inputs import TrainingInputs

MOVES = 1 << 26
"""Moves of single pre-activations in a piece of work, about 8 ms of one core."""


class TrainedGroup(Group):
    """The models of some consecutive k, whose pre-activations stay in the cache while a model is trained."""

    def __init__(self, grid: Floats, inputs: TrainingInputs, start: Params) -> None:
        super().__init__(grid, inputs, start)
        axes, params = self._instances, self.hypothesis.params
        assert isinstance(axes, ScaledIdentity), "orthogonal instances come as a scaled identity"
        assert inputs.learner.architecture is not None, "the backend serves no other learner"
        net = inputs.learner.architecture.hidden_layers
        assert net is not None, "the backend serves no other learner"
        first, last = (params[name] for name in inputs.learner.architecture.layers)
        rows, last = first.mT.contiguous(), last[:, 0].clone()
        self.hypothesis.place(dict(zip(params, (rows.mT, last[:, None]), strict=True)))
        steps = [2 * axes.length / self._seen.clamp(min=1).to(last.dtype), *self.hypothesis.rates.values()]
        each = [torch.as_tensor(step, dtype=last.dtype).flatten().expand(len(last)) for step in steps]
        sides = slope(net.activation, torch.tensor((1.0, -1.0), dtype=last.dtype)).tolist()
        self._nets = Nets(
            rows.numpy(),
            last.numpy(),
            self._labels.repeat_interleave(len(last) // len(self._labels), 0).contiguous().numpy(),
            self._seen[:, 0].long().numpy(),
            torch.stack(each, 1).numpy(),
            self._active.clone().numpy(),
            np.array((axes.length, *sides, 0.0), rows.numpy().dtype),
        )
        self._slopes = np.empty_like(self._nets.last)

    def steps(self, most: int, tolerance: float, drawn: Drawn | None = None) -> int:
        assert drawn is None, "the backend serves no mini-batches"
        active = self._nets.active
        self._nets.numbers[-1] = tolerance
        at_once = max(1, min(most, MOVES // (int(active.sum()) * self._nets.first[0].size)))
        made = np.zeros(len(active), np.int64)
        threads = min(torch.get_num_threads(), len(active))
        ends = [len(active) * part // threads for part in range(threads + 1)]
        if threads == 1:
            train(self._nets, at_once, self._slopes[0], made, *ends)
        else:
            with ThreadPoolExecutor(threads) as pool:
                parts = [
                    pool.submit(train, self._nets, at_once, self._slopes[first], made, first, end)
                    for first, end in pairwise(ends)
                ]
            for part in parts:
                part.result()
        code_of(str(self._nets.last.dtype)).note(*kept_at(train))
        self.training = bool(active.any())
        return int(made.max())
