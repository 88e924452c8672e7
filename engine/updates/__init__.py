"""Update rules: how parameters move along a gradient. A rule receives gradients, but no data or loss.

A rule moves all nets that are trained side by side in one call. These nets form the batch, the first
dimension B of every tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Annotated, ClassVar, Literal, NamedTuple

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
"""State of a rule between steps. It maps the name of a quantity to one tensor per parameter."""

Rates = dict[str, "float | torch.Tensor"]
"""Rate η of each parameter: the rule's `lr` times the factor of the parameter's layer.

A tensor has one rate per batch member, and as many dimensions as the parameter.
"""

Evaluate = Callable[[Params, int], "tuple[torch.Tensor, Params]"]
"""Function that computes the loss and the gradients of one net on the examples of the current step.

Its arguments are the parameters [1, …] of the net, and the index of the net in the batch. It returns the loss
and the gradients [1, …].
"""

ScalarStep = Callable[
    ["torch.Tensor", "float | torch.Tensor", "torch.Tensor"], "tuple[torch.Tensor, torch.Tensor]"
]
"""Step of a rule that adds multiples of the examples to the weights of a linear neuron.

For gradients g = c x, the step is w ← w − s x. The function takes c for the K examples in their order [K, …],
and the rate and the memory of every batch member. The memory is what the rule remembers of earlier examples;
it is 0 at first. The function returns s [K, …] and the memory after the last example. For rules that treat
features differently, such steps may exist only if all entries of examples are ±1.
"""

BEST: Literal["best"] = "best"
"""Value of `lr` that stands for the oracle-tuned rate: the one whose loss curve has the smallest mean."""

GRID = tuple(2.0**exponent for exponent in range(-14, 3))
"""Rates among which the oracle-tuned rate is chosen."""

ROUNDING = 256
"""Numbers up to ROUNDING · ε times the largest number count as rounding errors, for machine epsilon ε."""

MOST_RATES = 128
"""Largest number of rates of a learner. Each rate adds a curve to charts and a row to the learner table."""

Rate = Annotated[
    Positive | Annotated[tuple[Positive, ...], Meta(min_length=1, max_length=MOST_RATES)] | Literal["best"],
    Meta(
        title="rate η",
        description="multiplies the gradient; best: the rate with the least mean loss among 2⁻¹⁴, 2⁻¹³, …, 4",
    ),
]
Weight = Annotated[Positive | None, Meta(title="start w₀", description="none: the default of the rule")]


class UpdateStructure(NamedTuple):
    """Properties that an update rule declares for theorems, backends and tests.

    By default, a rule declares only that its steps are continuous.
    """

    learner_kind: LearnerKind = "other"
    """Kind of learners with this rule, unless their architecture sets another kind."""

    continuous: bool = True
    """Whether a small change of the gradients changes a step only a little.

    Rules that use signs are not continuous, because signs jump. Such rules amplify rounding errors.
    """

    own_start: bool = False
    """Whether the rule's `start` may replace the initial weights that the architecture sets."""

    weights_of_state: bool = False
    """Whether `step` computes the weights from the rule's state alone."""

    plain: bool = False
    """Whether a step is w ← w − η g, without a state."""

    along_gradients: bool = False
    """Whether every layer moves within the span of the layer's gradients so far, with one rate per layer."""

    columnwise: bool = False
    """Whether the step of an entry depends only on that entry's gradients.

    Inputs with gradient 0 can then be omitted.
    """

    layerwise: bool = False
    """Whether the step of a layer depends only on that layer's gradients and weights.

    Other layers may still influence which gradients count as rounding errors.
    """

    entries_alike: bool = False
    """Whether exchanging two entries of parameters, even of different layers, only exchanges their steps."""

    by_factors: bool = False
    """Whether a `step` along g equals `multiply` with the factors e^(−η g)."""

    by_operators: bool = False
    """Whether `start` and the declared steps use only arithmetic operators.

    They then also work on numpy arrays.
    """

    invariance_of_vectors: Verdict | None = None
    """Verdict on rotation invariance if every layer is a single vector; None to use that of `invariance`."""

    invariant_counterpart: Update | None = None
    """Rotation-invariant rule with the same steps, for a rule that is invariant "on this data"; else None.

    The empirical invariance test trains this counterpart on rotated instances.
    """

    exponentiates: Literal["weights", "products"] | None = None
    """Quantities that a step multiplies by exp(−c η g), exactly or for small η, if all weights start at 1/d.

    With `weights`, the rule multiplies the parameters themselves, and c = 1. With `products`, the
    architecture computes weights as products of parameters, and its `rate_of_weights` is c. None is for other
    rules.
    """

    only_after_mistakes: bool = False
    """Whether the rule moves only after mistakes. The loss must then have slope 0 for right predictions."""

    stable_up_to: float | None = None
    """Value of η S above which full-batch steps on a quadratic of curvature S diverge, or None if unknown."""

    automatic: float | None = None
    """Factor c if steps are those of automatic gradient descent on c times the loss; else None."""

    mini_batch: int | None = None
    """Number of examples in each gradient. None stands for all examples of the protocol."""

    observes: Literal["slopes", "curvature"] | None = None
    """Signals that are sent back through every layer and passed to `observe` before each step.

    `slopes` sends the derivatives L' of the loss, and `curvature` the square roots √L'' of its second
    derivatives. None is for rules that use gradients only.
    """

    evaluates: bool = False
    """Whether a step computes losses and gradients at other parameters, by the function from `evaluating`."""

    net_by_net: bool = False
    """Whether a step moves the nets of the batch one after another instead of all together."""

    copies: int = 0
    """Number of copies of a net's parameters in its optimizer, besides the tensors of the batch."""

    matrices: int = 0
    """Number of float64 matrices [d, d] per batch member that a step holds for a parameter with d inputs."""

    output_matrices: int = 0
    """Number of further float64 matrices [h, h] that a step holds for a parameter with h outputs."""

    columns: int | None = None
    """Number of inputs per block, if each block of inputs has separate matrices.

    None means that all inputs form one block.
    """


