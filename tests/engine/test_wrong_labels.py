"""Random labels: drawn classes, and classes with errors."""

import numpy as np
import pytest
from building import beginning, data_of, experiment, gd
from msgspec import structs

from engine.core import catalogue
from engine.core.parts import BadInput
from engine.pictures.picture import Picture
from engine.runtime.run import run

FOUR = {"kind": "clusters", "classes": 2, "centres": 2, "n": 80, "d": 5}
THREE = {"kind": "clusters", "classes": 3, "centres": 1, "n": 60, "d": 5}


@pytest.mark.parametrize("share", [0.1, 0.3, 0.45, 1.0])
def test_a_given_share_of_each_cluster_and_half_cluster_is_mislabelled(share):
    data = data_of(experiment(FOUR, {"kind": "classes", "corrupted": share}, replicas=3))
    wrong = (data.labels != data.true_labels).numpy()
    for replica in wrong:
        for cluster in range(4):
            of_it = replica[cluster::4]
            assert of_it.sum() == round(share * 20)
            assert abs(of_it[:10].sum() - share * 10) <= 1
    assert share == 1 or not np.array_equal(wrong[0], wrong[1]), "which they are is drawn by every replica"


def test_wrong_classes_are_uniform_over_the_incorrect_classes():
    data = data_of(experiment(THREE, {"kind": "classes", "corrupted": 0.5}, replicas=40))
    given_classes, true = (
        label_array.view(40, 3, 60).argmax(1).numpy() for label_array in (data.labels, data.true_labels)
    )
    assert (data.labels.view(40, 3, 60).sum(1) == 1).all()
    moved = (given_classes - true)[given_classes != true] % 3
    assert len(moved) == 40 * 30
    assert (moved == 1).mean() == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(len(moved)))
    assert data_of(experiment(THREE, "classes")).true_labels is None


def error(described, **words):
    measure = catalogue.make("measures", "error", **words)
    curve = run(structs.replace(described, pictures=(Picture(measure=measure),))).curves[0]
    return curve.values(measure.name)[-1]


@pytest.mark.parametrize(("matrix", "outputs"), [(FOUR, 1), (THREE, "m")])
def test_the_error_on_true_labels_ignores_corruption(matrix, outputs):
    learner = gd(0.1, kind="dense", widths=[4], outputs=outputs)
    target = {"kind": "classes", "corrupted": 0.5}
    described = experiment(matrix, target, learners={"it": learner}, protocol="at-init", replicas=2)
    clean = experiment(matrix, "classes", learners={"it": learner}, protocol="at-init", replicas=2)
    np.testing.assert_array_equal(error(described, labels="true"), error(clean))
    np.testing.assert_array_equal(error(clean, labels="true"), error(clean))
    assert not np.array_equal(error(described), error(clean))
    for rows in ("train", "test"):
        named = catalogue.make("measures", "error", rows=rows, labels="true").name
        assert named == f"true-{rows}-error"


@pytest.mark.parametrize("rows", ["all", "train", "test"])
def test_cluster_mean_is_the_mean_absolute_output_mean_of_clusters(rows):
    measure = catalogue.make("measures", "cluster-mean", rows=rows)
    protocol = {"kind": "steps", "steps": 1, "train": 30}
    learner = gd(0.1, kind="dense", widths=[4])
    described = experiment(FOUR, "classes", learners={"it": learner}, protocol=protocol, replicas=3)
    curve = run(structs.replace(described, pictures=(Picture(measure=measure),))).curves[0]
    hypothesis, data = beginning(described)
    rows_measured = {"all": slice(None), "train": slice(0, 30), "test": slice(30, None)}[rows]
    numbers = np.arange(80) % 4
    for replica, predicted in enumerate(hypothesis.predict(data.instances).numpy()):
        sizes = [
            abs(predicted[rows_measured][numbers[rows_measured] == cluster].mean()) for cluster in range(4)
        ]
        assert curve.values(measure.name)[0, replica] == pytest.approx(np.mean(sizes), rel=1e-12)
    with pytest.raises(BadInput, match="fall into clusters"):
        experiment("gaussian", "feature", measures=[{"kind": "cluster-mean"}])


def test_random_classes_are_equally_likely_and_independent_of_rows():
    data = data_of(
        experiment({"kind": "gaussian", "n": 600, "d": 4}, {"kind": "coin", "classes": 3}, replicas=5)
    )
    labels = data.labels.view(5, 3, 600).numpy()
    assert (labels.sum(1) == 1).all()
    np.testing.assert_allclose(labels.mean((0, 2)), 1 / 3, atol=4 * np.sqrt(2 / 9 / 3000))
    assert data.one_hot
    with pytest.raises(BadInput, match=r"problem\.matrix\.repeat"):
        experiment({"kind": "gaussian", "n": 6, "d": 4, "repeat": 1}, {"kind": "coin", "classes": 3})
