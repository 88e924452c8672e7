"""The fully connected network."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, Literal, NamedTuple

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from engine.architectures import (
    Architecture,
    ArchitectureStructure,
    Edges,
    HiddenLayers,
    LayerSignals,
    Layout,
    Signals,
    Start,
    StructureAt,
)
from engine.core.activations import KINKED, Activation, kinked, sent_back, transfer
from engine.core.groups import PERMUTATIONS, TRIVIAL
from engine.core.lazy import torch
from engine.core.linear_algebra import one_thread
from engine.core.params import Params
from engine.core.parts import LARGEST, MOST_LAYERS, SELDOM, BadField, Count, Verdict
from engine.core.streams import Stream
from engine.problems.instances import Instances

DEFAULT_WIDTHS = (128,)

Variance = Annotated[float, Meta(gt=0, le=LARGEST)]
VarianceOrNone = Annotated[float, Meta(ge=0, le=LARGEST)]
OfLayers = Meta(min_length=1, max_length=MOST_LAYERS + 1)


class Scaling(NamedTuple):
    """Factors by which a net's parametrisation scales a layer: its initial weights, inputs and rate.

    In the standard parametrisation, all of them are 1.
    """

    start: float = 1.0
    """Factor of the size of the initial weights m W that act on the inputs."""

    forward: float = 1.0
    """Factor m: the layer multiplies its inputs by m W.

    The factor is stored as a fixed tensor, unless it is 1.
    """

    rate: float = 1.0
    """Factor r that multiplies the rate of the trained weights."""

    bias_rate: float = 1.0
    """Factor that multiplies the rate of the biases."""


class Dense(Architecture, frozen=True, tag="dense"):
    """A fully connected neural net of any depth and width: ŷ = W_{L+1} σ(… σ(W_1 x)), with or without biases.

    `widths` lists the number of units of each hidden layer. Alternatively, `depth` and `width` give the
    number of hidden layers and their common width.

    The size of the initial weights is s = √C_w. Set either `scale` = s or `cw` = C_w, where C_w is one
    number, or one number for each layer including the output. `init` selects the distribution of the initial
    weights. `gaussian`: every weight of layer l is N(0, C_w/fan-in). `zero`: like `gaussian`, but the first
    layer starts at 0. `orthogonal`: every layer is s √(fan-out/fan-in) times a uniformly random
    semi-orthogonal matrix (Bernstein et al. 2023). `identity`: every matrix of a hidden layer is s·I, and
    every output weight is s. `diagonal`: every matrix of a hidden layer is diagonal with N(0, s²) entries,
    and the output weights are Gaussian. The starts `identity` and `diagonal` are not rotation invariant, but
    all other starts are. With `output_signs`, each output weight starts at ±s/√fan-in with a random sign (not
    for `identity`). With `balanced_signs`, half of these signs are positive, rounded up.

    With `biases`, or C_b = `cb` > 0, layers have trained biases b_l, which start as N(0, C_b). C_b is one
    number, or one number for each layer. Rotations of the instances do not change biases. With
    `alternating_biases`, the sizes of biases are uniform on [0, √(3C_b)], and their signs alternate from unit
    to unit, starting with +. `output_bias = false` removes the bias of the output.

    With `outputs = "m"`, one net predicts all m targets: the targets share the hidden layers, and each target
    has separate weights in the last layer. Training uses the sum of the outputs' losses, and measures use the
    mean of these losses. Cross-entropy is a single loss of all outputs, without such parts. `l2_penalty` λ
    adds λ/2 ‖θ‖² to the training loss, where θ are all trained parameters, including biases. Gradients and
    Hessians include the penalty, but measured losses do not.

    With a `parametrisation`, layer l of n_l units multiplies its inputs by m_l W_l, and W_l has the rate r_l
    η under plain gradient descent. `standard`: m = r = 1. `ntk`: m_l = √(C_w/n_{l−1}) and r = 1, and the
    trained numbers start as N(0, 1) (Jacot, Gabriel, Hongler 2018). `mean-field` is for one hidden layer of n
    units. The first layer has m = 1. The output layer has m = 1/n, and its weights start as N(0, C_w). The
    bias of the output has r = 1, and all other tensors have r = n (Mei, Montanari, Nguyen 2018). `mup`: m =
    1, and the weights of the output layer start as N(0, C_w/n_L²). r is n_1 for the first layer, n_l/n_{l−1}
    for other hidden layers, and 1/n_L for the output layer. For biases, r is n_l in hidden layers, and 1 at
    the output (Yang, Hu 2021). For one hidden layer, `mup` is equivalent to `mean-field`. For every `init`,
    the initial product m_l W_l is the same as with `standard`, with one exception. In the output layer of
    `mean-field` and `mup`, the product is 1/√n_L times that of `standard`. Source: WKA21 Thm 2; Bernstein et
    al. 2023; theory/conventions#architectures, theory/symmetry#rotation-invariance,
    theory/automatic-descent#majoriser; theory/wide-nets#conventions-of-the-lectures,
    theory/wide-nets#criticality, theory/wide-nets#mean-field.
    """

    widths: Annotated[
        Annotated[tuple[Count, ...], Meta(min_length=1, max_length=MOST_LAYERS)] | None,
        Meta(
            title="widths",
            description="units of each hidden layer; none: set by `depth` and `width`, or 1 layer of 128",
        ),
    ] = None
    depth: Annotated[
        Annotated[int, Meta(ge=1, le=MOST_LAYERS)] | None,
        Meta(title="depth L", description="number of hidden layers of equal width; none: set by `widths`"),
    ] = None
    width: Annotated[
        Count | None, Meta(title="width n", description="units of each hidden layer; none: set by `widths`")
    ] = None
    activation: Activation = "identity"
    init: Annotated[
        Literal["gaussian", "zero", "orthogonal", "identity", "diagonal"],
        Meta(title="start", description="how the weights start"),
    ] = "gaussian"
    scale: Annotated[
        Annotated[float, Meta(gt=0)] | None,
        Meta(title="scale s", description="size of the start; none: √C_w"),
    ] = None
    cw: Annotated[
        Variance | Annotated[tuple[Variance, ...], OfLayers] | None,
        Meta(title="C_w", description="weight variance times fan-in: one value, or one per layer; none: s²"),
    ] = None
    cb: Annotated[
        VarianceOrNone | Annotated[tuple[VarianceOrNone, ...], OfLayers],
        Meta(title="C_b", description="bias variance: one value, or one per layer"),
    ] = 0.0
    biases: Annotated[
        bool, Meta(title="biases", description="give every unit a bias; C_b > 0 implies this")
    ] = False
    parametrisation: Annotated[
        Literal["standard", "ntk", "mean-field", "mup"],
        Meta(title="parametrisation", description="how weights and rates scale with the number n of units"),
    ] = "standard"
    l2_penalty: Annotated[
        float,
        Meta(ge=0, le=LARGEST, title="L2 penalty λ", description="adds λ/2 ‖θ‖² to the training loss"),
    ] = 0.0
    output_bias: Annotated[
        bool,
        Meta(title="output bias", description="give the output a bias, if units have biases", extra=SELDOM),
    ] = True
    alternating_biases: Annotated[
        bool,
        Meta(
            title="alternating biases",
            description="biases start with sizes U(0, √(3 C_b)) and alternating signs, not Gaussian",
            extra=SELDOM,
        ),
    ] = False
    output_signs: Annotated[
        bool,
        Meta(
            title="output signs",
            description="start output weights with one size and random signs",
            extra=SELDOM,
        ),
    ] = False
    balanced_signs: Annotated[
        bool,
        Meta(
            title="balanced signs",
            description="make half of the output signs +, in random order",
            extra=SELDOM,
        ),
    ] = False
    outputs: Annotated[
        Count, Meta(title="outputs", description="1: a net for each target; m: one net for all targets")
    ] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.init == "zero" and self.activation in KINKED:
            raise BadField("init", kinked(self.activation))
        if self.widths is not None:
            for field in ("depth", "width"):
                if getattr(self, field) is not None:
                    raise BadField(
                        field, "`widths` sets this too; give either `widths`, or `depth` and `width`"
                    )
        elif (self.depth is None) != (self.width is None):
            missing, present = ("width", "depth") if self.width is None else ("depth", "width")
            raise BadField(missing, f"missing; it is required if {present} is set")
        if self.balanced_signs and not self.output_signs:
            raise BadField("balanced_signs", "balanced signs require output signs; set `output_signs` too")
        if self.alternating_biases and not self.has_biases:
            raise BadField("alternating_biases", "alternating biases require biases; set `cb` too")
        if self.scale is not None and self.cw is not None:
            raise BadField("cw", "`scale` sets this too, because C_w = s²; give either `cw` or `scale`")
        count = len(self.hidden) + 1
        for field in ("cw", "cb"):
            value = getattr(self, field)
            if isinstance(value, tuple) and len(value) != count:
                message = (
                    f"{len(value)} values for {count} layers, output included; give one value or {count}"
                )
                raise BadField(field, message)
        if self.parametrisation == "mean-field" and count > 2:
            raise BadField(
                "parametrisation",
                "mean-field is for one hidden layer; for deeper nets take `mup`, which generalises it",
            )

    @property
    def hidden(self) -> tuple[int, ...]:
        if self.depth is not None and self.width is not None:
            return (self.width,) * self.depth
        return self.widths or DEFAULT_WIDTHS

    @property
    def has_biases(self) -> bool:
        return self.biases or self.has_drawn_biases

    @property
    def has_drawn_biases(self) -> bool:
        return (max(self.cb) if isinstance(self.cb, tuple) else self.cb) > 0

    @property
    def is_linear(self) -> bool:
        return self.activation == "identity" and not self.has_biases

    @property
    def _is_relu_layer(self) -> bool:
        is_single = len(self.hidden) == self.outputs == 1 and self.activation == "relu"
        free = self.has_biases and self.output_bias and not self.l2_penalty
        return is_single and free and self.parametrisation == "standard"

    @property
    def _biased_layers(self) -> range:
        """Numbers l of the layers that have biases; the first layer has the number 1."""
        return _numbering(self).biased

    @property
    def _layer_numbers(self) -> range:
        """Numbers l of all layers, from 1 to that of the output layer."""
        return _numbering(self).numbers

    def _per_layer(self, value: float | tuple[float, ...]) -> tuple[float, ...]:
        return value if isinstance(value, tuple) else (value,) * len(self._layer_numbers)

    def _weight_sizes(self) -> list[float]:
        """Return s = √C_w of every layer, the size of its initial weights."""
        if self.cw is None:
            return [1.0 if self.scale is None else self.scale] * len(self._layer_numbers)
        return [math.sqrt(variance) for variance in self._per_layer(self.cw)]

    def _fans_of_layers(self, d: int) -> list[tuple[int, int]]:
        """Return (fan-out, fan-in) of every layer."""
        return [(fan_out, fan_in) for fan_in, fan_out in pairwise((d, *self.hidden, self.outputs))]

    def _layer_scalings(self, d: int) -> list[Scaling]:
        if self.parametrisation == "standard":
            return [Scaling()] * len(self._layer_numbers)
        return [
            self._scaling_of_layer(number, *fans, size)
            for number, fans, size in zip(
                self._layer_numbers, self._fans_of_layers(d), self._weight_sizes(), strict=True
            )
        ]

    def _scaling_of_layer(self, number: int, fan_out: int, fan_in: int, size: float) -> Scaling:
        output = number == len(self._layer_numbers)
        match self.parametrisation:
            case "ntk":
                return Scaling(forward=size / math.sqrt(fan_in))
            case "mean-field" if output:
                return Scaling(start=1 / math.sqrt(fan_in), forward=1 / fan_in, rate=fan_in)
            case "mup" if output:
                return Scaling(start=1 / math.sqrt(fan_in), rate=1 / fan_in)
            case "mean-field" | "mup":
                return Scaling(rate=fan_out if number == 1 else fan_out / fan_in, bias_rate=fan_out)
            case _:
                return Scaling()

    def structure(self) -> ArchitectureStructure:
        declared = super().structure()
        return declared._replace(
            learner_kind="by-rule",
            fixed_input_start=self.init in ("zero", "identity"),
            signals=self._signals_at_start,
            hidden_layers=HiddenLayers(
                self.activation,
                tuple(size**2 for size in self._weight_sizes()[1:]),
                self._first_variances_at_start,
            ),
            affine=True,
            layered=True,
            is_relu_layer=self._is_relu_layer,
        )

    def structure_at(self, d: int) -> StructureAt:
        is_product = self.is_linear and self.outputs == 1
        return (
            super().structure_at(d)._replace(linear_layers=len(self._layer_numbers) if is_product else None)
        )

    @property
    def _first_variances_at_start(self) -> tuple[float, float] | None:
        """C_w and C_b of the first layer at the start, or None if its tensors do not start Gaussian."""
        if self.init != "gaussian" or self.alternating_biases:
            return None
        return self._weight_sizes()[0] ** 2, self._per_layer(self.cb)[0] if 1 in self._biased_layers else 0.0

    @property
    def _signals_at_start(self) -> Signals | None:
        if self.init != "gaussian" or self.output_signs or self.alternating_biases:
            return None
        if self.parametrisation not in ("standard", "ntk"):
            return None
        cw = tuple(size * size for size in self._weight_sizes())
        biased = self._biased_layers
        cb = tuple(
            variance if number in biased else 0.0
            for number, variance in zip(self._layer_numbers, self._per_layer(self.cb), strict=True)
        )
        is_unscaled = self.parametrisation == "standard"
        return Signals(self.activation, self.hidden, cw, cb, is_unscaled, has_biases=self.has_biases)

    @property
    def layers(self) -> tuple[str, ...]:
        return _numbering(self).names

    def start(self, stream: Stream, d: int) -> Start:
        tensors: Start = {}
        for number, fans, size, scaling in zip(
            self._layer_numbers,
            self._fans_of_layers(d),
            self._weight_sizes(),
            self._layer_scalings(d),
            strict=True,
        ):
            layer = self._drawn_layer(stream, number, *fans, size)
            if (factor := scaling.start / scaling.forward) != 1:
                layer = factor * layer
            tensors[f"W{number}"] = layer
            if scaling.forward != 1:
                tensors[f"m{number}"] = np.full((stream.replicas, 1, 1), scaling.forward)
        biased = self._biased_layers
        for number, (fan_out, _), variance in zip(
            self._layer_numbers, self._fans_of_layers(d), self._per_layer(self.cb), strict=True
        ):
            if number in biased:
                law = _alternating_numbers if self.alternating_biases else Stream.normal
                tensors[f"b{number}"] = math.sqrt(variance) * law(stream, fan_out, 1)
        return tensors

    def _drawn_layer(
        self, stream: Stream, number: int, fan_out: int, fan_in: int, size: float
    ) -> NDArray[np.float64]:
        """Draw the initial weights [R, fan-out, fan-in] of a layer in the standard parametrisation."""
        output = number == len(self._layer_numbers)
        if self.init == "identity":
            matrix = np.ones((fan_out, fan_in)) if output else np.eye(fan_out, fan_in)
            return np.tile(size * matrix, (stream.replicas, 1, 1))
        if self.init == "diagonal" and not output:
            diagonal: NDArray[np.float64] = size * stream.normal(fan_out, 1) * np.eye(fan_out, fan_in)
            return diagonal
        if output and self.output_signs:
            signs = (
                _balanced_signs(stream, fan_out, fan_in)
                if self.balanced_signs
                else stream.signs(fan_out, fan_in)
            )
            return signs.astype(np.float64) * (size / math.sqrt(fan_in))
        if self.init == "zero" and number == 1:
            return np.zeros((stream.replicas, fan_out, fan_in))
        if self.init == "orthogonal":
            scaled, factor = (
                _semi_orthogonal_matrices(stream, fan_out, fan_in),
                size * math.sqrt(fan_out / fan_in),
            )
        else:
            scaled, factor = stream.normal(fan_out, fan_in), size / math.sqrt(fan_in)
        scaled *= factor
        return scaled

    def layout(self, d: int) -> Layout:
        shapes: dict[str, tuple[int, ...]] = {}
        rate_factors: dict[str, float] = {}
        biased = self._biased_layers
        for number, fans, scaling in zip(
            self._layer_numbers, self._fans_of_layers(d), self._layer_scalings(d), strict=True
        ):
            shapes[f"W{number}"] = fans
            rate_factors[f"W{number}"] = scaling.rate
            if number in biased:
                shapes[f"b{number}"] = (fans[0], 1)
                rate_factors[f"b{number}"] = scaling.bias_rate
            if scaling.forward != 1:
                shapes[f"m{number}"] = (1, 1)
        return Layout(
            shapes,
            rate_factors,
            dict.fromkeys(self.layers, self.l2_penalty) if self.l2_penalty else {},
            units=0 if self.is_linear else sum(self.hidden),
        )

    def predict(self, params: Params, instances: Instances) -> torch.Tensor:
        if self.is_linear:
            return instances.inner(self._product_of_layers(params)).flatten(0, 1)
        if (repeats := instances.repeats) is not None:
            return repeats.spread(self.predict(params, repeats.instances))
        for _, signal in self._inputs_and_signals(params, instances):
            last = signal
        return last.flatten(0, 1)

    def preactivations(self, params: Params, instances: Instances) -> list[torch.Tensor]:
        return [signal for _, signal in self._inputs_and_signals(params, instances)][:-1]

    def first(self, params: Params, instances: Instances) -> torch.Tensor:
        """Return W₁x [B, h, n], before the factor m_1, biases and σ are applied."""
        return instances.inner(params["W1"])

    def _inputs_and_signals(
        self, params: Params, instances: Instances
    ) -> Iterator[tuple[torch.Tensor | None, torch.Tensor]]:
        """Yield the inputs [B, n_{l−1}, n] of each layer l, and its signals before σ [B, n_l, n], from l = 1.

        For the first layer, the inputs are the instances, and the function yields None in their place. The
        signals of the last layer are the predictions.
        """
        inputs, signal = None, self.first(params, instances)
        for number in self._layer_numbers:
            if number > 1:
                inputs = transfer(self.activation, signal)
                signal = params[f"W{number}"] @ inputs
            if (forward := params.get(f"m{number}")) is not None:
                signal = forward * signal
            if (bias := params.get(f"b{number}")) is not None:
                signal = signal + bias
            yield inputs, signal

    def gradient(
        self, params: Params, instances: Instances, slope: Callable[[torch.Tensor], torch.Tensor]
    ) -> Params:
        if self.is_linear:
            return self._gradient_of_product(params, instances, slope)
        layers = list(self._inputs_and_signals(params, instances))
        return self._backpropagated_gradients(params, instances, layers, slope(layers[-1][1].flatten(0, 1)))

    def _backpropagated_gradients(
        self,
        params: Params,
        instances: Instances,
        layers: list[tuple[torch.Tensor | None, torch.Tensor]],
        slopes: torch.Tensor,
    ) -> Params:
        """Compute all gradients by backpropagation.

        `layers` are the inputs and signals that `_inputs_and_signals` yields, and `slopes` is ∂L/∂ŷ.
        """
        gradients, biased = {}, self._biased_layers
        for number, inputs, back in self._backward_signals(params, layers, slopes.view_as(layers[-1][1])):
            if number in biased:
                gradients[f"b{number}"] = back.sum(2, keepdim=True)
            by_weight = (
                self._gradient_of_first_layer(params, back, instances) if inputs is None else back @ inputs.mT
            )
            forward = params.get(f"m{number}")
            gradients[f"W{number}"] = by_weight if forward is None else forward * by_weight
        return {layer: gradients[layer] for layer in self.layers}

    def _gradient_of_first_layer(
        self, params: Params, back: torch.Tensor, instances: Instances
    ) -> torch.Tensor:
        """Return ∂L/∂W₁ [B, h, d]. `back` [B, h, n] is ∂L/∂z for the signals z of the first layer."""
        return instances.combine(back.flatten(0, 1)).view(len(back), -1, instances.d)

    def _backward_signals(
        self,
        params: Params,
        layers: list[tuple[torch.Tensor | None, torch.Tensor]],
        slopes: torch.Tensor,
    ) -> Iterator[tuple[int, torch.Tensor | None, torch.Tensor]]:
        """Yield each layer's number l, its inputs, and ∂L/∂z [B, n_l, n], from the last layer to the first.

        z are the signals of the layer before σ. `slopes` is ∂L/∂z of the last layer.
        """
        for number in reversed(self._layer_numbers):
            inputs, _ = layers[number - 1]
            yield number, inputs, slopes
            if inputs is not None:
                forward = params.get(f"m{number}")
                sent = params[f"W{number}"].mT @ (slopes if forward is None else forward * slopes)
                slopes = sent_back(self.activation, sent, layers[number - 2][1], inputs)

    def _gradient_of_product(
        self, params: Params, instances: Instances, slope: Callable[[torch.Tensor], torch.Tensor]
    ) -> Params:
        """Return the gradients of the loss of a linear net, xᵀw, with respect to all its layers W_l.

        w is the product W_L … W_1 times the product c of all factors m_l. The gradient with respect to W_l is
        (W_L … W_{l+1})ᵀ G (W_{l−1} … W_1)ᵀ with G = c ∂L/∂w, [B, targets, d].
        """
        slopes = slope(self.predict(params, instances))
        right = instances.combine(slopes).view(len(params["W1"]), -1, instances.d)
        for number in self._layer_numbers:
            if (forward := params.get(f"m{number}")) is not None:
                right = forward * right
        layers, rights = self.layers, [right]
        for layer in layers[:-1]:
            rights.append(rights[-1] @ params[layer].mT)
        above, gradients = None, {}
        for layer, right in zip(reversed(layers), reversed(rights), strict=True):
            gradients[layer] = right if above is None else above.mT @ right
            if layer != layers[0]:
                above = params[layer] if above is None else above @ params[layer]
        return {layer: gradients[layer] for layer in layers}

    def through(
        self, params: Params, instances: Instances, sent: Callable[[torch.Tensor], torch.Tensor]
    ) -> dict[str, LayerSignals]:
        members = len(params["W1"]) // instances.replicas
        rows = instances.rows.mT.repeat_interleave(members, 0)
        layers = list(self._inputs_and_signals(params, instances))
        last = layers[-1][1]
        signals, biased = {}, self._biased_layers
        for number, inputs, slopes in self._backward_signals(
            params, layers, sent(last.flatten(0, 1)).view_as(last)
        ):
            layer_inputs = rows if inputs is None else inputs
            signals[f"W{number}"] = LayerSignals(params.get(f"m{number}", 1.0) * layer_inputs, slopes)
            if number in biased:
                signals[f"b{number}"] = LayerSignals(torch.ones_like(layer_inputs[:, :1]), slopes)
        return signals

    def weights(self, params: Params) -> torch.Tensor | None:
        return self._product_of_layers(params).flatten(0, 1) if self.is_linear else None

    def edges(self, params: Params, inputs: torch.Tensor | slice, units: int) -> list[Edges]:
        layers = []
        for number in self._layer_numbers:
            layer = params[f"W{number}"][:, :units]
            layer = layer[:, :, inputs] if number == 1 else layer[:, :, :units]
            forward, bias = params.get(f"m{number}"), params.get(f"b{number}")
            weights = layer if forward is None else forward * layer
            layers.append(Edges(weights, None if bias is None else bias[:, :units, 0]))
        return layers

    def _product_of_layers(self, params: Params) -> torch.Tensor:
        """Return the product m_L W_L … m_1 W_1 [B, m, d] of a linear net's layers, the weights of its inputs.

        The product is computed from the output down, so that partial products have only m rows.
        """
        *below, rows = (params[layer] for layer in self.layers)
        for layer in reversed(below):
            rows = rows @ layer
        for number in self._layer_numbers:
            if (forward := params.get(f"m{number}")) is not None:
                rows = forward * rows
        return rows

    def rotated(self, params: Params, turn: Callable[[torch.Tensor], torch.Tensor]) -> Params:
        if self.init in ("identity", "diagonal"):
            return params
        return {**params, "W1": turn(params["W1"])}

    def invariance(self, d: int) -> Verdict:
        if self.init in ("identity", "diagonal"):
            reason = f"the {self.init} start of the first layer singles out the coordinate axes"
            return Verdict(False, reason, PERMUTATIONS if self._units_start_alike(d) else TRIVIAL)
        if self.init == "zero":
            return Verdict(True, "the input layer is fully connected and starts at 0")
        law = "Gaussian" if self.init == "gaussian" else "uniformly random semi-orthogonal"
        return Verdict(True, f"the input layer is fully connected and its {law} start favours no direction")

    def _units_start_alike(self, d: int) -> bool:
        """Return whether every permutation of the inputs only permutes the hidden units at the start."""
        drawn = self.init != "identity" or self.has_drawn_biases
        return not drawn and min(self.hidden) >= d


class _Numbering(NamedTuple):
    """Numbers l of a net's layers, numbers l of its layers with biases, and names of its trained tensors."""

    numbers: range
    biased: range
    names: tuple[str, ...]