class Update(Part, frozen=True):
    """An update rule: `start` prepares parameters and state, and `step` moves them along a gradient.

    All methods leave `params` and `gradients` unchanged.
    """

    declares: ClassVar[frozenset[str]] = frozenset(
        (
            "structure",
            "invariance",
            "response",
            "mirror",
            "multiplicative_step",
            "scalar_step",
        )
    )
    former: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "exponentiated_rate": "set the field `exponentiates` of the rule's UpdateStructure",
            "invariant_counterpart": "set the field `invariant_counterpart` of the rule's UpdateStructure",
            "refuses_loss": "set the field `only_after_mistakes` or `observes` of the rule's UpdateStructure",
        }
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
        """Return the step response ρ_1 … ρ_k of a linear rule for k = `steps`, or None for other rules.

        After k gradients, the weights are w₀ − η Σ_j ρ_(k−j+1) g_j, for every k. So if the first gradient is
        1 and all later gradients are 0, a weight moves by −η ρ_m in m steps. Responses exist for linear rules
        that treat all steps alike. If all gradients are 0, such a rule does not move the weights.
        """
        return None

    @property
    def mirror(self) -> Mirror | None:
        """Gradient flow that the rule follows in the limit of small rates, or None if it follows none."""
        return None

    def refuses(self, architecture: Architecture) -> str | None:
        """Return the reason why this rule cannot train this architecture, or None if it can."""
        return None

    def refuses_features(self, d: int) -> str | None:
        """Return the reason why this rule cannot train weights of d features, or None if it can."""
        return None

    def start(self, params: Params) -> tuple[Params, State]:
        """Return the parameters and the rule's state before the first step.

        The parameters may differ from those of the architecture, `params`.
        """
        return params, {}

    def observe(self, signals: dict[str, LayerSignals], shares: torch.Tensor, state: State) -> State:
        """Let the rule observe the signals of the layers, and return its new state.

        Only rules with `observes` implement this method. The signals belong to the same examples and
        parameters as the gradients of the next step. `shares` [B, n] or [1, 1] are the weights of the
        examples in the mean loss.
        """
        raise NotImplementedError

    def evaluating(self, evaluate: Evaluate, state: State) -> State:
        """Return a state with a function `evaluate`, which computes losses and gradients for the next step.

        Only rules with `evaluates` implement this method.
        """
        raise NotImplementedError

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        """Make a step along `gradients`. Return the new parameters and state."""
        raise NotImplementedError

    def pause(self, active: torch.Tensor, state: State) -> State:
        """Prepare the state for a step that counts for the `active` nets [N] only.

        The step may move the other nets too, because the caller discards their results.
        """
        return state

    def choose(self, active: torch.Tensor, new: State, old: State) -> State:
        """Combine two states: `new` for the `active` nets [N], and `old` for all other nets."""
        return {name: chosen(active, tensors, old[name]) for name, tensors in new.items()}

    def multiply(self, params: Params, factors: Params, state: State) -> tuple[Params, State]:
        """Multiply weights by `factors`, and return the new parameters and state.

        The step may overwrite `factors`.
        """
        raise NotImplementedError

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        """Return whether training steps commute with rotations of the instances, and the reason.

        The verdict assumes that steps commute with permutations of a layer's units if they commute with
        permutations of the layer's inputs.

        Args:
            matrix: the data matrix that provides the instances.
            single: whether every gradient is the gradient of the loss on a single example.
        """
        reason = f"{self.kind} does not declare that its steps rotate with the instances"
        return Verdict(False, reason, undecided=True)

    def multiplicative_step(self, architecture: Architecture) -> MultiplicativeStep | None:
        """Return the rule as multiplicative steps on the weights, or None if it has no such form."""
        return None

    def scalar_step(self, architecture: Architecture) -> ScalarStep | None:
        """Return the rule as steps that add multiples of single examples; None if it has no such form."""
        return None


