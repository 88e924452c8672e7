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
from engine.core.params import Params, chosen, per_member
from engine.core.parts import BadField, LearnerKind, Part, Positive, Verdict
from engine.losses import Loss
from engine.problems.matrices import Matrix

State = dict[str, Params]
"""State of a rule between steps: named tensors, each shaped like the parameters."""

Rates = dict[str, "float | torch.Tensor"]
"""The rate η of every parameter: the rule's `lr` times the learner's rate of that layer.

A tensor holds one rate per member of the batch and has as many dimensions as the parameter.
"""

Evaluate = Callable[[Params, int], "tuple[torch.Tensor, Params]"]
"""Function of the parameters [1, …] of a net, and of its number in the batch, for the examples of a step.

It returns the loss of the net and the gradients [1, …].
"""

ScalarStep = Callable[
    ["torch.Tensor", "float | torch.Tensor", "torch.Tensor"], "tuple[torch.Tensor, torch.Tensor]"
]
"""The step of a rule that moves a linear neuron by multiples of the examples: w ← w − s x for g = c x. Its
arguments are c for examples in order [K, …], and the rate and the memory of every batch member; the memory is
0 at first. It returns s [K, …] and the memory after the last example. Rules that treat features differently
may have such a step only on examples of ±1.
"""

BEST: Literal["best"] = "best"
"""Word for the oracle-tuned rate: the rate whose curve has the least mean."""

GRID = tuple(2.0**exponent for exponent in range(-14, 3))
"""Rates among which the best one is chosen."""

ROUNDING = 256
"""Units of rounding of the largest size up to which a size counts as rounding."""

MOST_RATES = 128
"""Largest number of rates of a learner: each is a curve, and a row of the table."""

Rate = Annotated[
    Positive | Annotated[tuple[Positive, ...], Meta(min_length=1, max_length=MOST_RATES)] | Literal["best"],
    Meta(title="rate η", description="multiplies the true gradient; best: oracle-tuned, of 2⁻¹⁴ … 4"),
]
Weight = Annotated[Positive | None, Meta(title="start w₀", description="none: the rule's own default")]


class UpdateStructure(NamedTuple):
    """Properties that a rule declares of its steps. With the defaults, no theorem applies to it."""

    learner_kind: LearnerKind = "other"
    """Kind of the learners that the rule trains, unless their architecture decides."""

    continuous: bool = True
    """Whether small changes of gradients change a step only a little; signs jump, and so amplify rounding."""

    own_start: bool = False
    """Whether `start` may replace the weights of the architecture."""

    weights_of_state: bool = False
    """Whether `step` computes the weights from its state alone."""

    plain: bool = False
    """Whether a step is w ← w − η g, without a state."""

    along_gradients: bool = False
    """Whether every layer moves within the span of its gradients so far, with one rate per layer."""

    columnwise: bool = False
    """Whether an entry moves only by its own gradients, so that inputs with gradient 0 can be omitted."""

    layerwise: bool = False
    """Whether a layer moves only by its own gradients and weights. Other layers may only decide which
    gradients count as rounding.
    """

    entries_alike: bool = False
    """Whether exchanging two entries, even of different layers, only exchanges their steps."""

    by_factors: bool = False
    """Whether `step` along g is `multiply` with the factors e^(−η g)."""

    by_operators: bool = False
    """Whether `start` and the declared steps use operators only, so that they also work on numpy arrays."""

    invariance_of_vectors: Verdict | None = None
    """Verdict for architectures whose layers are single vectors; None if `invariance` gives it."""

    stable_up_to: float | None = None
    """Least η S at which full-batch steps on a quadratic of curvature S diverge; None if it is not known."""

    automatic: float | None = None
    """c if steps are those of automatic gradient descent on c times the loss; None for other rules."""

    mini_batch: int | None = None
    """Number of examples in its gradients; None for all examples of the protocol."""

    observes: Literal["slopes", "curvature"] | None = None
    """Signals that are sent back through every layer to `observe` before every step: slopes L' of the loss,
    or roots √L'' of its second derivative. None for a rule that only sees gradients."""

    evaluates: bool = False
    """Whether a step needs losses and gradients at further parameters, by the function of `evaluating`."""

    net_by_net: bool = False
    """Whether a step moves one net after the other, not all nets of the batch together."""

    matrices: int = 0
    """Number of float64 matrices [d, d] per batch member that a step holds for a parameter with d inputs."""

    output_matrices: int = 0
    """Number of further float64 matrices [h, h] that a step holds for a parameter with h outputs."""

    columns: int | None = None
    """Number of inputs per block of columns, if every block has its own matrices.

    None if all columns form one block.
    """


