"""Update rules: how parameters move along a gradient. A rule sees no data, no loss and no graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, ClassVar, Literal, NamedTuple, Self

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from engine.architectures import Architecture, LayerSignals
from engine.core.groups import SIGNED_PERMUTATIONS
from engine.core.lazy import torch
from engine.core.params import Params, per_member
from engine.core.parts import BadField, LearnerKind, Part, Positive, Verdict
from engine.losses import Loss
from engine.problems.matrices import Matrix

State = dict[str, Params]
"""What a rule remembers between steps: named copies of the parameters."""

Rates = dict[str, "float | torch.Tensor"]
"""The rate η of every parameter: the rule's `lr` times the learner's rate of that layer.

A tensor holds one rate per member of the batch and has as many dimensions as the parameter.
"""

ScalarStep = Callable[
    ["torch.Tensor", "float | torch.Tensor", "torch.Tensor"], "tuple[torch.Tensor, torch.Tensor]"
]
"""The step of a rule that moves a linear neuron by multiples of the examples: w ← w − s x where g = c x.

From c of some examples in their order [K, …], the rate and the memory of every member of the batch, which is
0 at first, it makes s [K, …] and the memory after the last. Rules that treat features differently may do so
on ±1 only.
"""

BEST: Literal["best"] = "best"
"""Stands for the oracle-tuned rate: that whose curve has the least mean."""

GRID = tuple(2.0**exponent for exponent in range(-14, 3))
"""The rates among which the best is sought."""

ROUNDING = 256
"""Sizes up to so many units of rounding of the largest are taken for rounding themselves."""

MOST_RATES = 128
"""A learner tries at most so many rates: each is a curve, and a row of the table."""

Rate = Annotated[
    Positive | Annotated[tuple[Positive, ...], Meta(min_length=1, max_length=MOST_RATES)] | Literal["best"],
    Meta(title="rate η", description="multiplies the true gradient; best: oracle-tuned, of 2⁻¹⁴ … 4"),
]
Weight = Annotated[Positive | None, Meta(title="start w₀", description="none: the rule's own default")]


class UpdateStructure(NamedTuple):
    """What a rule declares of its steps. With the defaults no theorem speaks of it."""

    learner_kind: LearnerKind = "other"
    """Kind of the learners that it trains, unless their architecture makes them another kind."""

    continuous: bool = True
    """Whether a step changes little where gradients do; signs jump, and rounding with them."""

    own_start: bool = False
    """Whether `start` may replace the weights of the architecture; a rule with a start says where not."""

    weights_of_state: bool = False
    """Whether `step` makes the weights of its state, whatever they were before."""

    plain: bool = False
    """Whether a step is w ← w − η g, and nothing is remembered."""

    along_gradients: bool = False
    """Whether it moves every layer within the span of its gradients so far, with one rate for a layer."""

    columnwise: bool = False
    """Whether every entry moves by its own gradients alone, so that inputs without any can be left out."""

    layerwise: bool = False
    """Whether a layer moves by its own gradients and weights alone, whatever those of other layers are.

    Other layers may say beside which sizes a gradient is only rounding.
    """

    entries_alike: bool = False
    """Whether exchanging two entries, also of two layers, exchanges their steps and nothing else."""

    by_factors: bool = False
    """Whether `step` along g is `multiply` with the factors e^(−η g)."""

    by_operators: bool = False
    """Whether `start` and the steps that it declares are operators alone, which take numpy's arrays, too."""

    invariance_of_vectors: Verdict | None = None
    """The verdict where every layer is one vector of weights; None if it is that of `invariance`."""

    stable_up_to: float | None = None
    """η S from which on full-batch steps on a quadratic of curvature S diverge, for every smaller S not.

    None where that is not known.
    """

    automatic: float | None = None
    """c if its steps are those of automatic gradient descent on c times its loss; None if not."""

    mini_batch: int | None = None
    """Of how many examples it wants the gradient; None for all that the protocol has."""

    observes: Literal["slopes", "curvature"] | None = None
    """What `observe` is given before every step, come back through every layer: slopes of the loss L', or the
    roots √L'' of its second derivative; None for a rule that sees gradients alone."""

    matrices: int = 0
    """How many matrices [d, d] of float64 a step holds for a parameter with d inputs, per batch member."""

    output_matrices: int = 0
    """How many matrices [h, h] of float64 it holds for a parameter with h outputs beside them."""

    columns: int | None = None
    """Inputs that share such matrices, as blocks of columns; None for all."""


