"""Solver that fits any regressor or classifier of scikit-learn, chosen by name."""

from __future__ import annotations

import importlib
import inspect
import warnings
from functools import cache, partial
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta

from engine.core.lazy import torch
from engine.core.linear_algebra import one_thread
from engine.core.parts import SELDOM, BadInput, Count, LearnerKind
from engine.core.stopping import aside, go_on
from engine.core.streams import Streams
from engine.core.texts import nearest, reason_of
from engine.hypotheses.hypothesis import Hypothesis
from engine.problems.data import Data
from engine.problems.instances import Instances
from engine.solvers import Floats, Solver, SolverStructure

MOST_SEEDS = 2**31
"""Every estimator accepts the seeds 0 to MOST_SEEDS − 1."""

MOST_NUMBERS = 100
"""Maximum number of entries of an option that is a list."""

EXACT = ("linear_model", "kernel_ridge", "svm", "gaussian_process")
"""Packages of scikit-learn whose estimators solve for linear or kernel predictors."""

Numbers = Annotated[tuple[float, ...], Meta(max_length=MOST_NUMBERS)]
Option = bool | int | float | str | Numbers | None


class Estimator(Solver, frozen=True, tag="sklearn"):
    """A regressor or classifier of scikit-learn, fitted anew to all examples seen.

    `name` is the name of a class of scikit-learn, as in `name = "Lasso"`. Regressors predict numbers.
    Classifiers need labels ±1, which they predict, or one-hot labels of several classes. With one-hot labels,
    one classifier learns all classes. It predicts the probability of each class. If it computes no
    probabilities, it predicts 1 for the class that it chooses, and 0 for all other classes. If all examples
    have the same label, classifiers predict this label. Predictions are 0 before the first fit. If an
    estimator draws random numbers, each replica has a separate seed, unless `options` sets `random_state`.
    Fits use float64 and one thread. Source: Pedregosa et al. 2011.
    """

    name: Annotated[
        str, Meta(max_length=100, title="name", description="class of the estimator, such as Lasso")
    ] = "DecisionTreeRegressor"
    options: Annotated[
        dict[str, Option],
        Meta(
            max_length=64,
            title="options",
            description="arguments of the class, such as alpha = 0.1. Each argument is a number, "
            "a word or a list of numbers",
        ),
    ] = msgspec.field(default_factory=dict)
    least: Annotated[
        Count,
        Meta(
            title="least",
            description="smallest number of examples for a fit; with fewer, predictions are 0",
            extra=SELDOM,
        ),
    ] = 1

    def structure(self) -> SolverStructure:
        return SolverStructure(
            learner_kind=_learner_kind(self.name),
            labels="signs" if _is_classifier(self.name) else "any",
            learns_one_hot=True,
            linear_in_instance=False,
            continuous=False,
        )

    def refuses(self, d: int) -> str | None:
        cls = _estimator_class(self.name)
        if cls is None:
            alternatives = nearest(self.name, _estimator_names())
            return f"scikit-learn has no regressor or classifier {self.name!r}; {alternatives}"
        arguments = inspect.signature(cls).parameters
        unknown = [option for option in self.options if option not in arguments]
        if unknown:
            return f"{self.name} has no argument {unknown[0]!r}; it has {', '.join(arguments) or 'none'}"
        required = [
            name
            for name, argument in arguments.items()
            if argument.default is argument.empty and name not in self.options
        ]
        if required:
            return (
                f"{self.name} needs an argument {required[0]}, which a preset cannot set; use another class"
            )
        return None

    def begin(self, data: Data, streams: Streams | None = None) -> Hypothesis:
        seeds = (streams or Streams(range(data.replicas)))("sklearn").integers(MOST_SEEDS)
        return Fit(self, data, [int(seed) for seed in seeds])

    def estimator(self, seed: int) -> Any:
        """Create an unfitted estimator of scikit-learn. Raises: BadInput."""
        cls = _estimator_class(self.name)
        assert cls is not None, "an experiment with an unknown name is refused"
        options = dict(self.options)
        if "random_state" in inspect.signature(cls).parameters:
            options.setdefault("random_state", seed)
        try:
            return cls(**options)
        except Exception as error:
            raise self.fault("the estimator cannot be created", error) from error

    def fault(self, summary: str, error: Exception) -> BadInput:
        return BadInput(f"scikit-learn: {self.name}", f"{summary}: {reason_of(error)}")


