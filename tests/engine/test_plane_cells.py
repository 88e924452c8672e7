"""Cells of nets on a plane: Zaslavsky's count, every activation pattern by a linear program, and the map."""

import itertools

import numpy as np
import pytest
from building import beginning, raw
from scipy.optimize import linprog

from engine.core.parts import MOST, BadInput
from engine.formulas.linear_pieces import cells, cells_of_one_layer
from engine.results.results import of_one
from engine.results.views import view
from engine.runtime.run import run
from engine.spec.reading import parse

RELU, LEAKY = (1.0, 0.0), (1.0, 0.3)
NET = {"kind": "dense", "activation": "relu", "cw": 2, "cb": 1}
PLANE = {"kind": "gaussian", "n": 2, "d": 2}


def drawn(seed, *widths):
    """The layers of a net with Gaussian weights and biases, of two inputs and one output."""
    normal = np.random.default_rng(seed).standard_normal
    return [(normal((above, below)), normal(above)) for below, above in itertools.pairwise((2, *widths, 1))]


def feasible(layers, slopes, pattern):
    """Whether the units are on and off like this anywhere on the plane, with room around it."""
    slope, offset, below, bounds = np.eye(2), np.zeros(2), [], []
    signs = iter(pattern)
    for weights, biases in layers[:-1]:
        a, c = weights @ slope, weights @ offset + biases
        on = np.array([next(signs) for _ in biases])
        below += (-on[:, None] * a).tolist()
        bounds += (on * c).tolist()
        through = np.where(on > 0, *slopes)
        slope, offset = through[:, None] * a, through * c
    matrix = np.column_stack((below, np.linalg.norm(below, axis=1)))  # the radius of a ball that fits
    solution = linprog([0, 0, -1], matrix, bounds, bounds=[(None, None), (None, None), (None, 1)])
    # A unit whose slope is 0 here is on or off everywhere.
    return solution.status == 0 and solution.x[2] > 1e-9


@pytest.mark.parametrize("slopes", [RELU, LEAKY])
@pytest.mark.parametrize("widths", [(4,), (3, 3), (2, 2, 2)])
@pytest.mark.slow
def test_cells_match_the_patterns_that_a_linear_program_finds(widths, slopes):
    for seed in range(2):
        layers = drawn(seed, *widths)
        patterns = itertools.product((1, -1), repeat=sum(widths))
        assert cells(layers, slopes) == sum(feasible(layers, slopes, pattern) for pattern in patterns)


@pytest.mark.parametrize(("width", "count"), [(3, 7), (5, 16), (10, 56), (20, 211)])
def test_the_number_of_cells_of_one_layer_follows_zaslavsky(width, count):
    assert cells(drawn(width, width), RELU) == count == cells_of_one_layer(width)


def test_cells_are_counted_for_concurrent_lines_and_lines_outside_the_square():
    through_0 = [(np.array([[1.0, 0], [0, 1], [1, 1]]), np.zeros(3)), (np.ones((1, 3)), np.zeros(1))]
    assert cells(through_0, RELU) == 6
    aside = [(np.array([[1.0, 0], [0, 1]]), np.array([0.5, -3])), (np.ones((1, 2)), np.zeros(1))]
    assert (cells(aside, RELU, 1.0), cells(aside, RELU, 4.0)) == (2, 4)


def described(picture, architecture=None, matrix=PLANE, **words):
    learner = {"architecture": architecture or {**NET, "widths": [5, 4]}}
    document = raw(matrix, "zero", {"net": learner}, protocol="at-init", replicas=3, **words)
    document["pictures"] = [picture]
    return parse(document)


def on(layers, s, t):
    """How many hidden units are on at an input, one after the other."""
    signal, count = np.array([s, t]), 0
    for weights, biases in layers[:-1]:
        signal = weights @ signal + biases
        count += (signal > 0).sum()
        signal = signal.clip(0)
    return count


def test_the_heat_map_shows_s_on_x_and_t_on_y():
    measure = {"kind": "cells", "points": 5, "reach": 1.5}
    it = described({"x": "s", "y": "2*t", "measure": measure, "summary": "first"})
    fit, _ = beginning(it)
    edges = fit.architecture.edges(fit.tensors, slice(None), MOST)
    layers = [(layer.weights[0].numpy(), layer.offsets[0].numpy()) for layer in edges]
    (heat,) = view(it.pictures[0], of_one(it, run(it))).heats
    np.testing.assert_allclose(heat.x, np.linspace(-1.5, 1.5, 5))
    np.testing.assert_allclose(heat.y, 2 * np.linspace(-1.5, 1.5, 5))
    expected = [[on(layers, s, t / 2) for s in heat.x] for t in heat.y]
    np.testing.assert_array_equal(heat.z, expected)
    assert heat.z.std() > 0
    assert heat.stderr is None


def test_a_heat_map_over_two_indices_has_mean_and_standard_error():
    it = described({"x": "s", "y": "t", "measure": {"kind": "cells", "points": 3}})
    trace = run(it)
    (heat,) = view(it.pictures[0], of_one(it, trace)).heats
    name = it.pictures[0].measure.name
    values = trace.curve("net").array(name).values[0]  # [R, s, t]
    np.testing.assert_allclose(heat.z, values.mean(0).T)
    np.testing.assert_allclose(heat.stderr, values.std(0, ddof=1).T / np.sqrt(3))


def test_regions_of_a_run_match_the_cells_of_its_nets():
    it = described({"x": "step", "measure": "regions"})
    fit, _ = beginning(it)
    edges = fit.architecture.edges(fit.tensors, slice(None), MOST)
    parts = [(layer.weights.numpy(), layer.offsets.numpy()) for layer in edges]
    expected = [cells([(w[r], b[r]) for w, b in parts], RELU) for r in range(3)]
    np.testing.assert_array_equal(run(it).curve("net").values("regions")[0], expected)


@pytest.mark.parametrize(
    ("picture", "place", "reason"),
    [
        (
            {"x": "s", "measure": "cells"},
            "",
            "t of cells must be named in `x`, `read` or `at`",
        ),
        ({"x": "s", "y": "s", "measure": "cells"}, "", "t of cells must be named in `x`"),
        ({"x": "s", "y": "step", "measure": "cells"}, ".y", "step counts the progress of a run"),
        ({"x": "s", "y": "d", "measure": "cells", "at": {"t": 0}}, ".y", "nothing varies along y"),
    ],
)
def test_a_heat_map_of_cells_requires_two_dimensions(picture, place, reason):
    with pytest.raises(BadInput, match=reason) as caught:
        described(picture)
    assert caught.value.where == f"pictures[0]{place}"


@pytest.mark.parametrize(
    ("architecture", "matrix", "reason"),
    [
        ({**NET, "activation": "tanh"}, PLANE, "σ bends only at 0"),
        (NET, {"kind": "interval", "n": 2}, "two entries or more"),
        ("linear", PLANE, "a dense net with one output"),
    ],
)
def test_cells_and_regions_refuse_unsupported_nets_and_instances(architecture, matrix, reason):
    for measure in ("cells", "regions"):
        with pytest.raises(BadInput, match=reason):
            described({"x": "s", "y": "t", "measure": measure}, architecture, matrix)
