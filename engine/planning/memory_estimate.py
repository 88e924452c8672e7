"""Estimate of the peak memory of a run in bytes, and smaller settings for runs that do not fit."""

from __future__ import annotations

import ctypes
import math
import os
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from msgspec.structs import replace

from engine.architectures import Architecture
from engine.backends import LONG, WIDE
from engine.core.lazy import torch
from engine.core.memory import DERIVED, Sizes, free_bytes, in_words
from engine.core.parts import BadField, BadInput
from engine.learners.learner import Fitted, Learner, Trained
from engine.measures import Measure
from engine.planning.run_plan import LearnerPlan, RunPlan, plan_run
from engine.problems.problem import ROTATED, Problem
from engine.protocols import CLOCKS
from engine.results.measure_series import bytes_of
from engine.spec.check import check as check_experiment
from engine.spec.experiment import Experiment
from engine.training import evaluators as evaluators
from engine.training.descent import MOST_WEIGHT_BYTES, MOST_WEIGHT_RECORDS, rates_of
from engine.updates import Update, UpdateStructure

KERNELS = 4
"""Number of tangent kernels of a net that are held while one is computed and decomposed."""


def needed_bytes(plan: RunPlan) -> int:
    """Return the peak memory of a run in bytes."""
    return shares(plan).total()


def shares(plan: RunPlan) -> Counter[str]:
    """Return the bytes of memory that each field of the experiment causes in a run.

    The first key is the field of the matrix. The field of the protocol includes the bytes of side runs, which
    are additional runs to compute theory lines.
    """
    by_part = _bytes_by_field(plan.experiment, plan.learners)
    by_part["protocol"] += sum(
        _bytes_by_field(planned_learner.experiment, [planned_learner]).total()
        for planned_learner in plan.side_learners
    )
    return by_part


def _bytes_by_field(experiment: Experiment, learners: Sequence[LearnerPlan]) -> Counter[str]:
    """Return the bytes of memory that each field of the experiment causes in a run, without side runs."""
    problem, replicas = experiment.problem, experiment.run.replicas
    sized = "problem.matrix.d" if "d" in problem.matrix.__struct_fields__ else "problem.matrix"
    by_place = {
        _field_to_change(number, planned_learner): planned_learner
        for number, planned_learner in enumerate(learners)
    }
    parts = Counter({sized: 0})
    parts.update(dict.fromkeys(by_place, 0))
    records = learners[0].records
    curves = 1 + sum(len(planned_learner.rates) for planned_learner in learners)
    largest = max(len(planned_learner.measures) for planned_learner in learners)
    parts["protocol"] = curves * bytes_of(len(CLOCKS) + largest, records, replicas)
    measured: Counter[str] = Counter()
    for place, planned in by_place.items():
        learner, sizes, measures = planned.learner, planned.sizes, planned.measures
        parts[place] += _bytes_to_train(planned)
        measured[place] = _bytes_of_measures(measures, sizes, planned.backend.needs.predictions)
        linear = learner.solver is None or learner.solver.structure().linear_in_instance
        if planned.backend.needs.matrix and linear:
            measured[place] += evaluators.bytes_held(sizes)
        if learner.architecture is not None:
            numbers = sum(_stored_numbers(measure, learner, problem) for measure in measures)
            parts["protocol"] += sizes.models * sizes.batch * records * DERIVED * numbers
        coupled_runs = sum(measure.needs().under is not None for measure in measures)
        turned = replicas * sizes.n * sizes.d * sizes.item + DERIVED * ROTATED * sizes.d**2
        parts[place] += coupled_runs * (parts[place] + turned)
    place, largest = max(measured.items(), key=lambda pair: pair[1])  # the learners are measured in turn
    parts[place] += largest
    itemsize, as_matrix = learners[0].sizes.item, takes_matrix(learners)
    # While data are drawn, learners use no memory yet: the peak is the larger of both phases.
    parts[sized] = max(
        problem.bytes_kept(replicas, itemsize, as_matrix),
        problem.bytes_drawn(replicas, itemsize, as_matrix) - parts.total(),
    )
    return parts


def drawn_bytes(plan: RunPlan) -> int:
    """Return an upper bound on the bytes of memory that are needed to draw the data of a run."""
    problem, replicas = plan.experiment.problem, plan.experiment.run.replicas
    return problem.bytes_drawn(replicas, plan.learners[0].sizes.item, takes_matrix(plan.learners))


def takes_matrix(learners: Sequence[LearnerPlan]) -> bool:
    """Return whether a learner stores the instances as a matrix, and not as an operator."""
    return any(planned_learner.backend.needs.matrix for planned_learner in learners)


