"""Large steps on a net of two layers: recursions against gradient descent, and the printed numbers."""

import numpy as np
import pytest
from building import experiment, raw

from engine.core import catalogue
from engine.core.cost import divergence_limit
from engine.formulas import catapult
from engine.runtime.run import run
from engine.spec import reading


def descended(m, d, rate, steps, target, seed):
    """Error, kernel and sharpness along plain gradient descent on ½(z − y)² of a net with linear units."""
    rng = np.random.default_rng(seed)
    u, v = rng.standard_normal((m, d)), rng.standard_normal(m)
    x = np.sqrt(d) * np.eye(d)[0]
    errors, kernels, curvatures = [], [], []
    for _ in range(steps + 1):
        hidden, scale = u @ x, 1 / np.sqrt(m * d)
        errors.append(scale * v @ hidden - target)
        kernels.append(scale**2 * (hidden @ hidden + v @ v * (x @ x)))
        slope = scale * np.concatenate([np.outer(v, x).ravel(), hidden])
        mixed = scale * np.kron(np.eye(m), x[:, None])  # ∂²z/∂u∂v
        second = np.block([[np.zeros((m * d, m * d)), mixed], [mixed.T, np.zeros((m, m))]])
        hessian = 2 * (np.outer(slope, slope) + errors[-1] * second)
        curvatures.append(np.linalg.eigvalsh(hessian)[-1] if m <= 8 else np.nan)
        u, v = u - rate * errors[-1] * scale * np.outer(v, x), v - rate * errors[-1] * scale * hidden
    return np.array(errors), np.array(kernels), np.array(curvatures)


@pytest.mark.parametrize("product", [0.5, 1.9, 3.0])
def test_the_recursion_equals_gradient_descent(product):
    m, d, target = 8, 5, 1.0
    _, (kernel, *_), _ = descended(m, d, 0.0, 0, target, 1)
    errors, kernels, curvatures = descended(m, d, product / kernel, 30, target, 1)
    run_of_formula = catapult.recursion(errors[0], kernels[0], target, 1 / m, product / kernel, 30)
    np.testing.assert_allclose(run_of_formula.errors, errors, rtol=0, atol=1e-11 * abs(errors).max())
    np.testing.assert_allclose(run_of_formula.kernels, kernels, rtol=1e-11)
    np.testing.assert_allclose(catapult.sharpness(run_of_formula, target, 1 / m), curvatures, rtol=1e-10)


def test_nets_side_by_side_equal_nets_alone():
    starts = np.array([[0.3, 1.5], [-1.0, 2.5]])
    together = catapult.recursion(*starts.T, 1.0, 0.01, np.array([1.0, 1.4]), 20)
    for net, rate in enumerate((1.0, 1.4)):
        alone = catapult.recursion(*starts[net], 1.0, 0.01, rate, 20)
        np.testing.assert_array_equal(together.errors[:, net], alone.errors)
        np.testing.assert_array_equal(together.kernels[:, net], alone.kernels)


@pytest.mark.parametrize(("product", "peak", "last"), [(2.5, 0.05337, 1.28234), (3.0, 0.1711, 0.2163)])
def test_peak_and_landing_between_2_and_4_equal_the_printed_values(product, peak, last):
    landed, rate = catapult.landing(product), product / 2
    assert landed.product == pytest.approx(last, abs=5e-4)
    assert landed.peak / (2 * rate**2) == pytest.approx(peak, abs=5e-4)


def test_a_very_wide_net_lands_at_the_infinite_width_limit():
    m, kernel, product = 10**8, 2.0, 3.0
    errors = 1.0 * (product - 1) ** (np.arange(64) / 64)
    run_of_formula = catapult.recursion(errors, np.full(64, kernel), 0.0, 1 / m, product / kernel, 200)
    landed = (product / kernel * run_of_formula.kernels[-1]).mean()
    assert landed == pytest.approx(catapult.landing(product).product, abs=1e-4)


def test_the_landing_is_the_start_up_to_2_and_nan_from_4():
    assert [catapult.landing(product).product for product in (0.5, 1.9, 2.0)] == [0.5, 1.9, 2.0]
    assert np.isnan([catapult.landing(product).product for product in (4.0, 5.0)]).all()


NET = {"kind": "dense", "widths": [8], "parametrisation": "ntk", "cw": 1}