class Fit:
    """Fitted estimators for every replica and target, or for every replica if they learn classes.

    They are fitted when predictions are needed.
    """

    def __init__(self, solver: Estimator, dataset: Data, seeds: list[int]) -> None:
        self._solver, self._seeds = solver, seeds
        self._of_classes = dataset.one_hot and _is_classifier(solver.name)
        targets = len(dataset.labels) // dataset.replicas
        self._targets, self._fits_per_replica = (targets, 1) if self._of_classes else (1, targets)
        self._rows = [dataset.instances.rows[:, :0]]
        self._labels = [dataset.labels[:, :0]]
        self._fitted: list[Any] | None = None

    def learn(self, instances: Instances, labels: torch.Tensor) -> None:
        self._rows.append(instances.rows)
        self._labels.append(labels)
        self._fitted = None

    def weights(self) -> None:
        pass

    def predict(self, instances: Instances) -> torch.Tensor:
        rows = instances.rows.double().cpu().numpy()
        predictions = []
        for number, fitted in enumerate(self._fitted_estimators()):
            go_on()
            predictions.append(self._predict_rows(fitted, rows[number // self._fits_per_replica]))
        return torch.from_numpy(np.concatenate(predictions)).to(self._labels[0])

    def _predict_rows(self, fitted: Any, rows: Floats) -> Floats:
        """Return the predictions [targets of the fit, n] of an estimator on n rows.

        `fitted` is the estimator, or an array of constant predictions, one for each target.
        """
        if isinstance(fitted, np.ndarray):
            return np.tile(fitted[:, None], len(rows))
        try:
            if self._of_classes:
                return _shares_of_classes(fitted, rows, self._targets)
            return np.asarray(fitted.predict(rows), np.float64).reshape(1, len(rows))
        except Exception as error:
            raise self._solver.fault("the estimator cannot predict", error) from error

    def _fitted_estimators(self) -> list[Any]:
        if self._fitted is None:
            self._rows, self._labels = [torch.cat(self._rows, 1)], [torch.cat(self._labels, 1)]
            rows, labels = (parts[0].double().cpu().numpy() for parts in (self._rows, self._labels))
            of_fits = labels.reshape(len(rows) * self._fits_per_replica, self._targets, labels.shape[1])
            self._fitted = [
                aside(
                    partial(
                        self._fit_estimator, rows[replica := number // self._fits_per_replica], y, replica
                    )
                )
                for number, y in enumerate(of_fits)
            ]
        return self._fitted

    def _fit_estimator(self, rows: Floats, labels: Floats, replica: int) -> Any:
        """Fit an estimator to rows [k, d] and labels [targets of the fit, k].

        In two cases, return an array of constant predictions, one per target, instead of an estimator. With
        too few examples, the predictions are 0. If a classifier has seen only one label, the predictions are
        this label.
        """
        if len(rows) < self._solver.least:
            return np.zeros(len(labels))
        (y,) = [labels.argmax(0)] if self._of_classes else labels
        if _is_classifier(self._solver.name):
            y = y if self._of_classes else np.sign(y).astype(int)
            if len({*y.tolist()}) == 1:
                return labels[:, 0]
        estimator = self._solver.estimator(self._seeds[replica])
        try:
            with warnings.catch_warnings(), one_thread():
                warnings.simplefilter("ignore")  # each fit would repeat the same warning
                return estimator.fit(rows, y)
        except Exception as error:
            summary = (
                f"cannot be fitted to {len(rows)} examples (to begin later, set least = {len(rows) + 1})"
            )
            raise self._solver.fault(summary, error) from error


def _shares_of_classes(fitted: Any, rows: Floats, count: int) -> Floats:
    """Return the probability of each of `count` classes [count, n] by a classifier, on n rows.

    Classes that the classifier has not seen get the probability 0. A classifier without probabilities gives
    its predicted class the probability 1.
    """
    if not hasattr(fitted, "predict_proba"):
        return np.asarray(fitted.predict(rows) == np.arange(count)[:, None], np.float64)
    shares = np.zeros((count, len(rows)))
    shares[fitted.classes_] = fitted.predict_proba(rows).T
    return shares


@cache
def _estimator_class(name: str) -> Any:
    """Return scikit-learn's regressor or classifier of this name, or None."""
    import sklearn  # type: ignore[import-untyped]
    from sklearn.base import (  # type: ignore[import-untyped]
        ClassifierMixin,
        RegressorMixin,
    )

    for package in sklearn.__all__:
        try:
            module = importlib.import_module(f"sklearn.{package}")
        except ImportError:
            continue
        cls = getattr(module, name, None)
        if not isinstance(cls, type) or not issubclass(cls, (RegressorMixin, ClassifierMixin)):
            continue
        # A module without __all__, such as kernel_ridge, also imports the abstract classes.
        if name in module.__all__ if hasattr(module, "__all__") else cls.__module__ == module.__name__:
            return cls
    return None


def _learner_kind(name: str) -> LearnerKind:
    """Return the learner kind of an estimator: "gradient", "exact" or "other".

    In the packages EXACT of scikit-learn, an estimator with `partial_fit` has the kind "gradient". All other
    estimators in these packages have the kind "exact".
    """
    cls = _estimator_class(name)
    if cls is None or cls.__module__.split(".")[1] not in EXACT:
        return "other"
    return "gradient" if hasattr(cls, "partial_fit") else "exact"


def _is_classifier(name: str) -> bool:
    from sklearn.base import ClassifierMixin

    cls = _estimator_class(name)
    return cls is not None and issubclass(cls, ClassifierMixin)


def _estimator_names() -> list[str]:
    from sklearn.utils.discovery import all_estimators  # type: ignore[import-untyped]

    return [name for name, _ in all_estimators(type_filter=["regressor", "classifier"])]