class Update(Part, frozen=True):
    """A pure pair of functions: `start` prepares parameters and state, `step` moves them along a gradient."""

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
            raise BadField("lr", "two rates are equal to four digits; give every rate once")

    def structure(self) -> UpdateStructure:
        """Return the properties of the steps. A rule replaces fields of `super().structure()`."""
        return UpdateStructure(own_start=type(self).start is not Update.start)

    def response(self, steps: int) -> NDArray[np.float64] | None:
        """Return ρ_1 … ρ_steps, if w after k gradients is w₀ − η Σ_j ρ_(k−j+1) g_j for every k; else None.

        A single gradient 1 has moved a weight by −η ρ_m after m steps, including its own. Responses exist for
        linear rules that treat all steps alike, and that do not move without gradients.
        """
        return None

    def exponentiated_rate(self, architecture: Architecture) -> float | None:
        """Return η if the rule multiplies all weights by exp(−η g), exactly or for small η, from w = 1/d."""
        return None

    @property
    def mirror(self) -> Mirror | None:
        """Gradient flow that the rule follows with small rates; None if it follows none."""
        return None

    def refuses(self, architecture: Architecture) -> str | None:
        """Return the reason why this rule cannot train this architecture; None if it can."""
        return None

    def refuses_features(self, d: int) -> str | None:
        """Return the reason why this rule cannot move weights of d features; None if it can."""
        return None

    def refuses_loss(self, loss: Loss) -> str | None:
        """Return the reason why this rule does not fit this loss; None if it does."""
        return None

    def start(self, params: Params) -> tuple[Params, State]:
        """Return the parameters at k = 0, which may differ from the given ones, and the first state."""
        return params, {}

    def observe(self, signals: dict[str, LayerSignals], shares: torch.Tensor, state: State) -> State:
        """Return the state of a rule that `observes`, updated by the signals through the layers.

        They belong to the same examples and parameters as the gradients of the next step. `shares` [B, n] or
        [1, 1] are the weights of the examples in the mean.
        """
        raise NotImplementedError

    def evaluating(self, evaluate: Evaluate, state: State) -> State:
        """Return the state of a rule that `evaluates`, with the function that its next step calls."""
        raise NotImplementedError

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        """Return parameters and state after a step along `gradients` with the given rates."""
        raise NotImplementedError

    def pause(self, active: torch.Tensor, state: State) -> State:
        """Return the state for a step whose effect on nets that are not `active` [N] is dropped."""
        return state

    def choose(self, active: torch.Tensor, new: State, old: State) -> State:
        """Return the new state of the nets that are `active` [N], and the old state of the others."""
        return {name: chosen(active, tensors, old[name]) for name, tensors in new.items()}

    def multiply(self, params: Params, factors: Params, state: State) -> tuple[Params, State]:
        """Return parameters and state after a step with these factors, which it may overwrite."""
        raise NotImplementedError

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        """Return whether steps commute with rotations of instances from this family, and why.

        Steps that commute with permutations of the inputs of a layer also commute with permutations of its
        units. `single`: whether every gradient belongs to a single example.
        """
        reason = f"{self.kind} does not declare that its steps rotate with the instances"
        return Verdict(False, reason, undecided=True)

    def multiplicative_step(self, architecture: Architecture) -> MultiplicativeStep | None:
        """Return the rule as a step that multiplies the weights of an architecture; None for other rules."""
        return None

    def scalar_step(self, architecture: Architecture) -> ScalarStep | None:
        """Return the rule as a step that adds multiples of single examples; None for other rules."""
        return None

    def invariant_counterpart(self) -> Update:
        """Return the rotation-invariant rule that this rule equals, if it is invariant "on this data".

        The certificate trains this counterpart on rotated instances. By default, it is the rule itself.
        """
        return self


