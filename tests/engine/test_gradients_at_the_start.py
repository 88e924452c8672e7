"""Gradients of predictions by inputs and weights, against loops over paths and over weights."""

from itertools import product

import numpy as np
import pytest
from building import data_of, experiment, gd

from engine.core import catalogue
from engine.core.streams import Streams
from engine.runtime.run import run

WIDTHS, ROWS, D = [4, 3], 2, 3


def measured(kind, **words):
    """Values of a measure [R, …] at the start, with the weights and the rows of every replica."""
    learners = {"it": gd(0.1, kind="dense", widths=WIDTHS, activation="relu", cw=2.0, **words)}
    settings = {"protocol": "at-init", "measures": [kind], "replicas": 2, "dtype": "float64"}
    described = experiment({"kind": "gaussian", "n": ROWS}, "coin", learners, d=D, **settings)
    curve = run(described).curves[0]
    start = described.learners[0].architecture.start(Streams([0, 1])("init"), D)
    (measure,) = described.run.measures
    numbers = curve.values(measure.name)
    recorded = curve.array(measure.name).values[0] if numbers is None else numbers[0]
    return recorded, start, data_of(described).instances.rows.numpy()


def signals_of(tensors, replica, x):
    """Signals z of all layers at x, with the effective weights of a net."""
    weights = [
        tensors[f"W{number}"][replica] * tensors.get(f"m{number}", np.ones(2))[replica]
        for number in (1, 2, 3)
    ]
    biases = [tensors.get(f"b{number}", np.zeros((2, 1, 1)))[replica].reshape(-1) for number in (1, 2, 3)]
    signals, sent = [], x
    for weight, bias in zip(weights, biases, strict=True):
        signals.append(weight @ sent + bias)
        sent = np.maximum(signals[-1], 0)
    return signals, weights


@pytest.mark.parametrize("words", [{}, {"cb": 0.3}, {"parametrisation": "ntk"}])
def test_the_input_gradient_equals_a_sum_over_active_paths(words):
    squares, tensors, rows = measured({"kind": "input-gradient"}, **words)
    assert squares.shape == (2, D)
    for replica, column in product(range(2), range(D)):
        of_rows = []
        for x in rows[replica]:
            (first, second, _), weights = signals_of(tensors, replica, x)
            of_rows.append(
                sum(
                    weights[0][i, column]
                    * (first[i] > 0)
                    * weights[1][j, i]
                    * (second[j] > 0)
                    * weights[2][0, j]
                    for i, j in product(range(WIDTHS[0]), range(WIDTHS[1]))
                )
            )
        assert squares[replica, column] == pytest.approx(np.mean(np.square(of_rows)), rel=1e-9)


@pytest.mark.parametrize("words", [{}, {"cb": 0.3}, {"parametrisation": "ntk"}])
@pytest.mark.parametrize("of", [None, "W2"])
def test_the_tangent_norm_equals_finite_differences_in_every_weight(words, of):
    lengths, tensors, rows = measured({"kind": "tangent-norm"} | ({} if of is None else {"of": of}), **words)
    step = 1e-6
    for replica in range(2):
        names = [of] if of else [name for name in tensors if name[0] in "Wb"]
        total = 0.0
        for name in names:
            for place in np.ndindex(tensors[name].shape[1:]):
                ends = []
                for sign in (1, -1):
                    moved = {key: tensor.copy() for key, tensor in tensors.items()}
                    moved[name][(replica, *place)] += sign * step
                    ends.append(np.array([signals_of(moved, replica, x)[0][-1] for x in rows[replica]]))
                total += np.mean(((ends[0] - ends[1]) / (2 * step)) ** 2)
        assert lengths[replica] == pytest.approx(total, rel=1e-5)


@pytest.mark.parametrize("words", [{}, {"cb": 0.3}, {"parametrisation": "ntk"}])
def test_the_tangent_product_equals_finite_differences_in_every_weight(words):
    products, tensors, rows = measured({"kind": "tangent-product"}, **words)
    step = 1e-6
    for replica in range(2):
        total = 0.0
        for name in (name for name in tensors if name[0] in "Wb"):
            for place in np.ndindex(tensors[name].shape[1:]):
                ends = []
                for sign in (1, -1):
                    moved = {key: tensor.copy() for key, tensor in tensors.items()}
                    moved[name][(replica, *place)] += sign * step
                    ends.append(np.array([signals_of(moved, replica, x)[0][-1] for x in rows[replica][:2]]))
                total += np.prod((ends[0] - ends[1]) / (2 * step))
        assert products[replica] == pytest.approx(total, rel=1e-5)


@pytest.mark.parametrize(("measure", "architecture", "reason"), [
    ({"kind": "tangent-product"}, {"kind": "layer-by-layer"}, "layers z = Wa"),
    ({"kind": "tangent-norm"}, {"kind": "layer-by-layer"}, "layers z = Wa"),
    ({"kind": "tangent-norm", "of": "W9"}, {"kind": "dense"}, "a tensor W9"),
    ({"kind": "input-gradient"}, {"kind": "dense", "outputs": "m"}, "one output"),
])  # fmt: skip
def test_gradient_measures_state_their_unmet_requirement(measure, architecture, reason):
    described = experiment("gaussian", "all", {"it": gd(0.1, **architecture)}, d=4)
    (learner,) = described.learners
    settings = {name: setting for name, setting in measure.items() if name != "kind"}
    needed = catalogue.make("measures", measure["kind"], **settings).refuses(learner, described.problem)
    assert reason in needed
