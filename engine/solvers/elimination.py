"""Parities by elimination over F₂, from examples or from means of examples."""

from __future__ import annotations

import zlib
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from engine.core.lazy import torch
from engine.core.parts import SELDOM, Count, Verdict
from engine.core.streams import Streams
from engine.hypotheses.hypothesis import Hypothesis
from engine.problems.data import Data
from engine.problems.instances import Instances
from engine.solvers import Floats, Solver, SolverStructure

Bits = NDArray[np.bool_]


class Elimination(Solver, frozen=True, tag="elimination"):
    """A product of entries that fits the stored examples, by Gaussian elimination over F₂.

    Examples are stored in a memory M, which starts at 0. Step t of SGD with rate 1 on the loss −(Σ_j M_tj x_j
    + M_t0 y) makes row t of M the mean of (x, y) over the examples of the step. With `batch` 1, this row is a
    copy of one example. With `of = "population"`, it is the mean over all inputs, which is 0 for a product of
    fair signs. The signs of a row then give an equation over F₂ for the set S with y = ∏_{i ∈ S} sgn(x_i).
    The sign of 0 is chosen at random. Equations are added in order, and those that contradict earlier ones
    are left out. If an instance is not a product of stored instances, the equations do not determine its
    label. By default, free unknowns are then set to 0. With `abstain`, the prediction is 0 instead. The
    memory and the elimination that reads it are constructed by hand, not learned. Source: AS20;
    theory/parities-and-noise#parities, theory/parities-and-noise#one-example-or-a-mean.
    """

    batch: Annotated[
        Count,
        Meta(
            title="examples of a step",
            description="number of examples that are averaged to a row of the memory",
        ),
    ] = 1
    of: Annotated[
        Literal["examples", "population"],
        Meta(
            title="of",
            description="rows of the memory are means of examples, or the mean over all inputs",
            extra=SELDOM,
        ),
    ] = "examples"

    abstain: Annotated[
        bool,
        Meta(
            title="abstain",
            description="predict 0 if the examples do not determine the label",
            extra=SELDOM,
        ),
    ] = False

    def structure(self) -> SolverStructure:
        return SolverStructure(learner_kind="exact", linear_in_instance=False, labels="signs")

    def begin(self, data: Data, streams: Streams | None = None) -> Hypothesis:
        return Equations(data, self.batch, self.of == "population", self.abstain)

    def size(self, n: int, d: int) -> int:
        return d * (d + 1) // 8 + (self.batch + 2) * (d + 1) + 2 * n * d

    def invariance(self) -> Verdict:
        return Verdict(False, "it depends on the sign of every entry, and on the order of the entries")


class Equations:
    """Equations over F₂ for the set S of entries whose signs multiply to the label.

    The examples seen give these equations, for every replica and target.
    """

    def __init__(self, dataset: Data, batch: int, population: bool, abstain: bool) -> None:
        self._batch, self._population, self._abstain = batch, population, abstain
        self._d = dataset.instances.d
        members = len(dataset.labels)
        self._members = members // dataset.replicas
        self._waiting = np.zeros((members, 0, self._d + 1))
        negative = (dataset.instances.rows < 0).cpu().numpy()
        seeds = [zlib.crc32(np.packbits(rows).tobytes()) for rows in negative for _ in range(self._members)]
        self._coins = [np.random.default_rng(seed) for seed in seeds]  # shared by all targets of a replica
        self._solved = [ReducedEquations(self._d) for _ in range(members)]

    def learn(self, instances: Instances, labels: torch.Tensor) -> None:
        x = instances.rows.double().cpu().numpy().repeat(self._members, 0)
        y = labels.double().cpu().numpy()
        added = np.concatenate((x, y[:, :, None]), 2)
        self._waiting = np.concatenate((self._waiting, added), 1)
        if not (steps := self._waiting.shape[1] // self._batch):
            return
        full_batches = self._waiting[:, : steps * self._batch]
        self._waiting = self._waiting[:, steps * self._batch :]
        means = full_batches.reshape(len(full_batches), steps, self._batch, self._d + 1).mean(2)
        if self._population:
            means = np.zeros_like(means)
        for rows, coins, solved in zip(means, self._coins, self._solved, strict=True):
            by_coin = coins.random(rows.shape) < 0.5
            for row, coin in zip(rows, by_coin, strict=True):
                solved.see(np.where(row == 0, coin, row < 0))

    def predict(self, instances: Instances) -> torch.Tensor:
        chosen = np.stack([solved.chosen for solved in self._solved])
        negative = (instances.rows < 0).double().cpu().numpy().repeat(self._members, 0)
        odd = (negative @ chosen[:, :, None].astype(float))[:, :, 0] % 2
        signs: Floats = 1.0 - 2.0 * odd
        if self._abstain:
            settled = [solved.settles(x > 0) for solved, x in zip(self._solved, negative, strict=True)]
            signs *= np.stack(settled)
        return torch.from_numpy(signs).to(instances.device, instances.dtype)

    def weights(self) -> None:
        return


class ReducedEquations:
    """Linear equations over F₂ in d unknowns, in reduced form: each pivot occurs in one equation only."""

    def __init__(self, d: int) -> None:
        self._rows, self._pivots = np.zeros((0, d + 1), bool), np.zeros(0, np.int64)
        self.chosen: Bits = np.zeros(d, bool)
        """Solution in which all unknowns without a pivot are 0."""

    def settles(self, left_sides: Bits) -> Bits:
        """Return which of n new equations have a right side that follows from the equations seen, [n].

        `left_sides` [n, d] are the coefficients of the unknowns in the new equations.
        """
        follows = left_sides[:, self._pivots].astype(float) @ self._rows[:, :-1] % 2
        settled: Bits = (follows == left_sides).all(1)
        return settled

    def see(self, equation: Bits) -> None:
        """Add an equation, a vector [d + 1] of d coefficients and the right side."""
        reduced = equation ^ np.logical_xor.reduce(self._rows[equation[self._pivots]], axis=0)
        if not reduced[:-1].any():
            return
        pivot = int(reduced[:-1].argmax())
        self._rows[self._rows[:, pivot]] ^= reduced
        self._rows = np.concatenate((self._rows, reduced[None]))
        self._pivots = np.append(self._pivots, pivot)
        self.chosen[:] = False
        self.chosen[self._pivots] = self._rows[:, -1]
