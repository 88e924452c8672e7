"""Exact facts on Hadamard data, in float64: theory/conventions#update-rules, theory/hadamard#bounds."""

import numpy as np
import pytest
from building import LLS, curve, data_of, experiment, gd, losses, predictions, weights
from looping import looped

from engine.spec import presets

EXACT = 1e-12

TARGETS = [
    {"kind": "feature", "index": 0},
    {"kind": "feature", "index": 1},
    {"kind": "constant"},
    {"kind": "all"},
]


@looped("learner", [None, LLS], ids=["gd", "lls"])
@looped("d", [2, 16, 64])
@looped("target", TARGETS, ids=lambda target: "-".join(map(str, target.values())))
@looped(("permute", "row_signs"), [(False, False), (True, False), (True, True)])
def test_gd_and_least_squares_equal_one_minus_k_over_d(learner, d, target, permute, row_signs):
    matrix = {"kind": "hadamard", "d": d, "permute": permute, "row_signs": row_signs}
    measured = curve(matrix, target, {"it": learner or gd(1 / (2 * d))}, seed=5)
    assert measured.complete
    assert np.array_equal(measured.x, np.arange(d + 1))
    np.testing.assert_allclose(measured.mean("loss"), 1 - measured.x / d, rtol=0, atol=EXACT)


@pytest.mark.parametrize("learner", [gd(1 / 64), LLS], ids=["gd", "lls"])
def test_the_target_weight_is_k_over_d(learner):
    measured = curve("hadamard", {"kind": "feature", "index": 7}, {"it": learner}, d=32, seed=2)
    assert measured.weights is not None
    np.testing.assert_allclose(measured.weights[:, 7], measured.weights_x / 32, rtol=0, atol=EXACT)


def test_gd_at_twice_or_half_the_rate_is_off_the_line():
    for lr in (1 / 32, 1 / 128):
        measured = curve(d=32, learners={"GD": gd(lr)})
        assert abs(measured.mean("loss") - (1 - measured.x / 32)).max() > 0.1


def test_the_weights_of_all_targets_have_rank_k():
    for learner in (gd(1 / 32), LLS):
        target_weights = weights(experiment(target="all", learners={"it": learner}, d=16, seed=3))
        assert [np.linalg.matrix_rank(w, tol=1e-9) for w in target_weights] == list(range(17))


@pytest.mark.parametrize("seed", range(4))
def test_the_loss_peak_of_nonnegative_weights_is_at_the_constant_row(seed):
    described = presets.load(
        "hadamard-128", [f"run.seed={seed}", "run.dtype=float64", "run.device=cpu", "claims=[]"]
    )
    names = [learner.name for learner in described.learners]
    data = data_of(described)
    rows = data.instances.rows[0].numpy()
    (peak,) = np.flatnonzero((rows == rows[:, :1]).all(1))
    label = data.labels.numpy()[0, peak]
    measured = losses(described)
    for learner_name, prediction, target in (("EGU", 2.6, 0.6), ("spindly", 2.2, 0.7)):
        steps = np.diff(measured[learner_name][:, 0])
        assert np.flatnonzero(steps > 0.02).tolist() == [peak], "the only peak of its curve"
        before, after = weights(described, names.index(learner_name))[peak : peak + 2, 0]
        assert (before > 0).all()
        np.testing.assert_allclose(after / before, (after / before)[0], rtol=1e-9)
        assert (after < before).all()
        if seed == 0:  # the numbers of the story
            assert (peak + 1, label) == (28, -1)
            assert round(rows[peak] @ before, 1) == -prediction
            assert round(after[3], 1) == target
    assert np.diff(measured["EGU±"][:, 0]).max() < 0.02
    weights_of_both_signs = weights(described, names.index("EGU±"))[peak, 0]
    assert abs(rows[peak] @ weights_of_both_signs - label) < 0.05, "they cancel at that row"


ARCHITECTURES = [
    {"kind": "linear"},
    {"kind": "dense", "widths": [12], "scale": 0.5},
    {"kind": "dense", "widths": [6, 5], "activation": "tanh"},
    {"kind": "spindly", "signed": True},
]


@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=lambda words: "-".join(map(str, words.values())))
def test_hypentropy_with_beta_twice_w0_equals_egu_pm(architecture):
    halves = {"kind": "egu-pm", "lr": 0.02, "w0": 0.04}
    potential = {"kind": "hypentropy", "lr": 0.02, "beta": 0.08}
    pair = experiment(
        learners={
            "EGU±": {"update": halves, "architecture": architecture},
            "hypentropy": {"update": potential, "architecture": architecture},
        },
        d=16,
        seed=4,
        replicas=3,
    )
    of_halves, of_potential = predictions(pair, 0), predictions(pair, 1)
    assert abs(of_halves[-1] - of_halves[0]).max() > 1e-2, "they moved"
    np.testing.assert_allclose(of_potential, of_halves, rtol=0, atol=EXACT)