class Update(Part, frozen=True):
    """A pure pair: `start` prepares parameters and state, `step` turns a gradient into new ones."""

    declares: ClassVar[frozenset[str]] = frozenset(
        (
            "structure",
            "invariance",
            "response",
            "exponentiated_rate",
            "mirror",
            "multiplicative_step",
            "scalar_step",
        )
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        rates = getattr(self, "lr", None)
        if isinstance(rates, tuple) and len({f"{rate:.4g}" for rate in rates}) < len(rates):
            raise BadField("lr", "two rates are the same to four digits; give every rate once")

    def structure(self) -> UpdateStructure:
        """What it declares of its steps. A rule replaces fields of `super().structure()`."""
        return UpdateStructure(own_start=type(self).start is not Update.start)

    def response(self, steps: int) -> NDArray[np.float64] | None:
        """ρ_1 … ρ_steps, if w after k gradients is w₀ − η Σ_j ρ_(k−j+1) g_j for all of them; else None.

        −η ρ_m is what a single gradient 1 has moved a weight by m steps from its own on. Responses are of
        rules that treat all times alike, and move nothing without gradients.
        """
        return None

    def exponentiated_rate(self, architecture: Architecture) -> float | None:
        """η if it multiplies all weights by exp(−η g), or for small η does about that, from w = 1/d on."""
        return None

    @property
    def mirror(self) -> Mirror | None:
        """The gradient flow that it follows with small rates; None if it follows none."""
        return None

    def refuses(self, architecture: Architecture) -> str | None:
        """Why this rule cannot train this architecture, in one sentence; None if it can."""
        return None

    def refuses_features(self, d: int) -> str | None:
        """Why this rule cannot move weights of d features, in one sentence; None if it can."""
        return None

    def refuses_loss(self, loss: Loss) -> str | None:
        """Why this rule makes no sense with this loss, in one sentence; None if it does."""
        return None

    def start(self, params: Params) -> tuple[Params, State]:
        """The parameters at k = 0 (rules with a start of their own replace them) and the first state."""
        return params, {}

    def observe(self, signals: dict[str, LayerSignals], shares: torch.Tensor, state: State) -> State:
        """The state of a rule that `observes`, once it has seen what goes through the layers.

        Of the same examples, and at the same parameters, as the gradients of the step that follows; `shares`
        [B, n] or [1, 1] say by how much every example counts in the mean.
        """
        raise NotImplementedError

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        """Parameters and state after one step along `gradients` with the given rates."""
        raise NotImplementedError

    def multiply(self, params: Params, factors: Params, state: State) -> tuple[Params, State]:
        """Parameters and state after a step with these factors, shaped like the parameters and used up."""
        raise NotImplementedError

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        """Whether steps commute with rotations of instances from this family, and why.

        If they commute with permutations of the inputs of a layer, they do with those of its units, too.
        `single` says that every gradient is that of a single example.
        """
        reason = f"{self.kind} does not say that its steps turn with the instances"
        return Verdict(False, reason, undecided=True)

    def multiplicative_step(self, architecture: Architecture) -> MultiplicativeStep | None:
        """The rule as a step that only multiplies the weights of an architecture; None if it does more."""
        return None

    def scalar_step(self, architecture: Architecture) -> ScalarStep | None:
        """The rule as a step that adds multiples of single examples; None if it does more."""
        return None

    def invariant_counterpart(self) -> Update:
        """The rotation-invariant rule that this one equals where it is invariant "on this data".

        The certificate trains it on rotated instances; by default it is the rule itself.
        """
        return self


class Plain(Update, frozen=True):
    """A rule that goes against the gradient by nothing but its rate: w ← w − η g."""

    def structure(self) -> UpdateStructure:
        return (
            super()
            .structure()
            ._replace(
                learner_kind="gradient", columnwise=True, layerwise=True, entries_alike=True, plain=True
            )
        )

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        return descended(params, gradients, rates), state

    def multiplicative_step(self, architecture: Architecture) -> MultiplicativeStep | None:
        if architecture.structure().power == 2:
            return MultiplicativeStep(exponential=False, scale=2.0, power=2)
        return None

    def scalar_step(self, architecture: Architecture) -> ScalarStep | None:
        if not architecture.structure().trains_weights:
            return None
        return lambda slope, rate, memory: (rate * slope, memory)


class MultiplicativeUpdate(Update, frozen=True):
    """A rule to which a gradient g is nothing but the factors e^(−η g).

    The gradient of one example with entries ±1 has two of them for every weight vector, so that nobody needs
    to take the exponential of each entry.
    """

    def structure(self) -> UpdateStructure:
        return super().structure()._replace(learner_kind="multiplicative", by_factors=True)

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        factors = {name: torch.exp_(g * -rates[name]) for name, g in gradients.items()}
        return self.multiply(params, factors, state)


class Diagonal(Update, frozen=True):
    """A rule that divides each gradient entry by a size of its own past entries.

    With `shared`, all inputs of a unit of the first layer use the mean of their squares, [B, h, 1]: then its
    steps are multiples of gradients and commute with rotations. The squares of one ±1 example are equal
    within a unit, so there the two do the same. A member that is such a rule says so: its `invariance` is
    `by_sizes`. Source: theory.md §8.
    """

    shared: Annotated[
        bool, Meta(title="shared rates", description="one rate for all inputs of a first-layer unit")
    ] = False

    def structure(self) -> UpdateStructure:
        return super().structure()._replace(learner_kind="gradient" if self.shared else "coordinate")

    def squares(self, gradients: Params) -> Params:
        """The squares g² that rates are made of, shaped like the gradients or one for all that share them."""
        squared = {name: g.square() for name, g in gradients.items()}
        if self.shared:
            first = next(iter(squared))
            squared[first] = squared[first].mean(-1, keepdim=True)
        return squared

    def no_squares(self, params: Params) -> Params:
        """Their sum before the first gradient."""
        none = zeros(params)
        if self.shared:
            first = next(iter(none))
            none[first] = none[first][..., :1].contiguous()
        return none

    def invariant_counterpart(self) -> Self:
        return msgspec.structs.replace(self, shared=True)

    def by_sizes(self, matrix: Matrix, single: bool) -> Verdict:
        """The verdict of a rule to which gradients are these sizes, and what they divide."""
        if self.shared:
            return Verdict(
                True, "all inputs of a unit share a rate, so steps stay in the span of the instances"
            )
        if not matrix.structure().entries_are_signs:
            return Verdict(
                False,
                "every weight has a rate of its own, which tells the features apart",
                SIGNED_PERMUTATIONS,
            )
        if not single:
            return Verdict(
                False,
                "mean gradients of several ±1 examples give every weight a rate of its own",
                SIGNED_PERMUTATIONS,
            )
        return Verdict("on this data", "one ±1 example at a time gives all inputs of a unit the same rate")


def moved(w: torch.Tensor, rate: float | torch.Tensor, direction: torch.Tensor) -> torch.Tensor:
    """w − η v for a direction v."""
    if isinstance(rate, float):
        return torch.sub(w, direction, alpha=rate)
    return w - rate * direction


def moved_by(
    w: torch.Tensor, rate: float | torch.Tensor, scale: torch.Tensor, direction: torch.Tensor
) -> torch.Tensor:
    """w − η s v for a direction v and a number s of every member, shaped to go with it."""
    if isinstance(rate, float):
        return torch.addcmul(w, scale, direction, value=-rate)
    return w - rate * scale * direction


def descended(params: Params, directions: Params, rates: Rates) -> Params:
    """w − η v for a direction v of every parameter."""
    return {name: moved(w, rates[name], directions[name]) for name, w in params.items()}


def rounding(sizes: Params) -> Params:
    """Sizes up to which those of entries [B, …] are rounding beside the largest of all layers, [B, 1, …]."""
    by_layer = [size.flatten(1).amax(1) for size in sizes.values()]
    least = ROUNDING * torch.finfo(by_layer[0].dtype).eps * torch.stack(by_layer).amax(0)
    return {name: per_member(least, size) for name, size in sizes.items()}


def norms(params: Params) -> Params:
    """The Euclidean norm of every parameter of every member of the batch, shaped [B, 1, …] to divide it."""
    lengths = {}
    for name, w in params.items():
        norm = torch.linalg.vector_norm(w.flatten(1), dim=1)
        lengths[name] = per_member(norm, w)
    return lengths


def with_direction(gradients: Params) -> Params:
    """Which gradients are more than rounding beside the largest of their member of the batch, [B, 1, …].

    What is only rounding has no direction, and must not become a step of full length.
    """
    lengths = norms(gradients)
    largest = torch.stack([length.flatten() for length in lengths.values()]).amax(0)
    return {
        name: length > ROUNDING * torch.finfo(length.dtype).eps * largest.view_as(length)
        for name, length in lengths.items()
    }


def steps_taken(params: Params) -> Params:
    """0 for every parameter of every member of the batch, [B, 1, …] in float64: to count its steps."""
    return {
        name: torch.zeros(len(w), *[1] * (w.dim() - 1), dtype=torch.float64, device=w.device)
        for name, w in params.items()
    }


def even(params: Params, w0: float | None = None, total: float = 1.0) -> Params:
    """Positive weights, all the same: w₀ each, or if none is given so that their sum is `total`."""
    return {name: 0 * w + (w0 or total / w.shape[-1]) for name, w in params.items()}


def identities(params: Params, size: float) -> Params:
    """size · I over the inputs of every parameter, in float64, [B, d, d]."""
    matrices = {}
    for name, w in params.items():
        identity = torch.eye(w.shape[-1], dtype=torch.float64, device=w.device)
        matrices[name] = (size * identity).repeat(len(w), 1, 1)
    return matrices


def zeros(params: Params) -> Params:
    """A state of zeros, shaped like the parameters."""
    return {name: torch.zeros_like(w) for name, w in params.items()}


def as_matrix(w: torch.Tensor) -> torch.Tensor:
    """A parameter [B, …, d] as one matrix [B, h, d] per member of the batch; a vector has h = 1."""
    return w.reshape(len(w), -1, w.shape[-1])


def only_linear(rule: Update, architecture: Architecture) -> str | None:
    """The refusal of a rule that keeps a weight per feature from a start of its own."""
    if architecture.structure().trains_weights:
        return None
    return (
        f"{rule.kind} sets the start of its weights itself, so it trains only the linear neuron, "
        f"not {architecture.kind}; take egu-pm or hypentropy there"
    )


def only_layers(rule: Update, architecture: Architecture) -> str | None:
    """The refusal of a rule that needs what goes through layers, where a function does not say that."""
    if architecture.structure().layered:
        return None
    return (
        f"{rule.kind} needs the inputs and outputs of every layer, which {architecture.kind} does not give; "
        f"take linear or dense"
    )


def only_mistakes(rule: Update, loss: Loss) -> str | None:
    """The refusal of a mistake-driven rule, which must see in the gradient whether there was a mistake."""
    if loss.kind == "mistake":
        return None
    return (
        f"{rule.kind} moves after mistakes only, and the slope of {loss.kind} loss is not zero without one; "
        f"take mistake loss"
    )


class Mirror(NamedTuple):
    """A rule that with a small rate η follows dθ/dt = −∂L/∂w in the time t = η · step.

    θ are dual weights, of which the weights w are a function: themselves for gradient descent, their
    logarithms for EGU. Source: KW97; theory.md §4.
    """

    dual: Callable[[Params, dict[str, Params]], Params]
    """θ, of the parameters and the state at the start."""

    primal: Callable[[Params], Params]
    """w, of θ."""


EUCLIDEAN = Mirror(lambda params, _: params, lambda dual: dual)
"""That of gradient descent."""


class MultiplicativeStep(NamedTuple):
    """A learner that predicts xᵀ(a^L − b^L), whose steps along g = c x multiply.

    Where x_i is ±1, a_i is multiplied by the factor of that sign, and b_i, if there is a b, by that of the
    other sign. For +1 it is e^(−s η c) or 1 − s η c, for −1 e^(s η c) or 1 + s η c.
    """

    exponential: bool
    scale: float = 1.0
    """s."""
    power: int = 1
    """L, 1 or 2: a^L and b^L are multiplied by the powers of the factors."""
    halves: Callable[[Params, dict[str, Params]], tuple[torch.Tensor, ...]] = lambda params, _: (
        *params.values(),
    )
    """a and b, or a alone, [B, d], of the parameters and the state at the start."""
