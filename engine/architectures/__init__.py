"""Architectures: parametrised functions of an instance, and their starts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import LearnerKind, Part, Verdict
from engine.core.streams import Stream
from engine.core.texts import reason_of
from engine.problems.instances import Instances

Start = dict[str, NDArray[np.float64]]
"""Starting values by name; the first dimension of each is the replica.

Tensors that `layers` does not name are fixed: no update rule sees them.
"""


MOST_SEEDS = 2**31
"""Number of seeds from which starts of modules are drawn."""


class Signals(NamedTuple):
    """Distribution of the signals of a fully connected Gaussian net at its start, layer by layer."""

    activation: str
    widths: tuple[int, ...]
    """Units of the hidden layers, [L]."""

    cw: tuple[float, ...]
    """C_w of every layer and the output, the variance of weights times their fan-in, [L + 1]."""

    cb: tuple[float, ...]
    """C_b, the variance of biases, [L + 1]."""

    unscaled: bool
    """Whether the trained weights act without a factor."""

    joint_inputs: int | None = None
    """Number of successive instances that jointly have this distribution; None for all."""


class HiddenLayers(NamedTuple):
    """Layers whose signals `preactivations` returns, input layer first."""

    activation: str
    """Transfer function σ of these signals."""

    next_variances: tuple[float, ...]
    """C_w of the layer after each hidden layer: the variance of its weights times their fan-in."""

    first: tuple[float, float] | None = None
    """C_w and C_b of the first layer, if its weights and biases start Gaussian; else None."""


class ArchitectureStructure(NamedTuple):
    """Properties that an architecture declares. With the defaults, no theorem binds its learners."""

    learner_kind: LearnerKind | Literal["by-rule"] = "other"
    """Kind of the learners with this architecture; `by-rule` if the update rule decides."""

    by_inner_products: bool = False
    """Whether the architecture uses only inner products of instances, under every rule.

    No rotation changes these.
    """

    trains_weights: bool = False
    """Whether a prediction is xᵀw, where `w` [B, d] starts at 0 and is the only trained tensor."""

    power: int | None = None
    """L if predictions are xᵀ(u^L − v^L) or xᵀu^L, and u and v [B, d] are the only trained tensors; else
    None."""

    starts_at_zero: bool = False
    """Whether the net is one layer with weights 0 at the start; this implies the next two properties."""

    starts_alike: bool = False
    """Whether every trained tensor has a number for each feature, and all features start alike."""

    fixed_input_start: bool = False
    """Whether the weights of the inputs start the same in every draw, so that no draw favours a feature."""

    exchanges_on_flips: bool = False
    """Whether flipping x_i has the same effect as exchanging the entries i of the two tensors [B, d]. The
    tensors start alike, and a flip also exchanges their gradients.
    """

    rate_of_weights: float | None = None
    """c if gradient descent with a small rate η multiplies the weights w by about exp(−c η ∂L/∂w).

    All weights start at 1/d. None for other architectures.
    """

    valley_start: float | None = None
    """Start of v if predictions are √(1 + v²) u x₁ with trained u and v, from u = 0; otherwise None."""

    perturbation: float | None = None
    """ε if predictions are xᵀw, w = (Φᵀθ + (ε/2) θᵀΨθ)/√d, of the trained `theta` alone, which starts at 0.

    `Phi` [B, P, d] and `Psi` [B, d, P, P] are fixed, and Ψ is symmetric. None for other architectures.
    """

    signals: Signals | None = None
    """Distribution of the signals at the start, for fully connected Gaussian nets; None for other nets."""

    hidden_layers: HiddenLayers | None = None
    """Hidden layers of a fully connected net; None for other architectures."""

    affine: bool = False
    """Whether a prediction is computed by the layers z = Wa + b of `edges` alone."""

    layered: bool = False
    """Whether every trained tensor is the W of a layer z = Wa, as `through` requires."""

    keeps_determinant: bool = False
    """Whether weights are a product of square matrices, each with a determinant > 0 at the start. Gradient
    flow keeps the sign of the determinants, because the factors always keep their rank.
    """

    is_relu_layer: bool = False
    """Whether the net is Σ_j a_j relu(w_jᵀx + b_j) + c, all trained, with no penalty on b and c."""


class StructureAt(NamedTuple):
    """Properties that an architecture declares for d features.

    With the defaults, no theorem binds its learners.
    """

    linear_layers: int | None = None
    """Number of fully connected linear layers whose product predicts; None for other architectures."""

    layers_on_features: int | None = None
    """Number of linear layers on fixed features φ(x) that differ from x."""

    kernel_at_start: dict[str, float] | None = None
    """Factor of xᵀx̃ in the tangent kernel at the start, by trained tensor.

    None if predictions are not 0 at the start, or the kernel is not a multiple of xᵀx̃.
    """


class Layout(NamedTuple):
    """Tensors of an architecture for d features."""

    shapes: Mapping[str, tuple[int, ...]]
    """Shapes of all tensors, trained or fixed, by name, without the batch dimension."""

    rate_factors: Mapping[str, float] = MappingProxyType({})
    """Factors of the rates of trained tensors; 1 for tensors that are not named."""

    l2_penalties: Mapping[str, float] = MappingProxyType({})
    """λ of trained tensors θ, by name: training adds λ/2 ‖θ‖² to the loss; 0 for tensors not named."""

    units: int = 0
    """Number of hidden units whose signals a prediction holds, per row."""

    refusal: str | None = None
    """Reason why the architecture is not defined for d features; None if it is defined."""

    @property
    def size(self) -> int:
        """Number of parameters, trained or fixed."""
        return sum(map(math.prod, self.shapes.values()))

    @property
    def l2_penalty(self) -> float:
        """Largest λ; 0 without a penalty."""
        return max(self.l2_penalties.values(), default=0.0)


class Edges(NamedTuple):
    """A layer of a net."""

    weights: torch.Tensor
    """W, [B, units, units below], with all factors; a missing edge is 0."""

    biases: torch.Tensor | None = None
    """b, [B, units]; None for 0."""

    @property
    def offsets(self) -> torch.Tensor:
        """b, as a tensor of zeros if there are no biases."""
        return torch.zeros_like(self.weights[..., 0]) if self.biases is None else self.biases


class Architecture(Part, frozen=True):
    """A parametrised function of an instance x ∈ ℝ^d.

    `params` in its methods are the trained and the fixed tensors.
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
        """Return the declared properties. A member replaces fields of `super().structure()`."""
        return ArchitectureStructure()

    @property
    def outputs(self) -> int:
        """Number of targets that a set of tensors predicts; they are adjacent in the batch."""
        return 1

    def structure_at(self, d: int) -> StructureAt:
        """Return the declared properties for d features.

        A member replaces fields of `super().structure_at(d)`.
        """
        return StructureAt()

    @property
    def layers(self) -> tuple[str, ...]:
        """Names of the trained tensors, input layer first."""
        raise NotImplementedError

    def start(self, stream: Stream, d: int) -> Start:
        """Return starting values for d features, one draw per replica."""
        raise NotImplementedError

    def layout(self, d: int) -> Layout:
        """Return the layout of the tensors for d features."""
        raise NotImplementedError

    def fitted(self, params: Params, instances: Instances) -> Params:
        """Return the tensors before the first step, including fixed tensors computed from the instances."""
        return params

    def predict(self, params: Params, instances: Instances) -> torch.Tensor:
        """Return predictions [B, n] of tensors [B/outputs, …]."""
        raise NotImplementedError

    def preactivations(self, params: Params, instances: Instances) -> list[torch.Tensor]:
        """Return the signals [B, h, n] of every hidden layer before σ, input layer first."""
        return []

    def weights(self, params: Params) -> torch.Tensor | None:
        """Return w [B, d] with predictions xᵀw, or None if predictions are not linear in x."""
        return None

    def edges(self, params: Params, inputs: torch.Tensor | slice, units: int) -> list[Edges]:
        """Return the net as layers of edges, from these inputs up; [] for architectures without edges.

        Hidden layers are cut to their first `units` units.
        """
        return []

    def gradient(
        self, params: Params, instances: Instances, slope: Callable[[torch.Tensor], torch.Tensor]
    ) -> Params:
        """Return gradients of the loss, summed over instances and outputs, by trained tensor.

        `slope` maps ŷ [B, n] to ∂L/∂ŷ [B, n]. Batch members are independent, so a single backward pass of
        their sum computes all gradients.
        """
        leaves = {layer: params[layer].detach().requires_grad_() for layer in self.layers}
        with torch.enable_grad():
            predictions = self.predict({**params, **leaves}, instances)
        gradients = vector_jacobian(predictions, slope(predictions.detach()), list(leaves.values()))
        return dict(zip(leaves, gradients, strict=True))

    def through(
        self, params: Params, instances: Instances, sent: Callable[[torch.Tensor], torch.Tensor]
    ) -> dict[str, LayerSignals]:
        """Return, for every trained tensor, the inputs of its layer and the signals sent back to its outputs.

        `sent` maps ŷ [B, n] to the signals [B, n] that are sent back from ŷ. Only `layered` architectures
        have this method.
        """
        raise NotImplementedError

    def rotated(self, params: Params, turn: Callable[[torch.Tensor], torch.Tensor]) -> Params:
        """Return the counterpart of the start `params` if every instance x becomes U x; `turn` maps w to U w.

        For a random start with a rotation-invariant distribution, this couples the two starts. A fixed start
        is returned unchanged.
        """
        return params

    def invariance(self, d: int) -> Verdict:
        """Return whether function and start treat all rotations of instances [d] alike, and the reason."""
        reason = f"{self.kind} does not declare that it treats rotated instances alike"
        return Verdict(False, reason, undecided=True)


