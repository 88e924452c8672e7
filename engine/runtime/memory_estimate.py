"""Whether a run fits into the memory that is free, and what would fit instead."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import cache
from typing import Any

from msgspec.structs import replace

from engine.core.lazy import torch
from engine.core.memory import free_bytes, in_words
from engine.core.parts import BadField, BadInput
from engine.learners.learner import Learner
from engine.planning.memory import drawn_bytes, needed_bytes, shares
from engine.planning.run_plan import RunPlan, plan_run
from engine.spec.check import check as check_experiment
from engine.spec.experiment import Experiment
from engine.training.descent import rates_of

GRANTED = 8 << 20
"""So many bytes are free wherever torch could be loaded; the system is not queried for them.

Querying it takes a library that loads in 7 ms, a quarter of a small run.
"""


def available(device: str) -> int:
    """Bytes that a run can take on a device."""
    if device != "cpu":
        free, _ = torch.cuda.mem_get_info(device)
        return int(free)
    return free_bytes()


def ran_out(error: Exception) -> bool:
    """Whether an error says that there was no more memory: numpy's, torch's on CUDA or torch's on the CPU."""
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or "DefaultCPUAllocator" in str(error)


def give_back() -> None:
    """Return the memory that is free to the system, where the C library has a call for it (glibc's has).

    Left to itself glibc scatters tensors of a few MB: aligned ones do not fit into the holes that such leave
    behind, and a run on vectors of 4 MB came to hold three times what it used. After a
    thousand runs the app held 20 MB more than with this call after each, which takes half a millisecond.
    """
    if (trim := _trim()) is not None:
        trim(0)


@cache
def _trim() -> Callable[[int], int] | None:
    """malloc_trim of the C library, None where there is no such call."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None


def check(plan: RunPlan, device: str) -> int:
    """Return the bytes that a run holds at its peak.

    Raises: BadInput if that is more than what is free now. Its place is the matrix if that alone would not
    fit, and else what needs most.
    """
    by_place = shares(plan)
    if by_place.total() <= GRANTED or by_place.total() <= (free := available(device)):
        return by_place.total()
    experiment, data = plan.experiment, next(iter(by_place))
    alone = max(by_place[data], drawn_bytes(plan)) > free
    where = data if alone else max(by_place, key=by_place.__getitem__)
    size, needed = _size_in_words(plan, where), in_words(by_place.total())
    lack = f"{size} needs {needed} of memory and {device} has {in_words(free)} free"
    raise BadInput(where, f"{lack}; take {_that_fits(experiment, free)}")


def _size_in_words(plan: RunPlan, where: str) -> str:
    """What is too large, by the field that decides on it."""
    n, d = plan.experiment.n, plan.experiment.d
    size = f"a {n} × {d} matrix"
    if plan.experiment.run.replicas > 1:
        size += f" in {plan.experiment.run.replicas} replicas"
    if where == "protocol":
        return f"{plan.learners[0].records} evaluation points of {len(plan.learners)} learners"
    if where.startswith("learners"):
        planned = plan.learners[int(where.removeprefix("learners[").split("]")[0])]
        size = f"{planned.learner.name} on {size}"
        if len(planned.rates) > 1:
            size = f"{len(planned.rates)} rates of {size}"
    return size


def fits(experiment: Experiment, free: int) -> bool:
    """Whether an experiment fits into so many bytes."""
    return needed_bytes(plan_run(experiment)) <= free


def _that_fits(experiment: Experiment, free: int) -> str:
    """The nearest settings that fit, each alone, in words."""

    def fitting(**changes: Any) -> bool:
        return fits(replace(experiment, run=replace(experiment.run, **changes)), free)

    ways = []
    if experiment.run.path != "auto" and fitting(path="auto"):
        ways.append("run.path = auto")
    if replicas := _largest(experiment.run.replicas, lambda count: fitting(replicas=count)):
        ways.append(f"run.replicas = {replicas}")
    d = getattr(experiment.problem.matrix, "d", None)
    if d is not None and (smaller := _nearest(experiment, d, free)):
        ways.append(f"problem.matrix.d = {smaller}")
    singly = tuple(_with_one_rate(learner) for learner in experiment.learners)
    if singly != experiment.learners and fits(replace(experiment, learners=singly), free):
        ways.append("fewer rates")
    return " or ".join(ways) or "a smaller learner or fewer evaluation points"


def _with_one_rate(learner: Learner) -> Learner:
    """The learner with the first of its rates alone."""
    if learner.update is None or len(rates := rates_of(learner)) == 1:
        return learner
    return replace(learner, update=replace(learner.update, lr=rates[0]))


def _with_features(experiment: Experiment, d: int) -> Experiment | None:
    """The experiment with so many features and no claims; None if there can be none such."""
    try:
        matrix = replace(experiment.problem.matrix, d=d)
        other = replace(experiment, problem=replace(experiment.problem, matrix=matrix), claims=())
        check_experiment(other)
    except (BadField, BadInput):
        return None
    return other


def _largest(below: int, fitting: Callable[[int], bool]) -> int:
    """The largest number from 1 on and below another that fits, 0 if there is none; by bisection."""
    low, high = 0, below - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fitting(middle) else (low, middle - 1)
    return low


def _nearest(experiment: Experiment, d: int, free: int) -> int:
    """The largest d that fits, or where not every d makes a matrix one of its halves; 0 if there is none."""
    for halvings in range(1, d.bit_length() - 1):  # no matrix has a single feature
        smaller = _with_features(experiment, d >> halvings)
        if smaller is not None and fits(smaller, free):
            break
    else:
        return 0
    low, high = d >> halvings, d >> halvings - 1
    while high - low > 1 and (smaller := _with_features(experiment, (low + high) // 2)):
        low, high = ((low + high) // 2, high) if fits(smaller, free) else (low, (low + high) // 2)
    return low
