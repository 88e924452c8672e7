"""How large the run of a learner is."""

from __future__ import annotations

from engine.backends import weight_vectors
from engine.core.sizes import Sizes
from engine.learners.learner import Learner
from engine.spec.setup import Setup

BYTES = {"float32": 4, "float64": 8}
"""Bytes of a number by dtype."""


def sizes_of(learner: Learner, experiment: Setup) -> Sizes:
    """Return how large the run of a learner is."""
    n, d = experiment.problem.matrix.shape()
    sizes = Sizes(
        n=n,
        d=d,
        item=BYTES[experiment.dtype],
        replicas=experiment.run.replicas,
        batch=weight_vectors(learner, experiment),
        targets=experiment.problem.target.columns(experiment.problem.matrix),
        examples=experiment.protocol.examples_given(n),
        one_hot=experiment.problem.one_hot,
    )
    if (architecture := learner.architecture) is None:
        return sizes
    return sizes._replace(
        models=experiment.protocol.models(n),
        outputs=architecture.outputs,
        parameters=architecture.size(d),
        units=architecture.units,
    )