def described(learner=None, **words):
    """Two nets of two linear layers on one example, in units of the sharpness at their start."""
    learner = {"rate_unit": "start-sharpness", **(learner or {})}
    full_learner = {"architecture": NET, "update": {"kind": "gd", "lr": 2.5}, **learner}
    protocol = {"kind": "steps", "steps": 40, "records": 20}
    settings = {"target": "constant", "protocol": protocol, "replicas": 3, **words}
    words_of_experiment = raw({"kind": "sphere", "n": 1, "d": 4}, learners={"GD": full_learner}, **settings)
    words_of_experiment["learners"][0]["rate_unit"] = learner["rate_unit"]
    return reading.parse(words_of_experiment)


SHARPNESS = {"kind": "value", "text": "It is", "curve": "GD", "at": 40, "below": 9}
MEASURED = {"claims": [{**SHARPNESS, "measure": "relative-sharpness"}]}


@pytest.mark.parametrize("rate", [1.5, 2.5, 3.5])
def test_loss_and_sharpness_of_every_replica_lie_on_their_lines(rate):
    trace = run(described({"update": {"kind": "gd", "lr": rate}}, **MEASURED))
    (curve,) = trace.curves
    lines = {line.kind: line for line in trace.lines}
    loss = lines["catapult-loss"].of_curves["GD"].values
    assert loss.shape == (3, 21)
    errors = np.sqrt(curve.values("loss").T)
    np.testing.assert_allclose(errors, np.sqrt(loss), rtol=1e-10, atol=1e-13 * np.nanmax(errors))
    sharpness = lines["catapult-sharpness"].of_curves["GD"].values
    np.testing.assert_allclose(curve.values("relative-sharpness").T, sharpness, rtol=1e-9)


def test_the_lines_end_at_the_divergence_limit():
    trace = run(described({"update": {"kind": "gd", "lr": 5.0}}))
    (curve,) = trace.curves
    (line,) = (trace_line for trace_line in trace.lines if trace_line.kind == "catapult-loss")
    for losses in line.of_curves["GD"].values:
        has_value = np.isfinite(losses)
        assert (losses[has_value] <= divergence_limit(losses[0])).all()
        assert not has_value[-1]
    assert curve.diverged == 3


def test_the_limit_line_has_a_value_only_at_the_last_point():
    trace = run(described(**MEASURED))
    (limit,) = (trace_line for trace_line in trace.lines if trace_line.kind == "catapult-limit")
    values = limit.of_curves["GD"].values[0]
    assert np.isnan(values[:-1]).all()
    assert values[-1] == catapult.landing(2.5).product / 2.5


@pytest.mark.parametrize(("learner", "reason"), [
    ({"update": {"kind": "momentum", "lr": 1.0, "momentum": 0.5}}, "without momentum"),
    ({"architecture": {"kind": "dense", "widths": [4, 4]}}, "two linear layers"),
    ({"architecture": {**NET, "activation": "relu"}}, "two linear layers"),
    ({"architecture": {**NET, "l2_penalty": 0.1}}, "without penalty"),
    ({"layer_rates": {"W1": 0.5}}, "one rate for all layers"),
    ({"update": {"kind": "adam", "lr": 0.1}}, "uses adam"),
])  # fmt: skip
def test_the_catapult_loss_line_gives_the_reason_for_an_unbound_learner(learner, reason):
    other = described(learner)
    finding = catalogue.make("theory", "catapult-loss").binds(other.learners[0], other)
    assert not finding.holds
    assert reason in finding.reason


def test_catapult_lines_require_one_example_and_square_loss():
    line = catalogue.make("theory", "catapult-loss")
    several = experiment({"kind": "sphere", "n": 3, "d": 4}, protocol={"kind": "steps"})
    assert "requires one example" in line.holds(several).reason
    assert (
        "requires steps along the whole gradient"
        in line.holds(experiment({"kind": "sphere", "n": 1, "d": 4})).reason
    )
    assert "square loss" in line.holds(described(loss="logistic", labels="sign")).reason
    in_units = described({"rate_unit": "one", "update": {"kind": "gd", "lr": 0.1}})
    limit = catalogue.make("theory", "catapult-limit").binds(in_units.learners[0], in_units)
    assert "rate_unit = start-sharpness" in limit.reason
