"""A linear model whose weights form a matrix that is a product of matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta

from engine.architectures import Architecture, ArchitectureStructure, Layout, Start
from engine.core.groups import rotations
from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import MOST_LAYERS, Count, Pair, Positive, Verdict, no_pair, pair_of
from engine.core.streams import Stream
from engine.problems.instances import Instances


class Factorised(Architecture, frozen=True, tag="factorised"):
    """ŷ = xᵀWz on instances x zᵀ, where W = A₁ᵀ A₂ ⋯ A_L is a product of L matrices.

    The inner dimensions of the product are `width`, the number of hidden units. `factors` gives the lengths
    of x (rows of W) and z (columns of W). `init` selects the start, and `scale` is its size s. `gaussian`:
    all entries are independent N(0, s²), so that separate rotations of x and of z leave the distribution
    unchanged. `orthogonal`: A₁ = s [I 0]ᵀ, A_L = s [0 I]ᵀ, and all other factors are s I. Then W = 0. For L =
    2, the tangent kernel of two instances is 2s² times their inner product. This start requires at least as
    many hidden units as the number of rows plus the number of columns of W. `identity`: all factors are s I,
    so that W = s^L I. From a small start, gradient descent prefers matrices of low rank. Source: Gunasekar et
    al. 2017; Razin, Cohen 2020; theory/hadamard#factors; theory/implicit-bias#matrix-completion.
    """

    factors: Pair = None
    depth: Annotated[int, Meta(ge=2, le=MOST_LAYERS, title="depth L", description="number of matrices")] = 2
    width: Annotated[
        Count | None,
        Meta(
            title="width",
            description="hidden units; none: min(rows, columns), or their sum for an orthogonal start",
        ),
    ] = None
    init: Annotated[
        Literal["gaussian", "orthogonal", "identity"],
        Meta(title="start", description="distribution of the initial matrices A₁, …, A_L"),
    ] = "gaussian"
    scale: Annotated[Positive, Meta(title="scale s", description="size of the start")] = 0.01

    def _refusal_of_shape(self, d: int) -> str | None:
        if (why := no_pair(self.factors, d)) is not None:
            return why
        if (
            self.init == "orthogonal"
            and self.width is not None
            and self.width < (least := sum(self._matrix_shape(d)))
        ):
            return f"an orthogonal start needs {least} hidden units, and there are {self.width}"
        return None

    def structure(self) -> ArchitectureStructure:
        square = self.factors is None or self.factors[0] == self.factors[1]
        declared = super().structure()
        return declared._replace(
            learner_kind="by-rule",
            keeps_determinant=self.init == "identity" and self.width is None and square,
            fixed_input_start=self.init != "gaussian",
        )

    @property
    def layers(self) -> tuple[str, ...]:
        return tuple(f"A{number}" for number in range(1, self.depth + 1))

    def layout(self, d: int) -> Layout:
        if (why := self._refusal_of_shape(d)) is not None:
            return Layout({}, refusal=why)
        rows, columns = self._matrix_shape(d)
        hidden = self.width or (rows + columns if self.init == "orthogonal" else min(rows, columns))
        between = dict.fromkeys(self.layers[1:-1], (hidden, hidden))
        return Layout({"A1": (hidden, rows), **between, self.layers[-1]: (hidden, columns)})

    def start(self, stream: Stream, d: int) -> Start:
        if self.init == "gaussian":
            return {
                layer: self.scale * stream.normal(*shape) for layer, shape in self.layout(d).shapes.items()
            }
        below = -self._matrix_shape(d)[0] if self.init == "orthogonal" else 0
        tensors: Start = {}
        for layer, shape in self.layout(d).shapes.items():
            units, inputs = shape
            matrix = np.eye(units, inputs, below if layer == self.layers[-1] else 0)
            tensors[layer] = np.tile(self.scale * matrix, (stream.replicas, 1, 1))
        return tensors

    def _matrix_shape(self, d: int) -> tuple[int, int]:
        return pair_of(self.factors, d)

    def predict(self, params: Params, instances: Instances) -> torch.Tensor:
        return instances.products(self.weights(params))

    def weights(self, params: Params) -> torch.Tensor:
        return self._partial_products(params)[-1].flatten(1)

    def _factors_of_matrix(self, params: Params) -> list[torch.Tensor]:
        """Return the factors of W: A₁ᵀ, A₂, …, A_L."""
        first, *rest = (params[layer] for layer in self.layers)
        return [first.mT, *rest]

    def _partial_products(self, params: Params) -> list[torch.Tensor]:
        """Return the partial products of the factors of W: A₁ᵀ, A₁ᵀA₂, …, W."""
        first, *rest = self._factors_of_matrix(params)
        products = [first]
        for factor in rest:
            products.append(products[-1] @ factor)
        return products

    def gradient(
        self, params: Params, instances: Instances, slope: Callable[[torch.Tensor], torch.Tensor]
    ) -> Params:
        before, factors = self._partial_products(params), self._factors_of_matrix(params)
        w = before[-1]
        # ∂L/∂W. In the loop, it is multiplied by the transposes of the factors on the right.
        rest = instances.combine(slope(instances.products(w.flatten(1)))).view_as(w)
        gradients: Params = {}
        for number in range(self.depth - 1, 0, -1):
            gradients[self.layers[number]] = before[number - 1].mT @ rest
            rest = rest @ factors[number].mT
        gradients["A1"] = rest.mT
        return {layer: gradients[layer] for layer in self.layers}

    def rotated(self, params: Params, turn: Callable[[torch.Tensor], torch.Tensor]) -> Params:
        """Return initial tensors whose predictions for U x (V z)ᵀ equal those of `params` for x zᵀ.

        U and V are rotations, and `turn` maps a matrix W, flattened to a vector, to U W Vᵀ. With the start
        `identity`, the method returns `params` unchanged, and predictions may differ.
        """
        if self.init == "identity":
            return params
        first, last = params["A1"], params[self.layers[-1]]
        (hidden, rows), columns = first.shape[1:], last.shape[2]
        unit = first.new_zeros(1, rows, columns)
        unit[:, 0, 0] = 1
        left_vectors, _, right_vectors = torch.linalg.svd(turn(unit.flatten(1)).view_as(unit))
        beside = first.new_zeros(len(first), hidden, rows, columns)
        beside[:, :, :, 0] = first
        below = first.new_zeros(len(last), hidden, rows, columns)
        below[:, :, 0] = last
        return {
            **params,
            "A1": turn(beside.flatten(2)).view_as(beside) @ right_vectors[0, 0],
            self.layers[-1]: turn(below.flatten(2)).view_as(below).mT @ left_vectors[0, :, 0],
        }

    def invariance(self, d: int) -> Verdict:
        if self.init == "identity":
            return Verdict(False, "the start at a multiple of I singles out the entries on the diagonal")
        law = "a Gaussian" if self.init == "gaussian" else "an orthogonal"
        reason = f"the factors x and z of an instance enter separate layers, each with {law} start"
        return Verdict(False, reason, rotations(*self._matrix_shape(d)))