class ModuleArchitecture(Architecture, frozen=True):
    """Base of architectures that a torch module computes, in any of torch's layers.

    A member says by `module` which module it is. Modules are in evaluation mode: dropout is off, and batch
    normalisation uses its buffers, which are fixed. Learners with the same module run side by side where
    `torch.func.vmap` can do so, and one after the other elsewhere.
    """

    example_d: ClassVar[int] = 16
    """A number of features for which `module` works; names of tensors are those of this module."""

    def module(self, d: int) -> Any:
        """Return a new `torch.nn.Module`, drawn at random, that maps instances [n, d] to [n] or [n, 1]."""
        raise NotImplementedError

    @property
    def layers(self) -> tuple[str, ...]:
        return tuple(name for name, _ in _template(self, self.example_d).named_parameters())

    def start(self, stream: Stream, d: int) -> Start:
        draws = [self._drawn(d, int(seed)) for seed in stream.integers(MOST_SEEDS)]
        return {name: np.stack([draw[name] for draw in draws]) for name in draws[0]}

    def _drawn(self, d: int, seed: int) -> dict[str, NDArray[np.float64]]:
        """Return the tensors of a new module whose start torch draws from a seed."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            tensors = self.module(d).state_dict()
        return {name: tensor.double().numpy() for name, tensor in tensors.items()}

    def layout(self, d: int) -> Layout:
        try:
            module = _template(self, d)
            with torch.no_grad():
                outputs = tuple(module(torch.zeros(3, d)).shape)
        except Exception as error:
            reason = reason_of(error)
            return Layout({}, refusal=f"its module fails for {d} features: {type(error).__name__}: {reason}")
        if outputs not in ((3,), (3, 1)):
            fault = f"its module returns {list(outputs)} for 3 instances; it must return [3] or [3, 1]"
            return Layout({}, refusal=fault)
        shapes = {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}
        return Layout(shapes, units=sum(shape[0] for shape in shapes.values() if len(shape) > 1))

    def predict(self, params: Params, instances: Instances) -> torch.Tensor:
        module, members = _template(self, instances.d), len(next(iter(params.values())))
        rows = instances.rows

        def of_member(tensors: Params, x: torch.Tensor) -> torch.Tensor:
            outputs: torch.Tensor = torch.func.functional_call(module, tensors, (x,))
            return outputs.view(len(x))

        per_replica = members // instances.replicas
        if self not in _one_by_one:
            has_one_problem = instances.replicas == 1
            shared = rows[0] if has_one_problem else rows.repeat_interleave(per_replica, 0)
            try:
                side_by_side = torch.func.vmap(of_member, in_dims=(0, None if has_one_problem else 0))
                predictions: torch.Tensor = side_by_side(params, shared)
            except RuntimeError:  # the module branches on values, or changes tensors in place
                _one_by_one.add(self)
            else:
                return predictions
        members_params = ({name: w[member] for name, w in params.items()} for member in range(members))
        return torch.stack(
            [of_member(tensors, rows[number // per_replica]) for number, tensors in enumerate(members_params)]
        )


_one_by_one: set[ModuleArchitecture] = set()
"""Architectures whose modules `torch.func.vmap` cannot run."""


@cache
def _template(architecture: ModuleArchitecture, d: int) -> Any:
    """Return a module for d features in evaluation mode, whose tensors are not used."""
    with torch.random.fork_rng(devices=[]):
        return architecture.module(d).eval()


class LayerSignals(NamedTuple):
    """Signals of a layer z = W a with a trained tensor W [B, o, i], on n examples.

    A vector w [B, i] is a layer with one output.
    """

    inputs: torch.Tensor
    """a, [B, i, n]."""

    back: torch.Tensor
    """Signals sent back to z, [B, o, n]: ∂ŷ/∂z times the signals sent back from ŷ."""


def with_penalty(penalties: Mapping[str, float], params: Params, gradients: Params) -> Params:
    """Return the gradients, plus those of the layout's L2 penalties at these trained tensors."""
    if not penalties:
        return gradients
    return {
        layer: gradient + penalties[layer] * params[layer] if layer in penalties else gradient
        for layer, gradient in gradients.items()
    }


def vector_jacobian(
    outputs: torch.Tensor, vector: torch.Tensor, inputs: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, ...]:
    """Return Σ_i v_i ∂y_i/∂x of every input x, for outputs y and a vector v of their shape.

    Equivalent to `torch.autograd.grad` with `grad_outputs`, whose first call imports sympy (half a second).
    """
    with torch.enable_grad():
        total = (outputs * vector).sum()
    return torch.autograd.grad(total, inputs)
