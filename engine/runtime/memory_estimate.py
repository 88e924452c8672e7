"""How much memory a run needs, estimated and compared with what there is before anything is allocated."""

from __future__ import annotations

import ctypes
import math
import os
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any

from msgspec.structs import replace

from engine.backends import backend_of, weight_vectors
from engine.core.free_memory import free_bytes, in_words
from engine.core.lazy import torch
from engine.core.parts import BadField, BadInput
from engine.learners.learner import Learner
from engine.measures import Measure
from engine.protocols import CLOCKS
from engine.results.series import bytes_of
from engine.spec.asked import asked
from engine.spec.check import check as check_experiment
from engine.spec.experiment import Experiment
from engine.training.descent import rates_of
from engine.training.kept_weights import MOST_WEIGHT_BYTES, MOST_WEIGHT_RECORDS
from engine.training.recorder import CELLS

LONG, WIDE = 4 << 20, 8 << 20
"""Bytes of a weight vector, or of all of a learner, from which on the C library scatters them."""

HOLES = 2
"""By how much such a batch of short vectors was seen to take more than it needs."""

VECTORS = 5
"""Numbers per row of Sylvester's matrix while it is drawn: order, signs, and the feature that labels it."""

SEEN = 4
"""Numbers in float64 for every prediction while losses over rows seen and unseen, or classes, are found."""

ROTATED = 3
"""Matrices [d, d] in float64 that a rotation is made of."""

GENERATORS = 2 * 1400
"""Bytes of the random generators of a replica: each stream has one, and few streams live at a time."""

GRANTED = 8 << 20
"""So many bytes are free wherever torch could be loaded; the system is not asked for them.

Asking it takes a library that loads in 7 ms, a quarter of a small run.
"""


def needed(experiment: Experiment) -> int:
    """Bytes that a run holds at its peak."""
    return _shares(experiment).total()


def _shares(experiment: Experiment) -> Counter[str]:
    """Bytes by the place that asks for them, the matrix first."""
    matrix, replicas, item = experiment.problem.matrix, experiment.run.replicas, _item(experiment)
    n, d = matrix.shape()
    targets = experiment.problem.target.columns(matrix)
    if not matrix.is_sylvester:
        drawn = n * (d * (8 + item) + 8 * matrix.feature_count())
    elif any(backend_of(learner, experiment).takes_matrix for learner in experiment.learners):
        drawn = n * (8 * VECTORS + 3 * d * item)
    else:
        drawn = n * 8 * VECTORS
    drawn += GENERATORS
    if matrix.rotate:
        drawn += 8 * d * (ROTATED * d + n)
    read = matrix.unread_bytes() + experiment.problem.target.unread_bytes()
    labels = replicas * targets * n * (8 + item)
    sized = "problem.matrix.d" if "d" in matrix.__struct_fields__ else "problem.matrix"
    shares = Counter({sized: read + replicas * drawn + labels})
    shares.update({_place(number, learner): 0 for number, learner in enumerate(experiment.learners)})
    records = experiment.protocol.record_count(n)
    curves = 1 + sum(len(rates_of(learner)) for learner in experiment.learners)
    most = max(len(asked(experiment, learner)) for learner in experiment.learners)
    shares["protocol"] = curves * bytes_of(len(CLOCKS) + most, records, replicas)
    measured: Counter[str] = Counter()
    for number, learner in enumerate(experiment.learners):
        place = _place(number, learner)
        batch = weight_vectors(learner, experiment)
        rates = batch // (replicas * targets)
        shares[place] += rates * min(MOST_WEIGHT_BYTES, min(MOST_WEIGHT_RECORDS, records) * d * item)
        if rates > 1:
            shares[place] += batch * n * item
        measured[place] = 3 * item * max(CELLS, batch * n)
        measures = asked(experiment, learner)
        if experiment.problem.one_hot or any(measure.of_rows_seen for measure in measures):
            measured[place] += 8 * SEEN * max(CELLS, batch * n)
        if learner.solver is not None:
            shares[place] += 8 * (2 * replicas * learner.solver.size(n, d) + batch * d)
        else:
            assert learner.architecture is not None, "Learner admits no other combination"
            models = experiment.protocol.models(n)
            nets = models * batch // learner.architecture.outputs
            backend = backend_of(learner, experiment)
            copies = backend.copies
            if not backend.in_place and models * batch * d * item >= WIDE:
                copies *= HOLES
            shares[place] += nets * copies * item * learner.architecture.size(d) + models * batch * item * n
            shares[place] += nets * _matrices(learner, d)
            if learner.noise is not None:
                shares[place] += 8 * replicas * learner.architecture.size(d)
            numbers = experiment.protocol.solver_numbers(learner.architecture.size(d))
            shares[place] += nets * 8 * numbers
            if models > 1 and learner.update is not None:
                # Each draws the rows of its mini-batches, for every member of the batch.
                shares[place] += models * batch * (learner.update.mini_batch or 0) * (2 * 8 + 8 + item)
            if (drawn_rows := experiment.protocol.drawn_rows(n)) > 0:
                shares[place] += drawn_rows * (replicas * (d * item + 2 * 8) + batch * (8 + item))
            measured[place] += 3 * item * nets // models * n * learner.architecture.units
            measured[place] += _derived(measures, learner, nets, experiment)
            shares["protocol"] += models * batch * records * 8 * _entries(measures, learner, experiment)
        others = sum(measure.under is not None for measure in measures)
        shares[place] += others * (shares[place] + replicas * n * d * item + 8 * ROTATED * d * d)
    place, most = max(measured.items(), key=lambda pair: pair[1])  # the learners are measured in turn
    shares[place] += most
    return shares


