"""Functions of one number by nets of rectified units: the cost of fitting, and its measurement."""

import itertools

import numpy as np
import pytest
import torch
from building import beginning, data_of, experiment, gd, raw

from engine.core.catalogue import make
from engine.core.cost import Cost
from engine.core.parts import BadInput
from engine.core.streams import Streams
from engine.formulas.relu_interpolation import least_norm, penalised, spline
from engine.hypotheses.curvature import Curvature
from engine.learners.learner import LinearSchedule
from engine.measures import Probe
from engine.runtime.run import run
from engine.spec import reading

X, Y = np.array([-2, -1, -0.4, 0.3, 1, 2]), np.array([0, 1, -0.5, 0.2, 1, 0.5])

POINTS = {"kind": "interval", "n": 30, "points": "spaced", "low": -3, "high": 3, "first": X.tolist()}


def described(measure, net=None, **more):
    """A net on the six points of theory's page, as it starts, with a grid to look at it."""
    net = net or gd(0.02, kind="relu-layer", width=4)
    words = raw(POINTS, "linear-spline", {"net": net}, replicas=2, **more)
    words["pictures"] = [{"x": "input" if measure == "function" else "step", "measure": measure}]
    return reading.parse(words)


def steps(count):
    return {"kind": "steps", "steps": count, "train": 6, "records": 1}


def bends_and_ends(y):
    slopes = np.diff(y) / np.diff(X)
    return abs(np.diff(slopes)).sum(), abs(slopes[0] + slopes[-1])


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [(X, Y, 8.785714), ([0, 1], [0, 1], 1), ([0, 1, 2], [0, 1, 2], 1), ([0, 1, 2, 3], [0, 1, 1, 3], 3)],
)
def test_least_norm_matches_a_linear_program_over_many_kinks(x, y, expected):
    from scipy.optimize import linprog

    x, y = np.array(x, float), np.array(y, float)
    kinks = np.union1d(np.linspace(x[0] - 1, x[-1] + 1, 60), x)
    units = np.hstack([np.maximum(sign * (x[:, None] - kinks), 0) for sign in (1, -1)])
    count = units.shape[1]
    program = linprog(
        np.append(np.ones(2 * count), 0),
        A_eq=np.hstack((units, -units, np.ones((len(x), 1)))),
        b_eq=y,
        bounds=[(0, None)] * (2 * count) + [(None, None)],
    )
    assert least_norm(x, y) == pytest.approx(program.fun, abs=1e-7)
    assert least_norm(x, y) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("rate", "objective", "norm"),
    [(1e-2, 0.079829, 7.22842), (1e-3, 0.008703, 8.62093), (1e-4, 0.000878, 8.76924)],
)
def test_the_penalised_minimum_has_the_printed_digits_and_is_locally_minimal(rate, objective, norm):
    def cost(values):
        bends, ends = bends_and_ends(values)
        return np.square(values - Y).mean() + rate * max(bends, (bends + ends) / 2)

    least = penalised(X, Y, rate)
    assert least.objective == pytest.approx(objective, abs=6e-7)
    assert least.norm == pytest.approx(norm, abs=6e-6)
    draws = np.random.default_rng(0)
    assert cost(least.fitted) == pytest.approx(least.objective, abs=1e-12)
    for size, _ in itertools.product((1e-6, 1e-4, 1e-2, 1), range(50)):
        assert cost(least.fitted + size * draws.standard_normal(6)) >= least.objective - 1e-12


def test_constant_labels_have_zero_objective_and_norm():
    assert penalised(X, np.full(6, 0.7), 0.1)[:2] == pytest.approx((0, 0), abs=1e-15)
    assert (least_norm(X[:1], Y[:1]), least_norm(X, np.full(6, 2.0))) == (0, 0)