def _bytes_to_train(planned: LearnerPlan) -> int:
    """Return the bytes needed to train a learner and to store the weights of its curves."""
    learner, sizes, rates = planned.learner, planned.sizes, len(planned.rates)
    records = min(MOST_WEIGHT_RECORDS, planned.records)
    held = rates * min(MOST_WEIGHT_BYTES, records * sizes.d * sizes.item)
    if rates > 1:
        held += sizes.batch * sizes.n * sizes.item
    if isinstance(form := learner.form, Fitted):
        return held + form.solver.bytes_held(sizes)
    held += planned.backend.bytes_held(sizes) + planned.experiment.protocol.bytes_held(sizes)
    if learner.rate_unit == "start-jacobian":
        held += KERNELS * DERIVED * (sizes.n * sizes.outputs) ** 2
    if isinstance(form, Trained):
        held += _bytes_of_rule(*form, sizes)
    return held + (0 if learner.noise is None else learner.noise.bytes_held(sizes))


def _bytes_of_rule(architecture: Architecture, update: Update, sizes: Sizes) -> int:
    """Return the bytes that an update rule needs in addition to those in `Backend.bytes_held`.

    A rule may store, for example, an average of z zᵀ over the inputs z of a layer. The bytes also include
    stored signals of layers, and an optimizer's copies of the parameters. If models train side by side, the
    rows of their mini-batches also count.
    """
    structure = update.structure()
    held, drawn, trained = 0, 0, frozenset(architecture.layers)
    for layer, shape in architecture.layout(sizes.d).shapes.items():
        if layer in trained:
            inputs, outputs = shape[-1], math.prod(shape[:-1])
            held += matrix_numbers(structure, inputs, outputs)
            held += (inputs + outputs) * sizes.n if structure.observes else 0
    if sizes.models > 1:
        drawn = sizes.models * sizes.batch * (structure.mini_batch or 0) * (3 * 8 + sizes.item)
    copies = structure.copies * sizes.parameters * sizes.item
    return sizes.nets * (DERIVED * held + copies) + drawn


