"""Twins of the bounds of the kernel regime, by loops over units, rows and steps."""

from __future__ import annotations

import numpy as np
import pytest
from building import beginning, experiment, gd
from line_twins import Array, Twin, check, values_of

from engine.core import catalogue
from engine.runtime.run import run
from engine.spec.experiment import Experiment

RATE, N, WIDTH = 0.3, 3, 40


def words(**net: object) -> dict[str, object]:
    """An experiment with a net that trains its first layer."""
    architecture = {"kind": "dense", "widths": [WIDTH], "activation": "tanh", "cw": 1.5, **net}
    return {
        "matrix": {"kind": "gaussian", "n": N, "d": 4},
        "target": "coin",
        "learners": {"it": {**gd(RATE, **architecture), "layer_rates": {"W2": 0.0}}},
        "protocol": {"kind": "steps", "steps": 4, "records": 4},
        "replicas": 2,
        "dtype": "float64",
    }


class Net:
    """The net of one replica at its start."""

    def __init__(self, described: Experiment, replica: int) -> None:
        hypothesis, drawn = beginning(described)
        tensors = {layer: tensor[replica].numpy() for layer, tensor in hypothesis.tensors.items()}
        rows = drawn.instances.rows[replica].numpy()
        self.rows = tensors.get("m1", np.ones(())).item() * rows
        self.labels = drawn.labels[replica].numpy()
        self.first = tensors["W1"]
        self.output = tensors.get("m2", np.ones(())).item() * tensors["W2"][0]
        self.covariance = 1.5 / 4 * rows @ rows.T

    def loss(self, first: Array) -> float:
        """Mean square error with these weights of the first layer."""
        return float(np.mean((np.tanh(self.rows @ first.T) @ self.output - self.labels) ** 2))

    def losses(self, steps: int) -> Array:
        """Losses before every step of gradient descent, and after the last."""
        first, losses = self.first.copy(), []
        for _ in range(steps + 1):
            losses.append(self.loss(first))
            hidden = np.tanh(self.rows @ first.T)
            errors = hidden @ self.output - self.labels
            first -= RATE * 2 / N * ((errors[:, None] * (1 - hidden**2)) * self.output).T @ self.rows
        return np.array(losses)

    @property
    def least_eigenvalue(self) -> float:
        """λ_min(E K), by quadrature over two Gaussian signals."""
        nodes = np.linspace(-9, 9, 401)
        density = np.exp(-(nodes**2) / 2)
        weights = np.outer(density, density) / density.sum() ** 2
        mean = np.zeros((N, N))
        for i, j in np.ndindex(N, N):
            root = np.linalg.cholesky(self.covariance[np.ix_([i, j], [i, j])] + 1e-13 * np.eye(2))
            u = root[0, 0] * nodes[:, None] + 0 * nodes
            v = root[1, 0] * nodes[:, None] + root[1, 1] * nodes
            mean[i, j] = (weights * (1 - np.tanh(u) ** 2) * (1 - np.tanh(v) ** 2)).sum()
        return float(np.linalg.eigvalsh(self.rows @ self.rows.T * mean * np.sum(self.output**2))[0])


def nets(described: Experiment) -> list[Net]:
    return [Net(described, replica) for replica in range(2)]


def movements(described: Experiment) -> Array:
    """The sum of the largest possible steps of a unit, a step at a time, while the loss keeps its bound."""
    bounds = np.full((2, 5), np.nan)
    for replica, net in enumerate(nets(described)):
        exponent = 2 * RATE * net.least_eigenvalue / N
        longest = max(np.linalg.norm(row) for row in net.rows)
        losses = net.losses(4)
        steps = np.arange(int(60 / exponent))
        largest_steps = (
            2 * RATE * max(abs(net.output)) * longest * np.sqrt(losses[0] * np.exp(-exponent * steps))
        )
        for record, loss in enumerate(losses):
            if loss > losses[0] * np.exp(-exponent * record) * (1 + 1e-9):
                break
            bounds[replica, record] = largest_steps.sum()
    return bounds


TWINS = tuple(
    Twin("lazy-movement", words(**net), movements, name)
    for name, net in (("standard", {}), ("ntk", {"parametrisation": "ntk", "output_signs": True}))
)


@pytest.mark.parametrize("twin", TWINS, ids=str)
def test_movement_respects_the_line(twin: Twin) -> None:
    check(twin)


def test_the_loss_bound_and_sufficient_width_match_quadrature() -> None:
    described = experiment(**words(), measures=[{"kind": "sufficient-width"}])
    at_start = run(described).curves[0].values("sufficient-width")[0]
    bounds, widths = [], []
    for net in nets(described):
        least, loss = net.least_eigenvalue, net.loss(net.first)
        longest, size = max(np.linalg.norm(row) for row in net.rows), sum(net.output**2)
        bounds.append(loss * np.exp(-2 * RATE * least * np.arange(5) / N))
        widths.append(256 * N**4 * longest**8 * size**3 * loss / least**4)
    np.testing.assert_allclose(at_start, widths, rtol=1e-6)
    np.testing.assert_allclose(values_of("lazy-loss", described), bounds, rtol=1e-8)


def test_the_movement_bound_ends_once_the_loss_exceeds_its_bound() -> None:
    net = gd(60.0, kind="dense", widths=[WIDTH], activation="tanh")
    too_fast = words() | {"learners": {"it": {**net, "layer_rates": {"W2": 0.0}}}}
    bounds = values_of("lazy-movement", experiment(**too_fast, measures=["unit-movement"]))
    assert not np.isnan(bounds[..., 0]).any()
    assert np.isnan(bounds[..., -1]).all()


def test_the_sufficient_width_bounds_movement_by_the_least_eigenvalue_over_8m() -> None:
    """At this width Δ* = λ₀/(8m), which changes K by at most λ₀/4."""
    rows, loss, least = 6, 1.3, 0.05
    width = 256 * rows**4 * loss / least**4
    assert 2 * rows * np.sqrt(loss / width) / least == pytest.approx(least / (8 * rows))


@pytest.mark.parametrize("net", [{"kind": "spindly"}, {"kind": "dense", "widths": [2, 2]}])
def test_sufficient_width_refuses_unsupported_nets(net: dict[str, object]) -> None:
    measure = catalogue.make("measures", "sufficient-width")
    described = experiment(learners={"it": gd(0.1, **net)})
    assert measure.refuses(described.learners[0], described.problem)
