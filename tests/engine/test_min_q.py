"""The minimiser of Q_α: its conditions, its limits, the numbers of theory/implicit-bias#kernel-and-rich, and
gradient flow."""

import math

import numpy as np
import pytest
import torch
from building import data_of, raw
from diagonal_nets import inverse_transfer, potential
from scipy.integrate import solve_ivp

from engine.architectures.spindly import filled
from engine.core import catalogue
from engine.core.groups import TRIVIAL
from engine.core.streams import Streams
from engine.runtime.run import run
from engine.runtime.sweep_run import run_sweep
from engine.solvers import min_q
from engine.solvers.basis_pursuit import shortest
from engine.solvers.min_q import Path
from engine.spec import reading
from engine.spec.documents import sweep_of

SCALES = [1e3, 1.0, 0.1, 1e-3, 1e-6]
DEPTHS = [2, 3, 4, 8]


def minimiser(X, y, alpha, depth, shape=()):
    """The w of least Q_α with Xw = y, or with Xw = XX⁺y without one."""
    return Path(X, y, depth, filled(shape, X.shape[1])).at(alpha)


def small(seed=0, k=6, d=14):
    draws = np.random.default_rng(seed)
    return draws.standard_normal((k, d)), draws.standard_normal(k)


def sparse_regression(seed=0, n=100, d=1000):
    """The draw of WGL20 and of theory/implicit-bias#kernel-and-rich: r = 5 of d entries are 1/√5, noise
    0.1."""
    g = np.random.default_rng(seed)
    X, w_star = g.standard_normal((n, d)), np.zeros(d)
    w_star[:5] = 1 / np.sqrt(5)
    return X, w_star, X @ w_star + 0.1 * g.standard_normal(n)


X, W_STAR, Y = sparse_regression()


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("alpha", [1e3, 1.0, 0.3, 0.1])
def test_the_minimiser_of_q_satisfies_its_stationarity_conditions(alpha, depth):
    A, y = small()
    w = minimiser(A, y, alpha, depth)
    np.testing.assert_allclose(A @ w, y, rtol=0, atol=1e-9)
    gradient = np.array([inverse_transfer(ratio, depth) for ratio in w / alpha**depth])
    outside = gradient - A.T @ np.linalg.lstsq(A.T, gradient)[0]
    assert abs(outside).max() <= 1e-9 * abs(gradient).max()


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("alpha", SCALES)
def test_no_other_solution_nearby_has_a_smaller_q(alpha, depth):
    A, y = small(1)
    w = minimiser(A, y, alpha, depth)
    np.testing.assert_allclose(A @ w, y, rtol=0, atol=1e-9)
    if depth > 2 and alpha < 0.1:
        return  # Q is ‖w‖₁ there, up to rounding, which the limit below compares

    def q(w):
        return sum(potential(ratio, depth) for ratio in w / alpha**depth)

    around = np.linalg.svd(A)[2][len(A) :]  # an orthonormal basis of {v: Av = 0}
    for direction in np.vstack((around, -around)):
        for step in (1e-3, 1e-1):
            assert q(w) <= q(w + step * abs(w).max() * direction) * (1 + 1e-12)


FIXED_DRAW = [
    (2, 10, 0.904271, 7.728855, 0.312003),
    (2, 1, 0.904259, 7.728789, 0.312003),
    (2, 1e-1, 0.808293, 7.238421, 0.317636),
    (2, 10**-1.5, 0.237353, 4.443931, 0.571058),
    (2, 1e-2, 0.038815, 3.040347, 0.825762),
    (2, 1e-3, 0.012543, 2.689277, 0.913156),
    (2, 1e-4, 0.010499, 2.652915, 0.926888),
    (2, 1e-6, 0.009294, 2.638896, 0.936513),
    (3, 1e-1, 0.039187, 3.277454, None),
    (3, 1e-2, 0.007930, 2.636596, None),
    (4, 10**-0.5, 0.570525, 6.258120, None),
    (4, 1e-1, 0.007177, 2.712772, None),
    (4, 0.03**0.5, 0.017982, 3.039494, None),
]
"""D, α, excess risk, ‖w‖₁, ‖w‖₂ of theory/implicit-bias#kernel-and-rich; the last is the least R_α at α =
0.03."""


