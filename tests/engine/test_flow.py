"""Gradient flow: against exact solutions, conserved quantities, and steps of ever smaller rates."""

from concurrent.futures import ThreadPoolExecutor
from itertools import zip_longest
from time import sleep

import numpy as np
import pytest
import torch
from building import LLS, data_of, experiment, gd, needed, raw
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.optimize import brentq

from engine.core import catalogue
from engine.core.parts import BadInput
from engine.planning.run_plan import plan_run
from engine.problems.instances import DenseInstances
from engine.protocols import places
from engine.results.outcomes import judge
from engine.results.results import of_one
from engine.results.trace import Curve
from engine.results.views import view
from engine.runtime.run import BEYOND, prepare, run
from engine.spec import reading
from engine.spec.experiment import picture_of
from engine.symmetry.certificate import certificate
from engine.training.descent import speeds_of
from engine.training.recorder import Recorder
from engine.training.trajectory import MATRICES, NAMES, Accuracy, GradientField, Trajectory
from engine.updates import EUCLIDEAN, refused_loss

pytestmark = pytest.mark.slow

D = 8
NET = {"kind": "dense", "widths": [3], "activation": "tanh"}


def flow(**words):
    return {"kind": "flow", "time": 4, "records": 6, **words}


def measured(protocol, learner, matrix="gaussian", **words):
    described = experiment(matrix, learners={"it": learner}, **{"d": D, **words}, protocol=protocol)
    return run(described).curves[0], described


def ending(learner, protocol, **words):
    """The trained tensors of the first learner at the end of a run."""
    _, (learner_run,) = prepare(
        plan_run(experiment("gaussian", learners={"it": learner}, protocol=protocol, **words))
    )
    with torch.no_grad():
        learner_run.training_run.advance(10**6)
    return {
        tensor_name: tensor.numpy()
        for tensor_name, tensor in learner_run.training_run.started.hypothesis.params.items()
    }


@pytest.mark.parametrize("method", NAMES)
@pytest.mark.parametrize("train", [None, 5])
def test_least_squares_decays_by_the_matrix_exponential(method, train):
    rtol = 1e-6 if method in ("bdf", "radau") else 1e-8
    words = {"train": train} if train else {}
    curve, described = measured(flow(method=method, rtol=rtol, atol=rtol / 100, **words), gd(1.0))
    data = data_of(described)
    x, y = data.instances.rows[0].numpy()[:train], data.labels[0].numpy()[:train]
    A, fitted = 2 * x.T @ x / len(x), np.linalg.lstsq(x, y, rcond=None)[0]
    expected = [fitted - expm(-A * time) @ fitted for time in curve.x]
    np.testing.assert_allclose(curve.weights, expected, rtol=0, atol=30 * rtol)


def logistic(w0, s, rate, t):
    """The solution of dw/dt = −rate · w (w − s)."""
    if s == 0:
        return w0 / (1 + rate * w0 * t)
    return s / (1 + (s / w0 - 1) * np.exp(-rate * s * t))


def hypentropy(beta, s, rate, t):
    """w = β sinh z with dz/dt = −rate · (w − s) from z = 0: e^z is a logistic function between two roots."""
    high, low = (s + np.array([1, -1]) * np.sqrt(s * s + beta * beta)) / beta
    ratio = (1 - high) / (1 - low) * np.exp(-rate * beta / 2 * (high - low) * t)
    y = (high - low * ratio) / (1 - ratio)
    return beta / 2 * (y - 1 / y)