def test_the_spline_interpolates_linearly_and_extrapolates():
    at = np.linspace(-2, 2, 41)
    np.testing.assert_allclose(spline(X, Y, at), np.interp(at, X, Y), atol=1e-12)
    np.testing.assert_allclose(spline(X, Y, np.array([-3, 4.0])), [-1, -0.5], atol=1e-12)
    np.testing.assert_array_equal(spline(X[:1], Y[:1], at), np.zeros(41))


def test_given_points_precede_the_grid_points():
    matrix = make("matrices", **POINTS)
    rows = matrix.rows(Streams([1, 2]))
    expected = np.append(X, np.linspace(-3, 3, 24))
    for replica in rows:
        np.testing.assert_array_equal(replica[:, 0], expected)
    assert matrix.structure().points_are_fixed
    assert matrix.second_moment == pytest.approx(np.square(expected).mean())
    with pytest.raises(BadInput, match="there are 6 first points, but only n = 5 points in total"):
        experiment({**POINTS, "n": 5}, "linear-spline")


@pytest.mark.parametrize("words", [{"points": "uniform"}, {"rotate": True}, {"repeat": 1}])
def test_slope_variation_requires_points_shared_by_all_replicas(words):
    matrix = make("matrices", **{**POINTS, **words})
    assert not matrix.structure().points_are_fixed
    document = raw({**POINTS, **words}, "linear-spline", {"GD": gd(0.1)})
    document["pictures"] = [{"x": "step", "measure": "slope-variation"}]
    with pytest.raises(BadInput, match="the same in every replica"):
        reading.parse(document)


def test_uniform_points_after_given_points_have_the_declared_second_moment():
    matrix = make("matrices", **{**POINTS, "points": "uniform"})
    rows = matrix.rows(Streams(range(2000)))[:, :, 0]
    squares = np.square(rows).mean(1)
    error = squares.std() / np.sqrt(len(squares))
    assert abs(squares.mean() - matrix.second_moment) < 4 * error


def test_units_start_with_equal_weight_norms_and_bends_within_reach():
    start = make("architectures", "relu-layer", width=50, scale=0.3, reach=2.0).start(Streams([3])("init"), 4)
    np.testing.assert_allclose(np.linalg.norm(start["W1"][0], axis=1), 0.3)
    np.testing.assert_array_equal(abs(start["W2"]), 0.3)
    distances = -start["b1"][0, :, 0] / 0.3
    assert -2 <= distances.min() < -1
    assert 1 < distances.max() <= 2
    assert not start["b2"].any()


def test_path_norms_are_sums_over_paths_and_invariant_to_rescaling_units():
    described = experiment(
        "gaussian", d=4, learners={"net": gd(0.1, kind="dense", widths=[4, 2], activation="relu")}
    )
    hypothesis, data = beginning(described)

    def norm():
        probe = Probe(data, Cost, hypothesis, lambda: torch.zeros(1))
        return float(make("measures", "path-norm").value(probe))

    layers = [hypothesis.params[f"W{number}"][0].numpy() for number in (1, 2, 3)]
    paths = itertools.product(range(4), range(4), range(2))
    expected = sum(abs(layers[0][j, i] * layers[1][k, j] * layers[2][0, k]) for i, j, k in paths)
    assert norm() == pytest.approx(expected)
    hypothesis.params["W1"][0, 1] *= 2
    hypothesis.params["W2"][0, :, 1] /= 2
    assert norm() == pytest.approx(expected)


def test_slope_variation_is_the_sum_of_all_slope_changes():
    net = {"architecture": {"kind": "relu-layer", "width": 2, "scale": 0.7}}
    trace = run(described("slope-variation", net, protocol="at-init", seed=4))
    start = make("architectures", **net["architecture"]).start(Streams([4, 5])("init of net"), 1)
    assert start["b1"].shape == (2, 2, 1)
    variation = trace.curves[0].values("slope-variation")[0]
    values = run(described("function", net, protocol="at-init", seed=4)).curves[0]
    x, f = values.indices("function")["input"], values.array("function").values[0]
    for replica in range(2):
        places, first = np.unique(x, return_index=True)
        slopes = np.diff(f[replica][first]) / np.diff(places)
        assert variation[replica] == pytest.approx(abs(np.diff(slopes)).sum())
        assert variation[replica] <= 2 * 0.7**2 + 1e-12


