"""Nets behind a normalisation of their input: of every feature over the rows, or of every instance."""

import numpy as np
import pytest
from building import beginning, change_under, experiment, gd

from engine.core.groups import PERMUTATIONS, SIGNED_PERMUTATIONS
from engine.core.streams import Streams
from engine.problems.instances import element
from engine.symmetry.verdict import verdict

WIDE = {"kind": "normalised", "widths": [5], "activation": "tanh"}


def described(of, replicas=3, **words):
    learner = gd(0.05, **WIDE, of=of)
    settings = {"noise": 0.1, "protocol": {"kind": "steps", "steps": 5}, **words}
    return experiment(
        {"kind": "gaussian", "n": 9}, "feature", {"it": learner}, d=4, replicas=replicas, **settings
    )


def normalised(rows, of):
    """The rows [n, d] that the net sees."""
    if of == "features":
        return (rows - rows.mean(0)) / rows.std(0)
    return (rows - rows.mean(1, keepdims=True)) / np.sqrt(rows.var(1, keepdims=True) + 1e-5)


@pytest.mark.parametrize("of", ["features", "instances"])
def test_the_normalised_net_equals_a_dense_net_on_normalised_rows(of):
    hypothesis, data = beginning(described(of))
    predictions = hypothesis.predict(data.instances).numpy()
    for replica, rows in enumerate(data.instances.rows.numpy()):
        first, second = (hypothesis.tensors[tensor_name][replica].numpy() for tensor_name in ("W1", "W2"))
        expected = np.tanh(normalised(rows, of) @ first.T) @ second[0]
        np.testing.assert_allclose(predictions[replica], expected, atol=1e-12)


def test_a_constant_feature_is_normalised_to_zero():
    setup = experiment(
        {"kind": "xor", "features": "products"}, "feature", {"it": gd(0.05, **WIDE)}, d=8, protocol="one-pass"
    )
    hypothesis, data = beginning(setup)
    before = hypothesis.predict(data.instances)
    hypothesis.tensors["W1"][..., 0] = 100.0
    np.testing.assert_allclose(hypothesis.predict(data.instances), before, atol=1e-12)
    assert hypothesis.weights() is None


@pytest.mark.parametrize(("of", "group"), [("features", SIGNED_PERMUTATIONS), ("instances", PERMUTATIONS)])
def test_the_normalised_net_keeps_its_declared_group_but_not_rotations(of, group):
    setup = described(of, replicas=1)
    (learner,) = setup.learners
    judged = verdict(learner, setup)
    assert judged.group == group
    assert judged.invariant is False
    stream = Streams([2])("it")
    assert change_under(setup, learner, element(group, stream, 4)) < 1e-12
    assert change_under(setup, learner, element(SIGNED_PERMUTATIONS, stream, 4)) > 1e-2 or of == "features"
    turned = element(SIGNED_PERMUTATIONS, stream, 4) @ np.linalg.qr(np.ones((4, 4)) + np.eye(4))[0]
    assert change_under(setup, learner, turned) > 1e-2