@lru_cache(256)  # because every training step asks for it several times
def _numbering(net: Dense) -> _Numbering:
    numbers = range(1, len(net.hidden) + 2)
    count = len(numbers) if net.output_bias else len(net.hidden)
    biased = numbers[: count if net.has_biases else 0]
    names: list[str] = []
    for number in numbers:
        names += [f"W{number}", f"b{number}"] if number in biased else [f"W{number}"]
    return _Numbering(numbers, biased, tuple(names))


def _balanced_signs(stream: Stream, rows: int, columns: int) -> NDArray[np.int64]:
    """Draw signs [R, rows, columns]: each row has as many + as −, or one more +, in random order."""
    orders = np.stack([stream.permutation(columns) for _ in range(rows)], 1)
    return np.where(orders < (columns + 1) // 2, 1, -1)


def _alternating_numbers(stream: Stream, units: int, columns: int) -> NDArray[np.float64]:
    """Draw numbers [R, units, columns] with sizes from U(0, √3), so that their mean square is 1.

    Signs alternate from unit to unit: +, −, +, …
    """
    signs = np.where(np.arange(units) % 2 == 0, 1, -1)[:, None]
    alternating: NDArray[np.float64] = math.sqrt(3) * signs * stream.uniform(units, columns)
    return alternating


def _semi_orthogonal_matrices(stream: Stream, rows: int, columns: int) -> NDArray[np.float64]:
    """Return random matrices [R, rows, columns] with orthonormal rows, or columns if there are fewer columns.

    Each matrix is the factor Q of a Gaussian matrix G = QR, where R has a positive diagonal. If there are
    fewer rows than columns, the matrix is Qᵀ. A rotation of G does not change the distribution of G. So Q is
    uniformly distributed, and rotations of the rows or columns do not change its distribution. Source:
    Mezzadri 2007.
    """
    tall, wide = max(rows, columns), min(rows, columns)
    gaussian = stream.normal(tall, wide)
    with one_thread(tall):
        q, r = np.linalg.qr(gaussian)
    signed: NDArray[np.float64] = q * np.sign(np.diagonal(r, axis1=1, axis2=2))[:, None]
    return signed if rows == tall else signed.swapaxes(1, 2)
