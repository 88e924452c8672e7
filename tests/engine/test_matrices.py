"""Families of instances: declared moments, and properties of single families."""

import numpy as np
import pytest
from building import data_of, experiment
from sklearn.datasets import load_digits

from engine.core import catalogue
from engine.core.parts import BadInput
from engine.core.streams import Streams
from engine.problems.matrices import digits, drawn_rows

ERRORS = 4.5
REPLICAS = 400


def rows_of(replicas=1, **words):
    matrix = catalogue.make("matrices", **words)
    return drawn_rows(matrix, Streams(range(replicas)))


EXTRA = {
    "clusters spread": {"kind": "clusters", "d": 6, "classes": 3, "centres": 2, "sigma": 0.7, "n": 13},
    "clusters few": {"kind": "clusters", "d": 6, "classes": 5, "sigma": 0.5, "n": 3, "radius": "sqrt(d)"},
    "clusters balls": {"kind": "clusters", "d": 6, "sigma": 0.5, "n": 30, "spread": "ball"},
    "clusters normalised": {"kind": "clusters", "d": 6, "sigma": 0.5, "n": 30, "normalised": True},
    "sphere": {"kind": "sphere", "d": 6, "n": 3},
    "separable": {"kind": "separable", "d": 4, "n": 3, "margin": 1.5, "entry": 1},
    "interval of one sign": {"kind": "interval", "low": 1.0, "high": 4.0, "n": 7},
    "interval spaced": {"kind": "interval", "low": -1.0, "high": 4.0, "n": 7, "points": "spaced"},
}


@pytest.mark.parametrize("words", EXTRA.values(), ids=EXTRA)
def test_rows_have_their_declared_second_moment(words):
    """In standard errors over replicas, or up to rounding where every replica has the same one."""
    matrix = catalogue.make("matrices", **words)
    rows = drawn_rows(matrix, Streams(range(REPLICAS))).astype(np.float64)
    moments = np.einsum("rni,rnj->rij", rows, rows) / rows.shape[1]
    off = abs(moments.mean(0) - matrix.second_moment * np.eye(rows.shape[2]))
    errors = moments.std(0, ddof=1) / np.sqrt(REPLICAS)
    assert (off <= ERRORS * errors + 1e-12).all()


def test_points_of_a_sphere_have_its_radius_and_uniform_moments():
    d = 8
    rows = rows_of(REPLICAS, kind="sphere", d=d, n=10)
    np.testing.assert_allclose((rows**2).sum(2), d, rtol=1e-12)
    for power, mean in ((1, 0.0), (3, 0.0), (4, 3 * d / (d + 2))):
        sample = (rows**power).reshape(-1, d)
        assert (abs(sample.mean(0) - mean) < ERRORS * sample.std(0) / np.sqrt(len(sample))).all()
    pairs = (rows[:, :, 0] * rows[:, :, 1]) ** 2
    assert abs(pairs.mean() - d / (d + 2)) < ERRORS * pairs.std() / np.sqrt(pairs.size)
    assert rows_of(kind="sphere", d=3, n=1).shape == (1, 1, 3)


def test_points_of_a_sphere_have_the_configured_radius():
    matrix = {"kind": "sphere", "d": 8, "n": 5, "length": 0.5}
    rows = rows_of(2, **matrix)
    np.testing.assert_allclose((rows**2).sum(2), 0.25, rtol=1e-12)
    np.testing.assert_allclose(rows * np.sqrt(8) / 0.5, rows_of(2, **{**matrix, "length": None}), rtol=1e-12)
    assert catalogue.make("matrices", **matrix).second_moment == 0.25 / 8


def test_separable_rows_are_gaussian_except_for_one_entry_beyond_the_margin():
    plain = rows_of(3, kind="gaussian", d=4, n=50)
    rows = rows_of(3, kind="separable", d=4, n=50, margin=0.7, entry=2)
    np.testing.assert_array_equal(np.delete(rows, 2, 2), np.delete(plain, 2, 2))
    np.testing.assert_allclose(abs(rows[:, :, 2]), abs(plain[:, :, 2]) + 0.7)
    assert (np.sign(rows[:, :, 2]) == np.sign(plain[:, :, 2])).all()
    with pytest.raises(BadInput, match="instances have 4 entries, counted from 0; take at most 3"):
        experiment({"kind": "separable", "d": 4, "entry": 4})


