"""Symmetries of starts that draw nothing, of tensors that can be exchanged, and of single neurons."""

import msgspec
import numpy as np
import pytest
import torch
from building import experiment
from discovery import variants

from engine.core import catalogue
from engine.core.groups import (
    PERMUTATIONS,
    ROTATIONS,
    SIGN_FLIPS,
    SIGNED_PERMUTATIONS,
    TRIVIAL,
    UNCHANGED,
)
from engine.core.streams import Streams
from engine.symmetry.certificate import certificate
from engine.symmetry.verdict import verdict

pytestmark = pytest.mark.slow

D = 8
GD = {"kind": "gd", "lr": 0.05}
PROTOCOLS = [{"kind": "one-pass"}, {"kind": "steps", "steps": 12}, {"kind": "steps", "steps": 12, "batch": 2}]
SHAPES = [(5, 5), (D, D), (D, 13)]
"""Features, and rows."""


def learner(described):
    """The only learner of an experiment."""
    (it,) = described.learners
    return it


def kept_groups(described):
    """Groups that change no prediction, by measurement: of coordinates, and all rotations."""
    groups = (PERMUTATIONS, SIGN_FLIPS, ROTATIONS)
    return {group for group in groups if certificate(described, learner(described), group=group) < UNCHANGED}


def contained(group):
    """Groups of the same list that the group of a verdict contains."""
    return {part for part in (PERMUTATIONS, SIGN_FLIPS, ROTATIONS) if part <= group}


def trained(architecture, update=None, n=D, d=D, **words):
    """An experiment with a net on n Gaussian rows of d features."""
    words_of_learner = {"architecture": architecture, "update": update or GD, **words.pop("added", {})}
    return experiment({"kind": "gaussian", "n": n, "d": d}, learners={"it": words_of_learner}, **words)


def architectures():
    """Every choice of every architecture."""
    for kind, member in catalogue.members("architectures").items():
        for words in variants(member):
            yield pytest.param(msgspec.convert(words, member), id=f"{kind} {words}")


@pytest.mark.parametrize("net", architectures())
def test_architectures_with_fixed_input_start_start_alike_in_two_draws(net):
    d = 6
    first, second = (net.start(Streams([seed])("init"), d) for seed in (1, 2))
    of_inputs = [
        layer_name for layer_name in net.layers if net.layout(d).shapes[layer_name][-1] == d
    ] or list(net.layers[:1])
    measured = all(np.array_equal(first[name], second[name]) for name in of_inputs)
    assert measured or not net.structure().fixed_input_start
    assert not (measured and getattr(net, "init", "") == "gaussian"), "the measurement can tell"


@pytest.mark.parametrize("net", [
    {"kind": "linear"}, {"kind": "neuron"}, {"kind": "spindly"}, {"kind": "spindly", "signed": True},
    {"kind": "two-weight"}, {"kind": "dense", "widths": [4], "init": "zero", "activation": "tanh"},
    {"kind": "layer-by-layer", "width": 8},
    {"kind": "dense", "widths": [D], "init": "identity"},
])  # fmt: skip
@pytest.mark.parametrize("update", [GD, {"kind": "adam", "lr": 0.05}])
@pytest.mark.parametrize("seed", [[0], [4, 1]])
def test_a_start_seed_keeps_the_verdict_if_no_feature_weight_is_drawn(net, update, seed):
    added = {"start_seed": seed}
    seeded, other = trained(net, update, added=added), trained(net, update)
    judged = verdict(learner(seeded), seeded)
    assert judged == verdict(learner(other), other)
    assert kept_groups(seeded) >= contained(judged.group)


def test_a_start_seed_keeps_the_verdict_of_a_rule_with_its_own_start():
    setups = [trained("linear", {"kind": "egu"}, added=added) for added in ({"start_seed": [3]}, {})]
    judged, other = (verdict(learner(setup), setup) for setup in setups)
    assert judged == other
    assert kept_groups(setups[0]) == contained(judged.group) == {PERMUTATIONS}