def test_hypentropy_and_egu_pm_have_equal_defaults():
    pair = experiment(
        learners={"EGU±": {"update": "egu-pm"}, "hypentropy": {"update": "hypentropy"}}, d=32, seed=1
    )
    measured = losses(pair)
    np.testing.assert_allclose(measured["hypentropy"], measured["EGU±"], rtol=0, atol=EXACT)


def test_hypentropy_with_a_large_beta_equals_gd():
    flat = {"kind": "hypentropy", "lr": 1e-4 / 64, "beta": 1e4}
    pair = experiment(learners={"GD": gd(1 / 64), "hyp": {"update": flat}}, d=32)
    measured = losses(pair)
    np.testing.assert_allclose(measured["hyp"], measured["GD"], rtol=0, atol=1e-7)


LINEAR_LEARNERS = {
    "GD": gd(0.01),
    "momentum": {"update": {"kind": "momentum", "lr": 0.002}},
    "EGU": {"update": {"kind": "egu", "lr": 0.02}},
    "EG": {"update": "eg"},
    "EGU±": {"update": "egu-pm"},
    "spindly": gd(0.01, kind="spindly", signed=True),
    "LLS": LLS,
}


@pytest.mark.parametrize("learner_name", LINEAR_LEARNERS)
def test_the_loss_on_hadamard_is_the_squared_distance_of_the_weights(learner_name):
    described = experiment(
        target={"kind": "feature", "index": 5},
        learners={learner_name: LINEAR_LEARNERS[learner_name]},
        d=16,
        seed=6,
    )
    unit = np.eye(16)[5]
    distance = ((weights(described)[:, 0] - unit) ** 2).sum(1)
    np.testing.assert_allclose(losses(described)[learner_name][:, 0], distance, rtol=1e-12, atol=EXACT)


@pytest.mark.parametrize("learner_name", LINEAR_LEARNERS)
@pytest.mark.parametrize("family", ["gaussian", "rademacher"])
def test_the_loss_is_the_quadratic_form_of_the_covariance(learner_name, family):
    described = experiment(
        {"kind": family, "d": 12, "n": 20},
        {"kind": "feature", "index": 5},
        {learner_name: LINEAR_LEARNERS[learner_name]},
        seed=6,
    )
    X = data_of(described).instances.rows[0].numpy()
    off = weights(described)[:, 0] - np.eye(12)[5]
    form = np.einsum("ki,ij,kj->k", off, X.T @ X / len(X), off)
    np.testing.assert_allclose(losses(described)[learner_name][:, 0], form, rtol=1e-11, atol=EXACT)


def _egu_and_spindly(refinement: int, path) -> tuple[np.ndarray, np.ndarray]:
    """EGU with rate η and the spindly net with rate η/4 over the same time, in `refinement` × finer steps."""
    X = np.sign(np.sin(np.arange(1, 49) ** 2.0)).reshape(6, 8)
    np.save(path, np.repeat(X, refinement, axis=0))
    rate = 0.04 / refinement
    pair = experiment(
        {"kind": "file", "path": str(path)},
        {"kind": "feature", "index": 2},
        {
            "EGU": {"update": {"kind": "egu", "lr": rate}},
            "spindly": gd(rate / 4, kind="spindly"),
        },
    )
    return weights(pair, 0)[-1, 0], weights(pair, 1)[-1, 0]


def test_spindly_gd_follows_egu_at_four_times_its_rate_to_first_order(tmp_path):
    refinements = [4, 8, 16, 32, 64]
    gaps, moved = [], []
    for refinement in refinements:
        egu, spindly = _egu_and_spindly(refinement, tmp_path / f"{refinement}.npy")
        gaps.append(abs(egu - spindly).max())
        moved.append(abs(egu - 1 / 8).max())
    assert min(moved) > 0.05, "both went a fixed way"
    orders = np.diff(np.log(gaps)) / np.diff(np.log(refinements))
    np.testing.assert_allclose(orders, -1, atol=0.1)


def test_egu_and_spindly_differ_at_a_rate_ratio_of_two(tmp_path):
    X = np.sign(np.sin(np.arange(1, 49) ** 2.0)).reshape(6, 8)
    np.save(tmp_path / "X.npy", np.repeat(X, 64, axis=0))
    pair = experiment(
        {"kind": "file", "path": str(tmp_path / "X.npy")},
        {"kind": "feature", "index": 2},
        {
            "EGU": {"update": {"kind": "egu", "lr": 0.04 / 64}},
            "spindly": gd(0.04 / 64 / 2, kind="spindly"),
        },
    )
    assert abs(weights(pair, 0)[-1] - weights(pair, 1)[-1]).max() > 0.01