def test_clusters_alternate_and_lie_around_their_centres():
    words = {"kind": "clusters", "classes": 3, "centres": 2, "d": 50, "n": 600, "sigma": 0.3}
    (rows,) = rows_of(**words)
    (numbers,) = catalogue.make("matrices", **words).row_numbers(Streams([0])).classes
    assert numbers.tolist() == [0, 1, 2] * 200
    clusters = rows.reshape(100, 6, 50).swapaxes(0, 1)
    centres = clusters.mean(1)
    np.testing.assert_allclose(np.linalg.norm(centres, axis=1), 1, atol=0.05)
    spread = ((clusters - centres[:, None]) ** 2).sum(2).mean() * 100 / 99
    assert spread == pytest.approx(0.3**2, rel=0.03)
    centred = rows_of(**{**words, "sigma": 0.0})[0].reshape(100, 6, 50)
    assert (centred == centred[0]).all(), "without a spread every row is its centre"
    (long,) = rows_of(**{**words, "radius": "sqrt(d)"})
    np.testing.assert_allclose(long, np.sqrt(50) * rows, rtol=1e-12)
    (same,) = rows_of(**{**words, "normalised": True})
    np.testing.assert_allclose(same, rows / np.linalg.norm(rows, axis=1, keepdims=True), rtol=1e-12)


def test_clusters_in_balls_have_uniform_squared_distances():
    words = {"kind": "clusters", "centres": 2, "d": 5, "n": 4000, "sigma": 0.5, "spread": "ball"}
    (rows,) = rows_of(**words)
    (centres,) = rows_of(**{**words, "sigma": 0.0})
    away = rows - centres
    shares = (away**2).sum(1) / 0.5**2
    assert shares.max() <= 1
    for power in (1, 2):
        sample = shares**power
        assert abs(sample.mean() - 1 / (power + 1)) < ERRORS * sample.std() / np.sqrt(sample.size)
    directions = away / np.linalg.norm(away, axis=1, keepdims=True)
    for sample in (directions, directions[:, 0] * directions[:, 1]):
        assert abs(sample.mean()) < ERRORS * sample.std() / np.sqrt(sample.size)


def test_points_of_an_interval_are_uniform_or_equally_spaced_with_both_ends():
    drawn = rows_of(REPLICAS, kind="interval", n=10, low=-1.0, high=3.0)
    assert drawn.shape == (REPLICAS, 10, 1)
    assert drawn.min() >= -1
    assert drawn.max() < 3
    for power, mean in ((1, 1.0), (2, 7 / 3), (3, 5.0)):
        sample = drawn**power
        assert abs(sample.mean() - mean) < ERRORS * sample.std() / np.sqrt(sample.size)
    (spaced,) = rows_of(kind="interval", n=5, low=-1.0, high=3.0, points="spaced")
    assert spaced.ravel().tolist() == [-1, 0, 1, 2, 3]
    with pytest.raises(
        BadInput, match=r"problem\.matrix\.high: the interval begins at 1 and cannot end at 1"
    ):
        experiment({"kind": "interval", "low": 1.0, "high": 1.0}, "coin")


def test_digits_are_scikit_learn_images_standardised_by_one_mean_and_deviation():
    images, shown = load_digits(return_X_y=True)
    assert tuple(np.bincount(shown)) == digits.COUNTS
    (rows,) = rows_of(kind="digits", permute=False)
    assert rows.shape == images.shape == (1797, 64)
    assert abs(rows.mean()) < 1e-12
    assert rows.std() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(rows * images.std() + images.mean(), images, atol=1e-12)
    matrix = catalogue.make("matrices", "digits", permute=False)
    assert np.array_equal(matrix.row_numbers(Streams([0])).classes[0], shown)


def test_normalised_digits_are_centred_and_have_length_1():
    images, shown = load_digits(return_X_y=True)
    chosen = images[np.isin(shown, (8, 3))]
    (rows,) = rows_of(kind="digits", digits=[8, 3], permute=False, normalised=True)
    centred = chosen - chosen.mean(0)
    np.testing.assert_allclose(rows, centred / np.sqrt((centred**2).sum(1))[:, None], atol=1e-14)


@pytest.mark.parametrize("permute", [True, False])
def test_digits_alternate_while_each_class_has_images(permute):
    words = {"digits": [8, 3, 1], "permute": permute}
    matrix = catalogue.make("matrices", "digits", **words, in_turns=True)
    streams = Streams([4, 5])
    numbers, rows = matrix.row_numbers(streams).classes, matrix.rows(streams)
    least = min(digits.COUNTS[digit] for digit in (8, 3, 1))
    np.testing.assert_array_equal(numbers[:, : 3 * least], np.tile([0, 1, 2], (2, least)))
    other = catalogue.make("matrices", "digits", **words)
    for rows_in_turns, its, before, classes_before in zip(
        rows, numbers, other.rows(streams), other.row_numbers(streams).classes, strict=True
    ):
        for digit in range(3):  # of each digit the images come in the order that they have without turns
            np.testing.assert_array_equal(rows_in_turns[its == digit], before[classes_before == digit])