SPINDLY = {"architecture": {"kind": "spindly", "w0": 0.03}, "update": "gd"}
SIGNED = {"architecture": {"kind": "spindly", "signed": True, "w0": 0.03}, "update": "gd"}
CLOSED = {
    "egu": ({"update": {"kind": "egu", "w0": 0.03}}, lambda s, t: logistic(0.03, s, 2, t)),
    "private rates": (
        {"update": {"kind": "private-rates", "w0": 0.03}},
        lambda s, t: logistic(0.03, s, 2, t),
    ),
    "u²": (SPINDLY, lambda s, t: logistic(0.03, s, 8, t)),
    "u² − v²": (SIGNED, lambda s, t: hypentropy(0.06, s, 8, t)),
    "egu-pm": ({"update": {"kind": "egu-pm", "w0": 0.03}}, lambda s, t: hypentropy(0.06, s, 2, t)),
    "hypentropy": ({"update": {"kind": "hypentropy", "beta": 0.06}}, lambda s, t: hypentropy(0.06, s, 2, t)),
}


@pytest.mark.parametrize("learner_name", CLOSED)
def test_flows_on_orthogonal_rows_equal_their_closed_forms(learner_name):
    learner, solution = CLOSED[learner_name]
    target = {"kind": "feature", "index": 3}
    curve, _ = measured(flow(), learner, "hadamard", target=target, path="dense")
    expected = [[solution(float(i == 3), time) for i in range(D)] for time in curve.x]
    np.testing.assert_allclose(curve.weights, expected, rtol=0, atol=1e-7)


KERNEL_OF_START = {
    2: {0.1: 0.718, 0.3: 0.99, 0.6: 0.9994, 1.0: 0.9999},
    3: {0.1: 0.133, 0.3: 0.844, 0.6: 0.996, 1.0: 0.9998},
    4: {0.3: 0.49, 0.6: 0.986, 1.0: 0.9998},
}
"""Ratio of the time in which the loss of u^D − v^D from u = v = α falls to a thousandth to that of the linear
flow, by D and α. Time is scaled so that the kernels at the start are equal. Source:
theory/implicit-bias#kernel-and-rich.
"""


def test_diagonal_net_flows_take_the_printed_times():
    draw = np.random.default_rng(0)
    x, w_star = draw.standard_normal((30, 200)), np.zeros(200)
    w_star[:5] = 1 / np.sqrt(5)
    instances = DenseInstances(torch.from_numpy(x)[None])
    labels = torch.from_numpy(x @ w_star + 0.1 * draw.standard_normal(30))[None]

    def time_of(architecture, start, speed):
        names, loss = architecture.layers, catalogue.make("losses", "square")
        params = {name: torch.full((1, 200), start, dtype=torch.float64) for name in names}
        speeds = dict.fromkeys(names, speed)
        field = GradientField(architecture, EUCLIDEAN, speeds, params, {}, instances, labels, loss)

        def remaining_loss(place):
            predictions = architecture.predict(field.weights(place[None]), instances)
            return float(loss.average(predictions, labels))

        trajectory, least = (
            Trajectory(field, 4.0, Accuracy("dop853", 1e-7, 1e-9, 5000)),
            remaining_loss(field.start) / 1000,
        )
        before = 0.0
        while remaining_loss(trajectory.at(trajectory.time)) > least:
            before = trajectory.time
            trajectory.step()
        return brentq(lambda time: remaining_loss(trajectory.at(time)) - least, before, trajectory.time)

    linear = time_of(catalogue.make("architectures", "linear"), 0.0, 1.0)
    for depth, printed in KERNEL_OF_START.items():
        net = catalogue.make("architectures", "spindly", depth=depth, signed=True)
        for alpha, expected in printed.items():
            time_ratio = time_of(net, alpha, 1 / (2 * depth**2 * alpha ** (2 * depth - 2))) / linear
            assert abs(time_ratio - expected) < 0.6 * 10.0 ** -(4 if expected > 0.999 else 3)


