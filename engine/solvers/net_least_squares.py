"""Least-squares fit of a net with one hidden layer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import numpy as np
from msgspec import Meta

from engine.core.lazy import torch
from engine.core.parts import Count, Positive, Verdict
from engine.core.stopping import go_on
from engine.core.streams import Streams
from engine.hypotheses.hypothesis import Hypothesis
from engine.problems.data import Data
from engine.problems.instances import Instances
from engine.solvers import Floats, Refit, Solver, SolverStructure

TOLERANCE = 1e-15
"""Relative change of loss, parameters and gradient below which a search ends."""

FITTED = 1e-24
"""A loss below this share of the sum of squared labels counts as 0. No further start is then tried."""

EVALUATIONS = 1000
"""Maximum number of evaluations of the loss in a search."""


class NetLeastSquares(Solver, frozen=True, tag="net-least-squares"):
    """f(x) = Σ_j v_j ln(1 + e^(w_j·x)) with k hidden units, fitted by least squares from several starts.

    Each fit minimises Σ (f(x) − y)² by the Levenberg–Marquardt method in a trust region, with the exact
    Jacobian. It begins at random weights N(0, s²), which are the same for all replicas. The best fit is kept.
    It need not be the global minimum. The net has p = k (d + 1) parameters. If p is less than the number of
    labels n, almost no label vectors can be fitted exactly. The solver raises ArithmeticError if non-finite
    numbers occur. Source: theory/parities-and-noise#fitting-anything.
    """

    units: Annotated[Count, Meta(title="hidden units k", description="number of hidden units")] = 4
    starts: Annotated[
        Annotated[int, Meta(ge=1, le=1000)],
        Meta(title="starts", description="number of random starts; the best fit is kept"),
    ] = 6
    scale: Annotated[
        Positive, Meta(title="scale s", description="standard deviation of the random weights at a start")
    ] = 3.0

    def structure(self) -> SolverStructure:
        return SolverStructure(linear_in_instance=False, continuous=False)

    def begin(self, data: Data, streams: Streams | None = None) -> Hypothesis:
        return NetFits(data, self)

    def size(self, n: int, d: int) -> int:
        return 4 * n * self.units * (d + 1) + 2 * n * d

    def invariance(self) -> Verdict:
        return Verdict(False, "its starts do not rotate with the instances")

    def fit(self, X: Floats, y: Floats) -> Floats:
        """Return the parameters [k (d + 1)] of a net of k units that fits instances X [n, d] and labels y."""
        from scipy.optimize import least_squares  # type: ignore[import-untyped]

        def residuals(net: Floats) -> Floats:
            go_on()
            return outputs(net, X) - y

        draws, fits = np.random.default_rng(0), []
        tolerances = dict.fromkeys(("ftol", "xtol", "gtol"), TOLERANCE)
        for _ in range(self.starts):
            start = self.scale * draws.standard_normal(self.units * (X.shape[1] + 1))
            try:
                solved = least_squares(
                    residuals,
                    start,
                    lambda net: jacobian(net, X),
                    max_nfev=EVALUATIONS,
                    **tolerances,
                )
            except ValueError as error:
                message = f"net-least-squares on {len(y)} examples with {self.units} units: {error}"
                raise ArithmeticError(message) from error
            fits.append(solved)
            if 2 * solved.cost <= FITTED * (y @ y):
                break
        best: Floats = min(fits, key=lambda fit: fit.cost).x
        return best


class NetFits:
    """Nets fitted to the examples seen, one for every replica and target."""

    def __init__(self, data: Data, solver: NetLeastSquares) -> None:
        self._nets, self._seen = Refit(data, solver.fit), False

    def learn(self, instances: Instances, labels: torch.Tensor) -> None:
        self._nets.learn(instances, labels)
        self._seen |= instances.n > 0

    def solving(self) -> Iterator[None]:
        return self._nets.solving()

    def predict(self, instances: Instances) -> torch.Tensor:
        rows, nets = instances.rows.double().cpu().numpy(), self._nets.weights().double().cpu().numpy()
        members = len(nets) // len(rows)
        predictions = np.zeros((len(nets), instances.n))
        if self._seen:
            predictions = np.stack([outputs(net, rows[member // members]) for member, net in enumerate(nets)])
        return torch.from_numpy(predictions).to(instances.device, instances.dtype)

    def weights(self) -> None:
        return


def outputs(net: Floats, X: Floats) -> Floats:
    """Return Σ_j v_j ln(1 + e^(w_j·x)) [n] of a net (v_1, w_1, v_2, w_2, …) for instances X [n, d]."""
    units = net.reshape(-1, X.shape[1] + 1)
    predictions: Floats = np.logaddexp(0.0, X @ units[:, 1:].T) @ units[:, 0]
    return predictions


def jacobian(net: Floats, X: Floats) -> Floats:
    """Return the derivatives of `outputs` by the parameters, [n, k (d + 1)]."""
    from scipy.special import expit  # type: ignore[import-untyped]

    units = net.reshape(-1, X.shape[1] + 1)
    before = X @ units[:, 1:].T
    by_weights = (expit(before) * units[:, 0])[:, :, None] * X[:, None]
    return np.concatenate((np.logaddexp(0.0, before)[:, :, None], by_weights), 2).reshape(len(X), -1)
