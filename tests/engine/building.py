"""Short descriptions of experiments, and their measurements by replica."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from msgspec import structs
from numpy.typing import NDArray

from engine.backends import Backend, why_not
from engine.core import catalogue
from engine.core.streams import Streams
from engine.hypotheses.hypothesis import Hypothesis
from engine.learners.learner import Learner
from engine.measures import Measure
from engine.planning.memory_estimate import needed_bytes
from engine.planning.run_plan import LearnerPlan, plan_run, recorded_measures
from engine.problems.data import Data, draw
from engine.results.report import Spectrum
from engine.results.trace import Curve
from engine.runtime.run import prepare, run
from engine.spec import reading
from engine.spec.experiment import Experiment
from engine.symmetry.certificate import Comparison
from engine.training.descent import TrainingInputs, begin
from engine.updates import refused_loss

Words = str | Mapping[str, Any]
"""A part: its kind alone, or its kind and fields as a preset says them."""

WORDS = ("rate_unit", "role", "start_seed", "where")
"""Fields of a learner that hold a word or numbers, not a part."""

ALL = 10**9
"""More records than any training run has."""

LLS = {"solver": "lls"}


def gd(lr: float, **architecture: Any) -> dict[str, Any]:
    """Raw learner: gradient descent on the linear neuron, or on the described architecture."""
    return {"update": {"kind": "gd", "lr": lr}, "architecture": architecture or "linear"}


def raw(
    matrix: Words = "hadamard",
    target: Words = "feature",
    learners: Mapping[str, Mapping[str, Words]] | None = None,
    *,
    d: int | None = None,
    loss: str | None = None,
    noise: float = 0.0,
    labels: str = "soft",
    protocol: Words = "one-pass",
    claims: list[dict[str, Any]] | None = None,
    **settings: Any,
) -> dict[str, Any]:
    """Return a document like that of a preset file, float64 on the CPU by default.

    The loss is square by default. If a rule refuses square, it is the loss that the rule takes, on the signs
    of the labels, without noise. A solver that needs signs gets them too.
    """
    matrix = part(matrix)
    learners = {
        learner_name: _whole(learner)
        for learner_name, learner in (learners or {"GD": {"update": "gd"}}).items()
    }
    if loss is None and (needed := _needed(learners)):
        loss, noise, labels = needed, 0.0, "sign"
    if d is not None:
        matrix["d"] = d
    return {
        "problem": {"matrix": matrix, "target": part(target), "noise": noise, "labels": labels},
        "protocol": {"loss": loss or "square", **part(protocol)},
        "run": {"dtype": "float64", "device": "cpu", **settings},
        "learners": [
            {
                "name": learner_name,
                **{role: words if role in WORDS else part(words) for role, words in learner.items()},
            }
            for learner_name, learner in learners.items()
        ],
        "claims": claims or [],
    }


def planned(learner: Learner, described: Experiment) -> LearnerPlan:
    """Plan of a learner, the only one in its experiment."""
    return plan_run(structs.replace(described, learners=(learner,))).learners[0]


def measures_of(learner: Learner, described: Experiment) -> tuple[Measure, ...]:
    """Measures that a run records of a learner."""
    alone = structs.replace(described, learners=(learner,))
    return recorded_measures(alone).by_learner[learner.name]


def refusal(backend: Backend, learner: Learner, described: Experiment) -> str | None:
    """Reason why a backend cannot serve a learner with its recorded measures, or None."""
    if reason := backend.refuses(learner, described):
        return reason  # without measures, because planning what is recorded takes long
    return why_not(backend, learner, described, measures_of(learner, described))


def needed(described: Experiment) -> int:
    """Bytes that a run holds at its peak."""
    return needed_bytes(plan_run(described))


def experiment(*words: Any, **more: Any) -> Experiment:
    """Experiment that `raw` describes, read like a preset."""
    return reading.parse(raw(*words, **more))


def curve(*words: Any, **more: Any) -> Curve:
    """Curve of the first learner of an experiment."""
    return run(experiment(*words, **more)).curves[0]


def change_under(described: Experiment, learner: Learner, transformation: NDArray[np.float64]) -> float:
    """Return the largest relative change of a prediction when x becomes g x, g orthogonal [d, d]."""
    return Comparison(described, learner, learner).under([transformation])


def spectrum_of(curve: Curve) -> Spectrum | None:
    """Recorded spectrum of a curve, or None."""
    recorded = curve.array("spectrum")
    return None if recorded is None else Spectrum(recorded.x, recorded.values[:, 0])


def losses(described: Experiment) -> dict[str, NDArray[np.float64]]:
    """Losses of every learner, [records, replicas]."""
    with torch.no_grad():
        _, learner_runs = prepare(plan_run(described))
        return {
            learner_run.curves[0].name: learner_run.training_run.advance(ALL).loss[:, :, 0]
            for learner_run in learner_runs
        }


def data_of(described: Experiment) -> Data:
    """Data that the learners of an experiment see."""
    seeds = range(described.run.seed, described.run.seed + described.run.replicas)
    return draw(described.problem, Streams(seeds), described.run.dtype, "cpu")


def beginning(described: Experiment, number: int = 0) -> tuple[Hypothesis, Data]:
    """Hypothesis of a learner before its first example, and its data."""
    data = data_of(described)
    return begun(described, number, data), data


def begun(described: Experiment, number: int, data: Data) -> Hypothesis:
    """Hypothesis of a learner before its first example, on given data."""
    seeds = range(described.run.seed, described.run.seed + described.run.replicas)
    loss = catalogue.make("losses", described.protocol.loss)
    return begin(TrainingInputs(described.learners[number], data, loss, Streams(seeds)))


def predictions(described: Experiment, number: int = 0) -> NDArray[np.floating[Any]]:
    """Predictions of a learner after k = 0 … n examples, [n + 1, B, n]."""
    return predicted(*beginning(described, number))


def predicted(hypothesis: Hypothesis, data: Data) -> NDArray[np.floating[Any]]:
    """Predictions of a learner after k = 0 … n examples, [n + 1, B, n]."""
    predictions = [hypothesis.predict(data.instances)]
    for k in range(data.instances.n):
        hypothesis.learn(data.instances.at(slice(k, k + 1)), data.labels[:, k : k + 1])
        predictions.append(hypothesis.predict(data.instances))
    return torch.stack(predictions).numpy()


def weights(described: Experiment, number: int = 0) -> NDArray[np.floating[Any]]:
    """Weight vectors of a linear learner after k = 0 … n examples, [n + 1, B, d]."""
    hypothesis, data = beginning(described, number)
    vectors = [hypothesis.weights()]
    for k in range(data.instances.n):
        hypothesis.learn(data.instances.at(slice(k, k + 1)), data.labels[:, k : k + 1])
        vectors.append(hypothesis.weights())
    return torch.stack(vectors).numpy()


def part(words: Words) -> dict[str, Any]:
    return {"kind": words} if isinstance(words, str) else dict(words)


def _whole(learner: Mapping[str, Words]) -> dict[str, Words]:
    return dict(learner) if "solver" in learner else {"architecture": "linear", **learner}


def _needed(learners: Mapping[str, Mapping[str, Words]]) -> str | None:
    """Loss that a learner needs on the signs of labels because its rule refuses square loss, or None."""
    for learner in learners.values():
        if "solver" in learner and _is_for_signs(learner["solver"]):
            return "square"
        if "update" in learner:
            rule = catalogue.make("updates", **part(learner["update"]))
            takes = [
                kind
                for kind in ("square", *catalogue.members("losses"))
                if refused_loss(rule, catalogue.make("losses", kind)) is None
            ]
            if takes[0] != "square":
                return takes[0]
    return None


def _is_for_signs(solver: Words) -> bool:
    """Whether a solver needs labels ±1."""
    needed: str = catalogue.make("solvers", part(solver)["kind"]).structure().labels
    return needed == "signs"
