"""Learners, and options for their steps: schedules, clipping, decay and noise."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, NamedTuple

import msgspec
from msgspec import Meta

from engine.architectures import Architecture
from engine.core.catalogue import MemberOf
from engine.core.lazy import torch
from engine.core.memory import DERIVED, Sizes
from engine.core.params import Params, flat, per_member
from engine.core.parts import LARGEST, MOST, MOST_LAYERS, SELDOM, BadField, LearnerKind
from engine.core.streams import Stream
from engine.core.texts import listed
from engine.solvers import Solver
from engine.updates import Update

Steps = Annotated[
    float, Meta(gt=0, le=MOST, title="steps T", description="number of steps until the rate is 0")
]
Factor = Annotated[float, Meta(gt=0, le=1, title="factor γ")]
WarmUp = Annotated[
    int,
    Meta(ge=0, le=MOST, title="warm-up", description="number of first steps, in which the rate grows from 0"),
]


class Schedule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind"):
    """Factor by which the learning rate is multiplied at step t = 0, 1, 2, ….

    With a warm-up of w steps, the factor is also multiplied by (t + 1)/w in the first w steps. A scalar
    factor does not change the symmetry of a learner. Source: theory/symmetry#habits.
    """

    of_loss: ClassVar[bool] = False
    """Whether the factor of each net is divided by the net's loss on the examples of the step."""

    warm_up: WarmUp = 0

    def factor(self, step: int) -> float:
        """Return the factor of the learning rate at a step, counted from 0.

        If `of_loss`, the factor does not include the division by the loss.
        """
        return self.after_warm_up(step) * min(1.0, (step + 1) / self.warm_up if self.warm_up else 1.0)

    def after_warm_up(self, step: int) -> float:
        """Return the factor at a step as if there were no warm-up."""
        raise NotImplementedError


class ConstantSchedule(Schedule, frozen=True, tag="constant"):
    """Factor 1 of the learning rate at every step. It makes a warm-up possible without another schedule."""

    def after_warm_up(self, step: int) -> float:
        return 1.0


class LinearSchedule(Schedule, frozen=True, tag="linear", kw_only=True):
    """Factor 1 − t/T of the learning rate up to step T, and 0 after it.

    With `constant` c, the factor is 1 up to step cT, and then falls linearly to 0 at step T.
    """

    steps: Steps
    constant: Annotated[
        float,
        Meta(ge=0, lt=1, title="constant", description="share of the T steps in which the rate is constant"),
    ] = 0.0

    def after_warm_up(self, step: int) -> float:
        return min(1.0, max(0.0, (1 - step / self.steps) / (1 - self.constant)))


class CosineSchedule(Schedule, frozen=True, tag="cosine", kw_only=True):
    """Factor ½(1 + cos πt/T) of the learning rate at steps t ≤ T: it falls from 1 to 0. After T, it is 0."""

    steps: Steps

    def after_warm_up(self, step: int) -> float:
        return (1 + math.cos(math.pi * min(1.0, step / self.steps))) / 2


class ExponentialSchedule(Schedule, frozen=True, tag="exponential", kw_only=True):
    """Factor γᵗ by which the learning rate is multiplied at step t."""

    factor_per_step: Annotated[Factor, Meta(description="factor of the rate after every step")]

    def after_warm_up(self, step: int) -> float:
        return float(self.factor_per_step**step)