@pytest.mark.parametrize(("depth", "alpha", "excess", "l1", "l2"), FIXED_DRAW)
def test_the_minimiser_on_the_fixed_draw_has_the_printed_numbers(depth, alpha, excess, l1, l2):
    w = minimiser(X, Y, alpha, depth)
    assert ((w - W_STAR) ** 2).sum() == pytest.approx(excess, abs=6e-7)
    assert abs(w).sum() == pytest.approx(l1, abs=6e-7)
    if l2 is not None:
        assert np.linalg.norm(w) == pytest.approx(l2, abs=6e-7)


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_the_minimiser_approaches_least_squares_at_large_alpha(depth):
    A, _, y = sparse_regression(0, 30, 200)
    least = np.linalg.pinv(A) @ y
    far = [
        np.linalg.norm(minimiser(A, y, alpha, depth) - least) / np.linalg.norm(least) for alpha in (1.0, 2.0)
    ]
    assert far[0] / far[1] == pytest.approx(4**depth, rel=0.01)
    np.testing.assert_allclose(minimiser(A, y, 1e3, depth), least, rtol=0, atol=1e-12)


@pytest.mark.slow
def test_the_minimiser_approaches_basis_pursuit_at_small_alpha():
    A, _, y = sparse_regression(0, 30, 200)
    least = shortest(A, y)
    for depth in (3, 4, 8):
        np.testing.assert_allclose(minimiser(A, y, 1e-6, depth), least, rtol=0, atol=1e-6)
    lengths = [abs(minimiser(A, y, alpha, 2)).sum() for alpha in (1, 0.1, 1e-2, 1e-4, 1e-6)]
    assert lengths == sorted(lengths, reverse=True)
    assert 1 < lengths[-1] / abs(least).sum() < 1.01


def flow_on_the_diagonal_net(A, y, alpha, depth, time):
    """w = u^D − v^D after gradient flow on (1/k)‖Aw − y‖² from u = v = α, a number or [d]."""
    d = A.shape[1]

    def velocity(_, weights):
        u, v = weights[:d], weights[d:]
        slope = 2 / len(A) * A.T @ (A @ (u**depth - v**depth) - y)
        return np.concatenate((-depth * u ** (depth - 1) * slope, depth * v ** (depth - 1) * slope))

    start = np.tile(np.broadcast_to(alpha, d), 2)
    u, v = solve_ivp(velocity, (0, time), start, "DOP853", rtol=1e-11, atol=1e-14).y[:, -1].reshape(2, d)
    return u**depth - v**depth


@pytest.mark.slow
@pytest.mark.parametrize(("depth", "alpha"), [(2, 0.1), (2, 1.0), (3, 0.3), (4, 0.5)])
def test_gradient_flow_on_the_diagonal_net_follows_the_minimiser(depth, alpha):
    # On the way it is the minimiser for the labels that it fits by then. Its error is what the integration
    # leaves: 1e-11 a step, over some hundred steps, and no further, as the flow contracts along the rows.
    A, y = small(2, 4, 8)
    for time, fitted in ((0.5, False), (200.0, True)):
        w = flow_on_the_diagonal_net(A, y, alpha, depth, time)
        assert (abs(A @ w - y).max() < 1e-8) == fitted
        np.testing.assert_allclose(minimiser(A, A @ w, alpha, depth), w, rtol=0, atol=1e-8)


SHAPE = (1.0, 0.3, 2.0)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("alpha", [1e3, 1.0, 0.3])
def test_the_minimiser_for_a_shaped_start_satisfies_its_stationarity_conditions(depth, alpha):
    A, y = small(8)
    w = minimiser(A, y, alpha, depth, SHAPE)
    np.testing.assert_allclose(A @ w, y, rtol=0, atol=1e-9)
    starts = alpha * np.array([*SHAPE, *[1.0] * 11])
    slopes = [inverse_transfer(ratio, depth) for ratio in w / starts**depth]
    gradient = np.array(slopes) / starts ** (depth - 2)
    outside = gradient - A.T @ np.linalg.lstsq(A.T, gradient)[0]
    assert abs(outside).max() <= 1e-9 * abs(gradient).max()


