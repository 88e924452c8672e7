"""The Lasso."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from engine.core.lazy import torch
from engine.core.linear_algebra import one_thread
from engine.core.memory import DERIVED, Sizes
from engine.core.parts import Verdict
from engine.core.stopping import go_on
from engine.core.streams import Streams
from engine.hypotheses.hypothesis import Hypothesis
from engine.problems.data import Data
from engine.problems.instances import Instances
from engine.solvers import Floats, SolvedWeights, Solver, SolverStructure

DEPENDENT = 1e-10
"""Share of a feature's squared length that must lie outside the span of the other active features.

With a smaller share, the feature counts as linearly dependent on them.
"""

ROUNDING = 1e-12
"""Tolerance for slopes above the penalty, as a share of the largest slope at w = 0. It covers rounding."""

Numbers = NDArray[np.intp]
"""Indices of features."""


class Lasso(Solver, frozen=True, tag="lasso"):
    """The Lasso: w minimises (1/k) Σ_j (x_jᵀw − y_j)² + λ‖w‖₁ over the k examples so far.

    λ is the field `lam`. The mean square loss has no factor ½ here. The loss of scikit-learn has this factor,
    so scikit-learn's `alpha` equals λ/2. An active-set method solves the problem in float64, without an
    intercept. The active features are those with weights ≠ 0. Given the signs of these weights, w solves
    linear equations. A feature leaves the active set if its weight would change sign. Then the inactive
    feature with the steepest slope |∂(mean square loss)/∂w_i| enters. The method ends when no such slope is
    above λ. The method begins with the active features of the previous solution, because one example seldom
    changes them. If there are several minimisers w, the result depends on these first active features. As λ →
    0, the solution becomes that of `basis-pursuit`. Source: Tibshirani 1996; Lee et al. 2006 for signs and
    active sets; theory/conventions#update-rules.
    """

    lam: Annotated[float, Meta(gt=0, title="penalty λ", description="weight of ‖w‖₁")] = 0.1

    def structure(self) -> SolverStructure:
        return SolverStructure(learner_kind="exact")

    def begin(self, data: Data, streams: Streams | None = None) -> Hypothesis:
        return LassoFit(data, self.lam)

    def bytes_held(self, sizes: Sizes) -> int:
        """Return the memory in bytes of instances, rows of XᵀX, and the equations for active features.

        Instances and rows of XᵀX count twice, because memory for them is allocated in advance.
        """
        examples, d, active = sizes.examples, sizes.d, min(sizes.examples, sizes.d)
        numbers = 2 * examples * d + 2 * active * d + 2 * active * active
        return DERIVED * (sizes.replicas * numbers + sizes.batch * d)

    def invariance(self) -> Verdict:
        return Verdict(False, "‖w‖₁ singles out the coordinate axes")


class Gram:
    """Rows of XᵀX for features that have been active so far. The rows of X are the instances seen."""

    def __init__(self, d: int) -> None:
        self._d, self._count = d, 0
        self._instances = np.empty((0, d))
        self._features = np.empty(0, int)  # features whose rows of XᵀX are stored
        self._place = np.full(d, -1)  # position of each feature's row, or −1
        self._rows = np.empty((0, d))

    def add(self, instances: Floats) -> None:
        count = self._count + len(instances)
        if count > len(self._instances):
            larger = np.empty((max(count, 2 * self._count), self._d))
            larger[: self._count] = self._instances[: self._count]
            self._instances = larger
        self._instances[self._count : count] = instances
        self._count = count
        columns = torch.from_numpy(instances[:, self._features])
        torch.from_numpy(self._rows).addmm_(columns.T, torch.from_numpy(instances))  # without a temporary

    def among(self, features: Numbers) -> Floats:
        """Return the rows and columns of XᵀX that belong to the given features."""
        places = self._positions_in_memory(features)
        return self._rows[np.ix_(places, features)]

    def combined(self, features: Numbers, w: Floats) -> Floats:
        """Return XᵀX w [d], where `w` are the weights of `features`, and all other weights are 0."""
        places = self._positions_in_memory(features)
        return w @ self._rows[places]

    def _positions_in_memory(self, features: Numbers) -> Numbers:
        """Return the positions of the features' rows of XᵀX in memory, and compute missing rows.

        If more rows would be stored than there are instances, the rows of features not in `features` are
        first removed.
        """
        new = features[self._place[features] < 0]
        if len(new):
            if len(self._features) + len(new) > max(self._count, len(features)):
                in_use = np.isin(self._features, features)
                self._place[self._features[~in_use]] = -1
                self._features, self._rows = self._features[in_use], self._rows[in_use]
            seen = self._instances[: self._count]
            self._features = np.concatenate((self._features, new))
            self._rows = np.concatenate((self._rows, seen[:, new].T @ seen))
            self._place[self._features] = np.arange(len(self._features))
        return self._place[features]


class Minimiser:
    """Minimiser of the objective ½ wᵀXᵀXw − bᵀw + p‖w‖₁ of the Lasso, with b = Xᵀy and the penalty p.

    It is found by an active-set method.
    """

    def __init__(self) -> None:
        self._active = np.empty(0, int)
        self._w, self._signs = np.empty(0), np.empty(0)

    def vector(self, d: int) -> Floats:
        w = np.zeros(d)
        w[self._active] = self._w
        return w

    def minimise(self, gram: Gram, b: Floats, penalty: float) -> None:
        """Find the minimiser, starting from the previous one. Raises: Stopped."""
        bound = penalty + ROUNDING * np.abs(b).max()
        rejected: list[int] = []  # features that left at once, due to rounding
        self._minimise_over_active(gram, b, penalty)
        while True:
            go_on()
            slopes = b - gram.combined(self._active, self._w)
            sizes = np.abs(slopes)
            sizes[self._active] = sizes[rejected] = 0.0
            steepest = int(sizes.argmax())
            if sizes[steepest] <= bound:
                return
            self._active = np.append(self._active, steepest)
            self._w, self._signs = np.append(self._w, 0.0), np.append(self._signs, np.sign(slopes[steepest]))
            self._minimise_over_active(gram, b, penalty)
            rejected = [] if steepest in self._active else [*rejected, steepest]

    def _minimise_over_active(self, gram: Gram, b: Floats, penalty: float) -> None:
        """Minimise over the weights of active features. A feature whose weight reaches 0 becomes inactive."""
        while len(self._active):
            change, ends = self._change_of_weights(
                gram.among(self._active), b[self._active] - penalty * self._signs
            )
            leaving = (self._w + change) * self._signs <= 0 if ends else change * self._signs < 0
            if ends and not leaving.any():
                self._w = self._w + change
                return
            shares = np.full(len(change), np.inf)
            shares[leaving] = np.divide(-self._w, change, where=change != 0, out=np.zeros_like(change))[
                leaving
            ]
            step = shares.min()
            self._w = self._w + step * change
            staying = shares > step
            self._active, self._w, self._signs = (
                part[staying] for part in (self._active, self._w, self._signs)
            )

    def _change_of_weights(self, products: Floats, b: Floats) -> tuple[Floats, bool]:
        """Return a change of the active features' weights, and whether it leads to a minimum.

        Here the objective is minimised over the weights w_i of active features. The sum Σ_i s_i w_i with the
        present signs s_i of w_i replaces ‖w‖₁. If the active features are linearly independent, solving
        linear equations gives the change that leads to the minimum. If a feature is linearly dependent on the
        features before it, the change is only a direction. Along this direction, predictions stay the same,
        and ‖w‖₁ does not increase until a weight is 0.
        """
        from scipy.linalg.lapack import dpotrf, dpotrs  # type: ignore[import-untyped]

        factor, _ = dpotrf(products, lower=True)
        independent = factor.diagonal() ** 2 > DEPENDENT * products.diagonal()
        if independent.all():
            return dpotrs(factor, b, lower=True)[0] - self._w, True
        first = int(independent.argmin())
        along = np.zeros(len(b))
        along[:first] = dpotrs(factor[:first, :first], -products[:first, first], lower=True)[0]
        along[first] = 1.0
        return (-along if along @ self._signs > 0 else along), False


class LassoFit(SolvedWeights):
    """Solution of the Lasso for every replica and target, computed from the previous one when needed."""

    def __init__(self, data: Data, lam: float) -> None:
        self._lam, self._seen, (self._replicas, d) = lam, 0, (data.replicas, data.instances.d)
        self._targets = len(data.labels) // data.replicas
        self._grams = [Gram(d) for _ in range(data.replicas)]
        self._products = np.zeros((len(data.labels), d))  # Xᵀy
        self._members = [Minimiser() for _ in data.labels]
        self._like = data.labels.new_zeros(len(data.labels), d)
        self._w = self._like

    def learn(self, instances: Instances, labels: torch.Tensor) -> None:
        rows, y = (numbers.double().cpu().numpy() for numbers in (instances.rows, labels))
        for replica, (gram, new_row) in enumerate(zip(self._grams, rows, strict=True)):
            gram.add(new_row)
            members = slice(replica * self._targets, (replica + 1) * self._targets)
            self._products[members] += y[members] @ new_row
        self._seen += instances.n
        self._w = None

    def solving(self) -> Iterator[None]:
        if self._w is not None:
            return
        for number, (member, b) in enumerate(zip(self._members, self._products, strict=True)):
            if number > 0:
                yield
            with one_thread():
                member.minimise(self._grams[number // self._targets], b, self._lam * self._seen / 2)
        d = self._products.shape[1]
        self._w = torch.from_numpy(np.stack([member.vector(d) for member in self._members])).to(self._like)
