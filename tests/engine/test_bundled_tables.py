"""Tables that come with scikit-learn, as instances and labels, against scikit-learn itself."""

import numpy as np
import pytest
from building import data_of, experiment
from sklearn import datasets
from sklearn.preprocessing import StandardScaler

from engine.core.parts import BadInput
from engine.problems.bundled_tables import SIZES, read_bundled
from engine.runtime.run import run

LOADERS = {
    "breast-cancer": datasets.load_breast_cancer,
    "diabetes": lambda: datasets.load_diabetes(scaled=False),
    "digits": datasets.load_digits,
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
}

ERM = {"kind": "erm", "every": "training", "examples": "training"}


@pytest.mark.parametrize("name", SIZES)
def test_features_and_labels_equal_the_data_of_scikit_learn(name):
    loaded, (features, labels) = LOADERS[name](), read_bundled(name)
    assert features.shape == SIZES[name]
    np.testing.assert_array_equal(features, loaded.data)
    if name == "diabetes":
        np.testing.assert_array_equal(labels.numbers[:, 0], loaded.target)
        return
    words = [labels.classes.names[number] for number in labels.classes.numbers]
    assert words == [str(loaded.target_names[number]) for number in loaded.target]


def splits(**matrix):
    words = {"kind": "bundled", "table": "diabetes", "n": 60, "test": 25, **matrix}
    return data_of(experiment(words, "file", protocol=ERM, replicas=3))


def test_replicas_are_random_splits_and_columns_are_standardised_by_the_training_rows():
    features, targets = datasets.load_diabetes(return_X_y=True, scaled=False)
    raw, standardised = splits(standardise=False), splits()
    orders = []
    for replica in range(3):
        rows = raw.instances.rows[replica].numpy()
        order = [int(np.flatnonzero((features == row).all(1))[0]) for row in rows]
        assert len({*order}) == 60
        np.testing.assert_array_equal(raw.labels[replica], targets[order])
        expected = StandardScaler().fit(rows[:35]).transform(rows)
        np.testing.assert_allclose(standardised.instances.rows[replica], expected, atol=1e-12)
        orders.append(order)
    assert orders[0] != orders[1] != orders[2]
    in_order = splits(standardise=False, permute=False).instances.rows[0].numpy()
    np.testing.assert_array_equal(in_order, np.concatenate([features[:35], features[-25:]]))


def test_held_out_labels_depend_on_neither_training_size_nor_rotation():
    few, many, turned = splits(n=45), splits(n=90), splits(n=90, rotate=True)
    np.testing.assert_array_equal(few.labels[:, -25:], many.labels[:, -25:])
    np.testing.assert_array_equal(many.labels, turned.labels)
    lengths = [examples.instances.rows.norm(dim=2).numpy() for examples in (many, turned)]
    np.testing.assert_allclose(*lengths, rtol=1e-12)
    assert not np.allclose(many.instances.rows, turned.instances.rows)


@pytest.mark.parametrize(("table", "targets"), [("breast-cancer", 1), ("iris", 3), ("digits", 10)])
def test_class_targets_equal_the_classes_of_scikit_learn(table, targets):
    loaded = LOADERS[table]()
    matrix = {"kind": "bundled", "table": table, "permute": False}
    labels = data_of(experiment(matrix, "classes", protocol=ERM)).labels.numpy()
    if targets == 1:
        np.testing.assert_array_equal(labels[0], np.where(loaded.target == 0, 1, -1))
        return
    by_name = np.argsort([str(name) for name in loaded.target_names])
    np.testing.assert_array_equal(labels, loaded.target == by_name[:, None])


def test_ridge_on_a_split_has_the_test_loss_of_scikit_learn():
    from sklearn.linear_model import RidgeCV

    learners = {"R": {"solver": {"kind": "sklearn", "name": "RidgeCV", "options": {"alphas": [1, 10]}}}}
    setup = experiment(
        {"kind": "bundled", "n": 60, "test": 25},
        {"kind": "file", "standardise": True},
        learners,
        protocol=ERM,
        measures=[{"kind": "loss", "rows": "test"}],
    )
    examples = data_of(setup)
    rows, labels = examples.instances.rows[0].numpy(), examples.labels[0].numpy()
    assert abs(labels[:35].mean()) < 1e-12
    model = RidgeCV([1, 10]).fit(rows[:35], labels[:35])
    expected = ((model.predict(rows[35:]) - labels[35:]) ** 2).mean()
    assert run(setup).curves[0].mean("unseen")[-1] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ({"table": "iris", "n": 151}, "iris has only 150 rows; take at most 150"),
        ({"n": 30, "test": 30}, "at least one of 30 rows must be a training row; take at most 29 test rows"),
        ({"table": "irises"}, "did you mean iris"),
    ],
)
def test_missing_rows_and_tables_are_refused(words, fault):
    with pytest.raises(BadInput, match=fault):
        experiment({"kind": "bundled", **words}, "file")


def test_labels_in_another_file_are_refused(tmp_path):
    np.save(tmp_path / "y.npy", np.arange(442.0))
    with pytest.raises(BadInput, match="labels from a file need instances from a file"):
        experiment("bundled", {"kind": "file", "path": str(tmp_path / "y.npy")})