class Plain(Update, frozen=True):
    """Base class of rules whose steps are w ← w − η g."""

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
    """Base class of rules that use a gradient g only in the factors e^(−η g).

    If all entries of an example are ±1, these factors take only two different values in a weight vector. Then
    two exponentials suffice, instead of one for each weight.
    """

    def structure(self) -> UpdateStructure:
        return super().structure()._replace(learner_kind="multiplicative", by_factors=True)

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        factors = {layer: torch.exp_(g * -rates[layer]) for layer, g in gradients.items()}
        return self.multiply(params, factors, state)


class Diagonal(Update, frozen=True):
    """Base class of rules that divide each gradient entry by an average size of its past values.

    With `shared`, all inputs of a first-layer unit use the mean of their squared gradients, [B, h, 1]. Then
    each step of the unit is a multiple of the unit's present gradient, and commutes with rotations of the
    instances. If each step uses a single example with entries ±1, all squares within a unit are equal, and
    `shared` makes no difference. Subclasses return `by_sizes` as their `invariance`. Source:
    theory/symmetry#rotation-invariance.
    """

    shared: Annotated[
        bool, Meta(title="shared rates", description="use one rate for all inputs of a first-layer unit")
    ] = False

    def structure(self) -> UpdateStructure:
        counterpart = None if self.shared else msgspec.structs.replace(self, shared=True)
        kind: LearnerKind = "gradient" if self.shared else "coordinate"
        return super().structure()._replace(learner_kind=kind, invariant_counterpart=counterpart)

    def squares(self, gradients: Params) -> Params:
        """Return the squared gradients g². With `shared`, the first layer has one mean square per unit."""
        squared = {layer: g.square() for layer, g in gradients.items()}
        if self.shared:
            first = next(iter(squared))
            squared[first] = squared[first].mean(-1, keepdim=True)
        return squared

    def no_squares(self, params: Params) -> Params:
        """Return zeros in the shapes of `squares`."""
        none = zeros(params)
        if self.shared:
            first = next(iter(none))
            none[first] = none[first][..., :1].contiguous()
        return none

    def by_sizes(self, matrix: Matrix, single: bool) -> Verdict:
        """Return the `invariance` of rules that divide gradient entries by average sizes of past entries."""
        if self.shared:
            return Verdict(
                True, "all inputs of a unit share a rate, so steps stay in the span of the instances"
            )
        if not matrix.structure().entries_are_signs:
            return Verdict(
                False,
                "every weight has a separate rate, so steps depend on the coordinate axes",
                SIGNED_PERMUTATIONS,
            )
        if not single:
            return Verdict(
                False,
                "a mean gradient of ±1 examples has entries of different sizes, so rates of weights differ",
                SIGNED_PERMUTATIONS,
            )
        return Verdict(
            "on this data", "every step uses one ±1 example, so all inputs of a unit have the same rate"
        )


