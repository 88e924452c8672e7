"""How much memory a run needs, estimated and compared with what there is before anything is allocated."""

from __future__ import annotations

import ctypes
import os
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any

from msgspec.structs import replace

from engine.backends import LONG, WIDE, backend_of, weight_vectors
from engine.core.free_memory import free_bytes, in_words
from engine.core.lazy import torch
from engine.core.parts import BadField, BadInput
from engine.core.sizes import DERIVED, Sizes
from engine.learners.learner import Learner
from engine.measures import Measure
from engine.problems.matrices import ROTATED
from engine.protocols import CLOCKS
from engine.results.series import bytes_of
from engine.runtime.other_runs import other_runs
from engine.spec.check import check as check_experiment
from engine.spec.experiment import Experiment
from engine.spec.recorded import recorded_measures
from engine.training.descent import rates_of
from engine.training.evaluators import choice as evaluators
from engine.training.kept_weights import MOST_WEIGHT_BYTES, MOST_WEIGHT_RECORDS

KERNELS = 4
"""Tangent kernels of a net that are held at once while one is made and taken apart."""

GRANTED = 8 << 20
"""So many bytes are free wherever torch could be loaded; the system is not queried for them.

Querying it takes a library that loads in 7 ms, a quarter of a small run.
"""


def needed(experiment: Experiment) -> int:
    """Bytes that a run holds at its peak."""
    return _shares(experiment).total()


def _shares(experiment: Experiment) -> Counter[str]:
    """Bytes by the place that needs them, the matrix first. Runs for lines count as the protocol's."""
    shares = _own_shares(experiment)
    shares["protocol"] += sum(_own_shares(other).total() for other in other_runs(experiment).experiments)
    return shares


def _own_shares(experiment: Experiment) -> Counter[str]:
    """The same of the learners alone: what every part says that it takes."""
    problem, protocol, replicas = experiment.problem, experiment.protocol, experiment.run.replicas
    learners = {_place(number, learner): learner for number, learner in enumerate(experiment.learners)}
    sized = "problem.matrix.d" if "d" in problem.matrix.__struct_fields__ else "problem.matrix"
    shares = Counter({sized: 0})
    shares.update(dict.fromkeys(learners, 0))
    records = protocol.record_count(problem.matrix.shape()[0])
    curves = 1 + sum(len(rates_of(learner)) for learner in learners.values())
    most = max(len(recorded_measures(experiment, learner)) for learner in learners.values())
    shares["protocol"] = curves * bytes_of(len(CLOCKS) + most, records, replicas)
    measured: Counter[str] = Counter()
    for place, learner in learners.items():
        sizes, measures = sizes_of(learner, experiment), recorded_measures(experiment, learner)
        shares[place] += _trained(learner, sizes, records, experiment)
        backend = backend_of(learner, experiment)
        measured[place] = _measured(measures, sizes, backend.predicts)
        if backend.takes_matrix and (learner.solver is None or learner.solver.linear_in_instance):
            measured[place] += evaluators.bytes_held(sizes)
        if learner.architecture is not None:
            kept = sum(measure.numbers_kept(learner, problem) for measure in measures)
            shares["protocol"] += sizes.models * sizes.batch * records * DERIVED * kept
        others = sum(measure.under is not None for measure in measures)
        turned = replicas * sizes.n * sizes.d * sizes.item + DERIVED * ROTATED * sizes.d**2
        shares[place] += others * (shares[place] + turned)
    place, most = max(measured.items(), key=lambda pair: pair[1])  # the learners are measured in turn
    shares[place] += most
    shares[sized] = max(kept_bytes(experiment), drawn_bytes(experiment) - shares.total())
    return shares


def drawn_bytes(experiment: Experiment) -> int:
    """Bytes of the data of a run, at most, while they are drawn."""
    return experiment.problem.bytes_drawn(experiment.run.replicas, _item(experiment), _as_matrix(experiment))


def kept_bytes(experiment: Experiment) -> int:
    """Bytes of the data of a run beside its learners."""
    return experiment.problem.bytes_kept(experiment.run.replicas, _item(experiment), _as_matrix(experiment))


def _as_matrix(experiment: Experiment) -> bool:
    """Whether a learner needs the instances as a matrix, where there may be none."""
    return any(backend_of(learner, experiment).takes_matrix for learner in experiment.learners)


def sizes_of(learner: Learner, experiment: Experiment) -> Sizes:
    """How large the run of a learner is."""
    n, d = experiment.problem.matrix.shape()
    sizes = Sizes(
        n=n,
        d=d,
        item=_item(experiment),
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


def _trained(learner: Learner, sizes: Sizes, records: int, experiment: Experiment) -> int:
    """Bytes that a learner takes while it is trained, with the weights that its curves keep."""
    rates = len(rates_of(learner))
    taken = rates * min(MOST_WEIGHT_BYTES, min(MOST_WEIGHT_RECORDS, records) * sizes.d * sizes.item)
    if rates > 1:
        taken += sizes.batch * sizes.n * sizes.item
    if learner.solver is not None:
        return taken + learner.solver.bytes_held(sizes)
    assert learner.architecture is not None, "Learner admits no other combination"
    taken += backend_of(learner, experiment).bytes_held(sizes) + experiment.protocol.bytes_held(sizes)
    if learner.rate_unit == "start-jacobian":
        taken += KERNELS * DERIVED * (sizes.n * sizes.outputs) ** 2
    if learner.update is not None:
        taken += learner.update.bytes_held(learner.architecture, sizes)
    return taken + (0 if learner.noise is None else learner.noise.bytes_held(sizes))


def _measured(measures: tuple[Measure, ...], sizes: Sizes, predicts: bool) -> int:
    """Bytes that records take while they are made: measures of parameters are taken one after the other."""
    predicted = 3 * sizes.item * sizes.predicted if predicts else 0
    signals = 3 * sizes.item * sizes.nets // sizes.models * sizes.n * sizes.units
    start = any(measure.of_start for measure in measures) * sizes.nets * sizes.parameters * sizes.item
    derived = max((one.bytes_held(sizes) for one in measures if one.of_parameters), default=0)
    others = max((one.bytes_held(sizes) for one in measures if not one.of_parameters), default=0)
    return predicted + signals + start + derived + others


def vector_bytes(experiment: Experiment) -> int:
    """The size of an instance, or of a weight for each of its features."""
    return experiment.problem.matrix.shape()[1] * _item(experiment)


def _item(experiment: Experiment) -> int:
    """Bytes of a number."""
    return 4 if experiment.dtype == "float32" else 8


def _place(number: int, learner: Learner) -> str:
    """The field that decides on a learner's memory: several rates, or else what it is."""
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
    behind, and a run on vectors of 4 MB came to hold three times what it used. After a
    thousand runs the app held 20 MB more than with this call after each, which takes half a millisecond.
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
    fit, and else what needs most.
    """
    shares = _shares(experiment)
    if shares.total() <= GRANTED or shares.total() <= (free := available(device)):
        return shares.total()
    data = next(iter(shares))
    alone = max(shares[data], drawn_bytes(experiment)) > free
    where = data if alone else max(shares, key=shares.__getitem__)
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
