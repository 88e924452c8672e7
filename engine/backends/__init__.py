"""Backends: implementations of a training run, equal up to rounding.

Each file is one backend. A folder holds the further modules of a backend.
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
"""Total bytes of a learner's weight vectors above which the C library scatters them in memory."""

LONG = 4 << 20
"""Size of a weight vector, in bytes, above which free memory is returned before every round."""

HOLES = 2
"""Measured ratio of used memory to data size, for a batch of shorter vectors."""

COPIES = 7
"""Numbers stored per parameter: the parameter, its gradient, the state of the rule, and their next values."""

RESTING = 4
"""Numbers stored per parameter if groups of models are trained one after the other."""


class Needs(NamedTuple):
    """Requirements of a backend. The defaults are right for steps on the matrix."""

    matrix: bool = False
    """Whether the backend needs the instances as a matrix, even if they are drawn without one."""

    torch: bool = True
    """Whether the backend needs torch, which takes longer to load than a small run."""

    predictions: bool = True
    """Whether losses need predictions of all rows that the backend does not hold anyway."""

    new_tensors: bool = True
    """Whether steps make new tensors, which the C library scatters, instead of changing them in place."""


class Backend:
    """Implementation of training runs for the learners that it supports.

    Rules, losses, measures and protocols declare properties, and a backend decides by these properties. It
    refuses unknown fields. So a part that declares nothing is computed on the matrix: more slowly, but
    correctly.
    """

    place: ClassVar[int] = 100
    """Order in which backends are tried, fastest first."""

    words: ClassVar[str] = ""
    """Description of the computation, after "computed"; empty on a matrix."""

    knows: ClassVar[frozenset[str]] = frozenset(("name", "architecture", "update", "role", "where"))
    """Fields of a learner that the backend supports; learners with other fields set are refused."""

    needs: ClassVar[Needs] = Needs()
    """Requirements, for the memory estimate and the loading of torch."""

    @property
    def name(self) -> str:
        """Name in `run.path` and in JSON: the name of the backend's file."""
        return type(self).__module__.rpartition(".")[2].replace("_", "-")

    def refuses(self, learner: Learner, experiment: Experiment) -> str | None:
        """Return the reason why the backend cannot run a learner, for any measure; None if it can."""
        for field, default in _defaults(type(learner)).items():
            if field not in self.knows and getattr(learner, field) != default:
                return f"it requires a learner without its own {field.replace('_', ' ')}"
        return None

    def serves(self, measure: Measure) -> bool:
        """Return whether the backend computes this measure for the learners that it runs."""
        return True

    def bytes_held(self, sizes: Sizes) -> int:
        """Return the bytes of nets and of their predictions in one round."""
        vectors, short = sizes.models * sizes.batch, sizes.d * sizes.item < LONG
        holes = HOLES if short and self.needs.new_tensors and vectors * sizes.d * sizes.item >= WIDE else 1
        copies = RESTING if sizes.models > 1 else holes * COPIES
        return (sizes.nets * copies * sizes.parameters + vectors * sizes.n) * sizes.item

    def pays(self, learner: Learner, experiment: Experiment) -> bool:
        """Return whether the backend is faster here than the backends after it in the order."""
        return True

    def code(self, learner: Learner, experiment: Experiment) -> CompiledCode | None:
        """Return the compiled code that the backend needs for `learner`; None if it needs none."""
        return None

    def sample(self, learner: Learner) -> dict[str, object]:
        """Return a small experiment whose run compiles the code for a learner of this kind."""
        raise NotImplementedError

    def begin(self, undrawn: Undrawn, experiment: Experiment) -> Recording:
        """Return the training run of a learner, with data that the backend draws in its own form."""
        return self.training_run(undrawn.drawn(), experiment)

    def training_run(self, inputs: TrainingInputs, experiment: Experiment) -> TrainingRun:
        """Return the training run of a learner on drawn data."""
        raise NotImplementedError


@cache
def backends() -> dict[str, Backend]:
    """Return every backend by name, in the order of use."""
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
    """Return the backend of a learner, and the faster backend that must be compiled first, with its code.

    The backend is that of `run.path`, or the first that pays, serves the learner and its measures, and is
    compiled.

    Raises: BadInput if `run.path` names a backend that cannot run the learner.
    """
    if (forced := experiment.run.path) != "auto":
        if reason := why_not(backends()[forced], learner, experiment, measures):
            raise BadInput(
                "run.path", f"there is no {forced} backend for {learner.name}: {reason}; take auto"
            )
        return backends()[forced], None
    faster = None
    for backend in backends().values():
        # `pays` first: it is arithmetic, and `why_not` may need a verdict.
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
    """Return the reason why a backend cannot run a learner with these measures; None if it can."""
    if reason := backend.refuses(learner, experiment):
        return reason
    lacking = (measure.name for measure in measures if not backend.serves(measure))
    return next((f"it does not measure {name}" for name in lacking), None)


def why_no_single_pass(experiment: Experiment) -> str | None:
    """Return the reason why training is not one pass of separate targets by single examples; or None."""
    protocol = experiment.protocol
    if not protocol.schedule().online:
        return f"with these settings, {protocol.kind} is not one pass over single examples"
    if experiment.loss.joint:
        return f"{protocol.loss} couples the predictions for all targets of an example"
    return None


def weight_vectors(learner: Learner, setup: Setup) -> int:
    """Return the number of weight vectors: one for every replica, rate and target."""
    targets = setup.m
    return setup.run.replicas * len(rates_of(learner)) * targets


@cache
def _defaults(struct: type[msgspec.Struct]) -> dict[str, object]:
    """Return the default of every field; NODEFAULT for required fields."""
    return {
        field.name: field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
        for field in msgspec.structs.fields(struct)
    }