def test_grid_points_equal_to_given_points_up_to_rounding_add_no_slopes():
    net = {"architecture": {"kind": "relu-layer", "width": 9}}
    words = raw({**POINTS, "n": 67}, "linear-spline", {"net": net}, replicas=4, protocol="at-init")
    words["pictures"] = [{"x": "step", "measure": measure} for measure in ("path-norm", "slope-variation")]
    curve = run(reading.parse(words)).curves[0]
    assert (curve.values("slope-variation")[0] <= curve.values("path-norm")[0] * (1 + 1e-9)).all()


def test_the_penalty_omits_biases_in_gradient_curvature_and_objective():
    net = gd(0.02, kind="relu-layer", width=4, l2_penalty=0.3)
    penalised_setup = described("objective", net, protocol=steps(1))
    free = described("objective", gd(0.02, kind="relu-layer", width=4), protocol=steps(1))
    curvatures = []
    for setup in (penalised_setup, free):
        hypothesis, data = beginning(setup)
        shares = torch.full((1, 30), 1 / 30, dtype=torch.float64)
        loss = make("losses", "square").of_targets(1)
        curvature = Curvature(
            hypothesis.architecture, hypothesis.tensors, data.instances, data.labels, shares, loss
        )
        curvatures.append((curvature.gradient, curvature.matrices()))
    params = torch.cat([hypothesis.tensors[name].flatten(1) for name in ("W1", "b1", "W2", "b2")], 1)
    on = torch.tensor([1.0] * 4 + [0.0] * 4 + [1.0] * 4 + [0.0], dtype=torch.float64)
    torch.testing.assert_close(curvatures[0][0] - curvatures[1][0], 0.3 * on * params)
    torch.testing.assert_close(curvatures[0][1] - curvatures[1][1], torch.diag(0.3 * on).expand(2, -1, -1))
    objectives = [run(setup).curves[0].values("objective")[0] for setup in (penalised_setup, free)]
    squares = (on * params.square()).sum(1).numpy()
    np.testing.assert_allclose(objectives[0] - objectives[1], 0.15 * squares)


def test_a_linear_schedule_may_be_constant_before_it_falls():
    factors = [LinearSchedule(steps=100, constant=0.7).factor(step) for step in (0, 69, 70, 85, 100)]
    assert factors == pytest.approx([1, 1, 1, 0.5, 0])
    assert [LinearSchedule(steps=100).factor(step) for step in (0, 25, 100)] == [1, 0.75, 0]


def test_the_linear_spline_line_passes_through_the_points():
    (line,) = (
        trace_line
        for trace_line in run(described("function", protocol=steps(2))).lines
        if trace_line.kind == "linear-spline"
    )
    labels = data_of(described("function", protocol=steps(2))).labels[0].numpy()
    order = np.argsort(np.append(X, np.linspace(-3, 3, 24)), kind="stable")
    np.testing.assert_allclose(line.values[-1], labels[order])


@pytest.mark.slow
def test_small_starts_end_near_the_least_norm_and_large_starts_far_above():
    norms_by_scale = {}
    for scale, rate in ((0.1, 0.1), (1.0, 0.02)):
        net = gd(rate, kind="relu-layer", width=50, scale=scale)
        curve = run(described("path-norm", net, protocol=steps(1500))).curves[0]
        norms_by_scale[scale] = curve.values("path-norm")[-1]
    assert (norms_by_scale[0.1] < 1.3 * least_norm(X, Y)).all()
    assert (norms_by_scale[1.0] > 2 * least_norm(X, Y)).all()