def mirrored():
    """Every rule that has a flow under square loss, and gradient descent on a net whose layers have rates."""
    for kind in catalogue.members("updates"):
        rule = catalogue.make("updates", kind)
        if rule.mirror is not None and refused_loss(rule, catalogue.make("losses", "square")) is None:
            yield kind, {"update": {"kind": kind}}
    yield "p = 2", {"update": {"kind": "p-norm", "p": 2}}
    mup = {"kind": "dense", "widths": [3], "activation": "tanh", "parametrisation": "mup", "cb": 0.3}
    yield "mup", {"update": {"kind": "gd"}, "architecture": mup, "layer_rates": {"W1": 0.5, "b2": 2.0}}

    yield "penalty", {"update": {"kind": "gd"}, "architecture": {**NET, "l2_penalty": 0.5}}


LEARNERS = dict(mirrored())


@pytest.mark.parametrize("learner_name", LEARNERS)
def test_steps_converge_to_the_flow_at_first_order_in_the_rate(learner_name):
    learner = LEARNERS[learner_name]
    limit = ending(learner, flow(time=0.5), d=5, seed=3)

    def error(lr):
        slow = {**learner, "update": {**learner["update"], "lr": lr}}
        stepped = ending(slow, {"kind": "steps", "steps": 0.5 / lr}, d=5, seed=3)
        return max(abs(stepped[layer] - limit[layer]).max() for layer in limit)

    first, second = error(1 / 256), error(1 / 512)
    assert 0.9 < np.log2(first / second) < 1.1
    assert second > 1e-6


def test_the_flow_of_a_linear_net_conserves_its_imbalance():
    learner = {"architecture": {"kind": "dense", "widths": [4, 3]}, "update": gd(0.05)["update"]}

    def imbalance(protocol):
        net = ending(learner, protocol, d=5)
        return [
            net[upper][0].T @ net[upper][0] - net[lower][0] @ net[lower][0].T
            for lower, upper in (("W1", "W2"), ("W2", "W3"))
        ]

    start = imbalance({"kind": "at-init"})
    for before, after, stepped in zip(
        start, imbalance(flow()), imbalance({"kind": "steps", "steps": 80}), strict=True
    ):
        np.testing.assert_allclose(after, before, rtol=0, atol=1e-6)
        assert abs(stepped - before).max() > 1e-4


def test_the_flow_depends_on_layer_rates_but_not_on_the_learning_rate():
    learner = {"architecture": NET, "update": "gd"}
    curve, _ = measured(flow(), learner)
    faster, _ = measured(flow(), {**learner, "update": gd(7.0)["update"]})
    assert np.array_equal(faster.mean("loss"), curve.mean("loss"))
    doubled, _ = measured(flow(time=2), {**learner, "layer_rates": {"W1": 2.0, "W2": 2.0}})
    np.testing.assert_allclose(doubled.mean("loss"), curve.mean("loss"), rtol=1e-7)
    frozen = {**learner, "layer_rates": {"W1": 0.0}}
    before, after = ending(frozen, {"kind": "at-init"}, d=D), ending(frozen, flow(), d=D)
    np.testing.assert_array_equal(after["W1"], before["W1"])
    assert abs(after["W2"] - before["W2"]).max() > 1e-3


@pytest.mark.parametrize("learner", [{"architecture": NET, "update": "gd"}, {"update": "eg-pm"}, LLS])
def test_a_flow_does_not_depend_on_chunks_or_batching(learner):
    words = {"target": "all", "d": 2, "replicas": 2, "seed": 5}
    short = flow(time=0.5, records=3, rtol=1e-5)
    undivided, described = measured(short, learner, **words)
    for at_once in (1, 3, 17):
        divided = run(described, gate=lambda at_once=at_once: at_once).curves[0]
        assert np.array_equal(divided.values("loss"), undivided.values("loss"))
    for replica in range(2):
        losses = [
            measured(short, learner, **{**words, "target": {"kind": "feature", "index": index},
                     "replicas": 1, "seed": 5 + replica})[0].mean("loss")
            for index in range(2)
        ]  # fmt: skip
        # Least squares fits the rows up to rounding, so its losses are squares of a few times eps.
        rounding = (8 * np.finfo(float).eps) ** 2
        np.testing.assert_allclose(
            undivided.values("loss")[:, replica], np.mean(losses, 0), rtol=1e-9, atol=rounding
        )


