"""Measure of the change by transformations of the instances, and certificates under smaller groups."""

import numpy as np
import pytest
from building import LLS, change_under, data_of, experiment, gd, needed

from engine.core import catalogue
from engine.core.groups import (
    PERMUTATIONS,
    ROTATIONS,
    SIGN_FLIPS,
    SIGNED_PERMUTATIONS,
    UNCHANGED,
    Group,
    rotations,
)
from engine.core.parts import Verdict
from engine.core.streams import Streams
from engine.judging import judgement as judgements
from engine.judging.judgement import LearnerJudgement, certificates, judgement
from engine.problems.instances import element
from engine.runtime.run import run
from engine.symmetry.certificate import certificate

D = 6
GROUPS = {"rotations": ROTATIONS, "permutations": PERMUTATIONS, "sign-flips": SIGN_FLIPS}
EGU = {"update": {"kind": "egu", "lr": 0.1}}
ADAM = {"update": {"kind": "adam", "lr": 0.1}}


def with_change(learner, group, matrix="gaussian", **words):
    """An experiment with the measure of a group's change."""
    measure = {"kind": "change", "group": group}
    claim = {"kind": "value", "text": "It is", "curve": "it", "at": D, "below": 9, "measure": measure}
    return experiment(matrix, learners={"it": learner}, d=D, claims=[claim], **words)


def changed(described, group, record=-1):
    """Values of the measure at the last record, by replica."""
    name = catalogue.make("measures", "change", group=group).name
    return run(described).curves[0].values(name)[record]