class StepSchedule(Schedule, frozen=True, tag="step", kw_only=True):
    """Factor γ^⌊t/s⌋ of the learning rate at step t: after every s steps, the rate is multiplied by γ."""

    factor_per_stage: Annotated[Factor, Meta(description="factor of the rate after every stage")]
    every: Annotated[Steps, Meta(title="every s", description="number of steps in a stage")]

    def after_warm_up(self, step: int) -> float:
        return float(self.factor_per_stage ** (step // self.every))


class PerLossSchedule(Schedule, frozen=True, tag="per-loss", kw_only=True):
    """Factor 1/L of the learning rate, where L is the mean loss on the examples of the step.

    Steps are −η ∇L/L = −η ∇ ln L, which do not vanish as L falls to 0. For small η, the steps follow gradient
    flow on L, and the sum of all η/L is the time of the flow. This time differs between replicas. Replicas,
    rates and targets have separate factors. The loss must be above 0 for every prediction. Source:
    theory/implicit-bias#max-margin, theory/implicit-bias#optimisation-geometry.
    """

    of_loss: ClassVar[bool] = True

    def after_warm_up(self, step: int) -> float:
        return 1.0


AnySchedule = (
    ConstantSchedule | LinearSchedule | CosineSchedule | ExponentialSchedule | StepSchedule | PerLossSchedule
)


Most = Annotated[float, Meta(gt=0, le=LARGEST)]


class StepNoise(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Independent N(0, σ²) noise. Every step adds it to the gradient, or to the updated weights.

    Noise on the weights is not multiplied by the rate. Each replica draws separate noise, which all its rates
    and targets share. Source: Abbe, Sandon 2020; theory/parities-and-noise#parities.
    """

    sigma: Annotated[float, Meta(ge=0, le=LARGEST, title="σ", description="standard deviation")]
    on: Annotated[
        Literal["gradient", "weights"],
        Meta(title="on", description="add noise to gradients, or to weights after each step"),
    ] = "gradient"

    def bytes_held(self, sizes: Sizes) -> int:
        return DERIVED * sizes.replicas * sizes.parameters


def drawn(stream: Stream, like: Params) -> Params:
    """Draw N(0, 1) noise for every tensor in `like` [B, …].

    All batch members of a replica get the same noise.
    """
    noise_by_name = {}
    for layer, w in like.items():
        noise = torch.from_numpy(stream.normal(*w.shape[1:])).to(w)
        noise_by_name[layer] = noise.repeat_interleave(len(w) // stream.replicas, 0)
    return noise_by_name


class Clip(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Gradient clipping: limits the norm of the gradient, or the absolute value of each entry.

    Rotations of the instances do not change the norm, but they change single entries. Source:
    theory/symmetry#habits.
    """

    norm: Annotated[
        Most | None,
        Meta(
            title="norm",
            description="maximum Euclidean norm of a gradient; longer gradients are scaled down to it",
        ),
    ] = None
    value: Annotated[
        Most | None,
        Meta(
            title="value",
            description="maximum absolute value of a gradient entry; larger entries are clipped",
        ),
    ] = None

    def __post_init__(self) -> None:
        if (self.norm is None) == (self.value is None):
            raise BadField("norm", "`clip` needs exactly one of `norm` and `value`")

    def clipped(self, gradients: Params) -> Params:
        if self.value is not None:
            return {layer: g.clamp(-self.value, self.value) for layer, g in gradients.items()}
        assert self.norm is not None, "__post_init__ sees to it"
        gradient = flat(gradients.values())
        lengths = torch.linalg.vector_norm(gradient, dim=1)
        factors = torch.where(lengths > self.norm, self.norm / lengths, 1.0)
        return {layer: g * per_member(factors, g) for layer, g in gradients.items()}


class Decay(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Weight decay: before a step with rate η, η λ w is subtracted from the weights w.

    With p = "1", η λ sign(w) is subtracted. The decay is decoupled: it is not part of the gradient. A rule
    that divides by the size of the gradient therefore does not rescale it. Source: Loshchilov, Hutter 2019;
    theory/symmetry#habits.
    """

    rate: Annotated[
        float,
        Meta(
            ge=0,
            le=LARGEST,
            title="λ",
            description="strength of the decay; a step of rate η subtracts η λ w, or η λ sign(w)",
        ),
    ]
    p: Annotated[
        Literal["1", "2"],
        Meta(title="p", description="2: decay in proportion to the weights; 1: in proportion to their signs"),
    ] = "2"

    def direction(self, params: Params) -> Params:
        """Return the direction of decay, λ w or λ sign(w). A step subtracts η times it."""
        return {layer: self.rate * (w if self.p == "2" else w.sign()) for layer, w in params.items()}


if TYPE_CHECKING:
    from engine.core.streams import Stream, Streams


STEP_OPTIONS = ("schedule", "clip", "noise", "decay")
"""Fields of a learner that change the steps of its update rule."""

MOST_NAME = 40
"""Maximum number of characters of a learner's name, so that it fits into a legend."""

Name = Annotated[str, Meta(max_length=MOST_NAME)]


class Trained(NamedTuple):
    """Form of a learner that is trained by steps: an architecture and its update rule."""

    architecture: Architecture
    update: Update


class Fitted(NamedTuple):
    """Form of a learner that is not trained by steps: a solver that is fitted to the examples."""

    solver: Solver


class AtStart(NamedTuple):
    """Form of a learner that is not trained at all: an architecture with its initial weights."""

    architecture: Architecture


class Learner(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A learner: an architecture trained by an update rule, or a solver.

    An architecture alone is not trained, and is measured at its start.
    """

    name: Annotated[Name, Meta(min_length=1, title="name", description="name shown in charts")]
    architecture: MemberOf[Architecture] | None = None
    update: MemberOf[Update] | None = None
    solver: MemberOf[Solver] | None = None
    layer_rates: Annotated[
        dict[str, Annotated[float, Meta(ge=0, le=LARGEST)]],
        Meta(
            max_length=MOST_LAYERS + 1,
            title="layer rates",
            description="factors of the rates of single layers, such as W1 = 0",
            extra=SELDOM,
        ),
    ] = {}
    rate_unit: Annotated[
        Literal["one", "start-sharpness", "start-jacobian"],
        Meta(
            title="unit of rates",
            description="one: plain numbers; start-sharpness: multiples of 1/S; start-jacobian: multiples of "
            "n/(2λ²). S is the sharpness of the mean loss over all n rows at the start. λ is the largest "
            "singular value of the Jacobian of all predictions at the start.",
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
            description="seed of numpy's default_rng, such as [0, 2], for the same start in all replicas; "
            "if not set, each replica starts differently",
            extra=SELDOM,
        ),
    ] = None
    schedule: Annotated[
        AnySchedule | None,
        Meta(
            title="schedule", description="factor by which the rate is multiplied at each step", extra=SELDOM
        ),
    ] = None
    clip: Annotated[
        Clip | None, Meta(title="clip", description="limit gradients, by norm or by value", extra=SELDOM)
    ] = None
    noise: Annotated[
        StepNoise | None,
        Meta(title="noise", description="random noise that is added to gradients or weights", extra=SELDOM),
    ] = None
    decay: Annotated[
        Decay | None,
        Meta(title="decay", description="shrinks the weights at every step", extra=SELDOM),
    ] = None
    tends_to: Annotated[
        MemberOf[Solver] | None,
        Meta(
            title="tends to",
            description="limit that theory predicts for the learner; measures of distance refer to it",
            extra=SELDOM,
        ),
    ] = None
    role: Annotated[
        Literal["learner", "reference"],
        Meta(
            title="role",
            description="learner: compared with theory; reference: drawn as a line for comparison",
            extra=SELDOM,
        ),
    ] = "learner"
    where: Annotated[
        Annotated[str, Meta(min_length=1, max_length=200)] | None,
        Meta(
            title="where",
            description="condition on sweep axes for this learner to run, as in size <= 128",
            extra=SELDOM,
        ),
    ] = None

    @property
    def form(self) -> Trained | Fitted | AtStart:
        if self.solver is not None:
            return Fitted(self.solver)
        return AtStart(self.net) if self.update is None else Trained(self.net, self.update)

    @property
    def trained(self) -> Trained:
        """Architecture and update rule. Raises: TypeError if there is no update rule."""
        if self.update is None:
            raise TypeError(f"{self.name} has no update rule")
        return Trained(self.net, self.update)

    @property
    def net(self) -> Architecture:
        """Architecture of the learner. Raises: TypeError if the learner is a solver."""
        if self.architecture is None:
            raise TypeError(f"{self.name} is a solver and has no architecture")
        return self.architecture

    @property
    def learner_kind(self) -> LearnerKind:
        """Kind of the learner: declared by its solver, or by its architecture, or else by its update rule."""
        if self.solver is not None:
            return self.solver.structure().learner_kind
        of_net = self.net.structure().learner_kind
        if of_net != "by-rule":
            return of_net
        return "other" if self.update is None else self.update.structure().learner_kind

    @property
    def plain_steps(self) -> bool:
        """Whether the update rule alone determines the steps: no schedule, clipping, noise or decay."""
        return all(getattr(self, option) is None for option in STEP_OPTIONS)

    def has_layer_rates(self, d: int) -> bool:
        """Return whether some layers of a net with d inputs have another rate than the update rule.

        The field `layer_rates` or the parametrisation of the architecture can give a layer another rate.
        """
        factors = {} if self.architecture is None else self.architecture.layout(d).rate_factors
        return bool(self.layer_rates) or any(factor != 1 for factor in factors.values())

    def departure_from_lr(self, d: int) -> str | None:
        """Return why steps do not use the constant rate `lr` in all layers; None if all steps use it.

        Theory lines whose formulas contain η = `lr` require steps that use it.
        """
        if self.update is None or self.architecture is None:
            return f"it requires steps with a rate, but {self.name} has no rate"
        if not hasattr(self.update, "lr"):
            return f"it requires a given rate, but {self.update.kind} computes the rate of {self.name}"
        if self.update.lr == "best":
            return f"it requires a given rate, but the rate of {self.name} is chosen after the run"
        if not self.plain_steps:
            added = "a schedule, clipping, noise or decay"
            return f"it requires plain steps with one rate, but {self.name} has {added}"
        if self.has_layer_rates(d):
            return f"it requires one rate for all layers, but the layers of {self.name} have different rates"
        if self.rate_unit != "one":
            return (
                f"it requires rates that are plain numbers, but those of {self.name} are multiples of a unit"
            )
        return None

    def stream_of_start(self, streams: Streams) -> Stream:
        return streams.printed(self.start_seed) if self.start_seed else streams("init")

    @property
    def rate_choice(self) -> float | tuple[float, ...] | Literal["best"] | None:
        """The learner's rate: a number, a tuple of rates to try, or "best"; None if it has no rate."""
        return getattr(self.update, "lr", None)

    @property
    def is_net_by_net(self) -> bool:
        return self.update is not None and self.update.structure().net_by_net

    @property
    def is_tuned(self) -> bool:
        """Whether the learner is trained with several rates, and only the curve of the best rate is shown."""
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
                    raise BadField(
                        name, f"{fault}, so `{name}` cannot change the weights; leave `{name}` out"
                    )
        if self.update is not None and self.update.structure().evaluates:
            noisy = self.noise is not None and self.noise.on == "gradient"
            for name, is_set in (("clip", self.clip is not None), ("noise", noisy)):
                if is_set:
                    fault = f"{self.update.kind} computes further gradients within a step"
                    raise BadField(name, f"{fault}, and this option would not change them; leave it out")
        if self.rate_unit != "one" and self.rate_choice in (None, "best"):
            raise BadField(
                "rate_unit",
                f"{self.rate_unit} requires numbers as rates; set them in `lr`, or leave `rate_unit` out",
            )
        unlayered = self.architecture is not None and not self.architecture.structure().layered
        if self.rate_unit == "start-jacobian" and self.architecture is not None and unlayered:
            fault = f"start-jacobian requires a net of layers, unlike {self.architecture.kind}"
            raise BadField("rate_unit", f"{fault}; take `start-sharpness`")
        if self.tends_to is not None and self.update is None and self.solver is None:
            raise BadField("tends_to", "this is for learners with an update rule or a solver; leave it out")
        if self.solver is not None:
            if self.architecture is not None or self.update is not None:
                raise BadField(
                    "solver",
                    "a solver takes the place of `architecture` and `update`; give `solver`, or these two",
                )
            if self.layer_rates:
                raise BadField("layer_rates", "a solver has no layers and no rate; leave `layer_rates` out")
            if self.start_seed:
                raise BadField("start_seed", "a solver has no start; leave `start_seed` out")
        elif self.architecture is None:
            raise BadField(
                "architecture", "missing; a learner has an architecture and an update, or a solver"
            )
        elif unknown := self.layer_rates.keys() - set(self.architecture.layers):
            names = listed(self.architecture.layers)
            raise BadField("layer_rates", f"there is no layer {min(unknown)}; the layers are {names}")
        elif all(self.layer_rates.get(layer) == 0 for layer in self.architecture.layers):
            raise BadField(
                "layer_rates", "with rate 0 in every layer, nothing would be learned; take another rate"
            )
        elif self.update is not None and (reason := self.update.refuses(self.architecture)):
            raise BadField("update", reason)
