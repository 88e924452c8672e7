"""Facts about single architectures: starts, equalities, and which of them learn Hadamard rows."""

import naive
import numpy as np
import pytest
import torch
from building import beginning, experiment, gd, losses, predictions, raw, weights
from discovery import name_of

from engine.core import activations, catalogue
from engine.core.parts import BadInput
from engine.core.streams import Streams
from engine.problems.instances import DenseInstances
from engine.spec import reading
from engine.symmetry.certificate import certificate
from engine.symmetry.verdict import verdict

EXACT = 1e-12


def architecture_of(**words):
    return catalogue.make("architectures", **words)


def starts(d, seeds=range(200), **words):
    return architecture_of(**words).start(Streams(seeds)("init"), d)


def passed(lr, **architecture):
    """Predictions over a pass on Gaussian data."""
    return predictions(experiment("gaussian", learners={"it": gd(lr, **architecture)}, d=8, seed=4))


@pytest.mark.parametrize(
    "settings", [{}, {"signed": True}, {"depth": 3}, {"depth": 3, "signed": True}], ids=str
)
def test_identity_spindly_equals_the_spindly_net(settings):
    on_identity = passed(0.01, kind="identity-spindly", **settings)
    assert np.array_equal(on_identity, passed(0.01, kind="spindly", **settings))


def test_dense_spindly_with_a_frozen_identity_layer_equals_identity_spindly():
    frozen = {
        "update": {"kind": "gd", "lr": 0.01},
        "architecture": {"kind": "dense-spindly", "init": "identity"},
    }
    words = raw("gaussian", learners={"it": frozen}, d=8, seed=4)
    words["learners"][0]["layer_rates"] = {"W1": 0.0}
    frozen_predictions = predictions(reading.parse(words))
    np.testing.assert_allclose(frozen_predictions, passed(0.01, kind="identity-spindly"), atol=EXACT)
    trained = passed(0.01, kind="dense-spindly", init="identity")
    assert abs(frozen_predictions - trained).max() > 1e-3


def test_identity_spindly_falls_below_the_bound_and_dense_spindly_does_not():
    replicas, d = 48, 32
    described = experiment(
        {"kind": "hadamard", "row_signs": True},
        {"kind": "feature", "index": 5},
        {kind: gd(0.05, kind=kind) for kind in ("identity-spindly", "dense-spindly")},
        d=d,
        replicas=replicas,
        seed=3,
    )
    bound = 1 - np.arange(d + 1) / d
    measured = losses(described)
    means = {learner_name: values.mean(1) for learner_name, values in measured.items()}
    errors = {
        learner_name: values.std(1, ddof=1) / np.sqrt(replicas) for learner_name, values in measured.items()
    }
    cracked, followed = "identity-spindly", "dense-spindly"
    assert (means[cracked][8:24] + 4 * errors[cracked][8:24] < bound[8:24]).all()
    assert (means[followed] + 4 * errors[followed] + EXACT >= bound).all()
    assert means[followed][-1] < 0.9, "it learned something"


@pytest.mark.parametrize(
    ("init", "other"), [("zero", {"signed": True}), ("equal", {})], ids=["zero", "equal"]
)
def test_two_weight_at_twice_the_rate_equals_the_spindly_net(init, other):
    two_weight_predictions = passed(0.02, kind="two-weight", init=init)
    np.testing.assert_allclose(
        two_weight_predictions, passed(0.01, kind="spindly", **other), rtol=1e-10, atol=EXACT
    )


@pytest.mark.parametrize(("init", "weight"), [("zero", 0.0), ("equal", 1 / 8)])
def test_two_weight_starts_have_their_conventional_values(init, weight):
    start = starts(8, [0], kind="two-weight", init=init)
    np.testing.assert_allclose(start["u"] * start["v"], np.full((1, 8), weight))
    halves = (start["u"] + start["v"]) / 2, (start["u"] - start["v"]) / 2
    np.testing.assert_allclose(halves[0] ** 2, 1 / 16 if init == "zero" else 1 / 8)
    np.testing.assert_allclose(halves[1] ** 2, 1 / 16 if init == "zero" else 0.0)


@pytest.mark.parametrize("d", [5, 8])
@pytest.mark.parametrize("depth", [2, 3, 5])
def test_the_weights_of_a_convolutional_net_are_the_convolution_of_its_filters(depth, d):
    net = architecture_of(kind="conv", depth=depth)
    params = {
        name: torch.from_numpy(value) for name, value in starts(d, [0, 1], kind="conv", depth=depth).items()
    }
    product_weights = net.weights(params).numpy()
    for replica in range(2):
        filters = [value[replica].numpy() for value in params.values()]
        np.testing.assert_allclose(product_weights[replica], naive.Conv().convolve(filters, d), atol=EXACT)
        product = np.prod([np.fft.fft(filter_) for filter_ in filters], axis=0)
        np.testing.assert_allclose(np.fft.fft(product_weights[replica]), product, atol=EXACT)


