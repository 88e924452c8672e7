"""Architectures: functions of an instance, and how they start."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import LearnerKind, Part, Verdict
from engine.core.streams import Stream
from engine.problems.instances import Instances

Start = dict[str, NDArray[np.float64]]
"""Starting values by name; the first dimension of each is the replica.

Those that `layers` does not name are fixed: they belong to the function, and no update rule sees them.
"""


class Signals(NamedTuple):
    """The law of a fully connected net with Gaussian weights at its start, given layer by layer."""

    activation: str
    widths: tuple[int, ...]
    """Units of the hidden layers, [L]."""

    cw: tuple[float, ...]
    """C_w, the variance of weights times their fan-in, of every layer, the output too, [L + 1]."""

    cb: tuple[float, ...]
    """C_b, the variance of biases, [L + 1]."""

    unscaled: bool
    """Whether the weights are trained as they act, in no other unit."""


class HiddenLayers(NamedTuple):
    """The layers of which `preactivations` has the signals, input layer first."""

    activation: str
    """What makes their outputs of these signals, σ."""

    next_variances: tuple[float, ...]
    """C_w, the variance of weights times their fan-in, of the layer that follows each of them."""


class ArchitectureStructure(NamedTuple):
    """What an architecture declares of itself. With the defaults no theorem binds a learner."""

    learner_kind: LearnerKind | Literal["by-rule"] = "other"
    """Kind of the learners that are trained on it; `by-rule` if their update rule says it."""

    by_inner_products: bool = False
    """Whether all that it sees of an instance are inner products with others: no rotation changes these,
    whatever rule trains it."""

    trains_weights: bool = False
    """Whether a prediction is xᵀw, of a tensor `w` [B, d] that starts at 0 and is all that is trained."""

    power: int | None = None
    """L if it is xᵀ(u^L − v^L), or xᵀu^L, of tensors [B, d] that are all that is trained; None if not."""

    starts_at_zero: bool = False
    """Whether all weights of a single layer start at 0; then they start alike and with fixed inputs, too."""

    starts_alike: bool = False
    """Whether every trained tensor has one number for each feature, the same for all at the start."""

    fixed_input_start: bool = False
    """Whether every draw starts with the same weights of the inputs: then a draw favours no feature."""

    exchanges_on_flips: bool = False
    """Whether −x_i does with two tensors [B, d] what x_i does with their entries i exchanged.

    They start alike, and their gradients are exchanged, too.
    """

    rate_of_weights: float | None = None
    """c if gradient descent with a small rate η multiplies the weights w by about exp(−c η ∂L/∂w).

    From w = 1/d, all of them; None if it does anything else.
    """

    signals: Signals | None = None
    """The law of its signals at the start; None if it is not that of a Gaussian fully connected net."""

    hidden_layers: HiddenLayers | None = None
    """The hidden layers of a fully connected net; None if it is no such net."""

    affine: bool = False
    """Whether a prediction is made by layers z = Wa + b alone, as `edges` has them."""

    layered: bool = False
    """Whether every trained tensor is that of a layer z = Wa, of which `through` says the rest."""

    keeps_determinant: bool = False
    """Whether weights are a product of square matrices, each of determinant > 0 at the start.

    No gradient flow changes the sign of it: factors keep their rank as long as it goes on.
    """

    is_relu_layer: bool = False
    """Whether it is Σ_j a_j relu(w_jᵀx + b_j) + c, all of it trained, and b and c under no penalty."""


class StructureAt(NamedTuple):
    """What an architecture declares of itself for d features. By default no theorem binds a learner."""

    linear_layers: int | None = None
    """How many fully connected linear layers a prediction is the product of; None if it is none."""

    layers_on_features: int | None = None
    """The same of features φ(x) that are fixed beforehand, other than x, and no part of the training."""

    kernel_at_start: dict[str, float] | None = None
    """What every trained tensor has of the tangent kernel at the start, over xᵀx̃, by its name.

    None if predictions are not 0 there, or the kernel is no multiple of xᵀx̃.
    """


class Layout(NamedTuple):
    """The tensors of an architecture for d features."""

    shapes: Mapping[str, tuple[int, ...]]
    """The shapes of all tensors, trained or fixed, by name and without the batch."""

    rate_factors: Mapping[str, float] = MappingProxyType({})
    """Factors of the rates of trained tensors; 1 for those not named."""

    l2_penalties: Mapping[str, float] = MappingProxyType({})
    """λ of trained tensors θ, by name: training adds λ/2 ‖θ‖² to the loss; 0 for those not named."""

    units: int = 0
    """The number of hidden units whose signals a prediction holds, for every row."""

    refusal: str | None = None
    """Why there are no tensors for d features, in one sentence; None if there are."""

    @property
    def size(self) -> int:
        """The number of numbers, trained or fixed."""
        return sum(map(math.prod, self.shapes.values()))

    @property
    def l2_penalty(self) -> float:
        """The largest λ; 0 without a penalty."""
        return max(self.l2_penalties.values(), default=0.0)


class Edges(NamedTuple):
    """A layer of a net."""

    weights: torch.Tensor
    """W, [B, units, units below], as it acts; an edge that is not there is 0."""

    biases: torch.Tensor | None = None
    """b, [B, units]; None for 0."""

    @property
    def offsets(self) -> torch.Tensor:
        """b, also where it is 0."""
        return torch.zeros_like(self.weights[..., 0]) if self.biases is None else self.biases


class Architecture(Part, frozen=True):
    """A parametrised function of an instance x ∈ ℝ^d.

    Methods that take `params` get the trained tensors and the fixed ones.
    """

    declares: ClassVar[frozenset[str]] = frozenset(
        (
            "invariance",
            "structure",
            "structure_at",
        )
    )
    shortcuts: ClassVar[frozenset[str]] = frozenset(
        (
            "gradient",
            "weights",
            "preactivations",
            "rotated",
            "through",
            "edges",
        )
    )

    def structure(self) -> ArchitectureStructure:
        """What it declares of itself. A member replaces fields of `super().structure()`."""
        return ArchitectureStructure()

    @property
    def outputs(self) -> int:
        """How many targets, next to one another in the batch, one set of tensors predicts."""
        return 1

    def structure_at(self, d: int) -> StructureAt:
        """What it declares for d features. A member replaces fields of `super().structure_at(d)`."""
        return StructureAt()

    @property
    def layers(self) -> tuple[str, ...]:
        """The names of the trained tensors, input layer first."""
        raise NotImplementedError

    def start(self, stream: Stream, d: int) -> Start:
        """Starting values for d features, one draw per replica."""
        raise NotImplementedError

    def layout(self, d: int) -> Layout:
        """The tensors for d features, of every `start`."""
        raise NotImplementedError

    def fitted(self, params: Params, instances: Instances) -> Params:
        """The tensors with those that are made of the instances that a learner sees, before any step."""
        return params

    def predict(self, params: Params, instances: Instances) -> torch.Tensor:
        """Predictions [B, n] of tensors [B/outputs, …]."""
        raise NotImplementedError

    def preactivations(self, params: Params, instances: Instances) -> list[torch.Tensor]:
        """The signals of the hidden layers before σ, [B, h, n] each, input layer first; [] without such."""
        return []

    def weights(self, params: Params) -> torch.Tensor | None:
        """The vectors w [B, d] with predictions xᵀw, or None if predictions are not linear in x."""
        return None

    def edges(self, params: Params, inputs: torch.Tensor | slice, units: int) -> list[Edges]:
        """The net as layers of edges, from these of its inputs up; [] for what is no such net.

        Of hidden layers the first so many units.
        """
        return []

    def gradient(
        self, params: Params, instances: Instances, slope: Callable[[torch.Tensor], torch.Tensor]
    ) -> Params:
        """Gradients of the loss summed over instances and outputs; `slope` is ∂L/∂ŷ [B, n] of ŷ [B, n].

        Only the trained tensors have one. Members of the batch are independent, so one backward pass of the
        sum serves them all.
        """
        leaves = {name: params[name].detach().requires_grad_() for name in self.layers}
        with torch.enable_grad():
            predictions = self.predict({**params, **leaves}, instances)
        gradients = vector_jacobian(predictions, slope(predictions.detach()), list(leaves.values()))
        return dict(zip(leaves, gradients, strict=True))

    def through(
        self, params: Params, instances: Instances, sent: Callable[[torch.Tensor], torch.Tensor]
    ) -> dict[str, LayerSignals]:
        """The inputs of the layer of every trained tensor, and what comes back to its outputs.

        `sent` says what is sent back from every prediction [B, n] of ŷ [B, n]. Only of those that are
        `layered`.
        """
        raise NotImplementedError

    def rotated(self, params: Params, turn: Callable[[torch.Tensor], torch.Tensor]) -> Params:
        """The start that corresponds to `params` when every instance x becomes U x; `turn` makes w into U w.

        For a random start with a rotation-invariant law this couples the two starts; a start that is the same
        whatever the instances are stays as it is.
        """
        return params

    def invariance(self, d: int) -> Verdict:
        """Whether function and start treat all rotations of instances with d features alike, and why."""
        reason = f"{self.kind} does not say that it treats rotated instances alike"
        return Verdict(False, reason, undecided=True)


class LayerSignals(NamedTuple):
    """Of a trained tensor W [B, o, i] that makes z = W a of its inputs a, on n examples.

    A vector w [B, i] is a layer of one output.
    """

    inputs: torch.Tensor
    """a, [B, i, n]."""

    back: torch.Tensor
    """What comes back to z, [B, o, n]: its derivatives ∂ŷ/∂z times what was sent back."""


def with_penalty(penalties: Mapping[str, float], params: Params, gradients: Params) -> Params:
    """Gradients of the loss at these trained tensors, with those of the L2 penalties of a layout added."""
    if not penalties:
        return gradients
    return {
        name: gradient + penalties[name] * params[name] if name in penalties else gradient
        for name, gradient in gradients.items()
    }


def vector_jacobian(
    outputs: torch.Tensor, vector: torch.Tensor, inputs: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, ...]:
    """Σ_i v_i ∂y_i/∂x of every input x, for outputs y and a vector v of their shape.

    This is `torch.autograd.grad` with `grad_outputs`, which imports sympy at its first call: half a second.
    """
    with torch.enable_grad():
        total = (outputs * vector).sum()
    return torch.autograd.grad(total, inputs)
