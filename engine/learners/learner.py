"""Who learns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import Meta

from engine.core import catalogue
from engine.core.parts import LARGEST, MOST_LAYERS, SELDOM, BadField, LearnerKind
from engine.core.texts import listed
from engine.learners.schedule import AnySchedule
from engine.learners.step_options import Clip, Decay, Noise

if TYPE_CHECKING:
    from engine.architectures import Architecture as AnyArchitecture
    from engine.core.streams import Stream, Streams
    from engine.solvers import Solver as AnySolver
    from engine.updates import Update as AnyUpdate
else:
    AnyArchitecture = catalogue.union("architectures")
    AnySolver = catalogue.union("solvers")
    AnyUpdate = catalogue.union("updates")


STEP_OPTIONS = ("schedule", "clip", "noise", "decay")
"""What a learner may add to the steps of its update rule."""

MOST_NAME = 40
"""Letters of a name at most, so that it stands in a legend."""

Name = Annotated[str, Meta(max_length=MOST_NAME)]


class Learner(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who learns: an architecture trained by an update rule, or a solver.

    An architecture alone is not trained, and is measured as it starts.
    """

    name: Annotated[Name, Meta(min_length=1, title="name", description="as the chart says it")]
    architecture: AnyArchitecture | None = None
    update: AnyUpdate | None = None
    solver: AnySolver | None = None
    layer_rates: Annotated[
        dict[str, Annotated[float, Meta(ge=0, le=LARGEST)]],
        Meta(
            max_length=MOST_LAYERS + 1,
            title="layer rates",
            description="multiplies the rate of single layers, as in W1 = 0",
            extra=SELDOM,
        ),
    ] = {}
    rate_unit: Annotated[
        Literal["one", "start-sharpness", "start-jacobian"],
        Meta(
            title="unit of rates",
            description="one; or 1/S, S the sharpness of the mean loss over all rows at the start; or "
            "n/(2λ²), λ the largest singular value of the Jacobian of all predictions there",
            extra=SELDOM,
        ),
    ] = "one"
    start_seed: Annotated[
        Annotated[
            tuple[Annotated[int, Meta(ge=0, lt=2**62)], ...], Meta(min_length=1, max_length=MOST_LAYERS)
        ]
        | None,
        Meta(
            title="seed of the start",
            description="every replica starts with what default_rng of numpy draws from it, as in [0, 2]; "
            "with none each has its own start",
            extra=SELDOM,
        ),
    ] = None
    schedule: Annotated[
        AnySchedule | None,
        Meta(title="schedule", description="what multiplies the rate, step by step", extra=SELDOM),
    ] = None
    clip: Annotated[
        Clip | None, Meta(title="clip", description="the gradient, by norm or by value", extra=SELDOM)
    ] = None
    noise: Annotated[
        Noise | None, Meta(title="noise", description="on gradients or weights", extra=SELDOM)
    ] = None
    decay: Annotated[
        Decay | None, Meta(title="decay", description="of the weights, times the rate", extra=SELDOM)
    ] = None
    tends_to: Annotated[
        AnySolver | None,
        Meta(
            title="tends to",
            description="the solution from which its distance is measured, as theory predicts it",
            extra=SELDOM,
        ),
    ] = None
    role: Annotated[
        Literal["learner", "reference"],
        Meta(
            title="role",
            description="learners are compared with theory; references are drawn as lines",
            extra=SELDOM,
        ),
    ] = "learner"
    where: Annotated[
        Annotated[str, Meta(min_length=1, max_length=200)] | None,
        Meta(title="where", description="only where this holds, as in size <= 128", extra=SELDOM),
    ] = None

    @property
    def learner_kind(self) -> LearnerKind:
        """Kind of learner, as its parts declare it: the solver, or the architecture before the rule."""
        if self.solver is not None:
            return self.solver.structure().learner_kind
        assert self.architecture is not None, "a learner without a solver has one"
        of_net = self.architecture.structure().learner_kind
        if of_net != "by-rule":
            return of_net
        return "other" if self.update is None else self.update.structure().learner_kind

    @property
    def plain_steps(self) -> bool:
        """Whether its steps are those of its update rule, with nothing added."""
        return all(getattr(self, name) is None for name in STEP_OPTIONS)

    def has_layer_rates(self, d: int) -> bool:
        """Whether layers have rates of their own for d features, by `layer_rates` or by the architecture."""
        factors = {} if self.architecture is None else self.architecture.layout(d).rate_factors
        return bool(self.layer_rates) or any(factor != 1 for factor in factors.values())

    def departure_from_lr(self, d: int) -> str | None:
        """Return why its steps are not those of its rule at one constant rate `lr` in all layers.

        None if they are. Lines of the theory in which η stands for `lr` ask this.
        """
        if self.update is None or self.architecture is None:
            return f"it requires steps with a rate, and {self.name} takes none"
        if not hasattr(self.update, "lr"):
            return f"it requires a given rate, and {self.update.kind} makes its own for {self.name}"
        if self.update.lr == "best":
            return f"it requires a given rate, and that of {self.name} is chosen in the end"
        if not self.plain_steps:
            return f"it requires plain steps with one rate, and {self.name} adds something to them"
        if self.has_layer_rates(d):
            return f"it requires one rate for all layers, and those of {self.name} have their own"
        if self.rate_unit != "one":
            return f"it requires rates as such, and those of {self.name} are in units of its own"
        return None

    def stream_of_start(self, streams: Streams) -> Stream:
        """The random numbers that its architecture starts from."""
        return streams.printed(self.start_seed) if self.start_seed else streams("init")

    @property
    def rate_choice(self) -> float | tuple[float, ...] | Literal["best"] | None:
        """Learning rate, several of them, or the best; None without an update rule that has one."""
        return getattr(self.update, "lr", None)

    @property
    def is_tuned(self) -> bool:
        """Whether the best of several rates is shown alone."""
        return self.rate_choice == "best"

    def __post_init__(self) -> None:
        for name in STEP_OPTIONS if self.update is None else ():
            if getattr(self, name) is not None:
                raise BadField(name, "this is for learners with an update rule; leave it out")
        if self.update is not None and self.update.structure().weights_of_state:
            for name in ("decay", "noise"):
                added = getattr(self, name)
                if added is not None and getattr(added, "on", "weights") == "weights":
                    fault = f"{self.update.kind} computes its weights anew from its state at every step"
                    raise BadField(name, f"{fault}, so nothing can be done to them; leave it out")
        if self.rate_unit != "one" and self.rate_choice in (None, "best"):
            raise BadField("rate_unit", "this is for update rules with given rates")
        unlayered = self.architecture is not None and not self.architecture.structure().layered
        if self.rate_unit == "start-jacobian" and self.architecture is not None and unlayered:
            fault = f"{self.architecture.kind} is not a net of layers, whose Jacobian it takes"
            raise BadField("rate_unit", f"{fault}; take start-sharpness")
        if self.tends_to is not None and self.update is None and self.solver is None:
            raise BadField("tends_to", "this is for learners with an update rule or a solver; leave it out")
        if self.solver is not None:
            if self.architecture is not None or self.update is not None:
                raise BadField(
                    "solver", "a solver needs neither architecture nor update; give one or the other"
                )
            if self.layer_rates:
                raise BadField("layer_rates", "a solver has no layers and no rate; leave it out")
            if self.start_seed:
                raise BadField("start_seed", "a solver has no start; leave it out")
        elif self.architecture is None:
            raise BadField(
                "architecture", "missing; a learner has an architecture and an update, or a solver"
            )
        elif unknown := self.layer_rates.keys() - set(self.architecture.layers):
            names = listed(self.architecture.layers)
            raise BadField("layer_rates", f"there is no layer {min(unknown)}; the layers are {names}")
        elif all(self.layer_rates.get(layer) == 0 for layer in self.architecture.layers):
            raise BadField("layer_rates", "with every layer at 0 nothing would be learned; take another rate")
        elif self.update is not None and (reason := self.update.refuses(self.architecture)):
            raise BadField("update", reason)