def moved(w: torch.Tensor, rate: float | torch.Tensor, direction: torch.Tensor) -> torch.Tensor:
    """Return the weights w − η v after a step along v with the rate η."""
    if isinstance(rate, float):
        return torch.sub(w, direction, alpha=rate)
    return w - rate * direction


def moved_by(
    w: torch.Tensor, rate: float | torch.Tensor, scale: torch.Tensor, direction: torch.Tensor
) -> torch.Tensor:
    """Return w − η s v, for steps along v whose lengths η s differ between batch members.

    `scale` is s. It must broadcast to `direction`, v.
    """
    if isinstance(rate, float):
        return torch.addcmul(w, scale, direction, value=-rate)
    return w - rate * scale * direction


def descended(params: Params, directions: Params, rates: Rates) -> Params:
    """Return the parameters w − η v after a step along the directions v, with the rate η of each layer."""
    return {layer: moved(w, rates[layer], directions[layer]) for layer, w in params.items()}


def rounding(sizes: Params) -> Params:
    """Return the size [B, 1, …] up to which entries count as rounding errors, for every layer.

    It is a small multiple of the largest entry of `sizes` over all layers of a batch member.
    """
    by_layer = [size.flatten(1).amax(1) for size in sizes.values()]
    least = ROUNDING * torch.finfo(by_layer[0].dtype).eps * torch.stack(by_layer).amax(0)
    return {layer: per_member(least, size) for layer, size in sizes.items()}


def norms(params: Params) -> Params:
    """Return the Euclidean norm of each parameter, for each batch member, [B, 1, …]."""
    lengths = {}
    for layer, w in params.items():
        norm = torch.linalg.vector_norm(w.flatten(1), dim=1)
        lengths[layer] = per_member(norm, w)
    return lengths


def with_direction(gradients: Params) -> Params:
    """Return a mask [B, 1, …] of the layers whose gradients exceed rounding errors.

    Rounding errors are relative to the largest gradient norm of the batch member. A gradient that is only a
    rounding error has no meaningful direction, and must not become a step of full length.
    """
    lengths = norms(gradients)
    largest = torch.stack([length.flatten() for length in lengths.values()]).amax(0)
    return {
        layer: length > ROUNDING * torch.finfo(length.dtype).eps * largest.view_as(length)
        for layer, length in lengths.items()
    }


def steps_taken(params: Params) -> Params:
    """Return step counters, one per parameter and batch member, [B, 1, …] in float64. They start at 0."""
    return {
        layer: torch.zeros(len(w), *[1] * (w.dim() - 1), dtype=torch.float64, device=w.device)
        for layer, w in params.items()
    }


def even(params: Params, w0: float | None = None, total: float = 1.0) -> Params:
    """Return starting weights that are all equal: `w0` or, if it is None, `total`/d."""
    return {layer: 0 * w + (w0 or total / w.shape[-1]) for layer, w in params.items()}


