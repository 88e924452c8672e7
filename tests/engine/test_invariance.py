"""Verdict from structure against certificate from measurement, for every learner."""

import crossing
import numpy as np
import pytest
from building import change_under, data_of, experiment, gd
from discovery import EVERY, crossed_groups, slower
from msgspec import structs

from engine.core.groups import (
    PERMUTATIONS,
    ROTATIONS,
    SIGNED_PERMUTATIONS,
    TRIVIAL,
    Group,
    rotations,
)
from engine.core.streams import Streams
from engine.problems.instances import element
from engine.symmetry.certificate import certificate, change_by_rounding
from engine.symmetry.verdict import verdict

INVARIANT = 1e-6
MOVING = slower(EVERY, 2)
"""Rates at which every learner moves and none diverges at d = 8."""

ROUNDED = {"adafactor two-layer-decoder", "torch two-layer-decoder"}
"""Learners with many gradients that are 0 up to rounding, which the rule divides by their own size."""


LATE = {
    "coordinate dense-spindly",
    "coordinate dense init=orthogonal",
    "coordinate linearised",
    "coordinate linearised init=orthogonal",
    "coordinate relu-layer",
}
"""In so few examples they move weights of later layers alone; with rates of .5 the first moves, too, of
the relu layer from a start of size 2."""

EXAMPLES = 8 if crossing.all_combinations else 4
"""Examples after which an update that distinguishes features has an effect."""


@pytest.mark.slow
@crossed_groups(MOVING, problem=["hadamard", "rademacher", "gaussian"], batch=[1, 2])
def test_the_certificate_agrees_with_the_verdict(learners, problem, batch):
    protocol = {"kind": "one-pass", "batch": batch, "examples": EXAMPLES}
    described = experiment(problem, learners=learners, d=8, seed=21, protocol=protocol)
    for learner in described.learners:
        judged = verdict(learner, described)
        measured = certificate(described, learner)
        message = f"{learner.name}, {measured:.2g}: {judged.reason}"
        if learner.name not in ROUNDED | LATE:
            assert (measured < INVARIANT) == (judged.group == ROTATIONS), message
        assert len(judged.reason.split()) >= 5, message
        assert "\n" not in judged.reason, message


def transformation(group, d, seed=5):
    """Element of a group of coordinates that moves as many coordinates as possible, [d, d]."""
    rng = np.random.default_rng(seed)
    moved = np.eye(d)[np.roll(rng.permutation(d), 1)] if group.permutations else np.eye(d)
    return moved * np.where(rng.permutation(d) % 2, 1.0, -1.0) if group.signs else moved


@pytest.mark.slow
@crossed_groups(MOVING, problem=["hadamard", "gaussian"], batch=[1, 2])
def test_transformations_in_the_group_of_a_learner_change_no_prediction(learners, problem, batch):
    protocol = {"kind": "one-pass", "batch": batch, "examples": EXAMPLES * batch}
    described = experiment(problem, learners=learners, d=8 * batch, seed=4, protocol=protocol)
    d = described.problem.matrix.shape()[1]
    for learner in described.learners:
        group = verdict(learner, described).group
        for part in (PERMUTATIONS, Group(signs=True), SIGNED_PERMUTATIONS):
            if part <= group and group != ROTATIONS:
                change = change_under(described, learner, transformation(part, d))
                assert change < INVARIANT, f"{learner.name}: {part.words}"


@pytest.mark.parametrize(("learner", "group"), [
    ({"update": "egu"}, PERMUTATIONS),
    ({"update": "eg"}, PERMUTATIONS),
    ({"update": "private-rates"}, PERMUTATIONS),
    (gd(0.1, kind="spindly"), PERMUTATIONS),
    ({"update": "egu-pm"}, SIGNED_PERMUTATIONS),
    ({"update": "p-norm"}, SIGNED_PERMUTATIONS),
    ({"update": "adam"}, SIGNED_PERMUTATIONS),
    ({"update": "adam", "architecture": "dense"}, SIGNED_PERMUTATIONS),
    ({"update": "adam", "architecture": "spindly"}, PERMUTATIONS),
    ({"solver": {"kind": "kernel", "kernel": "xor-product"}}, SIGNED_PERMUTATIONS),
    ({"update": "gd"}, ROTATIONS),
    (gd(0.1, kind="dense", init="identity"), PERMUTATIONS),
    (gd(0.1, kind="conv"), TRIVIAL),
])  # fmt: skip
def test_the_group_of_a_learner_is_the_intersection_over_its_parts(learner, group):
    described = experiment("gaussian", learners={"it": learner}, d=8)
    judged = verdict(described.learners[0], described)
    assert judged.group == group
    assert (group.words in judged.sentence) == (group not in (ROTATIONS, TRIVIAL))


def test_sign_flips_change_predictions_of_egu():
    described = experiment("gaussian", learners={"EGU": {"update": {"kind": "egu", "lr": 0.2}}}, d=8)
    assert change_under(described, described.learners[0], transformation(Group(signs=True), 8)) > 0.1


GROUPS = {
    "trivial": TRIVIAL,
    "permutations": PERMUTATIONS,
    "signs": Group(signs=True),
    "both": SIGNED_PERMUTATIONS,
    "2·3·4": rotations(2, 3, 4),
    "6·4": rotations(6, 4),
    "2·12": rotations(2, 12),
    "all": ROTATIONS,
}
CONTAINED = {
    "trivial": set(GROUPS),
    "permutations": {"permutations", "both", "all"},
    "signs": {"signs", "both", "all"},
    "both": {"both", "all"},
    "2·3·4": {"2·3·4", "6·4", "2·12", "all"},
    "6·4": {"6·4", "all"},
    "2·12": {"2·12", "all"},
    "all": {"all"},
}