@pytest.mark.parametrize("group", [PERMUTATIONS, SIGN_FLIPS, SIGNED_PERMUTATIONS, ROTATIONS, rotations(2, 3)])
def test_sampled_group_elements_are_orthogonal_distinct_and_move_many_coordinates(group):
    stream = Streams([3])("it")
    first, second = element(group, stream, D), element(group, stream, D)
    for matrix in (first, second):
        np.testing.assert_allclose(matrix @ matrix.T, np.eye(D), atol=1e-12)
        moved = np.flatnonzero(np.abs(matrix - np.eye(D)).max(0) > 1e-6)
        assert len(moved) == (D // 2 if group == SIGN_FLIPS else D)
    assert not np.allclose(first, second)


def test_elements_lie_in_their_group():
    stream = Streams([5])("it")
    cycle = element(PERMUTATIONS, stream, D)
    assert sorted(np.abs(cycle).sum(0)) == [1] * D
    assert (cycle >= 0).all()
    power, order = cycle, 1
    while not np.allclose(power, np.eye(D)):
        power, order = power @ cycle, order + 1
    assert order == D, "one cycle through all coordinates"
    flips = element(SIGN_FLIPS, stream, D)
    assert np.allclose(np.abs(flips), np.eye(D))
    for determinant in (1, -1):
        product = element(rotations(2, 3), stream, D, determinant)
        blocks = product.reshape(2, 3, 2, 3).transpose(0, 2, 1, 3).reshape(4, 9)
        assert np.linalg.matrix_rank(blocks, tol=1e-9) == 1, "A ⊗ B"


def egu(rows, labels, lr):
    """Predictions of all rows after one pass of EGU from 1/d, by a loop."""
    w = np.full(rows.shape[1], 1 / rows.shape[1])
    for x, y in zip(rows, labels, strict=True):
        w = w * np.exp(-lr * 2 * (w @ x - y) * x)
    return rows @ w


@pytest.mark.parametrize("group", GROUPS)
def test_the_change_measure_equals_the_naive_prediction_change_on_transformed_rows(group):
    described = with_change(EGU, group, replicas=3, noise=0.1)
    data = data_of(described)
    turn = element(GROUPS[group], Streams(range(3))("transformations"), D, -1)
    expected = []
    for rows, labels in zip(data.instances.rows.numpy(), data.labels.numpy(), strict=True):
        before, after = egu(rows, labels, 0.1), egu(rows @ turn.T, labels, 0.1)
        expected.append(abs(after - before).max() / abs(before).max())
    changes = changed(described, group)
    np.testing.assert_allclose(changes, expected, rtol=1e-9, atol=1e-14)
    assert (changes < UNCHANGED).all() == (group == "permutations")


@pytest.mark.parametrize("group", GROUPS)
def test_measuring_the_change_leaves_the_losses_unchanged(group):
    with_one, without = with_change(ADAM, group), experiment("gaussian", learners={"it": ADAM}, d=D)
    np.testing.assert_array_equal(run(with_one).curves[0].mean("loss"), run(without).curves[0].mean("loss"))


@pytest.mark.slow
def test_gd_on_nets_is_invariant_to_every_group_and_adam_changes_under_rotations():
    net = gd(0.05, kind="dense", widths=[7], activation="tanh")
    adaptive = {**net, "update": {"kind": "adam", "lr": 0.05}}
    protocol = {"kind": "steps", "steps": D}
    for learner, broken in ((net, False), (adaptive, True)):
        for group in GROUPS:
            changes = changed(with_change(learner, group, protocol=protocol, replicas=2), group)
            assert (changes > 1e-3).all() == (broken and group == "rotations"), group
            assert (changes < 1e-12).all() == (not broken or group != "rotations"), group


@pytest.mark.slow
def test_the_change_is_measured_for_solvers_several_rates_and_erm():
    assert changed(with_change(LLS, "rotations"), "rotations") < 1e-9
    basis = {"solver": "basis-pursuit"}
    assert changed(with_change(basis, "rotations"), "rotations", 3) > 1e-3
    assert changed(with_change(basis, "sign-flips"), "sign-flips", 3) < 1e-6
    several = with_change({"update": {"kind": "egu", "lr": [0.1, 0.2]}}, "rotations")
    for curve in run(several).curves:
        alone = with_change({"update": {"kind": "egu", "lr": curve.rate}}, "rotations")
        assert curve.values("change")[-1] == pytest.approx(changed(alone, "rotations"))
    erm = with_change(gd(0.05), "rotations", protocol={"kind": "erm", "steps": 5})
    assert changed(erm, "rotations") < 1e-12


def test_the_change_measure_runs_on_dense_and_its_memory_is_estimated():
    claim = {"kind": "value", "text": "It is", "curve": "it", "at": 8, "below": 9}
    described, without = (
        experiment(d=64, learners={"it": gd(0.01)}, claims=claims)
        for claims in ([{**claim, "measure": {"kind": "change"}}], [])
    )
    assert run(described).curves[0].backend == "dense"
    assert needed(described) >= needed(without) + 8 * 64 * 64


@pytest.mark.slow
def test_smaller_groups_are_certified_only_if_rotations_change_predictions():
    batches = {"protocol": {"kind": "one-pass", "batch": 2}}
    described = experiment("gaussian", learners={"GD": gd(0.05), "Adam": ADAM, "EGU": EGU}, d=8, **batches)
    of_gd, of_adam, of_egu = (certificates(described, learner)[0] for learner in described.learners)
    assert list(of_gd) == [ROTATIONS]
    assert [change < UNCHANGED for change in of_adam.values()] == [False, True, True]
    assert [change < UNCHANGED for change in of_egu.values()] == [False, True, False]
    assert list(of_adam) == list(of_egu) == [ROTATIONS, PERMUTATIONS, SIGN_FLIPS]


@pytest.mark.parametrize("group", [PERMUTATIONS, SIGN_FLIPS])
def test_a_certificate_is_the_larger_change_of_two_group_elements(group):
    described = experiment("gaussian", learners={"EGU": EGU}, d=D, seed=4)
    (learner,) = described.learners
    stream = Streams([4])("rotation")
    changes = [change_under(described, learner, element(group, stream, D)) for _ in range(2)]
    assert certificate(described, learner, group=group) == pytest.approx(max(changes), rel=1e-9)


def test_progress_goes_from_0_to_1_over_all_certificates():
    described = experiment("gaussian", learners={"EGU": EGU}, d=D)
    shares: list[float] = []
    certificates(described, described.learners[0], shares.append)
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert 0.9 < shares[-1] <= 1


def promised(group: Group, changes: dict[Group, float]) -> LearnerJudgement:
    return LearnerJudgement("it", Verdict(False, "it is said", group), changes, [])


def test_a_broken_declared_invariance_under_a_smaller_group_is_a_conflict():
    broken = promised(SIGNED_PERMUTATIONS, {ROTATIONS: 0.5, PERMUTATIONS: 1e-15, SIGN_FLIPS: 0.2})
    assert not broken.agrees
    assert (
        "by its declared structure, the learner is invariant under sign flips of the"
        " coordinates" in broken.conflict
    )
    assert not broken.sound
    unbroken = promised(PERMUTATIONS, {ROTATIONS: 0.5, PERMUTATIONS: 1e-15, SIGN_FLIPS: 0.2})
    assert unbroken.agrees, "of sign flips nothing is promised"
    assert unbroken.conflict == ""
    assert unbroken.measurement == (
        "predictions are changed by rotations: max |Δŷ| / max |ŷ| = 0.5; "
        "predictions are unchanged by permutations of the coordinates: max |Δŷ| / max |ŷ| = 1e-15; "
        "predictions are changed by sign flips of the coordinates: max |Δŷ| / max |ŷ| = 0.2"
    )


def test_a_change_by_divergence_is_reported_as_more_than_1000():
    told = promised(PERMUTATIONS, {ROTATIONS: 1.7e65, PERMUTATIONS: 0.0}).measurement
    assert "changed by rotations: max |Δŷ| / max |ŷ| is more than 1000, because the learner diverges;" in told
    assert "e+" not in told


@pytest.mark.slow
def test_a_judgement_finds_a_broken_permutation_invariance(monkeypatch):
    described = experiment("gaussian", learners={"EGU": EGU}, d=D)
    trace = run(described)
    assert judgement(described, trace, described.learners[0]).agrees
    monkeypatch.setattr(
        judgements, "certificate", lambda *_: 0.3
    )  # as if permutations, which are promised, changed predictions
    judged = judgement(described, trace, described.learners[0])
    assert judged.broken == [PERMUTATIONS]