class Plain(Update, frozen=True):
    """Base of rules whose steps are w ← w − η g."""

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
    """Base of rules that use a gradient g only in the factors e^(−η g).

    The gradient of an example with entries ±1 has only two such factors per weight vector, which saves the
    exponential of every entry.
    """

    def structure(self) -> UpdateStructure:
        return super().structure()._replace(learner_kind="multiplicative", by_factors=True)

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        factors = {layer: torch.exp_(g * -rates[layer]) for layer, g in gradients.items()}
        return self.multiply(params, factors, state)


class Diagonal(Update, frozen=True):
    """Base of rules that divide each gradient entry by a size of its past entries.

    With `shared`, all inputs of a unit of the first layer use the mean of their squares, [B, h, 1]. The
    unit's steps are then multiples of gradients and commute with rotations. On single ±1 examples, squares
    are equal within a unit, so both variants agree. Such rules declare `by_sizes` as their `invariance`.
    Source: theory/symmetry#rotation-invariance.
    """

    shared: Annotated[
        bool, Meta(title="shared rates", description="one rate for all inputs of a first-layer unit")
    ] = False

    def structure(self) -> UpdateStructure:
        return super().structure()._replace(learner_kind="gradient" if self.shared else "coordinate")

    def squares(self, gradients: Params) -> Params:
        """Return the squares g² that scale the rates, shaped like the gradients, or one per unit."""
        squared = {layer: g.square() for layer, g in gradients.items()}
        if self.shared:
            first = next(iter(squared))
            squared[first] = squared[first].mean(-1, keepdim=True)
        return squared

    def no_squares(self, params: Params) -> Params:
        """Return the sum of squares before the first gradient, 0."""
        none = zeros(params)
        if self.shared:
            first = next(iter(none))
            none[first] = none[first][..., :1].contiguous()
        return none

    def invariant_counterpart(self) -> Self:
        return msgspec.structs.replace(self, shared=True)

    def by_sizes(self, matrix: Matrix, single: bool) -> Verdict:
        """Return the invariance verdict of a rule that divides gradients by the sizes of past entries."""
        if self.shared:
            return Verdict(
                True, "all inputs of a unit share a rate, so steps stay in the span of the instances"
            )
        if not matrix.structure().entries_are_signs:
            return Verdict(
                False,
                "every weight has a separate rate, which distinguishes features",
                SIGNED_PERMUTATIONS,
            )
        if not single:
            return Verdict(
                False,
                "mean gradients of several ±1 examples give every weight a separate rate",
                SIGNED_PERMUTATIONS,
            )
        return Verdict("on this data", "one ±1 example at a time gives all inputs of a unit the same rate")


def moved(w: torch.Tensor, rate: float | torch.Tensor, direction: torch.Tensor) -> torch.Tensor:
    """Return w − η v for a direction v."""
    if isinstance(rate, float):
        return torch.sub(w, direction, alpha=rate)
    return w - rate * direction


def moved_by(
    w: torch.Tensor, rate: float | torch.Tensor, scale: torch.Tensor, direction: torch.Tensor
) -> torch.Tensor:
    """Return w − η s v for a direction v and a number s per member, shaped to multiply it."""
    if isinstance(rate, float):
        return torch.addcmul(w, scale, direction, value=-rate)
    return w - rate * scale * direction


def descended(params: Params, directions: Params, rates: Rates) -> Params:
    """Return w − η v for a direction v of every parameter."""
    return {layer: moved(w, rates[layer], directions[layer]) for layer, w in params.items()}


def rounding(sizes: Params) -> Params:
    """Return the size [B, 1, …] up to which entries [B, …] count as rounding of the largest entry."""
    by_layer = [size.flatten(1).amax(1) for size in sizes.values()]
    least = ROUNDING * torch.finfo(by_layer[0].dtype).eps * torch.stack(by_layer).amax(0)
    return {layer: per_member(least, size) for layer, size in sizes.items()}


def norms(params: Params) -> Params:
    """Return the Euclidean norm of every parameter and batch member, shaped [B, 1, …] to divide it."""
    lengths = {}
    for layer, w in params.items():
        norm = torch.linalg.vector_norm(w.flatten(1), dim=1)
        lengths[layer] = per_member(norm, w)
    return lengths


def with_direction(gradients: Params) -> Params:
    """Return whether each gradient is more than rounding of the largest of its batch member, [B, 1, …].

    A gradient that is only rounding has no direction, and must not become a step of full length.
    """
    lengths = norms(gradients)
    largest = torch.stack([length.flatten() for length in lengths.values()]).amax(0)
    return {
        layer: length > ROUNDING * torch.finfo(length.dtype).eps * largest.view_as(length)
        for layer, length in lengths.items()
    }