def reweighted(w: torch.Tensor, exponents: torch.Tensor) -> torch.Tensor:
    """Multiply w entrywise by exp(exponents), and scale the last dimension to the sum 1."""
    largest = exponents.amax(-1, keepdim=True)  # a common factor keeps exp within range, and cancels below
    products = w * torch.exp(exponents - largest)
    return products / products.sum(-1, keepdim=True)


def identities(params: Params, size: float) -> Params:
    """Return size · I, [B, d, d] in float64, for every parameter with d inputs."""
    matrices = {}
    for layer, w in params.items():
        identity = torch.eye(w.shape[-1], dtype=torch.float64, device=w.device)
        matrices[layer] = (size * identity).repeat(len(w), 1, 1)
    return matrices


def zeros(params: Params) -> Params:
    """Return zeros in the shape of every parameter."""
    return {layer: torch.zeros_like(w) for layer, w in params.items()}


def as_matrix(w: torch.Tensor) -> torch.Tensor:
    """Reshape a parameter [B, …, d] to matrices [B, h, d]. A vector becomes one row."""
    return w.reshape(len(w), -1, w.shape[-1])


def only_linear(rule: Update, architecture: Architecture) -> str | None:
    """Return why a rule with its own start cannot train an architecture; None for a linear neuron."""
    if architecture.structure().trains_weights:
        return None
    return (
        f"{rule.kind} sets the initial weights itself, so it trains only the linear neuron; "
        f"for {architecture.kind}, take `egu-pm` or `hypentropy`"
    )


def only_layers(rule: Update, architecture: Architecture) -> str | None:
    """Return why a rule that observes layers' signals cannot train an architecture; None if the rule can."""
    if architecture.structure().layered:
        return None
    return (
        f"{rule.kind} needs the inputs and outputs of every layer, which {architecture.kind} does not give; "
        f"take `linear` or `dense`"
    )


def refused_loss(rule: Update, loss: Loss) -> str | None:
    """Return the reason why an update rule cannot be used with a loss, or None if it can."""
    structure = rule.structure()
    if structure.only_after_mistakes and loss.kind != "mistake":
        return (
            f"{rule.kind} moves only after mistakes, but the gradient of {loss.kind} loss is not 0 "
            f"without a mistake; take mistake loss"
        )
    if structure.observes == "curvature" and loss.joint:
        return f"{rule.kind} requires a separate loss for each output, and {loss.kind} couples all outputs"
    return None


class Mirror(NamedTuple):
    """Flow dθ/dt = −∂L/∂w to which a rule tends for small rates η, with time t = η · step.

    The weights w are a function of the dual weights θ. For gradient descent, θ = w. For EGU, θ = ln w.
    Source: KW97; theory/conventions#update-rules.
    """

    dual: Callable[[Params, dict[str, Params]], Params]
    """Function that returns θ for the initial parameters and the initial state."""

    primal: Callable[[Params], Params]
    """Function that returns w for θ."""


EUCLIDEAN = Mirror(lambda params, _: params, lambda dual: dual)
"""The flow of gradient descent."""


class MultiplicativeStep(NamedTuple):
    """Multiplicative step of a learner that predicts xᵀ(a^L − b^L), along a gradient g = c x.

    All entries of x are ±1, and each sign has a factor. For +1, the factor is e^(−s η c), where η is the rate
    and s is `scale`. For −1, it is e^(s η c). If `exponential` is False, the factors are 1 − s η c and 1 + s
    η c instead. The step multiplies a_i by the factor of the sign of x_i. If there is a vector b, the step
    multiplies b_i by the factor of the opposite sign.
    """

    exponential: bool
    scale: float = 1.0
    """Number s by which the rate η is multiplied in the factors."""
    power: int = 1
    """Exponent L, which is 1 or 2. A step multiplies a^L and b^L by the L-th powers of the factors."""
    halves: Callable[[Params, dict[str, Params]], tuple[torch.Tensor, ...]] = lambda params, _: (
        *params.values(),
    )
    """Function that returns a and b, or only a, [B, d], given the initial parameters and state."""
