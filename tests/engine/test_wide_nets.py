"""Signals of wide nets at their start: against integrals, against nets, and the printed numbers."""

import numpy as np
import pytest
import torch
from scipy.integrate import quad

from engine.core import catalogue
from engine.core.streams import Streams
from engine.formulas import wide_nets
from engine.problems.instances import DenseInstances

ERRORS = 4


def relu(z):
    return np.maximum(z, 0.0)


def identity(z):
    return z


def slope_of_tanh(z):
    return 1 / np.cosh(z) ** 2


def layers(transfer, first, cw, depth, cb=0.0):
    return wide_nets.layer_variances(transfer, first, [cw] * depth, [cb] * depth)


@pytest.mark.parametrize("variance", [0.1, 1.0, 7.0])
def test_gaussian_mean_matches_numerical_integration(variance):
    def density(z):
        return np.exp(-z * z / (2 * variance)) / np.sqrt(2 * np.pi * variance)

    for function in (np.tanh, lambda z: relu(z) ** 2, lambda z: np.cos(z) * z**2):
        width = 12 * np.sqrt(variance)
        exact, _ = quad(lambda z, f=function: f(z) * density(z), -width, width, points=[0.0], epsabs=1e-13)
        assert wide_nets.gaussian_mean(function, variance) == pytest.approx(exact, abs=1e-11)


@pytest.mark.parametrize("cw", [0.5, 1.0, 2.2])
def test_layer_variances_match_closed_forms_for_relu_and_identity(cw):
    expected = 3.0 * np.cumprod(np.full(30, cw / 2))
    np.testing.assert_allclose(layers(relu, 3.0, cw, 30), expected, rtol=1e-11)
    np.testing.assert_allclose(layers(identity, 3.0, cw, 30), expected * 2.0 ** np.arange(1, 31), rtol=1e-11)


def test_layer_variances_use_the_settings_of_each_layer():
    variances = wide_nets.layer_variances(identity, 2.0, [1.0, 3.0, 0.5], [1.0, 0.25, 7.0])
    np.testing.assert_allclose(variances, [2.0, 3.0 * (2.0 + 1.0), 0.5 * (9.0 + 0.25)], rtol=1e-12)


def test_critical_tanh_variances_decay_like_one_over_twice_the_layer():
    tanh_variances = layers(np.tanh, 1.0, 1.0, 1000)
    for layer, value in ((10, 1.0440), (100, 1.0138), (1000, 1.0023)):
        assert 2 * layer * tanh_variances[layer - 1] == pytest.approx(value, abs=1e-4)
    for first, value in ((0.1, 0.963), (10.0, 1.022)):
        assert 200 * layers(np.tanh, first, 1.0, 100)[-1] == pytest.approx(value, abs=5e-4)


def fixed_point(transfer, cw, cb, start=1.0):
    """K* = C_b + C_w E σ(z)² with z ~ N(0, K*), which the recursion from `start` comes to."""
    variance = start
    for _ in range(10**5):
        before, variance = variance, cb + layers(transfer, variance, cw, 1)[0]
        if abs(variance - before) <= 1e-14 * variance:
            break
    return variance


@pytest.mark.parametrize(("cw", "cb", "fixed", "parallel", "perpendicular"), [
    (1.5, 0.0, 0.286894, 0.69549, 1.04057),
    (2.0, 0.0, 0.617965, None, 1.10553),
    (1.3, 0.1, 0.419815, None, 0.81246),
])  # fmt: skip
def test_fixed_points_of_tanh_have_the_printed_susceptibilities(cw, cb, fixed, parallel, perpendicular):
    variance = fixed_point(np.tanh, cw, cb)
    assert variance == pytest.approx(fixed, abs=1e-6)
    assert variance == pytest.approx(fixed_point(np.tanh, cw, cb, start=5.0), rel=1e-9)
    assert wide_nets.chi_perp(slope_of_tanh, cw, variance) == pytest.approx(perpendicular, abs=1e-5)
    (change,) = np.diff([layers(np.tanh, variance + step, cw, 1)[0] for step in (-1e-5, 1e-5)]) / 2e-5
    assert parallel is None or change == pytest.approx(parallel, abs=1e-5)


@pytest.mark.parametrize(("slope", "cw"), [
    (lambda z: (z > 0).astype(float), 2.0),
    (np.ones_like, 1.0),
])  # fmt: skip
def test_relu_and_the_identity_are_critical_at_2_and_at_1(slope, cw):
    for variance in (0.3, 4.0):
        assert wide_nets.chi_perp(slope, cw, variance) == pytest.approx(1.0, rel=1e-12)


