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

    Examples are stored in a memory M, which starts at 0. Step t is a step of SGD with rate 1 on the loss
    −(Σ_j M_tj x_j + M_t0 y). Row t of M is then the mean of (x, y) over the examples of the step. With
    `batch` 1, this row is a copy of one example. With `of = "population"`, this row is the mean of (x, y)
    over all inputs. If the entries of x are independent fair signs and y is a product of some of them, this
    mean is 0. The signs of a row, (x, y), give an equation over F₂ for the set S with y = ∏_{i ∈ S} sgn(x_i).
    It says that Σ_{i ∈ S} 1[x_i < 0] is odd if y < 0, and else even. The sign of 0 is chosen at random.
    Equations are added in order, and those that contradict earlier ones are left out. If an instance is not
    the entrywise product of stored instances, the equations do not determine its label. By default, features
    whose membership in S remains open are then left out of S. With `abstain`, the prediction is 0 instead.
    The memory and the elimination that reads it are constructed by hand, not learned. Source: AS20;
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
        return d * (d + 1) // 4 + d * d * self.abstain + (self.batch + 2) * (d + 1) + 2 * n * d

    def invariance(self) -> Verdict:
        return Verdict(False, "predictions depend on the signs and the order of entries")


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
        self._solved = ReducedEquations(members, self._d)

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
        by_coin = np.stack([coin.random(means.shape[1:]) for coin in self._coins]) < 0.5
        equations = np.where(means == 0, by_coin, means < 0)
        for step in range(steps):
            self._solved.see(equations[:, step])

    def predict(self, instances: Instances) -> torch.Tensor:
        negative = (instances.rows < 0).double().cpu().numpy().repeat(self._members, 0)
        odd = (negative @ self._solved.chosen[:, :, None].astype(float))[:, :, 0] % 2
        signs: Floats = 1.0 - 2.0 * odd
        if self._abstain:
            signs *= self._solved.settles(negative)
        return torch.from_numpy(signs).to(instances.device, instances.dtype)

    def weights(self) -> None:
        return


class ReducedEquations:
    """Linear equations over F₂ in d unknowns, for B members, in reduced form.

    Each equation has a pivot, an unknown that occurs in no other equation of its member.
    """

    def __init__(self, members: int, d: int) -> None:
        self._rows: Bits = np.zeros((members, d, d + 1), bool)  # row i has the pivot i, or is 0 without it

    @property
    def chosen(self) -> Bits:
        """Solutions [B, d] in which all unknowns without a pivot are 0."""
        return self._rows[:, :, -1]

    def settles(self, left_sides: Floats) -> Bits:
        """Return for each of n new equations whether its right side follows from the equations seen, [B, n].

        `left_sides` [B, n, d] are the coefficients of the unknowns in the new equations, 0 or 1.
        """
        follows = left_sides @ self._rows[:, :, :-1].astype(float) % 2
        settled: Bits = (follows == left_sides).all(2)
        return settled

    def see(self, equations: Bits) -> None:
        """Add an equation [d + 1] for each of B members: d coefficients, and the right side."""
        multiples = self._rows & equations[:, :-1, None]
        reduced = equations ^ np.logical_xor.reduce(multiples, axis=1)
        (members,) = reduced[:, :-1].any(1).nonzero()
        reduced = reduced[members]
        pivots = reduced[:, :-1].argmax(1)
        with_pivot = self._rows[members, :, pivots]
        self._rows[members] ^= with_pivot[:, :, None] & reduced[:, None]
        self._rows[members, pivots] = reduced
