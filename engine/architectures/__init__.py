"""Architectures: parametrised functions of an instance, with their initial parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.core.derivatives import vector_jacobian
from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import LearnerKind, Part, Verdict
from engine.core.streams import Stream
from engine.core.texts import reason_of
from engine.problems.instances import Instances

Start = dict[str, NDArray[np.float64]]
"""Initial tensors by name. The first dimension of each tensor is the replica.

Tensors that the architecture's `layers` do not name are fixed: update rules do not receive them.
"""


MOST_SEEDS = 2**31
"""Number of different seeds of the random start of a torch module."""


class Signals(NamedTuple):
    """Distribution of the signals, the inputs of transfer functions, in an untrained dense Gaussian net."""

    activation: str
    widths: tuple[int, ...]
    """Number of units of every hidden layer, [L]."""

    cw: tuple[float, ...]
    """C_w of every hidden layer and of the output, [L + 1]: the variance of weights times their fan-in."""

    cb: tuple[float, ...]
    """C_b of every hidden layer and of the output, [L + 1]: the variance of biases."""

    unscaled: bool
    """Whether layers apply the trained weights directly, without multiplying them by a fixed factor."""

    joint_inputs: int | None = None
    """Number of successive instances whose signals jointly have this distribution. None means all."""

    has_biases: bool = False
    """Whether layers have trained biases. With C_b = 0, these start at 0."""


class HiddenLayers(NamedTuple):
    """Description of a net's hidden layers: their transfer function, and the initial variances of weights.

    A signal is the input of the transfer function. `Architecture.preactivations` returns the signals of the
    hidden layers, beginning with the layer next to the input.
    """

    activation: str
    """Transfer function σ that is applied to the signals."""

    next_variances: tuple[float, ...]
    """C_w of the layer after each hidden layer: the variance of its weights times their fan-in."""

    first: tuple[float, float] | None = None
    """C_w and C_b of the first layer if its weights and biases start Gaussian, else None."""


class ArchitectureStructure(NamedTuple):
    """Properties of an architecture that theorems require, such as initial weights of 0.

    By default, an architecture declares none of these properties.
    """

    learner_kind: LearnerKind | Literal["by-rule"] = "other"
    """Kind of learners with this architecture. With `by-rule`, the update rule sets the kind."""

    by_inner_products: bool = False
    """Whether, for every update rule, predictions depend only on inner products of instances.

    Rotations of the instances do not change these inner products.
    """

    trains_weights: bool = False
    """Whether a prediction is xᵀw, where `w` [B, d] starts at 0 and is the only trained tensor."""

    power: int | None = None
    """Exponent L if predictions are xᵀ(u^L − v^L) or xᵀu^L, else None.

    u and v [B, d] are then the only trained tensors.
    """

    starts_at_zero: bool = False
    """Whether the net is one layer whose weights start at 0.

    If so, `starts_alike` and `fixed_input_start` are also true.
    """

    starts_alike: bool = False
    """Whether every trained tensor has one number per feature, and these numbers start equal."""

    fixed_input_start: bool = False
    """Whether the start of the input weights is not random, so that chance favours no feature."""

    exchanges_on_flips: bool = False
    """Whether a flip of the sign of x_i has the same effect as exchanging entry i of two tensors.

    The architecture has exactly two trained tensors, [B, d] each, with equal starts. A flip also exchanges
    their gradients.
    """

    rate_of_weights: float | None = None
    """Factor c if gradient descent at a small rate η multiplies w by about exp(−c η ∂L/∂w), else None.

    All weights then start at 1/d.
    """

    valley_start: float | None = None
    """Initial v if predictions are √(1 + v²) u x₁ with trained u and v, and u starts at 0; None otherwise."""

    perturbation: float | None = None
    """ε if predictions are xᵀw with w = (Φᵀθ + (ε/2) θᵀΨθ)/√d, or None for other architectures.

    θ is `theta`, the only trained tensor, which starts at 0. `Phi` [B, P, d] and `Psi` [B, d, P, P] are
    fixed, and Ψ is symmetric.
    """

    signals: Signals | None = None
    """Distribution of the signals at the start of a fully connected Gaussian net, or None for other nets."""

    hidden_layers: HiddenLayers | None = None
    """Hidden layers of a fully connected net, or None for other architectures."""

    affine: bool = False
    """Whether predictions are computed only by the layers z = Wa + b that `edges` returns, and by σ."""

    layered: bool = False
    """Whether every trained tensor is the matrix W of a layer z = Wa, as `through` requires.

    The biases of a layer count as the matrix of a separate layer with the input 1.
    """

    keeps_determinant: bool = False
    """Whether weights are a product of square matrices whose determinants are positive at the start.

    Gradient flow keeps the signs of the determinants, because the factors always keep their rank.
    """

    is_relu_layer: bool = False
    """Whether the net is Σ_j a_j relu(w_jᵀx + b_j) + c, with all of a, w, b and c trained.

    An L2 penalty, if any, must not include b and c.
    """


class StructureAt(NamedTuple):
    """Properties of an architecture that theorems require, and that depend on the number d of features.

    By default, an architecture declares none of these properties.
    """

    linear_layers: int | None = None
    """Number of fully connected linear layers whose product w gives the predictions xᵀw, else None."""

    layers_on_features: int | None = None
    """Number of linear layers on fixed features φ(x) that differ from x, or None for other architectures."""

    kernel_at_start: dict[str, float] | None = None
    """Factor c of each trained tensor's contribution c xᵀx̃ to the tangent kernel at the start.

    None if predictions are not 0 at the start, or if the kernel is not a multiple of xᵀx̃.
    """


class Layout(NamedTuple):
    """Shapes of an architecture's tensors for d features, with the L2 penalty and rate factor of each."""

    shapes: Mapping[str, tuple[int, ...]]
    """Shapes of all tensors, trained or fixed, by name, without the batch dimension."""

    rate_factors: Mapping[str, float] = MappingProxyType({})
    """Factors of the rates of trained tensors, by name. A tensor that is not listed has the factor 1."""

    l2_penalties: Mapping[str, float] = MappingProxyType({})
    """L2 penalties λ of trained tensors θ, by name. A tensor that is not listed has no penalty.

    Training adds λ/2 ‖θ‖² to the loss.
    """

    units: int = 0
    """Number of hidden units whose signals are stored for each row during the computation of predictions."""

    refusal: str | None = None
    """Reason why the architecture is not defined for d features, or None if it is defined."""

    @property
    def size(self) -> int:
        """Number of parameters of one net, trained or fixed."""
        return sum(map(math.prod, self.shapes.values()))

    @property
    def l2_penalty(self) -> float:
        return max(self.l2_penalties.values(), default=0.0)