def test_the_effect_of_finite_width_has_the_printed_size():
    mean, variance = wide_nets.log_moments(relu, [256] * 50)
    assert mean[-1] == pytest.approx(-0.488, abs=5e-4)
    assert variance[-1] == pytest.approx(0.977, abs=5e-4)
    np.testing.assert_allclose(mean, -5 * np.arange(1, 51) / 512, rtol=1e-10)
    mean, variance = wide_nets.log_moments(identity, [256] * 50)
    assert mean[-1] == pytest.approx(-0.195, abs=5e-4)
    np.testing.assert_allclose(variance, 2 * np.arange(1, 51) / 256, rtol=1e-10)
    np.testing.assert_allclose(wide_nets.log_moments(relu, [10, 40])[1], [0.5, 0.625], rtol=1e-10)


def test_first_order_relative_variances_are_exact_for_one_layer():
    args = relu, lambda z: (z > 0) + 0.0, [1.3, 1.3], [2.0, 0.5], [7, 9]
    exact = wide_nets.relative_variances(relu, [7, 9])
    first = wide_nets.first_order_variances(*args)
    np.testing.assert_allclose(first, [5 / 7, 5 / 7 + 5 / 9], rtol=1e-9)
    np.testing.assert_allclose(exact, [5 / 7, (1 + 5 / 7) * (1 + 5 / 9) - 1], rtol=1e-9)


@pytest.mark.parametrize(("layers", "expected"), [(1, 0.62729), (3, 1.80550)])
def test_first_order_variances_of_tanh_nets_match_the_theory_page(layers, expected):
    variances = wide_nets.layer_variances(np.tanh, 1.0, [1.0] * layers, [0.0] * layers)
    sizes = [1.0, *variances[:-1]], [1.0] * layers, [100] * layers
    relative = wide_nets.first_order_variances(np.tanh, lambda z: 1 - np.tanh(z) ** 2, *sizes)
    assert 100 * relative[-1] == pytest.approx(expected, abs=5e-6)


@pytest.mark.parametrize(("halved", "width", "layers", "mean", "variance"), [
    (True, 32, 8, -0.66032, 1.41998),
    (True, 64, 8, -0.32087, 0.66398),
    (False, 32, 32, 2 * -0.50521, 4 * 0.51595),
    (False, 64, 64, 2 * -0.50260, 4 * 0.50790),
])  # fmt: skip
def test_logarithms_of_layers_have_the_moments_of_the_theory_page(halved, width, layers, mean, variance):
    means, variances = wide_nets.exact_log_moments(halved, [width] * layers)
    assert means[-1] == pytest.approx(mean, abs=1.1e-5)
    assert variances[-1] == pytest.approx(variance, abs=4e-5)


@pytest.mark.parametrize(("transfer", "cw"), [(relu, 2.0), (relu, 1.8), (identity, 1.0)])
def test_nets_with_explicit_matrices_have_the_computed_moments(transfer, cw):
    widths, draws, d = [128, 64], 1500, 8
    rng = np.random.default_rng(3)
    signal = np.tile(np.ones(d), (draws, 1))
    logs = []
    expected = layers(transfer, cw, cw, len(widths))
    for width, infinite in zip(widths, expected, strict=True):
        fan_in = signal.shape[1]
        weights = rng.standard_normal((draws, width, fan_in), dtype=np.float32) * np.sqrt(cw / fan_in)
        signal = transfer(np.einsum("rij,rj->ri", weights, signal))
        ratio = cw * np.square(signal).mean(1) / infinite
        assert abs(ratio.mean() - 1) < ERRORS * ratio.std() / np.sqrt(draws), "E V is right at every width"
        logs.append(np.log(ratio))
    mean, variance = wide_nets.log_moments(transfer, widths)
    sample = np.array(logs)
    second_order = variance**2  # the next term of the expansion in 1/n is of this size
    off = abs(sample.mean(1) - mean)
    assert (off < ERRORS * sample.std(1) / np.sqrt(draws) + second_order).all()
    assert (abs(sample.var(1) / variance - 1) < ERRORS * np.sqrt(2 / draws) + 3 * variance).all()


