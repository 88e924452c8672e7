"""The diagnosis of tables: its rule, its learners against scikit-learn, and its verdicts on fresh tables."""

import warnings

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import t
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.linear_model import LassoCV, LogisticRegression, RidgeCV
from sklearn.svm import SVC, SVR

from engine.core.parts import BadInput
from engine.core.stopping import Stopped
from engine.diagnosis import descents, expected_time, library_learners
from engine.diagnosis.answer import answers
from engine.diagnosis.descents import DENSE_NET, EGU, GD, SPINDLY_NET, Batch, trained_scores
from engine.diagnosis.diagnosing import DiagnosisJob, diagnose
from engine.diagnosis.labelled_table import (
    LabelledTable,
    balanced_order,
    held_out,
    standardised,
)
from engine.diagnosis.pair_verdict import PairLosses, corrected_interval, judge_pair
from engine.diagnosis.pairs import FITTINGS, learner_called
from engine.diagnosis.plan import plan_of
from engine.problems.instances import haar
from tests.slow.commits import turn

KINDS = "3-sparse", "12-sparse", "dense", "noise", "signs"
ROWS, FEATURES, NOISE = 400, 60, 0.5

TABLES = KINDS[0], *turn(KINDS[1:], commits=4)
"""Kinds whose fresh tables this commit diagnoses: sparse ones, and one of the others in turn."""


def linear_table(kind, seed, rows=ROWS, d=FEATURES):
    """A table of one of the five kinds of theory/symmetry#diagnose: linear labels, noise of deviation ½."""
    generator = np.random.default_rng([65, seed])
    features = generator.standard_normal((rows, d))
    weights = np.zeros(d)
    if kind.endswith("sparse"):
        weights[: int(kind.split("-")[0])] = 1
    elif kind == "dense":
        weights = generator.standard_normal(d)
    elif kind == "signs":
        weights = np.sign(generator.standard_normal(d))
    weights /= np.linalg.norm(weights) or 1
    labels = features @ weights + NOISE * generator.standard_normal(rows)
    return LabelledTable(kind, "y", features, labels, tuple(f"x{i}" for i in range(d)))


def judged_alone(table, seed=0):
    """A diagnosis without the pairs that are not judged, at the deciding number of examples only."""
    plan = plan_of(table, seed, shows_all=False)
    return diagnose(table, plan._replace(sizes=(plan.decided_at,)))


def verdicts(table, seed=0):
    return {pair: verdict.word for pair, verdict in judged_alone(table, seed).verdicts.items()}


RIGHT = {
    "3-sparse": {"linear": {"axes pay"}, "trees": {"axes pay"}},
    "12-sparse": {"linear": {"axes pay"}, "trees": {"axes pay"}},
    "dense": {"linear": {"invariance pays"}, "trees": {"invariance pays"}},
    "signs": {"linear": {"invariance pays"}, "trees": {"invariance pays"}},
    "noise": {"linear": set(), "trees": set()},
}
"""Verdicts that are right for each kind; "not decided" is never wrong."""


@pytest.mark.slow
@pytest.mark.lasts(40)
@pytest.mark.parametrize("kind", TABLES)
def test_verdicts_on_fresh_tables_are_right_or_undecided(kind):
    counts = {"linear": {}, "trees": {}}
    for seed in range(100, 124):
        for pair, word in verdicts(linear_table(kind, seed), seed).items():
            assert word in {"not decided", *RIGHT[kind][pair]}, (pair, seed)
            counts[pair][word] = counts[pair].get(word, 0) + 1
    if kind == "3-sparse":
        assert counts["linear"]["axes pay"] >= 20
        assert counts["trees"]["axes pay"] >= 20