def test_identity_filters_start_with_weight_on_the_first_input_only():
    start = starts(6, [0], kind="conv", depth=3, init="identity", scale=0.5)
    w = architecture_of(kind="conv", depth=3).weights(
        {tensor_name: torch.from_numpy(value) for tensor_name, value in start.items()}
    )
    np.testing.assert_allclose(w.numpy(), 0.125 * np.eye(1, 6), atol=EXACT)


def test_a_convolutional_net_is_invariant_to_cyclic_shifts_of_the_inputs():
    described = experiment("gaussian", learners={"it": gd(0.01, kind="conv", init="identity")}, d=8)
    hypothesis, data = beginning(described)
    shifted, _ = beginning(described)
    # Shifting the first filter along with the inputs is the coupled start.
    shifted.params["w1"][:] = shifted.params["w1"].roll(3, -1)
    rows = DenseInstances(data.instances.rows.roll(3, -1))
    for k in range(8):
        hypothesis.learn(data.instances.at(slice(k, k + 1)), data.labels[:, k : k + 1])
        shifted.learn(rows.at(slice(k, k + 1)), data.labels[:, k : k + 1])
        torch.testing.assert_close(shifted.predict(rows), hypothesis.predict(data.instances))


@pytest.mark.parametrize("c", [1, 3, 7])
def test_sparse_input_units_have_c_inputs_drawn_uniformly(c):
    replicas, h, d = 100, 32, 8
    start = starts(d, range(replicas), kind="sparse-input", connectivity=c, width=h, scale=0.5)
    edges = start["edges"]
    assert edges.shape == (replicas, h, d)
    assert (edges.sum(2) == c).all()
    assert ((start["W1"] != 0) == (edges == 1)).all()
    share, count = edges.mean((0, 1)), replicas * h
    assert abs(share - c / d).max() <= 4 * np.sqrt(c / d * (1 - c / d) / count)
    variance = start["W1"][edges == 1].var()
    assert abs(variance / (0.25 / c) - 1) <= 4 * np.sqrt(2 / (replicas * h * c))


def test_absent_edges_stay_zero_under_several_update_rules():
    for update in ("gd", "adam", "agd", "hypentropy"):
        learner = {"update": update, "architecture": {"kind": "sparse-input", "width": 6, "connectivity": 2}}
        described = experiment("gaussian", "all", {"it": learner}, d=8, replicas=2)
        hypothesis, data = beginning(described)
        edges = starts(8, [0, 1], kind="sparse-input", width=6, connectivity=2)["edges"]
        assert set(hypothesis.params) == {"W1", "W2"}
        hypothesis.learn(data.instances, data.labels)
        assert (hypothesis.params["W1"].numpy()[edges.repeat(8, 0) == 0] == 0).all()
        assert (hypothesis.params["W1"].numpy()[edges.repeat(8, 0) == 1] != 0).all()


def test_weights_without_edges_change_no_prediction_and_have_zero_gradient():
    net = architecture_of(kind="sparse-input", width=6, connectivity=2, activation="tanh")
    start = starts(8, [0], kind="sparse-input", width=6, connectivity=2)
    params = {tensor_name: torch.from_numpy(value) for tensor_name, value in start.items()}
    data = beginning(experiment("gaussian", d=8))[1]
    moved = {**params, "W1": params["W1"] + 3 * (1 - params["edges"])}
    assert torch.equal(net.predict(moved, data.instances), net.predict(params, data.instances))
    gradients = net.gradient(params, data.instances, torch.ones_like)
    assert (gradients["W1"][params["edges"] == 0] == 0).all()


@pytest.mark.parametrize("c", [8, 9, 1000])
def test_a_sparse_input_layer_with_all_edges_equals_a_dense_layer(c):
    sparse = passed(0.001, kind="sparse-input", connectivity=c, width=16, activation="relu")
    assert np.array_equal(sparse, passed(0.001, kind="dense", widths=[16], activation="relu"))


@pytest.mark.parametrize(("c", "invariant"), [(1, False), (4, False), (7, False), (8, True), (9, True)])
def test_a_sparse_input_layer_is_invariant_only_with_all_edges(c, invariant):
    architecture = {"kind": "sparse-input", "connectivity": c, "width": 16, "activation": "relu"}
    described = experiment("gaussian", learners={"it": gd(0.001, **architecture)}, d=8)
    (learner,) = described.learners
    assert verdict(learner, described).invariant is invariant
    assert (certificate(described, learner) < 1e-6) == invariant


@pytest.mark.parametrize("shape", [(8, 3), (8, 8), (8, 13)], ids=str)
def test_orthogonal_starts_are_semi_orthogonal_with_the_scale_of_agd(shape):
    d, h = shape
    start = starts(d, range(3), kind="dense", widths=[h, 5], init="orthogonal", scale=0.5)
    for name, (rows, columns) in {"W1": (h, d), "W2": (5, h), "W3": (1, 5)}.items():
        assert start[name].shape == (3, rows, columns)
        for W in start[name] / (0.5 * np.sqrt(rows / columns)):
            small = W @ W.T if rows <= columns else W.T @ W
            np.testing.assert_allclose(small, np.eye(min(rows, columns)), atol=EXACT)