@pytest.mark.parametrize("cosine", [0.0, 0.6, 1.0])
def test_two_inputs_drawn_layer_by_layer_match_a_dense_net_in_distribution(cosine):
    words = {"depth": 3, "width": 4, "activation": "relu", "cw": 2.0, "cb": 0.1}
    pair = torch.tensor([[2.0, 0.0, 0.0, 0.0], [2 * cosine, 2 * np.sqrt(1 - cosine**2), 0.0, 0.0]])
    instances, moments = DenseInstances(pair.double().expand(2000, 2, 4)), []
    for kind, inputs in (("layer-by-layer", {"inputs": 2}), ("dense", {})):
        net = catalogue.make("architectures", kind, **words, **inputs)
        start = net.start(Streams(range(2000))("init"), 4)
        params = {tensor_name: torch.from_numpy(tensor) for tensor_name, tensor in start.items()}
        sent = [relu(signal.numpy()) for signal in net.preactivations(params, instances)]
        last = net.predict(params, instances).numpy()
        products = [(layer[..., 0] * layer[..., 1]).mean(1) for layer in sent]
        moments.append(np.column_stack([*products, last.prod(1), np.square(last).prod(1), products[2] ** 2]))
    (joint, dense), count = moments, 2000
    errors = np.sqrt((joint.var(0) + dense.var(0)) / count)
    assert (np.abs(joint.mean(0) - dense.mean(0)) < ERRORS * errors).all()


def test_instances_beyond_the_joint_inputs_are_drawn_in_groups():
    net = catalogue.make("architectures", "layer-by-layer", depth=2, width=5, cw=2.0, inputs=2)
    start = net.start(Streams(range(3))("init"), 4)
    params = {tensor_name: torch.from_numpy(tensor) for tensor_name, tensor in start.items()}
    rows = torch.from_numpy(np.random.default_rng(0).normal(size=(3, 5, 4)))
    together = net.predict(params, DenseInstances(rows))
    groups = [net.predict(params, DenseInstances(part)) for part in rows.split(2, 1)]
    assert torch.allclose(together, torch.cat(groups, 1), rtol=1e-12)


def of_pair(cosine, variance=1.0):
    return variance * np.array([[[1.0, cosine], [cosine, 1.0]]])


@pytest.mark.parametrize("cosine", [-0.9, 0.0, 0.3, 0.9999, 1.0])
def test_the_mean_of_a_product_follows_the_arc_cosine_formula_for_relu(cosine):
    covariances = np.array([[[2.0, cosine * np.sqrt(6.0)], [cosine * np.sqrt(6.0), 3.0]]])
    mean = np.sqrt(6.0) * (np.sqrt(1 - cosine**2) + cosine * (np.pi - np.arccos(cosine))) / (2 * np.pi)
    assert wide_nets.product_mean(relu, covariances)[0] == pytest.approx(mean, abs=1e-13)


@pytest.mark.parametrize("variance", [0.5, 2.0])
def test_the_mean_of_a_product_matches_the_double_integral_for_tanh(variance):
    places, weights = np.polynomial.hermite_e.hermegauss(150)
    weights = weights / weights.sum()
    second = np.tanh(np.sqrt(variance) * (0.6 * places[:, None] + 0.8 * places)) @ weights
    expected = weights @ (np.tanh(np.sqrt(variance) * places) * second)
    assert wide_nets.product_mean(np.tanh, of_pair(0.6, variance))[0] == pytest.approx(expected, abs=1e-11)


@pytest.mark.slow
def test_layer_correlations_match_the_theory_page():
    (of_relu,) = wide_nets.layer_correlations(relu, of_pair(0.0, 2.0), [2.0] * 100, [0.0] * 100)
    assert of_relu[[0, 1, 9, 99]] == pytest.approx([1 / np.pi, 0.49373, 0.87154, 0.996423], abs=5e-6)
    assert (1 - of_relu[99]) * 2 * 100**2 / (9 * np.pi**2) == pytest.approx(0.805, abs=5e-4)
    for start, end in ((0.5, 0.44066), (0.9, 0.86746), (0.0, 0.0)):
        (of_tanh,) = wide_nets.layer_correlations(np.tanh, of_pair(start), [1.0] * 400, [0.0] * 400)
        assert of_tanh[399] == pytest.approx(end, abs=6e-6)


def test_nets_drawn_layer_by_layer_match_dense_nets_in_distribution():
    words = {"depth": 3, "width": 6, "activation": "relu", "cw": 2.0, "cb": 0.1}
    x = torch.full((2000, 1, 4), 0.5, dtype=torch.float64)
    moments = []
    for kind in ("layer-by-layer", "dense"):
        net = catalogue.make("architectures", kind, **words)
        start = net.start(Streams(range(2000))("init"), 4)
        params = {tensor_name: torch.from_numpy(value) for tensor_name, value in start.items()}
        means = [relu(signal.numpy()) ** 2 for signal in net.preactivations(params, DenseInstances(x))]
        last = net.predict(params, DenseInstances(x)).numpy()[:, 0] ** 2
        moments.append(
            np.column_stack([*(mean.mean((1, 2)) for mean in means), last, last**2, last * means[0][:, 0, 0]])
        )
    (ours, dense), count = moments, 2000
    errors = np.sqrt((ours.var(0) + dense.var(0)) / count)
    assert (np.abs(ours.mean(0) - dense.mean(0)) < ERRORS * errors).all()