def _derived(measures: tuple[Measure, ...], learner: Learner, nets: int, experiment: Experiment) -> int:
    """Bytes that measures of parameters hold of so many nets, derivatives too."""
    architecture, (n, d) = learner.architecture, experiment.problem.matrix.shape()
    asking = [measure for measure in measures if measure.of_parameters]
    if architecture is None or not asking:
        return 0
    size, signals = architecture.size(d), n * (architecture.outputs + architecture.units)
    start = nets * size * _item(experiment) if any(measure.of_start for measure in asking) else 0
    return start + 8 * max(measure.numbers(size, signals, nets) for measure in asking)


def _entries(measures: tuple[Measure, ...], learner: Learner, experiment: Experiment) -> int:
    """How many numbers of measures with indices are kept of a replica at every record."""
    indices = [measure.index(learner, experiment.problem) for measure in measures if not measure.expensive]
    return sum(math.prod(len(each.values) for each in index) for index in indices if index)


def _matrices(learner: Learner, d: int) -> int:
    """Bytes of the matrices that a second-order rule keeps over the inputs of every trained parameter."""
    architecture, update = learner.architecture, learner.update
    if architecture is None or update is None or not update.matrices:
        return 0
    shapes = architecture.shapes(d)
    return 8 * update.matrices * sum(shapes[name][-1] ** 2 for name in architecture.layers)


def vector_bytes(experiment: Experiment) -> int:
    """The size of an instance, or of a weight for each of its features."""
    return experiment.problem.matrix.shape()[1] * _item(experiment)


def _item(experiment: Experiment) -> int:
    """Bytes of a number."""
    return 4 if experiment.dtype == "float32" else 8


def _place(number: int, learner: Learner) -> str:
    """The field that a learner's memory is asked for by: several rates, or else what it is."""
    if learner.solver is not None:
        return f"learners[{number}].solver"
    return f"learners[{number}].{'update.lr' if len(rates_of(learner)) > 1 else 'architecture'}"


def available(device: str) -> int:
    """Bytes that a run can take on a device."""
    if device != "cpu":
        free, _ = torch.cuda.mem_get_info(device)
        return int(free)
    return free_bytes()


def ran_out(error: Exception) -> bool:
    """Whether an error says that there was no more memory: numpy's, torch's on CUDA or torch's on the CPU."""
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or "DefaultCPUAllocator" in str(error)


def scatters(experiment: Experiment) -> bool:
    """Whether the learners use tensors so large that free memory is to be returned before every round."""
    size = vector_bytes(experiment)
    most = max(weight_vectors(learner, experiment) for learner in experiment.learners)
    return size >= LONG or most * size >= WIDE


def give_back() -> None:
    """Return the memory that is free to the system, where the C library has a call for it (glibc's has).

    Left to itself glibc scatters tensors of a few MB: aligned ones do not fit into the holes that such leave
    behind, and a run on vectors of 4 MB came to hold three times what it used.
    """
    if (trim := _trim()) is not None:
        trim(0)


@cache
def _trim() -> Callable[[int], int] | None:
    """malloc_trim of the C library, None where there is no such call."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None


def check(experiment: Experiment, device: str) -> int:
    """Bytes that a run holds at its peak, as `needed` says.

    Raises: BadInput if that is more than what is free now. Its place is the matrix if that alone would not
    fit, and else what asks for most.
    """
    shares = _shares(experiment)
    if shares.total() <= GRANTED or shares.total() <= (free := available(device)):
        return shares.total()
    data = next(iter(shares))
    where = data if shares[data] > free else max(shares, key=shares.__getitem__)
    n, d = experiment.problem.matrix.shape()
    size = f"a {n} × {d} matrix"
    if experiment.run.replicas > 1:
        size += f" in {experiment.run.replicas} replicas"
    if where == "protocol":
        size = (
            f"{experiment.protocol.record_count(n)} evaluation points of {len(experiment.learners)} learners"
        )
    if where.startswith("learners"):
        learner = experiment.learners[int(where.removeprefix("learners[").split("]")[0])]
        size = f"{learner.name} on {size}"
        if len(rates_of(learner)) > 1:
            size = f"{len(rates_of(learner))} rates of {size}"
    raise BadInput(
        where,
        f"{size} needs {in_words(shares.total())} of memory and {device} has {in_words(free)} free; "
        f"take {_that_fits(experiment, free)}",
    )


def fits(experiment: Experiment, free: int) -> bool:
    """Whether an experiment fits into so many bytes."""
    return needed(experiment) <= free


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
