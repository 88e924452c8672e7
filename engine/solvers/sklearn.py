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
from engine.core.parts import SELDOM, BadInput, Count
from engine.core.stopping import aside, go_on
from engine.core.streams import Streams
from engine.core.texts import nearest, reason_of
from engine.hypotheses.hypothesis import Hypothesis
from engine.problems.data import Data
from engine.problems.instances import Instances
from engine.solvers import Floats, Solver, SolverStructure

MOST_SEEDS = 2**31
"""Every estimator accepts the seeds 0 to MOST_SEEDS − 1."""

Option = bool | int | float | str | None


class Estimator(Solver, frozen=True, tag="sklearn"):
    """A regressor or classifier of scikit-learn, fitted anew to all examples seen.

    `name` is the class of any public estimator that scikit-learn lists, as in `name = "Lasso"`. Regressors
    predict numbers. Classifiers need labels ±1 and predict ±1. If all examples have the same label,
    classifiers predict this label. Predictions are 0 before the first fit. Each replica gives random
    estimators its own seed, unless `options` sets `random_state`. Fits use float64 and one thread. Source:
    Pedregosa et al. 2011.
    """

    name: Annotated[
        str, Meta(max_length=100, title="name", description="class of the estimator, such as Lasso")
    ] = "DecisionTreeRegressor"
    options: Annotated[
        dict[str, Option],
        Meta(max_length=64, title="options", description="arguments of the class, such as alpha = 0.1"),
    ] = msgspec.field(default_factory=dict)
    least: Annotated[
        Count,
        Meta(
            title="least",
            description="smallest number of examples to fit; before, predictions are 0",
            extra=SELDOM,
        ),
    ] = 1

    def structure(self) -> SolverStructure:
        return SolverStructure(
            labels="signs" if _is_classifier(self.name) else "any", linear_in_instance=False, continuous=False
        )

    def refuses(self, d: int) -> str | None:
        cls = _estimator_class(self.name)
        if cls is None:
            alternatives = nearest(self.name, _estimator_names())
            return f"scikit-learn has no regressor or classifier {self.name!r}; {alternatives}"
        arguments = inspect.signature(cls).parameters
        unknown = [name for name in self.options if name not in arguments]
        if unknown:
            return f"{self.name} has no argument {unknown[0]!r}; it has {', '.join(arguments) or 'none'}"
        required = [
            name
            for name, argument in arguments.items()
            if argument.default is argument.empty and name not in self.options
        ]
        if required:
            return f"{self.name} needs an argument {required[0]}, which a preset cannot set; use another"
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
            raise self.fault("cannot be made", error) from error

    def fault(self, summary: str, error: Exception) -> BadInput:
        return BadInput(f"scikit-learn: {self.name}", f"{summary}: {reason_of(error)}")


class Fit:
    """Fitted estimators for every replica and target. They are fitted when predictions are needed."""

    def __init__(self, solver: Estimator, dataset: Data, seeds: list[int]) -> None:
        self._solver, self._seeds = solver, seeds
        self._targets = len(dataset.labels) // dataset.replicas
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
        for member, fitted in enumerate(self._fitted_estimators()):
            go_on()
            predictions.append(self._predict_rows(fitted, rows[member // self._targets]))
        return torch.from_numpy(np.stack(predictions)).to(self._labels[0])

    def _predict_rows(self, fitted: Any, rows: Floats) -> Floats:
        if isinstance(fitted, float):
            return np.full(len(rows), fitted)
        try:
            return np.asarray(fitted.predict(rows), np.float64).reshape(len(rows))
        except Exception as error:
            raise self._solver.fault("cannot predict", error) from error

    def _fitted_estimators(self) -> list[Any]:
        if self._fitted is None:
            self._rows, self._labels = [torch.cat(self._rows, 1)], [torch.cat(self._labels, 1)]
            rows, labels = (parts[0].double().cpu().numpy() for parts in (self._rows, self._labels))
            self._fitted = [
                aside(partial(self._fit_estimator, rows[member // self._targets], y, member))
                for member, y in enumerate(labels)
            ]
        return self._fitted

    def _fit_estimator(self, rows: Floats, labels: Floats, member: int) -> Any:
        """Fit an estimator to rows [k, d] and labels [k], or return a number that is always predicted.

        The number is 0 if there are too few examples. If a classifier has seen only one label, it is this
        label.
        """
        if len(rows) < self._solver.least:
            return 0.0
        if _is_classifier(self._solver.name):
            labels = np.sign(labels).astype(int)
            if len({*labels}) == 1:
                return float(labels[0])
        estimator = self._solver.estimator(self._seeds[member // self._targets])
        try:
            with warnings.catch_warnings(), one_thread():
                warnings.simplefilter("ignore")  # each fit would repeat the same warning
                return estimator.fit(rows, labels)
        except Exception as error:
            summary = (
                f"cannot be fitted to {len(rows)} examples (to begin later, set least = {len(rows) + 1})"
            )
            raise self._solver.fault(summary, error) from error


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


def _is_classifier(name: str) -> bool:
    from sklearn.base import ClassifierMixin

    cls = _estimator_class(name)
    return cls is not None and issubclass(cls, ClassifierMixin)


def _estimator_names() -> list[str]:
    from sklearn.utils.discovery import all_estimators  # type: ignore[import-untyped]

    return [name for name, _ in all_estimators(type_filter=["regressor", "classifier"])]