@pytest.mark.parametrize("net", [{"kind": "neuron", "init": "gaussian"}, {"kind": "dense", "widths": [4]}])
def test_fixed_random_input_weights_keep_no_symmetry(net):
    setup = trained(net, added={"start_seed": [3]})
    assert verdict(learner(setup), setup).group == TRIVIAL
    assert kept_groups(setup) == set()


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(("d", "n"), SHAPES)
@pytest.mark.parametrize("net", ["linear", {"kind": "neuron"}, {"kind": "neuron", "init": "gaussian"}])
def test_muon_by_svd_on_one_neuron_is_rotation_invariant(net, d, n, protocol):
    setup = trained(net, {"kind": "muon", "by": "svd"}, n, d, protocol=protocol)
    assert verdict(learner(setup), setup).invariant is True
    assert kept_groups(setup) >= {ROTATIONS}


def test_muon_by_svd_takes_normalised_gradient_steps_on_one_neuron():
    rule = catalogue.make("updates", "muon", by="svd")
    rng = np.random.default_rng(2)
    w, state = rule.start({"w": torch.zeros(1, D, dtype=torch.float64)})
    expected, M = np.zeros(D), np.zeros(D)
    for _ in range(5):
        g = rng.normal(size=D)
        w, state = rule.step(w, {"w": torch.from_numpy(g[None])}, {"w": 0.1}, state)
        M = 0.95 * M + g
        along = g + 0.95 * M
        expected -= 0.1 * along / np.linalg.norm(along)
    np.testing.assert_allclose(w["w"][0], expected, rtol=1e-12)


ENTRYWISE = ["gd", "momentum", "adam", "adagrad", "rmsprop", "lion", "hypentropy", "egu-pm", "polyak", "sign"]


@pytest.mark.parametrize("rule", [*ENTRYWISE, "adagrad-momentum", "sgd"])
@pytest.mark.parametrize(("depth", "protocol"), [(2, PROTOCOLS[0]), (3, PROTOCOLS[2])])
def test_signed_spindly_nets_keep_permutations_and_sign_flips(rule, depth, protocol):
    for seed, (d, n) in enumerate(SHAPES[1:]):
        net = {"kind": "spindly", "signed": True, "depth": depth, "w0": 0.3}
        setup = trained(net, {"kind": rule, "lr": 0.01}, n, d, protocol=protocol, seed=seed)
        assert verdict(learner(setup), setup).group == SIGNED_PERMUTATIONS
        assert kept_groups(setup) == {PERMUTATIONS, SIGN_FLIPS}


@pytest.mark.parametrize(("update", "added"), [
    ({"kind": "lars", "lr": 0.1}, {}), ({"kind": "p-norm"}, {}), ({"kind": "adagrad-full"}, {}),
    ({"kind": "adam", "shared": True}, {}), ({"kind": "coordinate", "lr": 0.1}, {}),
    (GD, {"layer_rates": {"u": 0.5}}),
])  # fmt: skip
def test_a_signed_spindly_net_with_unequal_tensor_updates_is_not_sign_invariant(update, added):
    net = {"kind": "spindly", "signed": True, "w0": 0.3}
    setup = trained(net, update, 12, added=added, protocol={"kind": "steps", "steps": 20})
    judged = verdict(learner(setup), setup)
    assert not judged.group >= SIGN_FLIPS
    assert SIGN_FLIPS not in kept_groups(setup)
    assert kept_groups(setup) >= contained(judged.group)


@pytest.mark.parametrize(
    "rule", [*ENTRYWISE, "lars", "agd", "p-norm", "adagrad-full", "soap", "muon", "lamb"]
)
def test_two_weight_nets_from_zero_keep_permutations_and_sign_flips(rule):
    for seed, (d, n) in enumerate(SHAPES[1:]):
        update = {"kind": rule} if rule == "agd" else {"kind": rule, "lr": 0.01}
        setup = trained({"kind": "two-weight"}, update, n, d, protocol=PROTOCOLS[2], seed=seed)
        assert verdict(learner(setup), setup).group == SIGNED_PERMUTATIONS
        assert kept_groups(setup) == {PERMUTATIONS, SIGN_FLIPS}


def test_two_weight_nets_from_positive_weights_keep_only_permutations():
    setup = trained({"kind": "two-weight", "init": "equal"}, protocol=PROTOCOLS[1])
    assert verdict(learner(setup), setup).group == PERMUTATIONS
    assert kept_groups(setup) == {PERMUTATIONS}