def test_a_flow_advances_by_at_most_one_point_per_step():
    described = experiment("gaussian", learners={"it": {"architecture": NET, "update": "gd"}}, d=D,
                           protocol=flow())  # fmt: skip
    _, (learner_run,) = prepare(plan_run(described))
    with torch.no_grad():
        lengths = [len(learner_run.training_run.advance(1).loss) for _ in range(12)]
    assert lengths[0] == 1
    assert set(lengths) == {0, 1}


def test_flow_evaluations_are_counted_and_limited():
    curve, _ = measured(flow(), gd(1.0), replicas=3)
    needed = int(curve.clocks["evaluations"][-1])
    assert curve.clocks["evaluations"][0] == 0
    assert (np.diff(curve.clocks["evaluations"]) >= 0).all()
    enough, _ = measured(flow(evaluations=needed), gd(1.0), replicas=3)
    assert np.array_equal(enough.values("loss"), curve.values("loss"))
    with pytest.raises(BadInput) as caught:
        measured(flow(evaluations=needed - 1), gd(1.0), replicas=3)
    assert caught.value.where == "protocol.evaluations"
    for word in ("it has reached only time", "of 4", "allow more", "bdf"):
        assert word in caught.value.fault


@pytest.mark.parametrize("allowed", range(26, 31))
def test_evaluations_for_interpolation_count_towards_the_limit(allowed):
    """The first two steps of dop853 take 26 evaluations, and interpolation between them three more."""
    with pytest.raises(BadInput) as caught:
        measured(flow(evaluations=allowed), gd(1.0))
    assert caught.value.where == "protocol.evaluations"


def test_implicit_methods_take_under_a_quarter_of_the_evaluations_on_stiff_flows():
    columns = np.geomspace(0.1, 5, D)
    A = np.diag(2 * columns**2)

    class Stiff:
        start, has_jacobian = np.ones(D), True

        def velocity(self, place):
            return -A @ place

        def jacobian(self, place):
            return -A

    evaluations = {}
    for method in ("dop853", "bdf", "radau", "lsoda"):
        trajectory = Trajectory(Stiff(), 50.0, Accuracy(method, 1e-5, 1e-8, 10**6))
        while not trajectory.reaches(50.0):
            trajectory.step()
        np.testing.assert_allclose(trajectory.at(50.0), expm(-A * 50) @ np.ones(D), atol=1e-4)
        evaluations[method] = trajectory.evaluations
    assert 4 * max(evaluations[method] for method in ("bdf", "radau", "lsoda")) < evaluations["dop853"]


@pytest.mark.parametrize("method", NAMES)
def test_a_trajectory_ends_where_it_goes_to_infinity(method):
    class Exploding:
        start, has_jacobian = np.ones(1), False

        def velocity(self, place):
            return place**2

    trajectory, last = Trajectory(Exploding(), 2.0, Accuracy(method, 1e-6, 1e-9, 10**5)), 0.0
    for time in (0.25, 0.5, 2.0):
        while not trajectory.reaches(time):
            trajectory.step()
        if time < 1:
            np.testing.assert_allclose(trajectory.at(time), 1 / (1 - time), rtol=1e-4)
        last = trajectory.time
    assert last == pytest.approx(1.0, abs=1e-4)
    assert np.isnan(trajectory.at(2.0)).all()


@pytest.mark.parametrize("method", NAMES)
@pytest.mark.parametrize("beyond", [np.nan, np.inf, -np.inf])
def test_a_trajectory_ends_where_its_field_is_not_finite(method, beyond):
    class Ending:
        start, has_jacobian = np.ones(2), False

        def velocity(self, place):
            return np.where(place > 0.6, -place, beyond)

    trajectory = Trajectory(Ending(), 2.0, Accuracy(method, 1e-6, 1e-9, 10**5))
    while not trajectory.reaches(0.4):
        trajectory.step()
    np.testing.assert_allclose(trajectory.at(0.4), np.exp(-0.4), rtol=1e-4)
    while not trajectory.reaches(2.0):
        trajectory.step()
    assert np.isnan(trajectory.at(2.0)).all()


