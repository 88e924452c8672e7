"""Learners of the diagnosis that are fitted by scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from engine.diagnosis.labelled_table import Floats, held_out

RIDGE_PENALTIES = np.logspace(0, 4, 17)
LASSO_PENALTIES, SMALLEST_SHARE, FOLDS = 25, 0.01, 4
"""Lasso: number of penalties, ratio of the least to the largest penalty, and number of folds."""

STRENGTHS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""Inverse penalties C of logistic regression."""

PATIENCE, EXCESS = 2, 1.1
"""Number of values of C and ratio of losses that end the search for the best C.

Values of C are tried in increasing order. The search ends if the held-out loss is above EXCESS times the
least loss for PATIENCE values in a row. The loss has one minimum, and fits with a large C take a hundred
times as long.
"""

BIAS_SCALE = 10.0
"""Value of the constant feature whose weight is the bias in liblinear.

liblinear penalises this weight, too. The value 10 reduces an L2 penalty on the bias to a hundredth.
"""

TREES = 40
LEAST_LEAF = 5
"""Least number of rows in a leaf of boosted trees."""

REGRESSION_C, CLASSIFICATION_C = 1.0, 3.0
SPLINE_KNOTS = 5
HIDDEN = 32
MLP_STEPS = 200

Importances = Floats | None


class FittedLearner(NamedTuple):
    """Predictions of a fitted learner."""

    predictions: Floats
    """Predicted numbers or classes of the test rows, [n]."""

    importances: Importances = None
    """Importance of every feature [d], non-negative, with sum 1 or 0. None if the learner defines none."""


Fitting = Callable[[Floats, Floats, Floats, bool, int], FittedLearner]
"""Function of training rows, their labels, test rows, whether labels are classes, and a seed."""


def with_standard_labels(fit: Fitting) -> Fitting:
    """Return a function that standardises numeric labels, calls `fit`, and converts its predictions back.

    If all training labels are equal, the function predicts this label without a fit.
    """

    def fitted(train: Floats, labels: Floats, tested: Floats, are_classes: bool, seed: int) -> FittedLearner:
        if (labels == labels[0]).all():
            return FittedLearner(np.full(len(tested), labels[0]))
        if are_classes:
            return fit(train, labels, tested, True, seed)
        mean, deviation = labels.mean(), labels.std()
        standard = fit(train, (labels - mean) / deviation, tested, False, seed)
        return standard._replace(predictions=mean + deviation * standard.predictions)

    return fitted


@with_standard_labels
def l2(train: Floats, labels: Floats, tested: Floats, are_classes: bool, seed: int) -> FittedLearner:
    """Ridge regression with leave-one-out selection, or L2-logistic regression selected on held-out rows."""
    from sklearn.linear_model import RidgeCV  # type: ignore[import-untyped]

    if are_classes:
        return _logistic_fit(train, labels, tested, 0.0, seed)
    return _linear_fit(RidgeCV(RIDGE_PENALTIES).fit(train, labels), tested)


@with_standard_labels
def l1(train: Floats, labels: Floats, tested: Floats, are_classes: bool, seed: int) -> FittedLearner:
    """Lasso selected by cross-validation, or L1-logistic regression selected on held-out rows."""
    from sklearn.linear_model import LassoCV

    if are_classes:
        return _logistic_fit(train, labels, tested, 1.0, seed)
    lasso = LassoCV(alphas=LASSO_PENALTIES, eps=SMALLEST_SHARE, cv=min(FOLDS, len(labels)))
    return _linear_fit(lasso.fit(train, labels), tested)


def _linear_fit(model: Any, tested: Floats) -> FittedLearner:
    weights = np.abs(np.atleast_2d(model.coef_)).sum(0)
    return FittedLearner(np.asarray(model.predict(tested), np.float64), _normalised_shares(weights))


def _normalised_shares(weights: Floats) -> Floats:
    total = weights.sum()
    return np.asarray(weights / total if total > 0 else weights)


def _logistic_fit(train: Floats, labels: Floats, tested: Floats, l1_ratio: float, seed: int) -> FittedLearner:
    """Fit a logistic regression to all rows, with the C of the least log-loss on held-out rows."""
    fitted_rows, chosen_by = held_out(labels, True, seed)
    classes = np.unique(labels)
    if len(np.unique(labels[fitted_rows])) < len(classes):
        fitted_rows = np.arange(len(labels))
    best, least, worse = STRENGTHS[0], np.inf, 0
    for strength in STRENGTHS:
        model = _logistic_model(l1_ratio, strength, len(classes), seed)
        probabilities = model.fit(train[fitted_rows], labels[fitted_rows]).predict_proba(train[chosen_by])
        of_label = probabilities[np.arange(len(chosen_by)), np.searchsorted(classes, labels[chosen_by])]
        loss = -np.log(np.maximum(of_label, 1e-12)).mean()
        if loss < least:  # ties go to the strongest penalty
            best, least = strength, loss
        worse = worse + 1 if loss > EXCESS * least else 0
        if worse >= PATIENCE:
            break
    return _linear_classes_fit(_logistic_model(l1_ratio, best, len(classes), seed).fit(train, labels), tested)


