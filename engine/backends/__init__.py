"""Backends: ways to compute a training run, all the same up to rounding. A file here is one of them.

What a backend is made of beside its file lies in a folder here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import msgspec

from engine.core.memory import Sizes
from engine.core.parts import BadInput
from engine.training.descent import rates_of

if TYPE_CHECKING:
    from engine.core.compiled_code import CompiledCode
    from engine.learners.learner import Learner
    from engine.measures import Measure
    from engine.spec.experiment import Experiment, Setup
    from engine.training.descent import TrainingInputs, Undrawn
    from engine.training.training_run import Recording, TrainingRun


WIDE = 8 << 20
"""Bytes of all weight vectors of a learner from which on the C library scatters them."""

LONG = 4 << 20
"""Bytes of a single weight vector from which on free memory is returned before every round."""

HOLES = 2
"""By how much such a batch of shorter vectors was seen to take more than it needs."""

COPIES = 7
"""Numbers held at once for every parameter: it, its gradient, the state of the rule, their successors."""

RESTING = 4
"""Numbers held at once for every parameter where models are trained one group after the other."""


class Needs(NamedTuple):
    """What a backend needs. The defaults are those of steps on the matrix."""

    matrix: bool = False
    """Whether it has instances as a matrix where they are drawn without one."""

    torch: bool = True
    """Whether it needs torch, which takes longer to load than a small run."""

    predictions: bool = True
    """Whether losses are made of predictions of all rows that it does not hold anyway."""

    new_tensors: bool = True
    """Whether steps make new tensors, which the C library scatters, and do not change them in their place."""


class Backend:
    """A way to compute the training runs of those learners that it can serve.

    Rules, losses, measures and protocols say what they are, and know of no backend: a backend decides by what
    they say. What it does not know it refuses, so that a part without a word about backends is computed on
    the matrix, slower and never wrong.
    """

    place: ClassVar[int] = 100
    """Backends are tried in the order of these numbers, those that save most first."""

    words: ClassVar[str] = ""
    """How a curve was computed, after "computed"; nothing needs to be said of one on a matrix."""

    knows: ClassVar[frozenset[str]] = frozenset(("name", "architecture", "update", "role", "where"))
    """The fields of a learner that it takes account of; those that set others are refused."""

    needs: ClassVar[Needs] = Needs()
    """What it needs, for the estimate of memory and the loading of torch."""

    @property
    def name(self) -> str:
        """What `run.path` and the JSON call it: its file."""
        return type(self).__module__.rpartition(".")[2].replace("_", "-")

    def refuses(self, learner: Learner, experiment: Experiment) -> str | None:
        """Why it cannot serve a learner, whatever is measured, in one sentence; None if it can."""
        for field, default in _defaults(type(learner)).items():
            if field not in self.knows and getattr(learner, field) != default:
                return f"it serves no learner with {field.replace('_', ' ')} of its own"
        return None

    def serves(self, measure: Measure) -> bool:
        """Whether it measures this of the learners that it serves."""
        return True

    def bytes_held(self, sizes: Sizes) -> int:
        """Bytes that nets and their predictions of one round take."""
        vectors, short = sizes.models * sizes.batch, sizes.d * sizes.item < LONG
        holes = HOLES if short and self.needs.new_tensors and vectors * sizes.d * sizes.item >= WIDE else 1
        copies = RESTING if sizes.models > 1 else holes * COPIES
        return (sizes.nets * copies * sizes.parameters + vectors * sizes.n) * sizes.item

    def pays(self, learner: Learner, experiment: Experiment) -> bool:
        """Whether it is faster there than those after it."""
        return True

    def code(self, learner: Learner, experiment: Experiment) -> CompiledCode | None:
        """What it has compiled for a learner that it serves; None if it needs no such thing."""
        return None

    def sample(self, learner: Learner) -> dict[str, object]:
        """The words of a small experiment that has this compiled, on this backend, for such a learner."""
        raise NotImplementedError

    def begin(self, undrawn: Undrawn, experiment: Experiment) -> Recording:
        """The training run of a learner that it serves, whose data it draws as it wants them."""
        return self.training_run(undrawn.drawn(), experiment)

    def training_run(self, inputs: TrainingInputs, experiment: Experiment) -> TrainingRun:
        """The training run of a learner that it serves, on data as they were drawn."""
        raise NotImplementedError


@cache
def backends() -> dict[str, Backend]:
    """Every backend by its name, in their order."""
    modules = (
        import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__) if not module.ispkg
    )
    unordered: list[Backend] = [module.BACKEND for module in modules]
    return {
        backend.name: backend for backend in sorted(unordered, key=lambda member: (member.place, member.name))
    }


def backend_choice(
    learner: Learner, experiment: Experiment, measures: Sequence[Measure]
) -> tuple[Backend, tuple[Backend, CompiledCode] | None]:
    """Return the backend of a learner, and the faster one whose code is still to be compiled, with the code.

    The backend is that of `run.path`, or the first that pays, serves the learner and its measures, and is
    compiled.

    Raises: BadInput if `run.path` names one that cannot.
    """
    if (forced := experiment.run.path) != "auto":
        if reason := why_not(backends()[forced], learner, experiment, measures):
            raise BadInput(
                "run.path", f"there is no {forced} backend for {learner.name}: {reason}; take auto"
            )
        return backends()[forced], None
    faster = None
    for backend in backends().values():
        if not backend.pays(learner, experiment) or why_not(backend, learner, experiment, measures):
            continue
        code = backend.code(learner, experiment)
        if code is None or code.is_there:
            return backend, faster
        faster = faster or (backend, code)
    raise AssertionError("the last backend serves every learner and compiles nothing")


def why_not(
    backend: Backend, learner: Learner, experiment: Experiment, measures: Sequence[Measure]
) -> str | None:
    """Why a backend cannot serve a learner with what is measured of it, in one sentence; None if it can."""
    if reason := backend.refuses(learner, experiment):
        return reason
    lacking = (measure.name for measure in measures if not backend.serves(measure))
    return next((f"it does not measure {name}" for name in lacking), None)


def why_no_single_pass(experiment: Experiment) -> str | None:
    """Why targets do not each learn along single examples in one pass, in one sentence; None if they do."""
    protocol = experiment.protocol
    if not protocol.schedule().online:
        return f"{protocol.kind}, as set here, is no single pass of steps along single examples"
    if experiment.loss.joint:
        return f"{protocol.loss} is of the predictions of all targets of an example together"
    return None


def weight_vectors(learner: Learner, experiment: Setup) -> int:
    """How many weight vectors learn side by side: one for every replica, rate and target."""
    targets = experiment.m
    return experiment.run.replicas * len(rates_of(learner)) * targets


@cache
def _defaults(struct: type[msgspec.Struct]) -> dict[str, object]:
    """What every field holds if nothing is set; NODEFAULT if something must be."""
    return {
        field.name: field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
        for field in msgspec.structs.fields(struct)
    }