@pytest.mark.parametrize("method", NAMES)
def test_trajectories_side_by_side_or_in_threads_equal_single_trajectories(method):
    class Decaying:
        has_jacobian = False

        def __init__(self, size):
            self.start, self.rates = np.ones(size), np.geomspace(0.01, 30, size)

        def velocity(self, place):
            sleep(0)  # other threads go on here
            return -self.rates * place - place**3

    def begun(size):
        return Trajectory(Decaying(size), 5.0, Accuracy(method, 1e-6, 1e-9, 10**5))

    def places_of(trajectory):
        while not trajectory.reaches(5.0):
            trajectory.step()
            yield [trajectory.time, *trajectory.at(trajectory.time), *trajectory.at(trajectory.time * 0.9999)]

    sizes = (12, 12, 5)
    alone = [list(places_of(begun(size))) for size in sizes]
    together = [[] for _ in sizes]
    for steps in zip_longest(*(places_of(begun(size)) for size in sizes)):
        for places_so_far, step in zip(together, steps, strict=True):
            places_so_far += [] if step is None else [step]
    with ThreadPoolExecutor(len(sizes)) as pool:
        threaded = list(pool.map(lambda size: list(places_of(begun(size))), sizes))
    assert all(len(places) > 10 and np.isfinite(places).all() for places in alone)
    assert alone == together == threaded


def test_the_jacobian_of_the_field_equals_central_differences():
    learner = {"architecture": NET, "update": "gd", "layer_rates": {"W2": 3.0}}
    _, (learner_run,) = prepare(
        plan_run(experiment("gaussian", learners={"it": learner}, d=4, protocol=flow(), replicas=2))
    )
    described = experiment("gaussian", learners={"it": learner}, d=4)
    descent, data = learner_run.training_run.started.hypothesis, data_of(described)
    update, loss = described.learners[0].update, catalogue.make("losses", "square")
    net = {tensor_name: tensor[:1] for tensor_name, tensor in descent.params.items()}
    field = GradientField(
        descent.architecture, update.mirror, speeds_of(described.learners[0], 4), net, {},
        data.instances, data.labels, loss,
    )  # fmt: skip
    jacobian, size = field.jacobian(field.start), 1e-6
    for number in range(len(field.start)):
        step = np.zeros_like(field.start)
        step[number] = size
        slope = (field.velocity(field.start + step) - field.velocity(field.start - step)) / (2 * size)
        np.testing.assert_allclose(jacobian[:, number], slope, rtol=1e-5, atol=1e-7)
    assert not np.allclose(jacobian, jacobian.T), "layers have rates of their own"


def test_a_learner_with_a_non_finite_field_diverges_alone():
    huge = {"architecture": {"kind": "dense", "depth": 9, "width": 3, "scale": 1e38}, "update": "gd"}
    described = experiment("gaussian", learners={"huge": huge, "it": gd(1.0)}, d=D, protocol=flow())
    first, second = run(described).curves
    assert first.diverged == 1
    assert first.ended
    assert second.complete
    assert second.mean("loss")[-1] < second.mean("loss")[0]


def test_a_flow_is_computed_in_double_precision_for_every_dtype():
    double, _ = measured(flow(), gd(1.0))
    single, described = measured(flow(), gd(1.0), dtype="float32")
    assert np.array_equal(single.mean("loss"), double.mean("loss"))
    assert run(described).environment["dtype"] == "float64"
    assert single.weights.dtype == np.float64