def steps_taken(params: Params) -> Params:
    """Return a step counter, 0, for every parameter and batch member, [B, 1, …] in float64."""
    return {
        layer: torch.zeros(len(w), *[1] * (w.dim() - 1), dtype=torch.float64, device=w.device)
        for layer, w in params.items()
    }


def even(params: Params, w0: float | None = None, total: float = 1.0) -> Params:
    """Return equal positive weights w₀, or weights with the sum `total` if w₀ is None."""
    return {layer: 0 * w + (w0 or total / w.shape[-1]) for layer, w in params.items()}


def reweighted(w: torch.Tensor, exponents: torch.Tensor) -> torch.Tensor:
    """Return w ⊙ exp(exponents), divided by its sum over the last dimension."""
    largest = exponents.amax(-1, keepdim=True)  # a common factor, which keeps exp within range
    products = w * torch.exp(exponents - largest)
    return products / products.sum(-1, keepdim=True)


def identities(params: Params, size: float) -> Params:
    """Return size · I over the inputs of every parameter, in float64, [B, d, d]."""
    matrices = {}
    for layer, w in params.items():
        identity = torch.eye(w.shape[-1], dtype=torch.float64, device=w.device)
        matrices[layer] = (size * identity).repeat(len(w), 1, 1)
    return matrices


def zeros(params: Params) -> Params:
    """Return a state of zeros, shaped like the parameters."""
    return {layer: torch.zeros_like(w) for layer, w in params.items()}


def as_matrix(w: torch.Tensor) -> torch.Tensor:
    """Return a parameter [B, …, d] as a matrix [B, h, d] per batch member; a vector has h = 1."""
    return w.reshape(len(w), -1, w.shape[-1])


def only_linear(rule: Update, architecture: Architecture) -> str | None:
    """Return the reason why a rule that sets its own start cannot train this architecture; None if it can."""
    if architecture.structure().trains_weights:
        return None
    return (
        f"{rule.kind} sets the start of its weights itself, so it trains only the linear neuron, "
        f"not {architecture.kind}; take egu-pm or hypentropy there"
    )


def only_layers(rule: Update, architecture: Architecture) -> str | None:
    """Refuse architectures that do not return the signals of their layers."""
    if architecture.structure().layered:
        return None
    return (
        f"{rule.kind} needs the inputs and outputs of every layer, which {architecture.kind} does not give; "
        f"take linear or dense"
    )


def only_mistakes(rule: Update, loss: Loss) -> str | None:
    """Refuse losses with a slope on correct predictions, for a mistake-driven rule."""
    if loss.kind == "mistake":
        return None
    return (
        f"{rule.kind} moves after mistakes only, and the slope of {loss.kind} loss is not zero without one; "
        f"take mistake loss"
    )


class Mirror(NamedTuple):
    """The flow dθ/dt = −∂L/∂w that a rule follows for a small rate η, with the time t = η · step.

    The weights w are a function of the dual weights θ: θ = w for gradient descent, θ = ln w for EGU. Source:
    KW97; theory/conventions#update-rules.
    """

    dual: Callable[[Params, dict[str, Params]], Params]
    """θ as a function of the parameters and the state at the start."""

    primal: Callable[[Params], Params]
    """w as a function of θ."""


EUCLIDEAN = Mirror(lambda params, _: params, lambda dual: dual)
"""The flow of gradient descent."""


class MultiplicativeStep(NamedTuple):
    """Multiplicative steps along g = c x of a learner that predicts xᵀ(a^L − b^L).

    For x_i = ±1, a_i is multiplied by the factor of this sign, and b_i (if there is a b) by the factor of the
    other sign. The factor is e^(−s η c) or 1 − s η c for +1, and e^(s η c) or 1 + s η c for −1.
    """

    exponential: bool
    scale: float = 1.0
    """s."""
    power: int = 1
    """L, 1 or 2: a^L and b^L are multiplied by these powers of the factors."""
    halves: Callable[[Params, dict[str, Params]], tuple[torch.Tensor, ...]] = lambda params, _: (
        *params.values(),
    )
    """a and b, or a only, [B, d], as functions of the parameters and the state at the start."""