@pytest.mark.parametrize("depth", [2, 3])
def test_shaped_starts_give_weighted_least_squares_or_basis_pursuit(depth):
    A, y = small(9)
    roots = np.array([*SHAPE, *[1.0] * 11]) ** (depth - 1)  # least Σ w²/roots²
    np.testing.assert_allclose(
        minimiser(A, y, 1e3, depth, SHAPE), roots * (np.linalg.pinv(A * roots) @ y), rtol=0, atol=1e-10
    )
    np.testing.assert_allclose(minimiser(A, y, 1e-30, 2, SHAPE), shortest(A, y), rtol=0, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(("depth", "alpha"), [(2, 0.3), (3, 0.5)])
def test_gradient_flow_from_a_shaped_start_ends_at_the_minimiser(depth, alpha):
    A, y = small(2, 4, 8)
    w = flow_on_the_diagonal_net(A, y, alpha * np.array([*SHAPE, *[1.0] * 5]), depth, 200.0)
    np.testing.assert_allclose(minimiser(A, A @ w, alpha, depth, SHAPE), w, rtol=0, atol=1e-8)


POTENTIALS = [(10, 4.06165, None), (100, 4.06312, None), (1e-2, None, 1.864), (1e-6, None, 1.821)]
"""α, α²Q and Q/ln(1/α²) of theory/implicit-bias#shaped-start, for β = (.5, −1.2, .1) and this shape."""


@pytest.mark.parametrize(("alpha", "squares", "lengths"), [*POTENTIALS, (1e-30, None, 1.804)])
def test_the_potential_has_the_printed_numbers(alpha, squares, lengths):
    beta = torch.tensor([[0.5, -1.2, 0.1, 0.0]])
    solver = catalogue.make("solvers", "min-q", alpha=alpha, shape=SHAPE)
    potential = float(solver.norm(beta))
    if squares is not None:
        assert alpha**2 * potential == pytest.approx(squares, abs=6e-6)
    else:
        assert potential / math.log(1 / alpha**2) == pytest.approx(lengths, abs=6e-4)


@pytest.mark.parametrize("alpha", [1e-6, 0.1, 1.0, 1e3])
def test_the_measure_of_the_potential_is_a_sum_over_the_weights(alpha):
    learner = {"solver": "lls", "tends_to": {"kind": "min-q", "alpha": alpha, "shape": SHAPE}}
    document = raw({"kind": "gaussian", "n": 6, "d": 14}, learners={"it": learner}, protocol="at-init")
    document["pictures"] = [{"x": "k", "measure": "potential"}]
    curve = run(reading.parse(document)).curves[0]
    starts = alpha * np.array([*SHAPE, *[1.0] * 11])
    expected = sum(
        start**2 * potential(w / start**2, 2) for w, start in zip(curve.weights[-1], starts, strict=True)
    )
    assert curve.mean("potential")[-1] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("signed", [True, False])
def test_a_shaped_spindly_net_starts_at_its_shape_without_symmetry(signed):
    net = catalogue.make("architectures", "spindly", depth=3, signed=signed, w0=0.008, shape=SHAPE)
    start = net.start(Streams([0, 1])("init"), 5)
    for tensor in start.values():
        np.testing.assert_allclose(tensor, 0.2 * np.array([[1.0, 0.3, 2.0, 1.0, 1.0]] * 2), rtol=1e-15)
    structure = net.structure()
    assert (structure.starts_alike, structure.exchanges_on_flips) == (False, False)
    assert net.invariance(5).otherwise == TRIVIAL


def test_contradicting_labels_are_replaced_by_the_least_squares_fit():
    A, y = np.repeat(small(3)[0], 2, 0), np.random.default_rng(3).standard_normal(12)
    w = minimiser(A, y, 0.01, 2)
    np.testing.assert_allclose(A @ w, y.reshape(6, 2).mean(1).repeat(2), atol=1e-9)
    tall, y = small(4, 9, 4)
    np.testing.assert_allclose(minimiser(tall, y, 0.01, 2), np.linalg.lstsq(tall, y)[0], atol=1e-12)
    assert (minimiser(A, np.zeros(12), 0.01, 3) == 0).all()


@pytest.mark.parametrize("size", [1e-9, 1e9])
def test_labels_and_instances_of_any_size_are_fitted(size):
    A, y = small(5)
    for depth in (2, 3):
        alpha = (0.1**depth * size) ** (1 / depth)  # w is size times as large, and so is the scale α^D
        expected = minimiser(A, y, 0.1, depth)
        np.testing.assert_allclose(minimiser(A, size * y, alpha, depth) / size, expected, atol=1e-9)
        np.testing.assert_allclose(minimiser(A / size, y, alpha, depth) / size, expected, atol=1e-9)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.slow
def test_sign_instances_with_sparse_targets_are_solved_at_every_scale(depth):
    draws = np.random.default_rng(6)
    for alpha in SCALES:
        A = draws.choice([-1.0, 1.0], (12, 20))
        y = A[:, 0] - A[:, 3]
        with np.errstate(all="raise", under="ignore"):
            w = minimiser(A, y, alpha, depth)
        np.testing.assert_allclose(A @ w, y, rtol=0, atol=1e-9)


@pytest.mark.parametrize("depth", [2, 3])
@pytest.mark.slow
def test_the_minimisers_on_a_path_do_not_depend_on_the_order_of_scales(depth):
    A, y = small(7)
    down = [3.0, 0.3, 0.1, 1e-3]
    for order in (down, down[::-1], [0.1, 3.0, 1e-3, 0.3]):
        path = Path(A, y, depth, filled((), A.shape[1]))
        for alpha in order:
            np.testing.assert_array_equal(path.at(alpha), minimiser(A, y, alpha, depth))


def test_solutions_warm_start_from_other_scales_of_the_same_data(monkeypatch):
    steps = []
    step = min_q.Dual._make_newton_step
    monkeypatch.setattr(min_q.Dual, "_make_newton_step", lambda self: steps.append(1) or step(self))
    axes = [{"name": "alpha", "values": [0.1, 0.03, 0.01, 0.003, 0.001], "log": True}]
    learner = {"solver": {"kind": "min-q", "alpha": "alpha"}}
    described = raw(
        {"kind": "gaussian", "n": 6, "d": 14}, learners={"it": learner}, protocol="at-init", replicas=2
    )
    results = run_sweep(
        sweep_of({**described, "axes": axes, "pictures": [{"x": "alpha", "measure": "loss"}]})
    )
    assert len(results.traces) == 5
    together = len(steps)
    steps.clear()
    data = data_of(reading.parse(described | {"learners": [{"name": "it", "solver": "min-q"}]}))
    for X, y in zip(data.instances.rows.numpy(), data.labels.numpy(), strict=True):
        for alpha in (0.1, 0.03, 0.01, 0.003, 0.001):
            minimiser(X, y, alpha, 2)
    assert together < 0.6 * len(steps)


def test_a_search_without_convergence_raises_an_error(monkeypatch):
    monkeypatch.setattr(min_q, "STEPS", 1)
    with pytest.raises(
        ArithmeticError, match="min-q on 6 independent examples of 14 features misses a label"
    ):
        minimiser(*small(), 1e-6, 2)


def test_the_solver_keeps_its_settings_and_refuses_alpha_zero():
    solver = catalogue.make("solvers", "min-q", alpha=0.2, depth=3)
    assert (solver.alpha, solver.depth) == (0.2, 3)
    with pytest.raises(Exception, match="alpha"):
        catalogue.make("solvers", "min-q", alpha=0.0)
