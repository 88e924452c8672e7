"""Measures of weights: each against its naive twin, on every backend, and where it is refused."""

import math

import msgspec
import naive
import numpy as np
import pytest
import torch
from building import beginning, experiment, gd, raw, weights
from twins import serving

from engine.core import catalogue
from engine.core.parts import BadInput
from engine.measures import Probe, named
from engine.runtime.run import run
from engine.spec import reading

D = 8
OF_WEIGHTS = (
    "excess-risk",
    "angle-error",
    "norm-1",
    "norm-2",
    "norm-max",
    "norm-2/3",
    "norm-fourier",
    "norm-fourier-2/3",
    "margin-1",
    "margin-2",
    "margin-max",
    "margin-2/3",
    "margin-fourier",
    "margin-fourier-2/3",
    "norm-angle",
    "large-coefficients",
)
LENGTHS = ("1", "2", "max", "2/3", "fourier", "fourier-2/3")


@pytest.mark.parametrize("relative", [False, True])
def test_layer_movement_is_the_norm_of_the_weight_difference(relative):
    net = gd(0.05, kind="dense", widths=[3, 2], cb=0.5)
    measure = {"kind": "layer-movement", "relative": relative}
    matrix = {"kind": "gaussian", "n": 5, "d": 4}
    described = experiment(matrix, learners={"it": net}, replicas=2, measures=[measure])
    moved = run(described).curves[0].array(catalogue.make("measures", **measure).name).values
    hypothesis, data = beginning(described)
    before = {tensor_name: tensor.clone() for tensor_name, tensor in hypothesis.params.items()}
    hypothesis.learn(data.instances.at(slice(0, 1)), data.labels[:, :1])
    for layer, name in enumerate(hypothesis.architecture.layers):
        for replica in range(2):
            way = (hypothesis.params[name] - before[name])[replica].flatten().tolist()
            expected = math.sqrt(sum(entry**2 for entry in way))
            if relative:
                expected /= math.sqrt(sum(entry**2 for entry in before[name][replica].flatten().tolist()))
            assert moved[1, replica, layer] == pytest.approx(expected, rel=1e-10)
    assert not moved[0].any()


def claims_of(*names, learner="it", k=0):
    """Claims that make a run record these measures."""
    return [
        {
            "kind": "value",
            "text": name,
            "curve": learner,
            "at": k,
            "above": -1e9,
            "measure": msgspec.to_builtins(named()[name]),
        }
        for name in names
    ]


def recorded(name, learner, *words, **more):
    """A measure of a learner at every record, [S, R]."""
    described = experiment(*words, learners={"it": learner}, claims=claims_of(name), **more)
    return run(described).curves[0].values(name), described


def stars(described):
    """w* [B, d] of feature 3 or of all features."""
    _, data = beginning(described)
    return np.eye(D)[[3]] if data.targets == 1 else np.eye(D)


LEARNERS = {"GD": gd(0.05), "EGU±": {"update": "egu-pm"}, "LLS": {"solver": "lls"}}