@pytest.mark.slow
def test_held_out_table_kinds_get_no_wrong_verdict():
    generator = np.random.default_rng(66)
    features = generator.standard_normal((500, 30))
    names = tuple(map(str, range(30)))
    sparse = (features[:, 7] + features[:, 3] > 0).astype(float)
    table = LabelledTable("sparse classes", "y", features, sparse, names, ("no", "yes"))
    assert verdicts(table)["linear"] == "axes pay"
    thresholds = np.sign(features[:, 0]) + np.sign(features[:, 1] - 0.5) + 0.1 * features[:, 2]
    assert verdicts(LabelledTable("thresholds", "y", features, thresholds, names))["trees"] == "axes pay"
    # 40 examples are too few to find an interaction of two among 30 columns: silent, and not wrong.
    product = np.sign(features[:, 0]) * np.sign(features[:, 1] - 0.5) + 0.1 * features[:, 2]
    assert "invariance pays" not in verdicts(LabelledTable("xor", "y", features, product, names)).values()
    radius = np.linalg.norm(features @ generator.standard_normal((30, 4)), axis=1)
    assert verdicts(LabelledTable("radius", "y", features, radius, names))["trees"] != "axes pay"
    coins = generator.integers(0, 2, 500).astype(float)
    table = LabelledTable("coins", "y", features, coins, names, ("no", "yes"))
    assert set(verdicts(table).values()) == {"not decided"}
    mixed = features @ haar(generator.standard_normal((30, 30)))
    table = LabelledTable("rotated sparse", "y", mixed, features[:, 0] + features[:, 1], names)
    assert verdicts(table)["linear"] != "axes pay"


def test_intervals_equal_the_corrected_resampled_t_test():
    ratios = np.array([0.1, 0.3, 0.2, 0.5])
    interval = corrected_interval(ratios, 30, 70)
    variance = sum((ratio - 0.275) ** 2 for ratio in ratios) / 3
    half = t.ppf(0.975, 3) * (variance * (1 / 4 + 30 / 70)) ** 0.5
    np.testing.assert_allclose(interval, (0.275, 0.275 - half, 0.275 + half), rtol=1e-12)


def losses_around(axes, axes_rotated, invariant, constant):
    wobble = np.exp(0.01 * np.random.default_rng(1).standard_normal((4, 12)))
    means = np.array([axes, axes_rotated, invariant, constant])[:, None] * wobble
    return PairLosses(means[0], means[1], means[2], means[2], means[3])


@pytest.mark.parametrize(
    ("means", "word"),
    [
        ((0.2, 0.6, 0.4, 1.0), "axes pay"),
        ((0.2, 0.2, 0.4, 1.0), "not decided"),  # ahead, but not because of the axes
        ((0.4, 0.6, 0.4, 1.0), "not decided"),  # rotation hurts, and the partner is as good
        ((0.4, 0.6, 0.2, 1.0), "invariance pays"),
        ((1.2, 1.2, 1.1, 1.0), "not decided"),  # nobody has learned anything
        ((1.1, 1.3, 1.2, 1.0), "not decided"),
    ],
)
def test_a_verdict_requires_rotation_gap_and_gain(means, word):
    assert judge_pair(losses_around(*means), 120, 280).word == word


@pytest.fixture(scope="module")
def rows():
    generator = np.random.default_rng(3)
    features = generator.standard_normal((120, 8))
    labels = features[:, 0] - 2 * features[:, 1] + generator.standard_normal(120)
    return features[:80], labels[:80], features[80:]


@pytest.mark.parametrize(
    ("fit", "make"),
    [
        (library_learners.l2, lambda: RidgeCV(np.logspace(0, 4, 17))),
        (library_learners.l1, lambda: LassoCV(alphas=25, eps=0.01, cv=4)),
        (library_learners.extra_trees, lambda: ExtraTreesRegressor(40, random_state=5)),
        (library_learners.rbf, lambda: SVR(C=1)),
    ],
)
def test_regressions_equal_scikit_learn_on_standardised_labels(rows, fit, make):
    train, labels, tested = rows
    mean, deviation = labels.mean(), labels.std()
    model = make().fit(train, (labels - mean) / deviation)
    fitted = fit(train, labels, tested, False, 5)
    np.testing.assert_allclose(fitted.predictions, mean + deviation * model.predict(tested), rtol=1e-12)
    if fit is library_learners.extra_trees:
        np.testing.assert_allclose(fitted.importances, model.feature_importances_, rtol=1e-12)


@pytest.mark.parametrize(
    ("fit", "make"),
    [
        (library_learners.extra_trees, lambda: ExtraTreesClassifier(40, random_state=5)),
        (library_learners.rbf, lambda: SVC(C=3)),
    ],
)
def test_classifiers_equal_scikit_learn(rows, fit, make):
    train, labels, tested = rows
    classes = np.digitize(labels, [-1, 1]).astype(float)
    model, fitted = make().fit(train, classes), fit(train, classes, tested, True, 5)
    np.testing.assert_array_equal(fitted.predictions, model.predict(tested))
    if fit is library_learners.extra_trees:
        np.testing.assert_allclose(fitted.importances, model.feature_importances_, rtol=1e-12)