@pytest.mark.parametrize(("kind", "rule"), [
    ("dense", "gd"), ("dense", "adam"), ("dense", "kfac"), ("dense", "shampoo"), ("linearised", "gd"),
    ("linearised", "kfac"), ("linearised", "adafactor"), ("normalised", "gd"), ("normalised", "lars"),
    ("normalised", "muon"), ("normalised", "p-norm"),
])  # fmt: skip
def test_nets_with_an_identity_start_on_all_features_keep_permutations(kind, rule):
    for seed, ((d, n), more) in enumerate(zip(SHAPES, (0, 0, 3), strict=True)):
        net = {"kind": kind, "init": "identity", "widths": [d + more, d], "activation": "tanh", "scale": 0.7}
        if kind == "normalised":
            net["of"] = ("instances", "features", "instances")[seed]
        setup = trained(net, {"kind": rule, "lr": 0.01}, n, d, protocol=PROTOCOLS[seed], seed=seed)
        assert verdict(learner(setup), setup).group == PERMUTATIONS
        assert kept_groups(setup) == {PERMUTATIONS}


@pytest.mark.parametrize("net", [
    {"kind": "dense", "init": "identity", "widths": [D - 2]},
    {"kind": "dense", "init": "identity", "widths": [D, D - 2], "activation": "tanh"},
    {"kind": "linearised", "init": "identity", "widths": [D], "cb": 0.5},
    {"kind": "dense-spindly", "init": "identity", "width": D - 2},
])  # fmt: skip
def test_partial_identity_starts_and_drawn_biases_keep_no_permutations(net):
    setup = trained(net)
    assert verdict(learner(setup), setup).group == TRIVIAL
    assert kept_groups(setup) == set()


@pytest.mark.parametrize("signed", [False, True])
def test_a_spindly_net_on_a_layer_that_starts_at_the_identity_keeps_permutations(signed):
    for d, n in SHAPES:
        net = {"kind": "dense-spindly", "init": "identity", "signed": signed, "w0": 0.2}
        setup = trained(net, None, n, d)
        assert verdict(learner(setup), setup).group == PERMUTATIONS
        assert kept_groups(setup) >= {PERMUTATIONS}


@pytest.mark.parametrize("net", [{"kind": "spindly", "signed": True}, {"kind": "two-weight"}])
def test_noise_on_several_tensors_leaves_no_symmetry_in_the_verdict(net):
    setup = trained(net, added={"noise": {"sigma": 0.1}})
    assert verdict(learner(setup), setup).group == TRIVIAL


def rules():
    """Every choice of every rule that trains two vectors."""
    net = catalogue.make("architectures", "spindly", signed=True)
    for kind, member in catalogue.members("updates").items():
        for words in variants(member):
            rule = msgspec.convert(words, member)
            if rule.refuses(net) is None:
                yield pytest.param(rule, id=f"{kind} {words}")


@pytest.mark.parametrize("rule", rules())
def test_rules_declared_exchangeable_exchange_the_steps_of_exchanged_entries(rule):
    rng = np.random.default_rng(5)
    names = "umv"  # one between the first and the last, of which some rules make a difference
    start = np.repeat(rng.uniform(0.5, 1, size=(1, 4)), 3, 0)
    gradients = rng.normal(size=(5, 3, 4))
    gradients[0] = np.abs(gradients[0, :1]) * [[1], [-1], [1]]  # of one size, as those of halves at first

    def tensors(rows):
        return {name: torch.from_numpy(row[None].copy()) for name, row in zip(names, rows, strict=True)}

    def exchanged(rows):
        return np.where([True, False, False, True], rows[[1, 0, 2]], rows)

    def ends(change):
        params, state = rule.start(tensors(start))
        for g in gradients:
            params, state = rule.step(params, tensors(change(g)), dict.fromkeys(names, 0.1), state)
        return np.stack([params[name][0].numpy() for name in names])

    plain = exchanged(ends(lambda g: g))
    measured = np.allclose(ends(exchanged), plain, rtol=1e-9, atol=0)
    assert measured or not rule.structure().entries_alike
    assert not (measured and rule.kind in ("lars", "coordinate", "p-norm", "adagrad-full")), "it can tell"
