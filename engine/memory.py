"""How much memory a run needs, estimated and compared with what there is before anything is allocated."""

from __future__ import annotations

from engine.experiment import Experiment, Learner
from engine.lazy import torch
from engine.parts import BadInput
from engine.recorder import CELLS
from engine.streams import Streams
from engine.trace import MOST_WEIGHT_BYTES, MOST_WEIGHT_RECORDS

COPIES = 7
"""Parameters, their gradient, the state of the rule, and their successors: live at once during a step."""


def needed(experiment: Experiment) -> int:
    """Bytes that a run holds at its peak."""
    n, d = experiment.problem.matrix.shape()
    replicas, item = experiment.run.replicas, 4 if experiment.run.dtype == "float32" else 8
    targets = experiment.problem.target.columns(experiment.problem.matrix)
    drawn = replicas * n * (d * (8 + item) + 8 * experiment.problem.matrix.feature_count())
    labels = replicas * targets * n * (8 + item)
    batch = replicas * targets
    losses = 3 * item * max(CELLS, batch * n)
    learners = sum(_learner(learner, n, d, batch, replicas, item) for learner in experiment.learners)
    return drawn + labels + losses + learners


def _learner(learner: Learner, n: int, d: int, batch: int, replicas: int, item: int) -> int:
    kept = min(MOST_WEIGHT_BYTES, MOST_WEIGHT_RECORDS * d * item)
    if learner.solver is not None:
        return 8 * (2 * replicas * learner.solver.size(n, d) + batch * d) + kept
    assert learner.architecture is not None, "Learner admits no other combination"
    return COPIES * item * batch * learner.architecture.size(d) + _matrices(learner, d, batch) + kept


def _matrices(learner: Learner, d: int, batch: int) -> int:
    """Bytes of the matrices that a second-order rule keeps over the inputs of every parameter."""
    assert learner.architecture is not None, "Learner admits no other combination"
    assert learner.update is not None, "Learner admits no other combination"
    if not learner.update.matrices:
        return 0
    start = learner.architecture.start(Streams([0])("init"), d)
    inputs: list[int] = [start[name].shape[-1] for name in learner.architecture.layers]
    return 8 * batch * learner.update.matrices * sum(size * size for size in inputs)


def available(device: str) -> int:
    """Bytes that are free on a device."""
    if device != "cpu":
        free, _ = torch.cuda.mem_get_info(device)
        return int(free)
    import psutil

    return int(psutil.virtual_memory().available)


def check(experiment: Experiment, device: str) -> None:
    """Raises: BadInput if the run would not fit into the memory that is free now."""
    need, free = needed(experiment), available(device)
    if need > free:
        n, d = experiment.problem.matrix.shape()
        size = f"a {n} × {d} matrix"
        if experiment.run.replicas > 1:
            size += f" in {experiment.run.replicas} replicas"
        fewer = " or fewer replicas" if experiment.run.replicas > 1 else ""
        raise BadInput(
            "problem.matrix.d" if "d" in experiment.problem.matrix.__struct_fields__ else "problem.matrix",
            f"{size} needs {_gib(need)} of memory and {device} has {_gib(free)} free; "
            f"take a smaller d{fewer}",
        )


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"