@pytest.mark.parametrize(("fit", "ratio"), [(library_learners.l1, 1.0), (library_learners.l2, 0.0)])
def test_logistic_regression_uses_the_strength_with_the_least_held_out_loss(rows, fit, ratio):
    train, labels, tested = rows
    classes = (labels > 0).astype(float)
    fitted, held = held_out(classes, True, 5)

    def model(strength):
        return LogisticRegression(
            l1_ratio=ratio, C=strength, solver="liblinear", intercept_scaling=10, random_state=5
        )

    losses = []
    for strength in library_learners.STRENGTHS:
        chances = model(strength).fit(train[fitted], classes[fitted]).predict_proba(train[held])
        losses.append(-np.mean([np.log(p[int(c)]) for p, c in zip(chances, classes[held], strict=True)]))
    best = library_learners.STRENGTHS[int(np.argmin(losses))]
    expected = model(best).fit(train, classes)
    fit_to_all = fit(train, classes, tested, True, 5)
    np.testing.assert_array_equal(fit_to_all.predictions, expected.predict(tested))
    weights = np.abs(expected.coef_[0])
    np.testing.assert_allclose(fit_to_all.importances, weights / weights.sum())


def descent_batch(are_classes, splits=2):
    generator = np.random.default_rng(8)
    rows = generator.standard_normal((splits, 50, 6))
    labels = rows[..., :1] - rows[..., 1:2] + 0.1 * generator.standard_normal((splits, 50, 1))
    if are_classes:
        labels = (labels > 0) * np.array([1.0, -1.0]) + np.array([0.0, 1.0])
    return Batch(rows[:, :30], labels[:, :30], rows[:, 30:40], labels[:, 30:40], rows[:, 40:], are_classes)


def naive_linear(batch, split, is_egu, rate):
    """Predictions at the best step of one split: example by example, weight by weight."""
    x, y = batch.fitted[split], batch.fitted_labels[split]
    m, d = x.shape
    c = y.shape[1]
    state, bias = np.zeros((d, c)), np.zeros(c)
    best = (np.inf, None)
    for step in range(descents.STEPS + 1):
        weights = np.sinh(state) / d if is_egu else state
        if step % descents.LOOKED_AT == 0:
            scores = batch.chosen_by[split] @ weights + bias
            truth = batch.chosen_by_labels[split]
            if batch.are_classes:
                loss = -np.mean((np.log(softmax(scores, 1)) * truth).sum(1))
            else:
                loss = np.mean((scores - truth) ** 2)
            if loss < best[0]:
                best = loss, batch.tested[split] @ weights + bias
        gradient, bias_gradient = np.zeros((d, c)), np.zeros(c)
        for row, label in zip(x, y, strict=True):
            score = row @ weights + bias
            error = (softmax(score) if batch.are_classes else score) - label
            gradient += np.outer(row, error) / m
            bias_gradient += error / m
        state = state - rate * gradient
        bias = bias - rate * bias_gradient
    return best


