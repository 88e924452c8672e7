"""Nets for different numbers k of examples. A compiled loop trains a new net for every k."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from engine.backends.loops import keep, kept_at
from engine.backends.nets import code_of
from engine.core.activations import slope
from engine.core.lazy import torch
from engine.core.params import Params
from engine.problems.instances import ScaledIdentity
from engine.protocols import Floats
from engine.protocols.erm import BatchedModels, Drawn
from engine.training.descent import TrainingInputs

MOVES = 1 << 26
"""Number of changes of pre-activations in one piece of work, which takes one core about 8 ms."""

Array = Any
"""A numpy array, whose dtype and dimensions the compiler infers."""


class TrainedGroup(BatchedModels):
    """Group of nets with different numbers k of training examples. Each thread trains its nets in turn.

    While a net is trained, its weights stay in the processor's cache.
    """

    def __init__(self, grid: Floats, inputs: TrainingInputs, start: Params) -> None:
        super().__init__(grid, inputs, start)
        axes, params = self._instances, self.hypothesis.params
        assert isinstance(axes, ScaledIdentity), "orthogonal instances come as a scaled identity"
        architecture = inputs.learner.net
        net = architecture.structure().hidden_layers
        assert net is not None, "the backend serves no other learner"
        first, last = (params[layer] for layer in architecture.layers)
        rows, last = first.mT.contiguous(), last[:, 0].clone()
        self.hypothesis.place(dict(zip(params, (rows.mT, last[:, None]), strict=True)))
        steps = [2 * axes.length / self._seen.clamp(min=1).to(last.dtype), *self.hypothesis.rates.values()]
        by_net = [torch.as_tensor(step, dtype=last.dtype).flatten().expand(len(last)) for step in steps]
        sides = slope(net.activation, torch.tensor((1.0, -1.0), dtype=last.dtype)).tolist()
        self._nets = NetBatch(
            rows.numpy(),
            last.numpy(),
            self._labels.repeat_interleave(len(last) // len(self._labels), 0).contiguous().numpy(),
            self._seen[:, 0].long().numpy(),
            torch.stack(by_net, 1).numpy(),
            self._active.clone().numpy(),
            np.array((axes.length, *sides, 0.0), rows.numpy().dtype),
        )
        self._slopes = np.empty_like(self._nets.last)

    def steps(self, limit: int, tolerance: float, drawn: Drawn | None = None) -> int:
        assert drawn is None, "the backend serves no mini-batches"
        active = self._nets.active
        self._nets.numbers[-1] = tolerance
        at_once = max(1, min(limit, MOVES // (int(active.sum()) * self._nets.first[0].size)))
        counts = np.zeros(len(active), np.int64)
        threads = min(torch.get_num_threads(), len(active))
        ends = [len(active) * part // threads for part in range(threads + 1)]
        if threads == 1:
            train(self._nets, at_once, self._slopes[0], counts, *ends)
        else:
            with ThreadPoolExecutor(threads) as pool:
                parts = [
                    pool.submit(train, self._nets, at_once, self._slopes[first], counts, first, end)
                    for first, end in pairwise(ends)
                ]
            for part in parts:
                part.result()
        code_of(str(self._nets.last.dtype)).note(*kept_at(train))
        self.training = bool(active.any())
        return int(counts.max())


class NetBatch(NamedTuple):
    """Batch of B nets Σ_i a_i σ(w_iᵀx) with h units each, which differ in their number k of instances.

    A net's instances are the first k of c·e_1, c·e_2, …, for unit vectors e_j.
    """

    first: Array
    """[B, K, h], w_ij for every unit i and instance j: the pre-activation divided by c.

    In each net, the weights of the first k instances change.
    """
    last: Array
    """[B, h], the weights a_i of the second layer."""
    labels: Array
    """[B, K], the labels of the K instances."""
    seen: Array
    """[B], the number k of training examples of every net."""
    steps: Array
    """[B, 3], for every net: 2c/k, and the rates of w and a. An error ŷ − y times 2c/k is c ∂L/∂ŷ."""
    active: Array
    """[B], whether the training of each net continues."""
    numbers: Array
    """[4]: c, σ(1), −σ(−1) and the tolerance, in the nets' dtype. σ is linear on each side of 0."""


@njit(nogil=True, error_model="numpy", fastmath={"reassoc", "nsz", "arcp", "contract"})  # type: ignore[untyped-decorator]
def train(nets: NetBatch, limit: int, slopes: Array, counts: Array, begin: int, end: int) -> None:
    """Make up to `limit` gradient steps on the mean square loss, for active nets from `begin` to `end` − 1.

    If the loss before a step is at most the tolerance in `nets.numbers`, this step is the net's last. A step
    is one pass over the weights w. Instance j has a single entry that is not 0, so predictions for it use
    only the weights w_j of input j. For each instance, the pass computes the prediction and then changes w_j,
    which is still in the cache.

    Args:
        slopes: scratch space [h].
        counts: array [B] to which the number of steps of each net in this call is written.
    """
    units = nets.last.shape[1]
    length, above, below, tolerance = nets.numbers
    # Zero in the dtype of the nets. With a literal 0, the compiler would convert everything to float64.
    zero = length - length
    for b in range(begin, end):
        counts[b] = 0
        if not nets.active[b]:
            continue
        a, labels = nets.last[b], nets.labels[b]
        share, w_rate, a_rate = nets.steps[b]
        k = nets.seen[b]
        for _ in range(limit):
            total = zero
            for i in range(units):
                slopes[i] = zero
            for j in range(k):
                w = nets.first[b, j]
                prediction = zero
                for i in range(units):
                    prediction += a[i] * (w[i] * (above if w[i] > zero else below))
                error = prediction * length - labels[j]
                total += error * error
                back = share * error
                step = w_rate * back
                for i in range(units):
                    slope = above if w[i] > zero else below
                    slopes[i] += back * (slope * w[i])
                    w[i] -= step * (slope * a[i])
            for i in range(units):
                a[i] -= a_rate * slopes[i]
            counts[b] += 1
            if total / k <= tolerance:
                nets.active[b] = False
                break


keep(train)