def test_a_flow_ends_after_a_clock_or_a_measure_passes_its_limit():
    to_the_end, _ = measured(flow(), gd(1.0))
    by_time, _ = measured(flow(until={"clock": "time", "above": 0.01}), gd(1.0))
    assert by_time.complete
    assert by_time.x[-1] > 0.01 >= by_time.x[-2]
    limit = float(to_the_end.mean("loss")[4])
    by_loss, _ = measured(flow(until={"measure": "loss", "below": limit}), gd(1.0))
    assert by_loss.mean("loss").tolist() == to_the_end.mean("loss")[:6].tolist()


def test_a_solver_in_a_flow_is_fitted_at_the_first_positive_time():
    curve, described = measured(flow(train=5), LLS)
    data = data_of(described)
    x, y = data.instances.rows[0].numpy(), data.labels[0].numpy()
    fitted = np.linalg.lstsq(x[:5], y[:5], rcond=None)[0]
    np.testing.assert_allclose(
        curve.mean("loss"), [np.mean(y**2), *[np.mean((x @ fitted - y) ** 2)] * 6], rtol=1e-9
    )
    assert curve.clocks["k"].tolist() == [0, *[5] * 6]


def test_flow_times_are_logarithmic_or_linear_as_is_their_axis():
    log = experiment(protocol=flow(time=100, first=0.01, records=5), d=D)
    assert places(log.protocol, D).tolist() == [0, 0.01, 0.1, 1, 10, 100]
    assert places(experiment(protocol=flow(time=50, records=9), d=D).protocol, D)[1] == 0.005
    far = experiment(protocol=flow(time=1e12, first=1, records=13, method="bdf"), d=D)
    assert places(far.protocol, D).tolist() == [0, *(10.0**power for power in range(13))]
    linear = experiment(protocol=flow(time=0.3, grid="linear", records=3), d=D)
    assert places(linear.protocol, D).tolist() == [0, 0.1, 0.2, 0.3]
    for described, logarithmic in ((log, True), (far, True), (linear, False)):
        drawn = view(picture_of(described, None), of_one(described, run(described)))
        assert (drawn.axes.x_log, drawn.axes.x_label) == (logarithmic, "time")


def test_a_claim_can_name_only_the_times_of_the_flow():
    claim = {"kind": "value", "text": "it", "curve": "GD", "below": 1}
    times = flow(time=100, first=0.01, records=5)
    reading.parse(raw(d=D, protocol=times, claims=[{**claim, "at": 0.1}]))
    with pytest.raises(BadInput) as caught:
        reading.parse(raw(d=D, protocol=times, claims=[{**claim, "at": 0.12}]))
    assert "take 0.1" in caught.value.fault


def test_the_flow_of_gd_is_rotation_invariant_and_of_egu_is_not():
    described = experiment(
        "gaussian", learners={"GD": gd(1.0), "EGU": {"update": "egu"}}, d=4, protocol=flow(time=1)
    )
    changes = [certificate(described, learner) for learner in described.learners]
    assert changes[0] < 1e-7
    assert changes[1] > 1e-2


@pytest.mark.parametrize(
    ("protocol", "learner", "where", "words"),
    [
        (flow(), {"update": "adam"}, "learners[0].update", "does not follow a gradient flow"),
        (flow(), {"update": "momentum"}, "learners[0].update", "does not follow a gradient flow"),
        (flow(), gd([0.1, 0.2]), "learners[0].update", "set one rate"),
        (flow(), gd("best"), "learners[0].update", "set one rate"),
        (flow(first=3.0), gd(0.1), "protocol.first", "at most half"),
        (flow(first=1.0, grid="linear"), gd(0.1), "protocol.first", "set grid = log"),
        (flow(train=9), gd(0.1), "protocol.train", "at most 8"),
        (flow(rtol=0), gd(0.1), "protocol.rtol", "0"),
    ],
)
def test_impossible_flow_settings_are_refused_with_place_and_reason(protocol, learner, where, words):
    with pytest.raises(BadInput) as caught:
        experiment("gaussian", learners={"it": learner}, d=D, protocol=protocol)
    assert caught.value.where == where
    assert words in caught.value.fault