@pytest.mark.parametrize("group_name", GROUPS)
def test_groups_are_ordered_by_inclusion(group_name):
    assert {other for other, group in GROUPS.items() if GROUPS[group_name] <= group} == CONTAINED[group_name]
    for group in GROUPS.values():
        meet = GROUPS[group_name] & group
        assert meet <= GROUPS[group_name]
        assert meet <= group
    assert rotations(24) == ROTATIONS


def test_a_group_cannot_combine_factor_rotations_with_sign_flips():
    with pytest.raises(ValueError, match="one of rotations or one of coordinates"):
        Group(factors=(2, 3), signs=True)


def test_the_certificate_is_rounding_for_gd_and_large_for_egu():
    described = experiment(
        "gaussian", learners={"GD": gd(0.01), "EGU": {"update": {"kind": "egu", "lr": 0.05}}}, d=16
    )
    of_gd, of_egu = (certificate(described, learner) for learner in described.learners)
    assert of_gd < 1e-12
    assert of_egu > 0.1


def test_the_certificate_of_gd_stays_at_rounding_with_noise_or_logistic_loss():
    for words in ({"noise": 0.5}, {"loss": "logistic"}):
        described = experiment(learners={"GD": gd(0.05)}, d=8, **words)
        assert certificate(described, described.learners[0]) < 1e-12


@pytest.mark.parametrize("determinant", [1, -1])
def test_a_haar_rotation_is_orthogonal_and_has_the_requested_determinant(determinant):
    for seed in range(5):
        q = element(ROTATIONS, Streams([seed])("rotation"), 6, determinant)
        np.testing.assert_allclose(q @ q.T, np.eye(6), atol=1e-12)
        assert np.linalg.det(q) == pytest.approx(determinant)


@pytest.mark.parametrize("determinant", [1, -1])
def test_haar_rotations_have_the_moments_of_the_uniform_distribution(determinant):
    d, draws = 4, 2000
    q = np.stack([element(ROTATIONS, Streams([seed])("rotation"), d, determinant) for seed in range(draws)])
    # entries of a uniform unit vector: mean 0, second moment 1/d, fourth 3/(d(d+2))
    for power, mean in ((1, 0.0), (2, 1 / d), (4, 3 / (d * (d + 2)))):
        sample = q**power
        off = abs(sample.mean(0) - mean) / (sample.std(0) / np.sqrt(draws))
        assert off.max() < 4.5, f"moment {power}"


def test_rotated_instances_keep_their_inner_products():
    rows = data_of(experiment("gaussian", d=8)).instances.rows[0].numpy()
    turned = rows @ element(ROTATIONS, Streams([0])("rotation"), 8, -1).T
    np.testing.assert_allclose(turned @ turned.T, rows @ rows.T, atol=1e-12)


@pytest.mark.parametrize("unit", ["start-sharpness", "start-jacobian"])
def test_rates_in_start_units_do_not_break_rotation_invariance(unit):
    net = {"kind": "dense", "widths": [6], "activation": "relu"}
    learner = {"architecture": net, "update": {"kind": "gd", "lr": 0.5}, "rate_unit": unit}
    described = experiment({"kind": "gaussian", "n": 6, "d": 4}, learners={"it": learner})
    assert certificate(described, described.learners[0]) < INVARIANT


@pytest.mark.parametrize(
    "solver", ["max-margin", {"kind": "min-q", "alpha": 0.1}, "basis-pursuit", "min-infinity"]
)
def test_the_certificate_does_not_reuse_stored_solutions_for_transformed_rows(solver):
    """Solutions are stored with the data, and the certificate fits one learner to both."""
    described = experiment(learners={"it": {"solver": solver}}, d=4, protocol="at-init", target="all")
    (learner,) = described.learners
    group = verdict(learner, described).group
    assert certificate(described, learner, group=group) < INVARIANT


def test_start_sharpness_changes_only_by_rounding_under_rotations():
    """With residuals of 1e-3 λ, λ errs by 1e-6 λ, and predictions change by 3e-6 under rotations."""
    net = {"kind": "dense", "widths": [16], "parametrisation": "ntk"}
    learner = {"architecture": net, "update": {"kind": "gd", "lr": 0.5}, "rate_unit": "start-sharpness"}
    setup = experiment("hadamard", learners={"it": learner}, d=20, noise=2.0)
    assert certificate(setup, setup.learners[0]) < 1e-9


def test_the_certificate_compares_clipped_predictions_if_the_protocol_clips():
    """Weights of a net of 48 layers differ by factors of 1e15: rounding determines the small ones."""
    net = {"architecture": {"kind": "spindly", "depth": 48}, "update": {"kind": "gd", "lr": 1 / 12}}
    protocol = {"kind": "one-pass", "replacement": True, "clip": 1.0}
    clipped = experiment("hadamard01", "all", learners={"it": net}, d=16, replicas=2, protocol=protocol)
    unclipped = structs.replace(clipped, protocol=structs.replace(clipped.protocol, clip=None))
    of_whole, of_cut = (
        change_by_rounding(run, run.learners[0], to_explain=0.01) for run in (unclipped, clipped)
    )
    assert of_whole < 1e-9
    assert of_cut > 1e-4