def _logistic_model(l1_ratio: float, strength: float, classes: int, seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier  # type: ignore[import-untyped]

    single = LogisticRegression(
        l1_ratio=l1_ratio,
        C=strength,
        solver="liblinear",
        intercept_scaling=BIAS_SCALE,
        random_state=seed,
    )
    return single if classes == 2 else OneVsRestClassifier(single)


def _linear_classes_fit(model: Any, tested: Floats) -> FittedLearner:
    parts = getattr(model, "estimators_", [model])
    weights = np.abs(np.concatenate([part.coef_ for part in parts])).sum(0)
    return FittedLearner(np.asarray(model.predict(tested), np.float64), _normalised_shares(weights))


@with_standard_labels
def extra_trees(train: Floats, labels: Floats, tested: Floats, are_classes: bool, seed: int) -> FittedLearner:
    """40 extremely randomised trees, equal to the trees of scikit-learn's ExtraTreesRegressor or -Classifier.

    These classes of scikit-learn also copy each tree and check its settings. On 60 rows, they take 1.4 times
    as long as this function.
    """
    from sklearn.tree import ExtraTreeClassifier, ExtraTreeRegressor  # type: ignore[import-untyped]

    train_rows, test_rows = (np.ascontiguousarray(rows, np.float32) for rows in (train, tested))
    seeds = np.random.RandomState(seed).randint(np.iinfo(np.int32).max, size=TREES)
    cls = ExtraTreeClassifier if are_classes else ExtraTreeRegressor
    trees = [
        cls(random_state=int(tree_seed)).fit(train_rows, labels, check_input=False) for tree_seed in seeds
    ]
    importances = _normalised_shares(sum(tree.feature_importances_ for tree in trees))
    if are_classes:
        chances = sum(tree.predict_proba(test_rows, check_input=False) for tree in trees)
        return FittedLearner(trees[0].classes_[chances.argmax(1)].astype(np.float64), importances)
    return FittedLearner(
        sum(tree.predict(test_rows, check_input=False) for tree in trees) / TREES, importances
    )


@with_standard_labels
def rbf(train: Floats, labels: Floats, tested: Floats, are_classes: bool, seed: int) -> FittedLearner:
    """Support vector machine with the kernel exp(−‖x − z‖²/(d σ²)), for training features of variance σ²."""
    from sklearn.svm import SVC, SVR  # type: ignore[import-untyped]

    model = SVC(C=CLASSIFICATION_C) if are_classes else SVR(C=REGRESSION_C)
    return FittedLearner(np.asarray(model.fit(train, labels).predict(tested), np.float64))


@with_standard_labels
def additive(train: Floats, labels: Floats, tested: Floats, are_classes: bool, seed: int) -> FittedLearner:
    """Support vector machine with a kernel Σ_j κ(x_j, z_j) of cubic splines in single features."""
    from sklearn.preprocessing import SplineTransformer  # type: ignore[import-untyped]
    from sklearn.svm import SVC, SVR

    splines = SplineTransformer(SPLINE_KNOTS, extrapolation="linear", include_bias=False)
    features = splines.fit_transform(train)
    mean = features.mean(0)
    features = features - mean
    size = (features**2).sum(1).mean() or 1.0  # mean of the kernel's diagonal, scaled to 1 as in `rbf`
    among, between = features @ features.T / size, (splines.transform(tested) - mean) @ features.T / size
    cls, strength = (SVC, CLASSIFICATION_C) if are_classes else (SVR, REGRESSION_C)
    model = cls(kernel="precomputed", C=strength).fit(among, labels)
    return FittedLearner(np.asarray(model.predict(between), np.float64))


@with_standard_labels
def mlp(train: Floats, labels: Floats, tested: Floats, are_classes: bool, seed: int) -> FittedLearner:
    """Neural net with one hidden layer of 32 units, trained by Adam."""
    from sklearn.neural_network import MLPClassifier, MLPRegressor  # type: ignore[import-untyped]

    cls = MLPClassifier if are_classes else MLPRegressor
    model = cls(hidden_layer_sizes=(HIDDEN,), max_iter=MLP_STEPS, random_state=seed)
    return FittedLearner(np.asarray(model.fit(train, labels).predict(tested), np.float64))


@with_standard_labels
def boosted_trees(
    train: Floats, labels: Floats, tested: Floats, are_classes: bool, seed: int
) -> FittedLearner:
    """40 rounds of gradient boosting on histograms, with leaves of LEAST_LEAF rows or more."""
    from sklearn.ensemble import (  # type: ignore[import-untyped]
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
    )

    cls = HistGradientBoostingClassifier if are_classes else HistGradientBoostingRegressor
    model = cls(max_iter=TREES, min_samples_leaf=LEAST_LEAF, early_stopping=False, random_state=seed)
    return FittedLearner(np.asarray(model.fit(train, labels).predict(tested), np.float64))