CLASSES = {"kind": "clusters", "classes": 3, "n": 9, "d": 4, "sigma": 1.0}
SHARED = {"kind": "dense", "widths": [3], "activation": "tanh", "outputs": "m"}
COUPLED = {
    "nets of their own": gd(1.0),
    "one net": gd(1.0, **SHARED),
    "mirror descent": {"update": {"kind": "egu", "lr": 1.0}, "architecture": "linear"},
}


def softmax_slopes(predictions, labels):
    """Of −log softmax of the class, by its formula [n, K]."""
    exponentials = np.exp(predictions - predictions.max(1, keepdims=True))
    return exponentials / exponentials.sum(1, keepdims=True) - labels


@pytest.mark.parametrize("method", ["dop853", "bdf", "lsoda"])
def test_the_cross_entropy_flow_equals_the_flow_of_softmax_regression(method):
    protocol = flow(method=method, rtol=1e-7, atol=1e-9, time=20, records=4, loss="cross-entropy")
    words = {"target": "classes", "protocol": protocol, "replicas": 2}
    described = experiment(CLASSES, learners={"it": gd(1.0)}, **words)
    data = data_of(described)
    _, (learner_run,) = prepare(plan_run(described))
    with torch.no_grad():
        learner_run.training_run.advance(10**6)
    flow_weights = learner_run.training_run.started.hypothesis.weights().numpy().reshape(2, 3, 4)
    for replica in range(2):
        x, y = data.instances.rows[replica].numpy(), data.labels.view(2, 3, 9)[replica].numpy().T

        def velocity(time, w, x=x, y=y):
            return -(x.T @ softmax_slopes(x @ w.reshape(4, 3), y)).ravel() / len(x)

        exact = solve_ivp(velocity, (0, 20), np.zeros(12), rtol=1e-11, atol=1e-13).y[:, -1]
        np.testing.assert_allclose(flow_weights[replica], exact.reshape(4, 3).T, atol=2e-5)


@pytest.mark.parametrize("learner_name", COUPLED)
def test_steps_of_cross_entropy_converge_to_the_flow_at_first_order(learner_name):
    words = {"matrix": CLASSES, "target": "classes", "replicas": 2, "learners": {"it": COUPLED[learner_name]}}
    smooth = run(experiment(**words, protocol=flow(time=2.0, records=2, loss="cross-entropy"))).curves[0]
    errors = []
    for steps in (200, 400):
        learner = {**COUPLED[learner_name], "update": {**COUPLED[learner_name]["update"], "lr": 2.0 / steps}}
        protocol = {"kind": "steps", "steps": steps, "records": 1, "loss": "cross-entropy"}
        stepped = run(experiment(**{**words, "learners": {"it": learner}}, protocol=protocol)).curves[0]
        errors.append(np.abs(stepped.values("loss")[-1] - smooth.values("loss")[-1]))
    np.testing.assert_allclose(errors[0] / errors[1], 2, rtol=0.1)


def test_the_memory_estimate_counts_nets_coupled_by_a_loss_together():
    def needs(**words):
        protocol = flow(method="bdf", loss="cross-entropy")
        return needed(
            experiment({**CLASSES, "d": 200}, "classes", learners={"it": gd(1.0, **words)}, protocol=protocol)
        )

    assert needs() > 8 * MATRICES * (3 * 200) ** 2


