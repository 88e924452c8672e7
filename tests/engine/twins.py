"""Comparison of curves of one learner by two backends."""

from __future__ import annotations

from typing import Any

import numpy as np
from building import experiment, refusal

from engine.backends import Backend, backends
from engine.results.trace import Curve
from engine.runtime.run import run
from engine.spec.experiment import Experiment

FAST = {backend_name: backend for backend_name, backend in backends().items() if backend_name != "dense"}
"""The backends that are compared with the one that takes every step of every learner on the matrix."""


def serving(described: Experiment) -> dict[str, Backend]:
    """The fast backends that serve all learners of an experiment."""
    return {
        backend_name: backend
        for backend_name, backend in FAST.items()
        if all(refusal(backend, learner, described) is None for learner in described.learners)
    }


def twins(backend: str, dtype: str = "float64", **words: Any) -> list[tuple[Curve, Curve]]:
    """Pairs of curves of an experiment: by a backend and by `dense`."""
    fast, naive = (run(experiment(path=path, dtype=dtype, **words)) for path in (backend, "dense"))
    assert {curve.backend for curve in fast.curves} == {backend}
    return list(zip(fast.curves, naive.curves, strict=True))


def assert_twins(curve: Curve, twin: Curve, tolerance: float = 1e-9) -> None:
    """Check that losses, errors and weights agree, relative to the largest of each."""
    assert not (curve.mean("loss") < 0).any(), curve.name
    largest = twin.mean("loss").max()
    for array, expected, scale in (
        (curve.mean("loss"), twin.mean("loss"), largest),
        (curve.stderr_of("loss"), twin.stderr_of("loss"), largest),
        (curve.mean("error"), twin.mean("error"), 1.0),
        (curve.weights, twin.weights, None),
    ):
        assert (array is None) == (expected is None), curve.name
        if expected is not None:
            within = tolerance * (abs(expected).max() if scale is None else scale)
            np.testing.assert_allclose(array, expected, rtol=0, atol=within, err_msg=curve.name)