def matrix_numbers(structure: UpdateStructure, inputs: int, outputs: int) -> int:
    """Return how many numbers an update rule stores in matrices for a layer of this size.

    For example, a second-order rule may store a matrix [inputs, inputs] and a matrix [outputs, outputs].
    """
    columns = min(structure.columns or inputs, inputs)
    of_block = structure.matrices * columns**2 + structure.output_matrices * outputs**2
    return -(-inputs // columns) * of_block


def _stored_numbers(measure: Measure, learner: Learner, problem: Problem) -> int:
    """Return how many numbers a measure stores for each evaluation point, replica and rate.

    The result is 0 for a measure that is a single number. It is also 0 for an expensive measure, which is
    computed at only some evaluation points.
    """
    index = () if measure.schedule().expensive else measure.index(learner, problem)
    return math.prod(len(dimension.values) for dimension in index) if index else 0


def _bytes_of_measures(measures: tuple[Measure, ...], sizes: Sizes, predicts: bool) -> int:
    """Return the bytes needed to compute the measures at one evaluation point.

    Measures are computed one after another. So the estimate counts only two measures: the most expensive one
    that reads parameters, and the most expensive one that reads predictions.
    """
    predicted = 3 * sizes.item * sizes.predicted if predicts else 0
    signals = 3 * sizes.item * sizes.nets // sizes.models * sizes.n * sizes.units
    start = any(measure.needs().start for measure in measures) * sizes.nets * sizes.parameters * sizes.item
    derived = [measure.bytes_held(sizes) for measure in measures if measure.needs().parameters]
    of_predictions = [measure.bytes_held(sizes) for measure in measures if not measure.needs().parameters]
    return predicted + signals + start + max(derived, default=0) + max(of_predictions, default=0)


def scatters(plan: RunPlan) -> bool:
    """Return whether freed memory must be returned to the system repeatedly during the run.

    This is necessary if tensors are large, because the C library leaves gaps between large tensors. See
    `give_back`.
    """
    size = plan.vector_bytes
    batch = max(planned_learner.sizes.batch for planned_learner in plan.learners)
    return size >= LONG or batch * size >= WIDE


def _field_to_change(number: int, planned: LearnerPlan) -> str:
    """Return the path of the field that the user should change if a learner needs too much memory.

    The field is `solver` if the learner has a solver. For other learners, the field is `update.lr` if there
    are several rates, and `architecture` if there is one rate.
    """
    if planned.learner.solver is not None:
        return f"learners[{number}].solver"
    return f"learners[{number}].{'update.lr' if len(planned.rates) > 1 else 'architecture'}"


GRANTED = 8 << 20
"""Number of bytes that are free on every machine that can load torch.

Runs that need less do not query the system. A query loads a library, which takes 7 ms, a quarter of the time
of a small run.
"""


def available(device: str) -> int:
    """Return the number of free bytes on a device."""
    if device != "cpu":
        free, _ = torch.cuda.mem_get_info(device)
        return int(free)
    return free_bytes()


def ran_out(error: Exception) -> bool:
    """Return whether an error reports a lack of memory. It may be an error of numpy or of torch."""
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or "DefaultCPUAllocator" in str(error)


def give_back() -> None:
    """Return freed memory to the system, if the C library has a function for this, as glibc has.

    Without this call, glibc leaves gaps between tensors of a few MB, because aligned tensors do not fit into
    the space of freed tensors. For example, a run on vectors of 4 MB held three times the memory that it
    needed. After a thousand runs, the app held 20 MB more without the call than with it. One call takes half
    a millisecond.
    """
    if (trim := _malloc_trim()) is not None:
        trim(0)


@cache
def _malloc_trim() -> Callable[[int], int] | None:
    """Return `malloc_trim` of the C library, or None if the library has no such function."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None


def check(plan: RunPlan, device: str) -> int:
    """Check that a run fits into free memory, and return its peak memory in bytes.

    Raises: BadInput if it does not fit. The error names the matrix if the matrix alone does not fit, and
    otherwise the field that needs the most memory.
    """
    by_place = shares(plan)
    # The order of the conditions matters: the system is queried only for runs above GRANTED.
    if by_place.total() <= GRANTED or by_place.total() <= (free := available(device)):
        return by_place.total()
    experiment, data = plan.experiment, next(iter(by_place))
    alone = max(by_place[data], drawn_bytes(plan)) > free
    where = data if alone else max(by_place, key=by_place.__getitem__)
    size, needed = _size_in_words(plan, where), in_words(by_place.total())
    lack = f"{size} needs {needed} of memory, but {device} has only {in_words(free)} free"
    raise BadInput(where, f"{lack}; take {_smaller_settings_in_words(experiment, free)}")


def _size_in_words(plan: RunPlan, where: str) -> str:
    """Name the object that needs the most memory in words, such as "a 4096 × 4096 matrix".

    `where` is the path of the field that causes the most memory.
    """
    n, d = plan.experiment.n, plan.experiment.d
    size = f"a {n} × {d} matrix"
    if plan.experiment.run.replicas > 1:
        size += f" in {plan.experiment.run.replicas} replicas"
    if where == "protocol":
        return f"a run of {len(plan.learners)} learners with {plan.learners[0].records} evaluation points"
    if where.startswith("learners"):
        planned = plan.learners[int(where.removeprefix("learners[").split("]")[0])]
        rates = f" with {len(planned.rates)} rates" if len(planned.rates) > 1 else ""
        size = f"{planned.learner.name}{rates} on {size}"
    return size


def fits(experiment: Experiment, free: int) -> bool:
    """Return whether the run of an experiment fits into `free` bytes."""
    return needed_bytes(plan_run(experiment)) <= free


def _smaller_settings_in_words(experiment: Experiment, free: int) -> str:
    """Suggest smaller settings as text. Each suggestion alone makes the run fit into `free` bytes."""

    def fitting(**changes: Any) -> bool:
        return fits(replace(experiment, run=replace(experiment.run, **changes)), free)

    ways = []
    if experiment.run.path != "auto" and fitting(path="auto"):
        ways.append("run.path = auto")
    if replicas := _largest_fitting(experiment.run.replicas, lambda count: fitting(replicas=count)):
        ways.append(f"run.replicas = {replicas}")
    d = getattr(experiment.problem.matrix, "d", None)
    if d is not None and (smaller := _largest_fitting_features(experiment, d, free)):
        ways.append(f"problem.matrix.d = {smaller}")
    singly = tuple(_with_one_rate(learner) for learner in experiment.learners)
    if singly != experiment.learners and fits(replace(experiment, learners=singly), free):
        ways.append("fewer rates")
    return " or ".join(ways) or "a smaller learner or fewer evaluation points"


def _with_one_rate(learner: Learner) -> Learner:
    if learner.update is None or len(rates := rates_of(learner)) == 1:
        return learner
    return replace(learner, update=replace(learner.update, lr=rates[0]))


def _with_features(experiment: Experiment, d: int) -> Experiment | None:
    """Return the experiment with `d` features and without claims, or None if it is not valid."""
    try:
        matrix = replace(experiment.problem.matrix, d=d)
        other = replace(experiment, problem=replace(experiment.problem, matrix=matrix), claims=())
        check_experiment(other)
    except (BadField, BadInput):
        return None
    return other


def _largest_fitting(below: int, fitting: Callable[[int], bool]) -> int:
    """Return the largest number below `below` for which `fitting` is true, or 0 if there is none.

    The number is found by bisection.
    """
    low, high = 0, below - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fitting(middle) else (low, middle - 1)
    return low


def _largest_fitting_features(experiment: Experiment, d: int, free: int) -> int:
    """Return the largest number of features below `d` with which the run fits, or 0.

    If the matrix allows only the numbers d/2, d/4, …, return the largest of these numbers with which the run
    fits.
    """
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
