"""Estimators of scikit-learn by name, against scikit-learn itself."""

import numpy as np
import pytest
from building import data_of, experiment, raw
from sklearn.linear_model import Lasso, LogisticRegression, RidgeClassifier, RidgeCV
from sklearn.svm import SVC
from sklearn.tree import ExtraTreeRegressor
from sklearn.utils.discovery import all_estimators

from engine.core.parts import BadInput
from engine.runtime.run import run
from engine.solvers.sklearn import _estimator_class
from engine.spec import reading

GAUSSIAN = {"kind": "gaussian", "n": 12}
SIGNS = {"kind": "rademacher", "n": 12}
ERM = {"kind": "erm", "every": 20}


def described(matrix=GAUSSIAN, replicas=1, **solver):
    learners = {"it": {"solver": {"kind": "sklearn", **solver}}}
    return experiment(
        matrix, {"kind": "feature", "index": 1}, learners, d=5, replicas=replicas, dtype="float64"
    )


def hypothesis_of(setup, drawn):
    return setup.learners[0].solver.begin(drawn, setup.run.random_streams())


def predictions(setup):
    """Predictions [R, n] after 8 examples, and the drawn."""
    drawn = data_of(setup)
    hypothesis = hypothesis_of(setup, drawn)
    for k in range(8):
        hypothesis.learn(drawn.instances.at(slice(k, k + 1)), drawn.labels[:, k : k + 1])
    return hypothesis.predict(drawn.instances).numpy(), drawn


@pytest.mark.parametrize(
    ("matrix", "name", "options", "make"),
    [
        (GAUSSIAN, "Lasso", {"alpha": 0.1}, Lasso),
        (SIGNS, "SVC", {"C": 3.0, "kernel": "poly"}, SVC),
        (GAUSSIAN, "ExtraTreeRegressor", {"random_state": 7}, ExtraTreeRegressor),
        (GAUSSIAN, "RidgeCV", {"alphas": [0.1, 10]}, RidgeCV),
    ],
)
def test_predictions_match_the_estimator_fitted_to_the_examples(matrix, name, options, make):
    predicted, drawn = predictions(described(matrix, replicas=2, name=name, options=options))
    for replica in range(2):
        rows, labels = drawn.instances.rows[replica].numpy(), drawn.labels[replica].numpy()
        expected = make(**options).fit(rows[:8], labels[:8]).predict(rows)
        np.testing.assert_array_equal(predicted[replica], expected)


def test_each_replica_has_its_own_reproducible_seed():
    setup = described(replicas=3, name="ExtraTreeRegressor")
    predicted, _ = predictions(setup)
    np.testing.assert_array_equal(predicted, predictions(setup)[0])
    assert len({*hypothesis_of(setup, data_of(setup))._seeds}) == 3


def test_a_classifier_predicts_0_at_first_and_then_its_only_seen_label():
    setup = described(SIGNS, name="LogisticRegression")
    drawn = data_of(setup)
    hypothesis = hypothesis_of(setup, drawn)
    assert (hypothesis.predict(drawn.instances) == 0).all()
    hypothesis.learn(drawn.instances.at(slice(0, 1)), drawn.labels[:, :1])
    assert (hypothesis.predict(drawn.instances) == drawn.labels[:, :1]).all()


CLUSTERS = {"kind": "clusters", "classes": 3, "n": 30, "d": 4, "sigma": 1.0}


@pytest.mark.parametrize(
    ("name", "make"),
    [("LogisticRegression", LogisticRegression), ("SVC", SVC), ("RidgeClassifier", RidgeClassifier)],
)
def test_a_classifier_on_one_hot_labels_predicts_probabilities_or_a_class(name, make):
    learners = {"it": {"solver": {"kind": "sklearn", "name": name}}}
    setup = experiment(CLUSTERS, "classes", learners, protocol=ERM, replicas=2)
    drawn = data_of(setup)
    hypothesis = hypothesis_of(setup, drawn)
    hypothesis.learn(drawn.instances.at(slice(0, 20)), drawn.labels[:, :20])
    predicted = hypothesis.predict(drawn.instances).numpy().reshape(2, 3, 30)
    for replica in range(2):
        rows, classes = drawn.instances.rows[replica].numpy(), np.arange(20) % 3
        model = make().fit(rows[:20], classes)
        np.testing.assert_array_equal(predicted[replica].argmax(0), model.predict(rows))
        if name == "LogisticRegression":
            np.testing.assert_array_equal(predicted[replica].T, model.predict_proba(rows))
        else:
            assert {*predicted[replica].ravel()} == {0, 1}


@pytest.mark.parametrize("count", [1, 2, 3])
def test_unseen_classes_have_probability_0(count):
    learners = {"it": {"solver": {"kind": "sklearn", "name": "LogisticRegression"}}}
    setup = experiment(CLUSTERS, "classes", learners, protocol=ERM)
    drawn = data_of(setup)
    hypothesis = hypothesis_of(setup, drawn)
    hypothesis.learn(drawn.instances.at(slice(0, count)), drawn.labels[:, :count])
    predicted = hypothesis.predict(drawn.instances).numpy()
    np.testing.assert_allclose(predicted.sum(0), 1)
    assert (predicted[count:] == 0).all()
    assert (predicted[:count] > 0).all()


def test_predictions_are_0_before_the_least_number_of_examples():
    trace = run(described(name="KNeighborsRegressor", least=5))
    losses = trace.curves[0].mean("loss")
    np.testing.assert_allclose(losses[:5], losses[0])
    assert abs(losses[5:] - losses[0]).min() > 1e-3


def test_every_scikit_learn_regressor_and_classifier_is_known_by_name():
    listed = dict(all_estimators(type_filter=["regressor", "classifier"]))
    assert {name: _estimator_class(name) for name in listed} == listed
    assert _estimator_class("RegressorMixin") is None


FAULTS = [
    ({"name": "Laso"}, "scikit-learn has no regressor or classifier 'Laso'; did you mean Lasso"),
    ({"name": "PCA"}, "scikit-learn has no regressor or classifier 'PCA'"),
    ({"name": "Lasso", "options": {"alfa": 1}}, "Lasso has no argument 'alfa'; it has alpha, "),
    ({"name": "VotingRegressor"}, "VotingRegressor needs an argument estimators, which a preset cannot set"),
    ({"name": "SVC"}, "sklearn needs labels"),
]


@pytest.mark.parametrize(("solver", "fault"), FAULTS)
@pytest.mark.slow
def test_unknown_names_and_arguments_are_refused(solver, fault):
    learners = {"it": {"solver": {"kind": "sklearn", **solver}}}
    with pytest.raises(BadInput) as refused:
        reading.parse(raw(GAUSSIAN, {"kind": "feature", "index": 1}, learners, d=5))
    assert refused.value.where == "learners[0].solver"
    assert refused.value.fault.startswith(fault)


@pytest.mark.parametrize(
    ("solver", "fault"),
    [
        (
            {"name": "Lasso", "options": {"alpha": -1.0}},
            "cannot be fitted to 1 examples .*least = 2.*'alpha'",
        ),
        ({"name": "KNeighborsRegressor"}, "cannot predict: Expected n_neighbors <= n_samples_fit"),
    ],
)
def test_an_error_of_scikit_learn_is_reported_in_one_line(solver, fault):
    with pytest.raises(BadInput, match=fault) as refused:
        run(described(**solver))
    assert "\n" not in str(refused.value)