@pytest.mark.slow
@pytest.mark.parametrize("are_classes", [False, True])
@pytest.mark.parametrize("is_egu", [False, True])
def test_batched_descents_equal_naive_descents_of_single_splits(are_classes, is_egu):
    batch = descent_batch(are_classes)
    scores = trained_scores(EGU if is_egu else GD, batch)
    for split in range(2):
        curvature = np.linalg.eigvalsh(batch.fitted[split].T @ batch.fitted[split] / 30)[-1]
        rate = descents.EGU_RATE if is_egu else 1 / max(1, curvature)
        runs = [naive_linear(batch, split, is_egu, rate * factor) for factor in descents.RATES]
        expected = min(runs, key=lambda run: run[0])[1]
        np.testing.assert_allclose(scores[split], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("rule", [DENSE_NET, SPINDLY_NET])
@pytest.mark.parametrize("are_classes", [False, True])
def test_net_gradients_equal_finite_differences_of_the_loss(rule, are_classes):
    batch = descent_batch(are_classes)
    parameters = rule.start(batch, 1)
    rows, labels = batch.fitted, batch.fitted_labels

    def loss():
        mean = descents.mean_loss(rule.scores(parameters, rows), labels, are_classes)
        return mean if are_classes else mean / 2

    scores = rule.scores(parameters, rows)
    errors = (softmax(scores, -1) if are_classes else scores) - labels
    gradients = rule.gradients(parameters, rows, errors / rows.shape[1])
    for name, gradient in gradients.items():
        step = 1e-6
        original = parameters[name].copy()
        direction = np.random.default_rng(2).standard_normal(original.shape)
        parameters[name] = original + step * direction
        above = loss()
        parameters[name] = original - step * direction
        below = loss()
        parameters[name] = original
        slopes = (gradient * direction).reshape(len(gradient), -1).sum(1)
        np.testing.assert_allclose((above - below) / (2 * step), slopes, rtol=1e-5, atol=1e-8)


def test_both_nets_start_with_the_same_predictions():
    batch = descent_batch(False)
    dense, spindly = (rule.scores(rule.start(batch, 1), batch.tested) for rule in (DENSE_NET, SPINDLY_NET))
    np.testing.assert_allclose(dense, spindly, rtol=1e-12)


def test_columns_are_standardised_by_the_training_rows_alone():
    generator = np.random.default_rng(4)
    train = 5 + 3 * generator.standard_normal((30, 4))
    train[:, 2] = 7.0
    tested = generator.standard_normal((9, 4))
    scaled, other_rows = standardised(train, [tested])
    np.testing.assert_allclose(scaled.mean(0), 0, atol=1e-12)
    np.testing.assert_allclose(scaled.std(0), [1, 1, 0, 1], rtol=1e-12)
    np.testing.assert_allclose(other_rows[:, 0], (tested[:, 0] - train[:, 0].mean()) / train[:, 0].std())
    assert (other_rows[:, 2] == 0).all()


def test_rotations_are_orthogonal_and_have_no_preferred_sign():
    rotations = np.stack([haar(np.random.default_rng(seed).standard_normal((5, 5))) for seed in range(400)])
    np.testing.assert_allclose(rotations @ rotations.mT, np.tile(np.eye(5), (400, 1, 1)), atol=1e-12)
    # Each entry has mean 0 and variance 1/5.
    assert np.abs(rotations.mean(0)).max() < 5 * (1 / 5 / 400) ** 0.5


def test_every_prefix_of_the_balanced_order_has_the_class_shares():
    labels = np.repeat([0.0, 1.0, 2.0], [160, 60, 20])
    table = LabelledTable("t", "y", np.eye(240, 3), labels, ("a", "b", "c"), ("0", "1", "2"))
    order = balanced_order(table, np.random.default_rng(0))
    assert sorted(order) == list(range(240))
    for size in (24, 60, 120):
        counts = np.bincount(labels[order[:size]].astype(int), minlength=3)
        assert (np.abs(counts - size * np.array([160, 60, 20]) / 240) <= 1.01).all()


@pytest.mark.slow
def test_invariant_partners_ignore_rotation_and_importances_find_the_relevant_features():
    done = judged_alone(linear_table("3-sparse", 1))
    for verdict in done.verdicts.values():
        assert max(map(abs, verdict.control)) < 0.01
    assert set(np.argsort(done.importances["l1"])[-3:]) == {0, 1, 2}
    assert set(np.argsort(done.importances["trees"])[-3:]) == {0, 1, 2}
    assert (done.chosen[:3] == 1).all()


@pytest.mark.slow
def test_the_answer_on_a_decided_pair_states_its_intervals():
    table = linear_table("3-sparse", 1)
    done = diagnose(table, plan_of(table, splits=8, shows_all=False)._replace(sizes=(60,)))
    rotation, gap = (
        "{:.2f} [{:.2f}, {:.2f}]".format(*np.exp(interval))
        for interval in (done.verdicts["linear"].rotation, done.verdicts["linear"].gap)
    )
    assert done.verdicts["linear"].word == "axes pay"
    assert (
        f"Rotation multiplies the loss of L1 by {rotation}. The loss of L2 is {gap} times the loss of L1. "
        "Brackets are 95 % confidence intervals."
    ) in answers(done)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_losses():
    table = linear_table("dense", 2, rows=60, d=4)
    plan = plan_of(table, seed=3, splits=2)
    first, second = diagnose(table, plan), diagnose(table, plan)
    assert first.losses.keys() >= {"l1", "l2", "trees", "rbf", "egu", "gd", "spindly", "dense", "mlp"}
    for name, losses in first.losses.items():
        np.testing.assert_array_equal(losses, second.losses[name])


@pytest.mark.parametrize(
    ("rows", "d", "sizes", "decided_at", "tested"),
    [
        (400, 60, (30, 60, 120, 280), 60, 120),
        (442, 10, (20, 40, 80, 160, 310), 40, 132),
        (20_000, 500, (250, 500, 1048), 500, 2000),
        (50, 3, (35,), 35, 15),
    ],
)
def test_a_plan_has_the_expected_sizes_and_test_rows(rows, d, sizes, decided_at, tested):
    features = np.zeros((rows, d))
    labels = np.arange(rows, dtype=float)
    plan = plan_of(LabelledTable("t", "y", features, labels, tuple(map(str, range(d)))))
    assert (plan.sizes, plan.decided_at, plan.tested) == (sizes, decided_at, tested)
    assert str(rows) in plan.sentence


def test_the_expected_time_sums_all_fits_at_the_measured_speed(monkeypatch):
    table = linear_table("noise", 0)
    plan, quick = plan_of(table), plan_of(table, shows_all=False)
    monkeypatch.setattr(expected_time, "_time_of_fit", lambda: 0.05)
    monkeypatch.setattr(expected_time.os, "cpu_count", lambda: 8)
    fits = {
        name: [expected_time.work(learner_called(name), size, quick) for size in quick.sizes]
        for name in ("l1", "l2", "trees", "rbf")
    }
    seconds = 0.05 * 12 * sum(map(sum, fits.values())) / 2  # on two workers
    assert expected_time.expected_seconds(quick) == pytest.approx(seconds)
    assert expected_time.expected_seconds(plan) > 1.5 * seconds
    assert all(np.diff(fits["trees"]) > 0)
    monkeypatch.setattr(expected_time.os, "cpu_count", lambda: 1)
    assert expected_time.expected_seconds(quick) == pytest.approx(2 * seconds)
    # Each of more than two classes is a logistic regression.
    classes = plan._replace(scores=2), plan._replace(scores=10)
    two, ten = (expected_time.work(learner_called("l1"), 60, of_classes) for of_classes in classes)
    assert ten == pytest.approx(10 * two)


def test_a_table_that_cannot_be_judged_is_refused():
    with pytest.raises(BadInput, match="40 or more"):
        plan_of(linear_table("noise", 0, rows=30, d=3))
    with pytest.raises(BadInput, match="all labels are equal"):
        LabelledTable("t", "y", np.zeros((50, 2)), np.zeros(50), ("a", "b"))
    with pytest.raises(BadInput, match="2 or more"):
        plan_of(linear_table("noise", 0, rows=60, d=3), splits=1)


def test_features_are_encoded_by_the_training_rows_of_each_split():
    asked = []

    def encode(train, tested):
        asked.append((set(train.tolist()), set(tested.tolist())))
        return features[train], features[tested]

    features = np.random.default_rng(0).standard_normal((40, 2))
    table = LabelledTable("t", "y", features, features[:, 0], ("a", "b"), encode=encode)
    diagnose(table, plan := plan_of(table, splits=2, shows_all=False))
    assert len(asked) == 2 * len(plan.sizes)
    for train, tested in asked:
        assert len(train) in plan.sizes
        assert len(tested) == plan.tested
        assert not train & tested


def test_library_warnings_are_dropped_and_warning_filters_stay(monkeypatch, recwarn):
    def warn(*arguments):
        warnings.resetwarnings()
        warnings.warn_explicit("no convergence", UserWarning, "/lib/site-packages/sklearn/x.py", 3)
        return library_learners.FittedLearner(np.zeros(len(arguments[2])))

    monkeypatch.setitem(FITTINGS, "l2", warn)
    filters = [*warnings.filters]
    table = linear_table("noise", 0, rows=40, d=2)
    diagnose(table, plan_of(table, splits=2, shows_all=False))
    assert not recwarn.list
    assert [*warnings.filters] == filters


def test_a_diagnosis_can_be_stopped_and_reports_its_progress():
    table = linear_table("noise", 0)
    job = DiagnosisJob(table, plan_of(table))
    job.stop()
    with pytest.raises(Stopped):
        job.finish()
    table = linear_table("noise", 0, rows=40, d=2)
    job = DiagnosisJob(table, plan_of(table, splits=2, shows_all=False))
    job.finish()
    assert job.share == pytest.approx(1.0)
