"""The Jacobian of nets: its singular values, and the gap that mixtures make among them."""

import numpy as np
import pytest
import torch
from building import beginning, raw

from engine.core.parts import BadInput
from engine.runtime.run import run
from engine.spec import reading

CLUSTERS = {"kind": "clusters", "classes": 3, "centres": 1, "d": 4, "n": 6}


def described(net, measure, matrix=CLUSTERS, **words):
    net = {"kind": "dense", "widths": [5], "activation": "softplus", "outputs": "m", **net}
    settings = {"protocol": "at-init", "replicas": 2, **words}
    raw_words = raw(matrix, "classes", {"net": {"architecture": net}}, **settings)
    return reading.parse({**raw_words, "pictures": [{"x": "j", "measure": measure}]})


def measured(setup):
    (curve,) = run(setup).curves
    (values,) = curve.array(setup.pictures[0].measure.name).values
    return values


@pytest.mark.parametrize("net", [
    {},
    {"widths": [5, 3], "activation": "tanh", "cb": 0.2},
    {"parametrisation": "ntk"},
    {"outputs": 1, "output_signs": True},
])  # fmt: skip
def test_singular_values_match_the_autograd_jacobian(net):
    setup = described(net, {"kind": "jacobian-spectrum", "most": 9})
    hypothesis, data = beginning(setup)
    singular_values = measured(setup)
    nets = len(hypothesis.tensors["W1"])

    def predictions(first):
        return hypothesis.architecture.predict({**hypothesis.tensors, "W1": first}, data.instances)

    jacobian = torch.autograd.functional.jacobian(predictions, hypothesis.tensors["W1"])
    derivatives = jacobian.unflatten(0, (nets, -1))  # [nets, outputs, n, nets, h, d]
    expected = [
        torch.linalg.svdvals(derivatives[net_number, :, :, net_number].flatten(0, 1).flatten(1))[
            : singular_values.shape[1]
        ].numpy()
        for net_number in range(nets)
    ]
    averaged = np.array(expected).reshape(len(singular_values), -1, singular_values.shape[1]).mean(1)
    np.testing.assert_allclose(singular_values, averaged, rtol=1e-8, atol=1e-7)


def test_the_spectrum_on_training_rows_uses_only_their_jacobian():
    steps = {"kind": "steps", "steps": 1, "records": 1, "train": 2}
    rule = {"update": {"kind": "gd", "lr": 1e-3}}
    net = {"architecture": {"kind": "dense", "widths": [5], "activation": "softplus", "outputs": "m"}, **rule}
    raw_words = raw(CLUSTERS, "classes", {"net": net}, protocol=steps, replicas=2)
    parsed = [
        reading.parse(
            {**raw_words, "pictures": [{"x": "j", "measure": {"kind": "jacobian-spectrum", **words}}]}
        )
        for words in ({"most": 9, "rows": "train"}, {"most": 9})
    ]
    of_trained, of_all = (
        run(setup).curves[0].array(setup.pictures[0].measure.name).values[0] for setup in parsed
    )
    hypothesis, data = beginning(parsed[0])
    derivatives = torch.autograd.functional.jacobian(
        lambda first: hypothesis.architecture.predict({**hypothesis.tensors, "W1": first}, data.instances),
        hypothesis.tensors["W1"],
    ).unflatten(0, (2, -1))  # [nets, outputs, n, nets, h, d]
    for net in range(2):
        expected = torch.linalg.svdvals(derivatives[net, :, :2, net].flatten(0, 1).flatten(1)).numpy()
        np.testing.assert_allclose(of_trained[net][: len(expected)], expected, rtol=1e-4)
        assert not of_trained[net][len(expected) :].any()
    assert (of_all[:, 0] > of_trained[:, 0]).all()


def test_gaps_are_ratios_of_neighbouring_singular_values():
    spectrum, gaps = (
        measured(described({}, {"kind": kind, "most": 5})) for kind in ("jacobian-spectrum", "jacobian-gap")
    )
    np.testing.assert_allclose(gaps, spectrum[:, :-1] / spectrum[:, 1:], rtol=1e-10)
    with pytest.raises(BadInput, match="at least two singular values"):
        described({}, {"kind": "jacobian-gap", "most": 1})


def test_output_weights_start_as_random_signs():
    hypothesis, _ = beginning(described({"output_signs": True, "cw": [1.0, 2.0]}, "jacobian-spectrum"))
    output = hypothesis.tensors["W2"].numpy()
    np.testing.assert_allclose(np.abs(output), np.sqrt(2 / 5))
    assert 0 < (output > 0).mean() < 1


def test_balanced_signs_make_half_of_the_weights_per_output_positive():
    signs = {"output_signs": True, "balanced_signs": True, "widths": [5]}
    hypothesis, _ = beginning(described(signs, "jacobian-spectrum"))
    output = hypothesis.tensors["W2"].numpy()
    np.testing.assert_array_equal((output > 0).sum(2), 3)
    np.testing.assert_allclose(np.abs(output), np.sqrt(1 / 5))
    assert (output[0] != output[1]).any(), "which they are is drawn by every replica"
    with pytest.raises(BadInput, match="set `output_signs` too"):
        described({"balanced_signs": True}, "jacobian-spectrum")


def test_biases_start_uniform_with_alternating_signs():
    biases = {"cb": [0.25, 0], "alternating_biases": True, "widths": [401]}
    hypothesis, _ = beginning(described(biases, "jacobian-spectrum"))
    hidden = hypothesis.tensors["b1"][:, :, 0].numpy()
    sizes, signs = np.abs(hidden), np.where(np.arange(401) % 2 == 0, 1, -1)
    np.testing.assert_array_equal(np.sign(hidden), np.broadcast_to(signs, hidden.shape))
    error = np.sqrt(0.75) / np.sqrt(12 * sizes.size)  # of the mean of numbers uniform on [0, √(3 C_b)]
    assert sizes.max() < np.sqrt(0.75)
    assert abs(sizes.mean() - np.sqrt(0.75) / 2) < 4 * error
    assert (hidden[0] != hidden[1]).all(), "they are drawn by every replica"
    with pytest.raises(BadInput, match="set `cb` too"):
        described({"alternating_biases": True}, "jacobian-spectrum")


def test_two_classes_can_have_separate_targets():
    matrix = {**CLUSTERS, "classes": 2}
    both = raw(matrix, {"kind": "classes", "each": True}, {"LLS": {"solver": "lls"}})
    single = raw(matrix, "classes", {"LLS": {"solver": "lls"}})
    (first, second), (signs,) = (
        beginning(reading.parse(words))[1].labels.numpy() for words in (both, single)
    )
    np.testing.assert_array_equal(first, (signs + 1) / 2)
    np.testing.assert_array_equal(first + second, 1)