@pytest.mark.parametrize("h", [2, 4, 6])
def test_orthogonal_starts_have_the_moments_of_the_uniform_law(h):
    """Entries of a row of a uniform orthogonal matrix of size p: mean 0, E x² = 1/p, E x⁴ = 3/(p(p+2))."""
    draws, p = 4000, max(h, 4)
    W = starts(4, range(draws), kind="dense", widths=[h], init="orthogonal")["W1"] / np.sqrt(h / 4)
    for power, mean in ((1, 0.0), (2, 1 / p), (4, 3 / (p * (p + 2)))):
        sample = W**power
        off = abs(sample.mean(0) - mean) / (sample.std(0) / np.sqrt(draws))
        assert off.max() < 4.5, f"moment {power}"
    across = (W[:, 0, 0] * W[:, 1, 1]) ** 2
    expected = (p + 1) / (p * (p - 1) * (p + 2))
    assert abs(across.mean() - expected) < 4 * across.std() / np.sqrt(draws)


@pytest.mark.parametrize("kind", ["neuron", "dense-spindly", "conv"])
def test_gaussian_starts_have_the_declared_variance(kind):
    settings = {"neuron": {"init": "gaussian"}, "dense-spindly": {"width": 16}, "conv": {}}[kind]
    first = next(iter(starts(32, kind=kind, scale=0.5, **settings).values()))
    assert abs(first.mean()) <= 4 * 0.5 / np.sqrt(32 * first.size)
    assert abs((first**2).mean() * 32 / 0.25 - 1) <= 4 * np.sqrt(2 / first.size)


@pytest.mark.parametrize("activation", activations.KINKED)
@pytest.mark.parametrize("kind", ["neuron", "dense"])
def test_a_zero_start_at_a_kink_is_refused_with_a_remedy(kind, activation):
    with pytest.raises(BadInput) as caught:
        experiment(learners={"it": gd(0.01, kind=kind, activation=activation, init="zero")})
    assert caught.value.where == "learners[0].architecture.init"
    assert "gaussian" in caught.value.fault


def test_kinked_lists_exactly_the_activations_with_a_slope_jump_at_zero():
    jumps = set()
    for activation_name in activations.TABLE:
        z = torch.tensor([-1e-7, 1e-7], dtype=torch.float64, requires_grad=True)
        (slopes,) = torch.autograd.grad(activations.transfer(activation_name, z).sum(), z)
        if abs(slopes[1] - slopes[0]) > 1e-3:
            jumps.add(activation_name)
    assert jumps == set(activations.KINKED)


@pytest.mark.parametrize("activation_name", activations.TABLE)
def test_activations_equal_the_naive_table(activation_name):
    assert set(activations.TABLE) == set(naive.TRANSFERS)
    z = torch.linspace(-5, 5, 41, dtype=torch.float64)
    expected = [naive.TRANSFERS[activation_name][0](number) for number in z.tolist()]
    np.testing.assert_allclose(activations.transfer(activation_name, z), expected, atol=EXACT)


@pytest.mark.parametrize("outputs", [1, 3])
def test_predictions_on_repeated_sign_vectors_equal_row_by_row_predictions(outputs):
    generator = np.random.default_rng(outputs)
    rows = torch.from_numpy(generator.choice([-1.0, 1.0], (2, 40, 3)))
    relu_net = architecture_of(kind="dense", widths=[5], activation="relu", outputs=outputs)
    params = {layer: torch.from_numpy(w) for layer, w in relu_net.start(Streams(range(2))("init"), 3).items()}
    repeated = DenseInstances(rows, signs=True)
    assert repeated.repeats.instances.n == 8
    for replica, vectors in enumerate(rows.numpy()):
        numbers = repeated.repeats.numbers[replica]
        np.testing.assert_array_equal(repeated.repeats.instances.rows[replica, numbers], vectors)
    naive_rows = relu_net.predict(params, DenseInstances(rows))
    np.testing.assert_allclose(relu_net.predict(params, repeated), naive_rows, rtol=0, atol=EXACT)
    assert DenseInstances(rows[:, :31], signs=True).repeats is None


def test_a_neuron_with_identity_activation_equals_the_linear_neuron():
    np.testing.assert_allclose(
        passed(0.01, kind="neuron", activation="identity"), passed(0.01, kind="linear"), atol=EXACT
    )


@pytest.mark.parametrize(
    "words",
    [
        {"kind": "dense", "widths": [6, 5]},
        {"kind": "sparse-input", "width": 6, "connectivity": 3},
        {"kind": "dense-spindly", "signed": True},
        {"kind": "conv", "depth": 3},
        {"kind": "neuron", "activation": "identity"},
    ],
    ids=name_of,
)
def test_linear_nets_return_weights_that_give_their_predictions(words):
    described = experiment("gaussian", "all", {"it": gd(0.001, **words)}, d=8, replicas=2)
    hypothesis, data = beginning(described)
    net_weights = weights(described)[0].reshape(2, 8, 8)
    rows = data.instances.rows.numpy()
    expected = hypothesis.predict(data.instances).numpy().reshape(2, 8, 8)
    np.testing.assert_allclose(np.einsum("rmd,rnd->rmn", net_weights, rows), expected, atol=EXACT)
