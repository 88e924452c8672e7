"""Parities and Gaussian weights: eigenvalues, and gradients of nets at their start."""

from itertools import combinations, product

import numpy as np
import pytest
from building import beginning, data_of, raw

from engine.core import catalogue
from engine.core.parts import BadInput
from engine.formulas import parities
from engine.runtime.run import run
from engine.spec import reading
from engine.theory import At, RunData

PRINTED = [  # theory/parities-and-noise#parities: n, k, λ¹_k, first layer
    (10, 2, 1.6814e-3, 3.6662e-2),
    (10, 4, 2.7145e-5, 2.0512e-3),
    (10, 6, 5.5741e-6, 1.0141e-3),
    (10, 10, 2.0237e-6, 7.1865e-4),
    (20, 2, 4.0835e-4, 1.6815e-2),
    (20, 4, 1.2697e-6, 1.1901e-4),
    (20, 6, 4.5764e-8, 8.3918e-6),
    (20, 20, 4.6090e-10, 8.5545e-7),
    (30, 4, 2.3002e-7, 3.0172e-5),
    (30, 10, 1.4181e-11, 7.5328e-9),
]


@pytest.mark.parametrize(("bits", "degree", "output", "first"), PRINTED)
def test_eigenvalues_match_the_printed_values(bits, degree, output, first):
    assert parities.relu_eigenvalue(bits, degree) == pytest.approx(output, rel=5e-5)
    assert parities.first_layer(bits, degree) == pytest.approx(first, rel=5e-5)


def test_biases_have_nonzero_eigenvalues_on_odd_parities():
    assert parities.steps_eigenvalue(10, 3) == pytest.approx(3.4173e-4, rel=5e-5)
    assert parities.steps_eigenvalue(10, 5) == pytest.approx(1.1404e-4, rel=5e-5)
    for degree in (3, 5, 7, 9):
        assert parities.relu_eigenvalue(10, degree) == parities.first_layer(10, degree) == 0


@pytest.mark.parametrize("bits", [3, 5])
def test_eigenvalues_match_the_complete_kernel_matrix(bits):
    cube = np.array(list(product((1.0, -1.0), repeat=bits)))
    cosines = np.clip(cube @ cube.T / bits, -1, 1)
    angles = np.pi - np.arccos(cosines)
    kernels = {
        parities.steps_eigenvalue: angles / (2 * np.pi),
        parities.relu_eigenvalue: (np.sqrt(1 - cosines**2) + cosines * angles) / (2 * np.pi),
    }
    for eigenvalue, kernel in kernels.items():
        for degree in range(bits + 1):
            for chosen in combinations(range(bits), degree):
                parity = cube[:, chosen].prod(1)
                np.testing.assert_allclose(
                    kernel @ parity / 2**bits, eigenvalue(bits, degree) * parity, atol=1e-15
                )


def described(degree=2, net=None, measure="label-gradient", **words):
    matrix = {"kind": "xor", "d": 64, "features": "bits"}
    net = {"kind": "dense", "widths": [7], "activation": "relu", **(net or {})}
    settings = {"protocol": "at-init", "replicas": 400, "dtype": "float64", **words}
    target = settings.pop("target", {"kind": "feature", "index": 2**degree - 1})
    described = raw(matrix, target, {"net": {"architecture": net}}, **settings)
    return reading.parse({**described, "pictures": [{"x": "layer", "measure": measure}]})


def line_on(setup):
    """Values of the line on an experiment, [layers], or the reason why it does not hold."""
    line = catalogue.make("theory", "parity-gradient")
    (learner,) = setup.learners
    for finding in (line.holds(setup), line.binds(learner, setup)):
        if not finding.holds:
            return finding.reason
    clocks = {"k": np.zeros(1)}
    (values,) = line.value(At(setup, RunData(lambda: data_of(setup)), clocks, {}, learner))
    return values


def measured(setup):
    """Values of the picture of a run for every replica, [R, layers]."""
    (curve,) = run(setup).curves
    (values,) = curve.array(setup.pictures[0].measure.name).values
    return values


@pytest.mark.parametrize(("degree", "net"), [(1, {"cw": [0.5, 3.0]}), (2, {}), (4, {"cw": [2.0, 0.5]})])
def test_the_mean_label_gradient_of_nets_matches_the_line(degree, net):
    setup = described(degree, net)
    values = measured(setup)
    errors = values.std(0, ddof=1) / np.sqrt(len(values))
    np.testing.assert_array_less(np.abs(values.mean(0) - line_on(setup)) / errors, 4)


def test_only_biases_have_gradients_on_odd_parities():
    weights = measured(described(3))
    assert np.abs(weights).max() < 1e-28
    of_biases = {"kind": "label-gradient", "of": "biases"}
    setup = described(3, {"biases": True}, of_biases)
    values = measured(setup)
    errors = values.std(0, ddof=1) / np.sqrt(len(values))
    away = np.abs(values.mean(0) - [parities.steps_eigenvalue(6, 3), 0])
    np.testing.assert_array_less(away, 4 * errors + 1e-28)


@pytest.mark.parametrize("biases", [False, True])
def test_label_gradients_match_explicit_formulas(biases):
    of = {"kind": "label-gradient", "of": "biases" if biases else "weights"}
    setup = described(2, {"cb": 0.3} if biases else {}, of, replicas=3)
    hypothesis, data = beginning(setup)
    tensors = {tensor_name: tensor.numpy() for tensor_name, tensor in hypothesis.tensors.items()}
    values = measured(setup)
    for replica, (rows, (labels,)) in enumerate(
        zip(data.instances.rows.numpy(), data.labels.view(3, 1, -1).numpy(), strict=True)
    ):
        signals = rows @ tensors["W1"][replica].T + (tensors["b1"][replica].T if biases else 0)
        slopes = tensors["W2"][replica] * (signals > 0)  # [n, h]
        seen = labels @ (slopes if biases else np.maximum(signals, 0)) / len(rows)
        first = seen if biases else (labels[:, None, None] * slopes[:, :, None] * rows[:, None]).mean(0)
        second = labels.mean(keepdims=True) if biases else seen
        expected = [np.square(first).sum(), np.square(second).sum()]
        np.testing.assert_allclose(values[replica], expected, rtol=1e-10, atol=1e-30)


@pytest.mark.parametrize(("words", "reason"), [
    ({"net": {"parametrisation": "ntk"}}, "standard parametrisation"),
    ({"net": {"widths": [4, 4]}}, "one layer of ReLU units"),
    ({"net": {"activation": "tanh"}}, "one layer of ReLU units"),
    ({"net": {"cb": 0.1}}, "without biases"),
    ({"target": "coin"}, "one product of bits"),
])  # fmt: skip
def test_the_line_gives_a_reason_where_it_does_not_apply(words, reason):
    assert reason in line_on(described(replicas=1, **words))


def test_the_bias_gradient_requires_a_net_with_biases():
    with pytest.raises(BadInput, match="the net has biases"):
        described(measure={"kind": "label-gradient", "of": "biases"})
