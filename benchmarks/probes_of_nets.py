"""Probes of nets: products with Hessians, linear pieces, and draws layer by layer, per CPU-second.

`python benchmarks/probes_of_nets.py`. Against each probe what an expert would write for the very job, on one
thread, in float64, in turns; the fastest of several turns counts. Outsiders have the same numbers where the
engine is given them, and are compared with it first.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from engine.core import catalogue
from engine.core.lazy import load_torch
from engine.core.linear_algebra import one_thread
from engine.core.streams import Streams
from engine.formulas import linear_pieces
from engine.hypotheses.curvature import Curvature
from engine.problems.instances import DenseInstances

Floats = NDArray[np.float64]

TURNS = 7
SECONDS = 0.3
"""Least time of a turn."""

ROWS, FEATURES, UNITS = 100, 20, 32
"""The net of edge-of-stability: 20–32–32–1, tanh."""

PIECES = (64, 64, 64, 64)
"""Hidden layers of the net whose pieces are counted."""

DRAWS, WIDTH, DEPTH = 400, 256, 50
"""Draws, units and layers of criticality."""


def rate(work: Callable[[], object]) -> float:
    """Calls per second of processor time, which other programs on the host hardly change."""
    start, calls = time.process_time(), 0
    while (passed := time.process_time() - start) < SECONDS:
        work()
        calls += 1
    return calls / passed


def compare(name: str, unit: str, count: float, ours: Callable[[], Any], theirs: Callable[[], Any]) -> None:
    """Print how many units each of both makes in a second; `count` is made by a call."""
    ours(), theirs()
    turns = [(rate(ours), rate(theirs)) for _ in range(TURNS)]
    best = [count * max(column) for column in zip(*turns, strict=True)]
    print(f"{name:24}{best[0]:12.4g}{best[1]:12.4g} {unit:18}{best[0] / best[1]:8.2f} of the outsider")


def hessian_products() -> None:
    """Against reverse over forward by hand: all that does not depend on the vector is computed before."""
    import torch

    generator = np.random.default_rng(0)
    X, y = generator.standard_normal((ROWS, FEATURES)), generator.choice([-1.0, 1.0], (ROWS, 1))
    net = catalogue.make("architectures", "dense", widths=[UNITS, UNITS], activation="tanh")
    tensors = {
        layer: torch.as_tensor(tensor) for layer, tensor in net.start(Streams([0])("init"), FEATURES).items()
    }
    weights = [
        tensors[layer][0].numpy().reshape(-1, below)
        for layer, below in zip(net.layers, (FEATURES, UNITS, UNITS), strict=True)
    ]
    curvature = Curvature(
        net,
        tensors,
        DenseInstances(torch.as_tensor(X)[None]),
        torch.as_tensor(y.T),
        torch.full((1, ROWS), 1 / ROWS, dtype=torch.float64),
        catalogue.make("losses", "square"),
    )
    vector = generator.standard_normal(curvature.size)
    product = by_hand(weights, X, y)
    direction = torch.as_tensor(vector)[None]
    np.testing.assert_allclose(curvature.products(direction)[0], product(vector), rtol=1e-9, atol=1e-12)
    compare(
        "Hessian products", "products/s", 1, lambda: curvature.products(direction), lambda: product(vector)
    )


def by_hand(weights: list[Floats], X: Floats, y: Floats) -> Callable[[Floats], Floats]:
    """The product of the Hessian of mean square loss with a vector, of a tanh net of two hidden layers."""
    first, second, third = weights
    a = np.tanh(X @ first.T)
    b = np.tanh(a @ second.T)
    slopes_a, slopes_b = 1 - a**2, 1 - b**2
    back = 2 * (b @ third.T - y) / len(y)
    into_b = back @ third
    back_b = into_b * slopes_b
    into_a = back_b @ second
    bends_a, bends_b = -2 * a * into_a, -2 * b * into_b
    ends = np.cumsum([matrix.size for matrix in weights])[:-1]

    def product(vector: Floats) -> Floats:
        along = [
            part.reshape(matrix.shape) for part, matrix in zip(np.split(vector, ends), weights, strict=True)
        ]
        move_a = slopes_a * (X @ along[0].T)
        move_b = slopes_b * (move_a @ second.T + a @ along[1].T)
        moved_back = 2 * (move_b @ third.T + b @ along[2].T) / len(y)
        moved_b = (moved_back @ third + back @ along[2]) * slopes_b + bends_b * move_b
        moved_a = (moved_b @ second + back_b @ along[1]) * slopes_a + bends_a * move_a
        parts = moved_a.T @ X, moved_b.T @ a + back_b.T @ move_a, moved_back.T @ b + back.T @ move_b
        return np.concatenate([part.ravel() for part in parts])

    return product


def pieces() -> None:
    """Against the same propagation of switches, in loops that numba compiles for it."""
    generator = np.random.default_rng(0)
    sizes = (1, *PIECES, 1)
    layers = [
        (generator.standard_normal((above, below)) * math.sqrt(2 / below), generator.standard_normal(above))
        for below, above in pairwise(sizes)
    ]

    def ours() -> int:
        return linear_pieces.pieces(layers, (1.0, 0.0), -math.inf, math.inf)

    def theirs() -> int:
        ends, a, c = np.empty(0), layers[0][0].T.copy(), layers[0][1][None].copy()
        for weights, biases in layers[1:]:
            ends, a, c = passed(ends, a, c, weights, biases)
        bends = np.abs(np.diff(a[:, 0])) > 1e-9 * np.maximum(np.abs(a[1:, 0]), np.abs(a[:-1, 0]))
        return 1 + int(bends.sum())

    if ours() != theirs():
        raise AssertionError(f"{ours()} pieces are not {theirs()}")
    compare("linear pieces", "pieces/s", ours(), ours, theirs)


@njit(cache=False)  # type: ignore[untyped-decorator]
def passed(
    ends: Floats, a: Floats, c: Floats, weights: Floats, biases: Floats
) -> tuple[Floats, Floats, Floats]:
    """The ends between finer pieces, and slopes and offsets of the next layer on each."""
    count, units = a.shape
    finer = np.empty(len(ends) + count * units)
    finer[: len(ends)] = ends
    filled = len(ends)
    for piece in range(count):
        low = ends[piece - 1] if piece > 0 else -np.inf
        high = ends[piece] if piece < count - 1 else np.inf
        for unit in range(units):
            switch = -c[piece, unit] / a[piece, unit]
            if low < switch < high:
                finer[filled] = switch
                filled += 1
    finer = np.sort(finer[:filled])
    slopes, offsets = np.empty((filled + 1, units)), np.empty((filled + 1, units))
    parent = 0
    for piece in range(filled + 1):
        if piece == 0:
            middle = finer[0] - 1 if filled else 0.0
        elif piece == filled:
            middle = finer[-1] + 1
        else:
            middle = (finer[piece - 1] + finer[piece]) / 2
        while parent < count - 1 and ends[parent] < middle:
            parent += 1
        for unit in range(units):
            on = a[parent, unit] * middle + c[parent, unit] > 0
            slopes[piece, unit] = a[parent, unit] if on else 0.0
            offsets[piece, unit] = c[parent, unit] if on else 0.0
    return finer, slopes @ weights.T, offsets @ weights.T + biases


def layer_draws() -> None:
    """Against one normal number per unit and draw, and the mean of their squares, layer by layer."""
    import torch

    net = catalogue.make("architectures", "layer-by-layer", depth=DEPTH, width=WIDTH, activation="relu", cw=2)
    streams = Streams(range(DRAWS))
    row = DenseInstances(torch.ones(DRAWS, 1, WIDTH, dtype=torch.float64))

    def ours() -> Any:
        start = net.start(streams("init"), WIDTH)
        tensors = {layer: torch.from_numpy(tensor) for layer, tensor in start.items()}
        return net.preactivations(tensors, row)

    generator = np.random.default_rng(0)

    def theirs() -> list[Floats]:
        variance, signals = np.full((DRAWS, 1), 2.0), []
        for _ in range(DEPTH):
            signal = np.sqrt(variance) * generator.standard_normal((DRAWS, WIDTH))
            signals.append(signal)
            variance = 2 * np.square(np.maximum(signal, 0)).mean(1, keepdims=True)
        return signals

    for drawn in (ours()[0].numpy(), theirs()[0]):
        if abs(np.square(drawn).mean() / 2 - 1) > 0.05:
            raise AssertionError("the first layer has the variance 2")
    compare(f"draws of {DEPTH} layers", "draws/s", DRAWS, ours, theirs)


def main() -> None:
    """Compare all probes."""
    load_torch(threads=1)
    print(f"{'':24}{'engine':>12}{'outsider':>12}")
    with one_thread():
        hessian_products()
        pieces()
        layer_draws()


if __name__ == "__main__":
    main()