@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
@pytest.mark.parametrize("target", ["feature", "all"])
def test_measures_of_weights_equal_their_naive_twins(learner, target):
    words = {"matrix": "gaussian", "target": target, "d": D, "replicas": 2, "labels": "sign"}
    described = experiment(learners={"it": learner}, **words)
    weights_by_record = weights(described)  # [S, B, d]
    of_target = stars(described)
    of_member = np.tile(of_target, (2, 1))
    (_, data), targets = beginning(described), len(of_target)

    def averaged(values):
        return np.array(values).reshape(2, targets).mean(1)

    naively = {
        "excess-risk": lambda w, star: naive.excess_risk(w, star, np.eye(D)),
        "angle-error": naive.angle_error,
        **{f"norm-{p}": lambda w, _, p=p: naive.length(w, p) for p in LENGTHS},
    }
    for measure_name, twin in naively.items():
        values, _ = recorded(measure_name, learner, **words)
        for at, weights_of_record in enumerate(weights_by_record):
            expected = averaged([twin(w, star) for w, star in zip(weights_of_record, of_member, strict=True)])
            np.testing.assert_allclose(
                values[at], expected, rtol=1e-9, atol=3e-8, err_msg=f"{measure_name} {at}"
            )
    for q in LENGTHS:
        values, _ = recorded(f"margin-{q}", learner, **words)
        assert np.isnan(values[0]).all()
        for k in range(1, D + 1):
            expected = averaged(
                [
                    min(labels[:k] * (rows[:k] @ w)) / naive.length(w, q) if w.any() else math.nan
                    for w, labels, rows in zip(
                        weights_by_record[k],
                        data.labels.numpy(),
                        data.instances.rows.numpy().repeat(targets, 0),
                        strict=True,
                    )
                ]
            )
            np.testing.assert_allclose(values[k], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("q", ["1", "2", "2/3", "fourier", "fourier-2/3"])
@pytest.mark.parametrize("target", ["feature", "all"])
def test_angles_to_the_least_norm_and_large_coefficients_equal_their_naive_twins(q, target):
    basis = "fourier" if q.startswith("fourier") else "1"
    angle, count = {"kind": "norm-angle", "q": q}, {"kind": "large-coefficients", "of": basis}
    words = {"d": D, "replicas": 2, "labels": "sign", "measures": [angle, count], "loss": "exponential"}
    described = experiment({"kind": "gaussian", "rotate": True}, target, {"it": gd(0.05)}, **words)
    ran, weights_by_record = run(described).curves[0], weights(described)  # [S, B, d]
    _, data = beginning(described)
    for k in (0, 1, 5, D):
        expected = [
            naive.norm_angle(w, rows[:k], labels[:k], q)
            for w, labels, rows in zip(
                weights_by_record[k],
                data.labels.numpy(),
                data.instances.rows.numpy().repeat(data.targets, 0),
                strict=True,
            )
        ]
        for name, twin in zip((angle, count), np.array(expected).reshape(2, -1, 2).mean(1).T, strict=True):
            values = ran.values(catalogue.make("measures", **name).name)[k]
            np.testing.assert_allclose(values, twin, rtol=1e-8, atol=1e-12)


def test_norm_angle_refuses_the_maximum_norm():
    document = raw("gaussian", d=D, labels="sign")
    document["pictures"] = [{"x": "k", "measure": {"kind": "norm-angle", "q": "max"}}]
    with pytest.raises(BadInput, match=r"max\|w_i\| has no gradient"):
        reading.parse(document)


@pytest.mark.slow
@pytest.mark.parametrize("measure_name", ["excess-risk", "norm-1", "norm-max", "margin-2"])
@pytest.mark.parametrize("learner", [LEARNERS["GD"], LEARNERS["EGU±"]], ids=["GD", "EGU±"])
@pytest.mark.parametrize("protocol", ["one-pass", {"kind": "erm", "steps": 4}], ids=["one-pass", "erm"])
def test_measures_of_weights_are_the_same_on_every_backend(measure_name, learner, protocol):
    words = {"d": 16, "replicas": 2, "protocol": protocol}
    dense, described = recorded(measure_name, learner, **words, path="dense")
    assert np.isfinite(dense[1:]).any()
    names = serving(described)
    assert len(names) >= (2 if protocol == "one-pass" else 1)
    for backend in names:
        fast, _ = recorded(measure_name, learner, **words, path=backend)
        np.testing.assert_allclose(fast, dense, rtol=1e-9, atol=1e-12)


def test_excess_risk_is_the_loss_on_new_rows_without_the_noise():
    """Within 4 standard errors of the mean square error against xᵀw* over 20000 fresh rows."""
    values, described = recorded(
        "excess-risk", LEARNERS["LLS"], {"kind": "gaussian", "d": D, "n": 20}, "feature", noise=0.5
    )
    w = weights(described)[:, 0]
    rows = np.random.default_rng(0).standard_normal((20_000, D))
    for k in (0, 5, 12, 20):
        losses = (rows @ w[k] - rows[:, 3]) ** 2
        assert abs(losses.mean() - values[k, 0]) <= 4 * losses.std() / math.sqrt(len(rows))


@pytest.mark.parametrize("signs", [True, False])
def test_excess_risk_uses_the_declared_second_moment(signs):
    matrix = {"kind": "hadamard01", "row_signs": signs, "d": D}
    values, described = recorded("excess-risk", gd(0.05), matrix)
    w, moment = weights(described)[:, 0], described.problem.matrix.second_moment
    expected = [naive.excess_risk(vector, np.eye(D)[3], moment) for vector in w]
    np.testing.assert_allclose(values[:, 0], expected, rtol=1e-9, atol=1e-12)


def test_angle_error_is_the_error_rate_on_new_rows():
    values, described = recorded(
        "angle-error", LEARNERS["LLS"], {"kind": "gaussian", "d": D, "n": 20}, "feature", labels="sign"
    )
    w = weights(described)[:, 0]
    rows = np.random.default_rng(1).standard_normal((20_000, D))
    assert values[0, 0] == 0.5
    for k in (1, 5, 12, 20):
        share = ((rows @ w[k] > 0) != (rows[:, 3] > 0)).mean()
        assert abs(share - values[k, 0]) <= 4 * math.sqrt(share * (1 - share) / len(rows))


def test_angle_error_is_accurate_near_0():
    """Of w = w* + ε e, cos = 1 − ε²/2 is 1 in float64 long before the angle is 0."""
    measure = named()["angle-error"]
    described = experiment("gaussian", d=D)
    _, data = beginning(described)

    class Fixed:
        def weights(self):
            w = torch.zeros(1, D, dtype=torch.float64)
            w[0, 3], w[0, 0] = 2.0, 2e-9
            return w

    assert measure.value(Probe(data, None, Fixed(), None)).item() == pytest.approx(1e-9 / math.pi, rel=1e-6)


REFUSED = [
    (
        "excess-risk",
        {"matrix": {"kind": "digits", "n": 20}, "d": None},
        "the matrix declares its second moment",
    ),
    ("excess-risk", {"matrix": {"kind": "gaussian", "rotate": True}}, "learners see x unchanged"),
    ("excess-risk", {"matrix": "gaussian", "target": "constant"}, "labels depend on xᵀw"),
    ("excess-risk", {"matrix": "threshold"}, "learners see x unchanged"),
    ("angle-error", {"matrix": "rademacher"}, "instances are isotropic Gaussian vectors"),
    ("angle-error", {"matrix": {"kind": "gaussian", "repeat": 1}}, "instances are isotropic"),
    ("angle-error", {"matrix": "threshold"}, "learners see x unchanged"),
    ("margin-2", {"matrix": "gaussian"}, "labels are \\+1 and −1"),
    ("norm-angle", {"matrix": "gaussian"}, "labels are \\+1 and −1"),
]


@pytest.mark.parametrize(("name", "words", "reason"), REFUSED)
def test_the_error_about_an_unavailable_measure_names_its_requirement(name, words, reason):
    with pytest.raises(BadInput, match=f"{name} is measured only where {reason}"):
        experiment(learners={"it": gd(0.05)}, claims=claims_of(name), **{"d": D, **words})


def test_weight_measures_are_recorded_only_on_request():
    assert not set(run(experiment("gaussian", d=D)).curves[0].measures) & set(OF_WEIGHTS)
    assert set(OF_WEIGHTS) <= named().keys()