class Edges(NamedTuple):
    """Weights of the edges into one layer of a net, and the biases of this layer."""

    weights: torch.Tensor
    """Weights W, [B, units, units below], including fixed factors. The weight of a missing edge is 0."""

    biases: torch.Tensor | None = None
    """Biases b, [B, units], or None if the layer has no biases."""

    @property
    def offsets(self) -> torch.Tensor:
        return torch.zeros_like(self.weights[..., 0]) if self.biases is None else self.biases


class Architecture(Part, frozen=True):
    """Base class of architectures: functions ŷ(x; θ) of an instance x ∈ ℝ^d with parameters θ.

    The argument `params` of the methods contains both the trained tensors and the fixed tensors.
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
        """Return the properties of the architecture that theorems require, such as initial weights of 0.

        A subclass replaces fields of `super().structure()`.
        """
        return ArchitectureStructure()

    @property
    def outputs(self) -> int:
        """Number of targets that one net predicts.

        The targets of a net are adjacent in the dimension B of predictions [B, n].
        """
        return 1

    def structure_at(self, d: int) -> StructureAt:
        """Return the properties for theorems that depend on the number d of features.

        A subclass replaces fields of `super().structure_at(d)`.
        """
        return StructureAt()

    @property
    def layers(self) -> tuple[str, ...]:
        """Names of the trained tensors, input layer first."""
        raise NotImplementedError

    def start(self, stream: Stream, d: int) -> Start:
        """Draw the initial tensors for d features, separately for each replica."""
        raise NotImplementedError

    def layout(self, d: int) -> Layout:
        """Return the shapes, the L2 penalties and the rate factors of all tensors, for d features."""
        raise NotImplementedError

    def fitted(self, params: Params, instances: Instances) -> Params:
        """Compute fixed tensors that depend on the instances, and return all initial tensors.

        For example, a net that standardises its inputs stores the mean of every feature. By default, no
        tensor depends on the instances, and `params` is returned unchanged.
        """
        return params

    def predict(self, params: Params, instances: Instances) -> torch.Tensor:
        """Return the predictions [B, n] of nets with the tensors `params` [B/outputs, …].

        B is the number of nets times the number of outputs per net.
        """
        raise NotImplementedError

    def preactivations(self, params: Params, instances: Instances) -> list[torch.Tensor]:
        """Return the inputs of the transfer function σ in every hidden layer, [B, h, n] for h units.

        The first tensor of the list belongs to the layer next to the input.
        """
        return []

    def weights(self, params: Params) -> torch.Tensor | None:
        """Return w [B, d] if the predictions of the nets are xᵀw; None if they are not linear in x."""
        return None

    def edges(self, params: Params, inputs: torch.Tensor | slice, units: int) -> list[Edges]:
        """Return the weights and biases of all layers of a net, input layer first.

        Only edges between the selected `inputs` and the first `units` units of each hidden layer are
        included. The list is empty for architectures that do not consist of layers of units.
        """
        return []

    def gradient(
        self, params: Params, instances: Instances, slope: Callable[[torch.Tensor], torch.Tensor]
    ) -> Params:
        """Return the gradient of the loss with respect to every trained tensor, by name.

        `slope` maps predictions ŷ [B, n] to ∂L/∂ŷ [B, n]. The gradient of a net is summed over instances and
        outputs. The nets of a batch are independent, so one backward pass through the sum of their losses
        computes all gradients.
        """
        leaves = {layer: params[layer].detach().requires_grad_() for layer in self.layers}
        with torch.enable_grad():
            predictions = self.predict({**params, **leaves}, instances)
        gradients = vector_jacobian([predictions], [slope(predictions.detach())], list(leaves.values()))
        return dict(zip(leaves, gradients, strict=True))

    def through(
        self, params: Params, instances: Instances, sent: Callable[[torch.Tensor], torch.Tensor]
    ) -> dict[str, LayerSignals]:
        """Return the inputs of each trained layer, and the result of backpropagation at its outputs.

        The dictionary has the names of the layers' tensors as keys. `sent` maps the predictions ŷ [B, n] to
        the numbers [B, n] with which backpropagation starts, such as ∂L/∂ŷ. Only architectures with the
        property `layered` implement this method.
        """
        raise NotImplementedError

    def rotated(self, params: Params, turn: Callable[[torch.Tensor], torch.Tensor]) -> Params:
        """Return initial tensors whose predictions for U x equal the predictions of `params` for x.

        U is a rotation of the instances x, and `turn` multiplies weight vectors by U. If the distribution of
        the initial tensors is rotation invariant, the returned tensors have the same distribution as
        `params`. Otherwise, the method returns `params` unchanged, and predictions may differ.
        """
        return params

    def invariance(self, d: int) -> Verdict:
        """Return whether the untrained net treats all rotations of the instances alike, and the reason."""
        reason = f"the class of {self.kind} does not define the method `invariance`"
        return Verdict(False, reason, undecided=True)


class ModuleArchitecture(Architecture, frozen=True):
    """Base class of architectures that are torch modules, with any of torch's layers.

    A subclass implements `module`, which returns the torch module. Modules are in evaluation mode: dropout is
    off, and batch normalisation uses fixed buffers. If `torch.func.vmap` can run the module, the predictions
    of all nets of a batch are computed together. Otherwise, they are computed net by net.
    """

    example_d: ClassVar[int] = 16
    """A number of features that `module` accepts.

    The tensors of all modules have the names of those of `module(example_d)`.
    """

    def module(self, d: int) -> Any:
        """Create a torch module with random parameters. The module maps instances [n, d] to [n] or [n, 1]."""
        raise NotImplementedError

    @property
    def layers(self) -> tuple[str, ...]:
        return tuple(name for name, _ in _module_template(self, self.example_d).named_parameters())

    def start(self, stream: Stream, d: int) -> Start:
        draws = [self._drawn_tensors(d, int(seed)) for seed in stream.integers(MOST_SEEDS)]
        return {name: np.stack([draw[name] for draw in draws]) for name in draws[0]}

    def _drawn_tensors(self, d: int, seed: int) -> dict[str, NDArray[np.float64]]:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            tensors = self.module(d).state_dict()
        return {name: tensor.double().numpy() for name, tensor in tensors.items()}

    def layout(self, d: int) -> Layout:
        try:
            module = _module_template(self, d)
            with torch.no_grad():
                outputs = tuple(module(torch.zeros(3, d)).shape)
        except Exception as error:
            reason = reason_of(error)
            return Layout({}, refusal=f"its module fails for {d} features: {type(error).__name__}: {reason}")
        if outputs not in ((3,), (3, 1)):
            fault = (
                f"its module returns shape {list(outputs)} for 3 instances; the shape must be [3] or [3, 1]"
            )
            return Layout({}, refusal=fault)
        shapes = {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}
        return Layout(shapes, units=sum(shape[0] for shape in shapes.values() if len(shape) > 1))

    def predict(self, params: Params, instances: Instances) -> torch.Tensor:
        module, members = _module_template(self, instances.d), len(next(iter(params.values())))
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
def _module_template(architecture: ModuleArchitecture, d: int) -> Any:
    """Return a torch module for the predictions of all nets of this architecture, for d features.

    The random parameters of this module are never used: each call of the module receives the parameters of
    one net.
    """
    with torch.random.fork_rng(devices=[]):
        return architecture.module(d).eval()


class LayerSignals(NamedTuple):
    """Inputs a of a layer z = W a for n examples, and the result of backpropagation at its outputs z.

    The matrix W [B, o, i] is a trained tensor of B nets, with o outputs and i inputs. A vector w [B, i]
    counts as a layer with one output.
    """

    inputs: torch.Tensor
    """Inputs a, [B, i, n]."""

    back: torch.Tensor
    """Result of backpropagation at z, [B, o, n]: ∂ŷ/∂z times the numbers with which backpropagation starts.

    If it starts with ∂L/∂ŷ, the result is ∂L/∂z.
    """


def with_penalty(penalties: Mapping[str, float], params: Params, gradients: Params) -> Params:
    """Add the gradients of the L2 penalties λ/2 ‖θ‖² to `gradients`, the gradients of the loss.

    `penalties` maps the name of each tensor θ to its λ, as `Layout.l2_penalties` does.
    """
    if not penalties:
        return gradients
    return {
        layer: gradient.add(params[layer], alpha=penalties[layer]) if layer in penalties else gradient
        for layer, gradient in gradients.items()
    }