def exact_missing_entry(start, times):
    """W₂₂ of W = AAᵀ with A' = −∂L/∂W A from `start` · I on the entries 0, 1, 1 of norms-diverge.

    ln det W takes the place of W₂₂, so that no rounding changes the sign of the determinant.
    """

    def corner(p, q, log_det):
        return (np.exp(log_det) + q * q) / p

    def velocity(time, state):
        p, q, log_det = state
        by_p, by_q = 2 * p / 3, 2 * (q - 1) / 3
        r = corner(p, q, log_det)
        return [-2 * (by_p * p + by_q * q), -(by_p * q + by_q * (p + r)), -2 * by_p]

    begin = [start**2, 0.0, 4 * np.log(start)]
    solution = solve_ivp(velocity, (0, times[-1]), begin, "Radau", times, rtol=1e-10, atol=1e-13)
    return corner(*solution.y)


def diverging_norms(time, **words):
    """The set-up of the preset norms-diverge with two factors from 0.3 I."""
    net = {"kind": "factorised", "init": "identity", "scale": 0.3}
    described = raw(
        {"kind": "entries", "factors": [2, 2], "permute": False},
        {"kind": "weights", "w": [0, 1, 1]},
        learners={"it": {"architecture": net, "update": "gd"}},
        protocol={"kind": "flow", "train": 3, "time": time, "first": 1, "records": 60, **words},
        claims=[{"kind": "diverges", "text": "it does not", "curve": "it"}],
    )
    return reading.parse(described | {"pictures": [{"x": "time", "measure": {"kind": "norm", "p": "max"}}]})


UNSTABLE = {
    "bdf": {"method": "bdf", "rtol": 1e-6, "atol": 1e-8},
    "bdf, small weights": {"method": "bdf", "rtol": 1e-6},
    "bdf, many digits": {"method": "bdf"},
    "bdf, few digits": {"method": "bdf", "rtol": 1e-4, "atol": 1e-6},
    "radau": {"method": "radau"},
    "lsoda": {"method": "lsoda"},
}


@pytest.mark.parametrize("method", UNSTABLE)
def test_a_flow_ends_where_it_leaves_the_exact_flow(method):
    described = diverging_norms(20_000, **UNSTABLE[method])
    trace = run(described)
    (curve,) = trace.curves
    (drawn,) = view(described.pictures[0], of_one(described, trace)).curves
    assert curve.inaccurate.all()
    assert 100 < curve.diverged_at < 20_000
    assert drawn.ends.fate == "lost accuracy"
    is_drawn = (drawn.x > 0) & np.isfinite(drawn.y)
    assert is_drawn.sum() > 20
    np.testing.assert_allclose(drawn.y[is_drawn], exact_missing_entry(0.3, drawn.x[is_drawn]), rtol=0.002)


def test_an_accurate_flow_reaches_its_end():
    described = diverging_norms(100, method="bdf", rtol=1e-6, atol=1e-8)
    trace = run(described)
    (drawn,) = view(described.pictures[0], of_one(described, trace)).curves
    assert trace.curves[0].complete
    np.testing.assert_allclose(drawn.y[-1], exact_missing_entry(0.3, drawn.x[1:])[-1], rtol=1e-3)


def test_a_restored_inaccurate_curve_is_not_reported_as_diverged():
    described = diverging_norms(20_000, **UNSTABLE["bdf"])
    trace = run(described)
    (curve,) = trace.curves
    restored = Curve("it", curve.capacity, 1, curve.verdict)
    restored.restore(curve.as_arrays())
    assert restored.fate == "lost accuracy"
    assert restored.diverged_at == curve.diverged_at
    (outcome,) = judge(of_one(described, trace))
    assert outcome.holds is False
    assert "it lost accuracy at time = " in outcome.detail


def test_few_points_are_computed_beyond_an_early_end(monkeypatch):
    times, take = [], Recorder.take
    monkeypatch.setattr(Recorder, "take", lambda self, *of: (times.append(of[0]["time"]), take(self, *of)))
    words = {"time": 4, "records": 1000, "grid": "linear"}
    curve, _ = measured(flow(until={"measure": "loss", "below": 1.0}, **words), gd(1.0))
    assert curve.complete
    assert curve.length < 500
    assert len(times) <= curve.length + BEYOND
