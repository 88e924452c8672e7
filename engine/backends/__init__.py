"""Backends: implementations of training runs. Their results are equal up to rounding.

Each file in this folder is one backend. Each subfolder contains modules that one backend uses.
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
"""Total bytes of a learner's weight vectors from which on the C library leaves gaps between the vectors."""

LONG = 4 << 20
"""Bytes of a weight vector from which on the run returns free memory to the system.

The run does so before every call of `advance`.
"""

HOLES = 2
"""Measured ratio of used memory to data size, for a large batch of vectors shorter than LONG."""

COPIES = 7
"""Numbers stored per parameter: the parameter, its gradient, the rule's state, and their new values."""

RESTING = 4
"""Numbers stored per parameter if groups of models are trained one after another."""


class Needs(NamedTuple):
    """Requirements of a backend for a learner: the data matrix, torch, and additional memory."""

    matrix: bool = False
    """Whether the backend needs the data matrix, even if the instances are drawn without it."""

    torch: bool = True
    """Whether the backend needs torch. Loading torch takes longer than a small run."""

    predictions: bool = True
    """Whether computing losses takes additional memory for predictions of all rows."""

    new_tensors: bool = True
    """Whether steps make new tensors, which leave gaps in memory, instead of changing tensors in place."""


class Backend:
    """Base class of backends. A backend implements training runs for the learners that it supports.

    The properties of rules, losses, measures and protocols tell a backend whether it can run a learner. A
    backend refuses learners with settings that it does not know. Rules, losses, measures and protocols with
    default properties run on the full data matrix, without shortcuts. This is slower, but correct.
    """

    place: ClassVar[int] = 100
    """Position in the order of backends. Faster backends have smaller numbers, and are tried first."""

    words: ClassVar[str] = ""
    """Method of computing, for messages; empty if messages do not mention the backend."""

    knows: ClassVar[frozenset[str]] = frozenset(("name", "architecture", "update", "role", "where"))
    """Fields of a learner that the backend supports. It refuses learners that set other fields."""

    needs: ClassVar[Needs] = Needs()
    """Requirements of the backend, for the memory estimate and for the decision whether to load torch."""

    @property
    def name(self) -> str:
        """Name of the backend in `run.path` and in JSON output: the name of its file."""
        return type(self).__module__.rpartition(".")[2].replace("_", "-")

    def refuses(self, learner: Learner, experiment: Experiment) -> str | None:
        """Return the reason why the backend cannot run a learner, or None if it can.

        Measures are not considered; see `serves`.
        """
        for field, default in _field_defaults(type(learner)).items():
            if field not in self.knows and getattr(learner, field) != default:
                return f"it does not support the setting {field.replace('_', ' ')}"
        return None

    def serves(self, measure: Measure) -> bool:
        """Return whether the backend can compute this measure for the learners that it runs."""
        return True

    def bytes_held(self, sizes: Sizes) -> int:
        """Return the memory in bytes that a training run of a learner needs.

        The estimate counts all nets, their gradients, the states of their update rules, and one set of
        predictions.
        """
        vectors, short = sizes.models * sizes.batch, sizes.d * sizes.item < LONG
        holes = HOLES if short and self.needs.new_tensors and vectors * sizes.d * sizes.item >= WIDE else 1
        copies = RESTING if sizes.models > 1 else holes * COPIES
        return (sizes.nets * copies * sizes.parameters + vectors * sizes.n) * sizes.item

    def pays(self, learner: Learner, experiment: Experiment) -> bool:
        """Return whether this backend trains the learner faster than all backends that are tried later."""
        return True

    def code(self, learner: Learner, experiment: Experiment) -> CompiledCode | None:
        """Return the compiled code that the backend needs for `learner`, or None if it needs none."""
        return None

    def sample(self, learner: Learner) -> dict[str, object]:
        """Return the document of a small experiment whose run compiles the code for `learner`."""
        raise NotImplementedError

    def begin(self, undrawn: Undrawn, experiment: Experiment) -> Recording:
        """Draw the data in the form that the backend needs, and return the run of `undrawn.learner`."""
        return self.training_run(undrawn.drawn(), experiment)

    def training_run(self, inputs: TrainingInputs, experiment: Experiment) -> TrainingRun:
        """Return the training run of a learner on data that are already drawn."""
        raise NotImplementedError


@cache
def backends() -> dict[str, Backend]:
    """Return all backends by name, in the order in which they are tried."""
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
    """Return the backend that runs a learner now, and a faster backend that must be compiled first.

    The faster backend comes with the code to compile. If there is no such backend, the second result is None.
    If `run.path` names a backend, the first result is that backend. Otherwise, the first result is the first
    backend that can run the learner with these `measures`, whose `pays` returns True, and that needs no
    compilation now.

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
        # `pays` comes first, because it is arithmetic only. `why_not` may compute an invariance verdict.
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
    return next((f"the backend does not measure {name}" for name in lacking), None)


def why_no_single_pass(experiment: Experiment) -> str | None:
    """Return why training is not one pass with an update for each example, or None if it is.

    Backends for single passes also need a loss that treats every target separately. If the loss couples
    targets, the result is also a reason.
    """
    protocol = experiment.protocol
    if not protocol.schedule().online:
        return f"with these settings, protocol {protocol.kind} is not one pass over single examples"
    if experiment.loss.joint:
        return f"{protocol.loss} couples the predictions for all targets of an example"
    return None


def weight_vectors(learner: Learner, setup: Setup) -> int:
    """Return the number of weight vectors of a learner: replicas × rates × targets."""
    targets = setup.m
    return setup.run.replicas * len(rates_of(learner)) * targets


@cache
def _field_defaults(struct: type[msgspec.Struct]) -> dict[str, object]:
    """Return the default of every field of a Struct, by name: NODEFAULT for a required field."""
    return {
        field.name: field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
        for field in msgspec.structs.fields(struct)
    }
