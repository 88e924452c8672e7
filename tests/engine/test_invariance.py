"""The verdict from structure against the certificate from measurement, for every learner there is."""

import numpy as np
import pytest
from building import data_of, experiment, gd
from crossing import crossed
from discovery import EVERY, slower, traits

from engine.core.streams import Streams
from engine.results.invariance import certificate, rotation_with, verdict

INVARIANT = 1e-6
MOVING = slower(EVERY, 2)
"""Rates at which every learner moves and none diverges at d = 8."""


@crossed(name=traits(MOVING), problem=["hadamard", "rademacher", "gaussian"], batch=[1, 2])
def test_the_verdict_is_what_the_certificate_measures(name, problem, batch):
    protocol = {"kind": "one-pass", "batch": batch}
    described = experiment(problem, learners={name: MOVING[name]}, d=8 * batch, seed=21, protocol=protocol)
    (learner,) = described.learners
    invariant, reason = verdict(learner, described)
    measured = certificate(described, learner)
    assert (measured < INVARIANT) == (invariant is not False), f"{measured:.2g}: {reason}"
    assert len(reason.split()) >= 5
    assert "\n" not in reason


def test_the_certificate_of_gd_is_rounding_and_that_of_egu_is_large():
    described = experiment(
        "gaussian", learners={"GD": gd(0.01), "EGU": {"update": {"kind": "egu", "lr": 0.05}}}, d=16
    )
    of_gd, of_egu = (certificate(described, learner) for learner in described.learners)
    assert of_gd < 1e-12
    assert of_egu > 0.1


def test_the_certificate_looks_at_noisy_labels_and_the_loss_of_the_experiment():
    for words in ({"noise": 0.5}, {"loss": "logistic"}):
        described = experiment(learners={"GD": gd(0.05)}, d=8, **words)
        assert certificate(described, described.learners[0]) < 1e-12


@pytest.mark.parametrize("determinant", [1, -1])
def test_haar_is_orthogonal_with_the_determinant_asked_for(determinant):
    for seed in range(5):
        q = rotation_with(determinant, Streams([seed])("rotation"), 6)
        np.testing.assert_allclose(q @ q.T, np.eye(6), atol=1e-12)
        assert np.linalg.det(q) == pytest.approx(determinant)


@pytest.mark.parametrize("determinant", [1, -1])
def test_haar_has_the_moments_of_the_uniform_law(determinant):
    d, draws = 4, 2000
    q = np.stack([rotation_with(determinant, Streams([seed])("rotation"), d) for seed in range(draws)])
    # entries of a uniform unit vector: mean 0, second moment 1/d, fourth 3/(d(d+2))
    for power, mean in ((1, 0.0), (2, 1 / d), (4, 3 / (d * (d + 2)))):
        sample = q**power
        off = abs(sample.mean(0) - mean) / (sample.std(0) / np.sqrt(draws))
        assert off.max() < 4.5, f"moment {power}"


def test_turned_instances_keep_their_inner_products():
    rows = data_of(experiment("gaussian", d=8)).instances.rows[0].numpy()
    turned = rows @ rotation_with(-1, Streams([0])("rotation"), 8).T
    np.testing.assert_allclose(turned @ turned.T, rows @ rows.T, atol=1e-12)