def test_selected_digits_are_shuffled_and_keep_their_classes():
    images, shown = load_digits(return_X_y=True)
    chosen = images[(shown == 8) | (shown == 3)]
    matrix = catalogue.make("matrices", "digits", digits=[8, 3], n=300)
    streams = Streams([4, 5])
    rows, numbers = drawn_rows(matrix, streams), matrix.row_numbers(streams).classes
    assert matrix.shape() == (300, 64)
    for seen, classes in zip(rows, numbers, strict=True):
        restored = np.rint(seen * chosen.std() + chosen.mean())
        for image, number in zip(restored, classes, strict=True):
            (place,) = np.flatnonzero((images == image).all(1))[:1]
            assert shown[place] == (8, 3)[number]
    assert not np.array_equal(rows[0], rows[1])


@pytest.mark.parametrize(
    ("words", "field", "reason"),
    [
        ({"digits": [3, 8, 3]}, "digits", "list every digit once"),
        ({"digits": [3, 8], "n": 358}, "n", "there are only 357 images"),
        ({"digits": [3]}, "digits", "length"),
    ],
    ids=str,
)
def test_unknown_digits_are_refused(words, field, reason):
    with pytest.raises(BadInput) as caught:
        experiment({"kind": "digits", **words}, "classes")
    assert caught.value.where == f"problem.matrix.{field}"
    assert reason in caught.value.fault


def labels_of(matrix, target, **words):
    data = data_of(experiment(matrix, target, **words))
    return data.labels.view(data.replicas, data.targets, -1).numpy()


def test_coins_are_fair_and_independent_of_replicas_rows_and_the_learner():
    labels = labels_of({"kind": "gaussian", "d": 4, "n": 50}, "coin", replicas=200)
    assert labels.shape == (200, 1, 50)
    assert set(np.unique(labels)) == {-1, 1}
    assert abs(labels.mean()) < ERRORS / np.sqrt(labels.size)
    assert abs((labels[:-1] * labels[1:]).mean()) < ERRORS / np.sqrt(labels.size)
    again = labels_of({"kind": "rademacher", "d": 4, "n": 50}, "coin", replicas=200)
    assert np.array_equal(labels, again)


@pytest.mark.parametrize("matrix", ["hadamard", "gaussian"])
def test_a_repeated_row_keeps_its_coin_and_its_negative_has_the_opposite(matrix):
    once = labels_of({"kind": matrix, "d": 8}, "coin", replicas=2)
    labels = labels_of({"kind": matrix, "d": 8, "repeat": 2}, "coin", replicas=2)
    for copy, sign in enumerate((1, -1, 1, -1)):
        assert np.array_equal(labels[:, :, copy::4], sign * once)


def test_a_function_labels_the_points_of_an_interval():
    data = data_of(
        experiment("interval", {"kind": "function", "f": "sin(2*x) + x^2/(1 + exp(-x))"}, replicas=3)
    )
    x = data.instances.rows[:, :, 0].numpy()
    np.testing.assert_allclose(data.labels.numpy(), np.sin(2 * x) + x**2 / (1 + np.exp(-x)), rtol=1e-12)
    constant = labels_of("interval", {"kind": "function", "f": "1/2"}, replicas=3)
    assert (constant == 0.5).all()


@pytest.mark.parametrize(
    ("f", "where", "reason"),
    [
        ("sin(y)", "problem.target.f", "'y' is unknown"),
        ("sin x", "problem.target.f", "sin needs parentheses"),
        ("", "problem.target.f", "the expression is not complete"),
        ("1/0", "problem.target.f", "divides by zero"),
    ],
)
def test_an_invalid_function_is_refused_before_the_run(f, where, reason):
    with pytest.raises(BadInput) as caught:
        experiment("interval", {"kind": "function", "f": f})
    assert caught.value.where == where
    assert reason in caught.value.fault


@pytest.mark.parametrize("f", ["sqrt(x)", "log(x)", "1/x", "x^0.5", "exp(1000*x^2)"])
def test_a_function_without_a_value_at_a_point_names_the_point(f):
    matrix = {"kind": "interval", "points": "spaced", "n": 5}
    with pytest.raises(BadInput, match=r"problem\.target\.f: .* has no finite value at x = (-2|0);"):
        data_of(experiment(matrix, {"kind": "function", "f": f}))


def test_two_classes_give_signs_and_more_classes_give_one_hot_labels():
    two = labels_of({"kind": "clusters", "n": 6}, "classes", replicas=2)
    assert two.tolist() == [[[1, -1, 1, -1, 1, -1]]] * 2
    three = labels_of({"kind": "clusters", "n": 7, "classes": 3}, "classes")
    assert np.array_equal(three[0], np.eye(3)[[0, 1, 2, 0, 1, 2, 0]].T)
    assert labels_of({"kind": "digits", "n": 20}, "classes").sum() == 20
