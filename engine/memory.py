"""How much memory a run needs, estimated and compared with what there is before anything is allocated."""

from __future__ import annotations

from collections import Counter

from engine.experiment import Experiment
from engine.lazy import torch
from engine.parts import BadInput
from engine.recorder import CELLS
from engine.streams import Streams
from engine.trace import MOST_WEIGHT_BYTES, MOST_WEIGHT_RECORDS

COPIES = 7
"""Parameters, their gradient, the state of the rule, and their successors: live at once during a step."""


def needed(experiment: Experiment) -> int:
    """Bytes that a run holds at its peak."""
    return sum((_shares(experiment) + _matrices(experiment)).values())


def _shares(experiment: Experiment) -> Counter[str]:
    """Bytes by the place that asks for them, the matrix first; without the matrices of second-order rules."""
    matrix = experiment.problem.matrix
    n, d = matrix.shape()
    replicas, item = experiment.run.replicas, 4 if experiment.run.dtype == "float32" else 8
    targets = experiment.problem.target.columns(matrix)
    drawn = replicas * n * (d * (8 + item) + 8 * matrix.feature_count())
    labels = replicas * targets * n * (8 + item)
    batch = replicas * targets
    losses = 3 * item * max(CELLS, batch * n)
    sized = "problem.matrix.d" if "d" in matrix.__struct_fields__ else "problem.matrix"
    shares = Counter({sized: drawn + labels + losses})
    kept = min(MOST_WEIGHT_BYTES, MOST_WEIGHT_RECORDS * d * item)
    for number, learner in enumerate(experiment.learners):
        if learner.solver is not None:
            fit = 8 * (2 * replicas * learner.solver.size(n, d) + batch * d)
            shares[f"learners[{number}].solver"] = fit + kept
        else:
            assert learner.architecture is not None, "Learner admits no other combination"
            parameters = COPIES * item * batch * learner.architecture.size(d)
            shares[f"learners[{number}].architecture"] = parameters + kept
    return shares


def _matrices(experiment: Experiment) -> Counter[str]:
    """Bytes of the matrices that second-order rules keep over the inputs of every parameter.

    It draws one start, for which there is room wherever `_shares` fit.
    """
    _, d = experiment.problem.matrix.shape()
    batch = experiment.run.replicas * experiment.problem.target.columns(experiment.problem.matrix)
    shares: Counter[str] = Counter()
    for number, learner in enumerate(experiment.learners):
        if learner.update is not None and learner.update.matrices:
            assert learner.architecture is not None, "Learner admits no other combination"
            start = learner.architecture.start(Streams([0])("init"), d)
            inputs: list[int] = [start[name].shape[-1] for name in learner.architecture.layers]
            squares = sum(size * size for size in inputs)
            shares[f"learners[{number}].architecture"] = 8 * batch * learner.update.matrices * squares
    return shares


def available(device: str) -> int:
    """Bytes that are free on a device."""
    if device != "cpu":
        free, _ = torch.cuda.mem_get_info(device)
        return int(free)
    import psutil

    return int(psutil.virtual_memory().available)


def check(experiment: Experiment, device: str) -> None:
    """Raises: BadInput if the run would not fit into the memory that is free now.

    Its place is the matrix if that alone would not fit, and else what asks for most.
    """
    shares, free = _shares(experiment), available(device)
    if shares.total() <= free:
        shares += _matrices(experiment)
    if shares.total() <= free:
        return
    data = next(iter(shares))
    where = data if shares[data] > free else max(shares, key=shares.__getitem__)
    n, d = experiment.problem.matrix.shape()
    size = f"a {n} × {d} matrix"
    if experiment.run.replicas > 1:
        size += f" in {experiment.run.replicas} replicas"
    smaller = ["a smaller d", "fewer replicas"][: 1 + (experiment.run.replicas > 1)]
    if where.startswith("learners"):
        size = f"the learner on {size}"
        smaller.insert(0, "a smaller learner")
    raise BadInput(
        where,
        f"{size} needs {_gib(shares.total())} of memory and {device} has {_gib(free)} free; "
        f"take {' or '.join(smaller)}",
    )


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"
