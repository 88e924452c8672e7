"""A matrix of weights that is a product of matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from msgspec import Meta

from engine.architectures import Architecture, Start
from engine.core.factors import Pair, no_pair, pair_of
from engine.core.groups import rotations
from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import MOST_LAYERS, Count, Positive, Verdict
from engine.core.streams import Stream
from engine.problems.instances import Instances


class Factorised(Architecture, frozen=True, tag="factorised"):
    """xᵀWz on instances x zᵀ, W = A₁ᵀ A₂ ⋯ A_L a product of L matrices with `width` hidden units between.

    x has as many entries as W has rows, z as many as it has columns: `factors`. All entries start as
    independent N(0, s²), s = `scale`, so that rotations of x and of z, each by itself, change nothing in law.
    From a small start gradient descent prefers matrices of low rank. Source: Gunasekar et al. 2017;
    theory-open.md §17.
    """

    factors: Pair = None
    depth: Annotated[int, Meta(ge=2, le=MOST_LAYERS, title="depth L", description="matrices")] = 2
    width: Annotated[
        Count | None, Meta(title="width", description="hidden units; none: the rows or columns, if fewer")
    ] = None
    scale: Annotated[Positive, Meta(title="scale s", description="of the start")] = 0.01

    def refuses(self, d: int) -> str | None:
        return no_pair(self.factors, d)

    @property
    def layers(self) -> tuple[str, ...]:
        return tuple(f"A{number}" for number in range(1, self.depth + 1))

    def shapes(self, d: int) -> dict[str, tuple[int, ...]]:
        rows, columns = pair_of(self.factors, d)
        hidden = self.width or min(rows, columns)
        between = dict.fromkeys(self.layers[1:-1], (hidden, hidden))
        return {"A1": (hidden, rows), **between, self.layers[-1]: (hidden, columns)}

    def start(self, stream: Stream, d: int) -> Start:
        return {name: self.scale * stream.normal(*shape) for name, shape in self.shapes(d).items()}

    def predict(self, params: Params, instances: Instances) -> torch.Tensor:
        return instances.products(self.weights(params))

    def weights(self, params: Params) -> torch.Tensor:
        return self._before(params)[-1].flatten(1)

    def _factors(self, params: Params) -> list[torch.Tensor]:
        """The matrices of which W is the product, from the left."""
        first, *others = (params[name] for name in self.layers)
        return [first.mT, *others]

    def _before(self, params: Params) -> list[torch.Tensor]:
        """The products of the first 1, 2, … L of them."""
        first, *others = self._factors(params)
        found = [first]
        for factor in others:
            found.append(found[-1] @ factor)
        return found

    def gradient(
        self, params: Params, instances: Instances, slope: Callable[[torch.Tensor], torch.Tensor]
    ) -> Params:
        before, factors = self._before(params), self._factors(params)
        w = before[-1]
        rest = instances.combine(slope(instances.products(w.flatten(1)))).view_as(w)  # ∂L/∂W, then times Qᵀ
        found: Params = {}
        for number in range(self.depth - 1, 0, -1):
            found[self.layers[number]] = before[number - 1].mT @ rest
            rest = rest @ factors[number].mT
        found["A1"] = rest.mT
        return {name: found[name] for name in self.layers}

    def rotated(self, params: Params, turn: Callable[[torch.Tensor], torch.Tensor]) -> Params:
        """The start for instances U x (V z)ᵀ, if `turn` makes U W Vᵀ of a matrix W as a vector."""
        first, last = params["A1"], params[self.layers[-1]]
        (hidden, rows), columns = first.shape[1:], last.shape[2]
        one = first.new_zeros(1, rows, columns)
        one[:, 0, 0] = 1
        left, _, right = torch.linalg.svd(turn(one.flatten(1)).view_as(one))
        beside = first.new_zeros(len(first), hidden, rows, columns)
        beside[:, :, :, 0] = first
        below = first.new_zeros(len(last), hidden, rows, columns)
        below[:, :, 0] = last
        return {
            **params,
            "A1": turn(beside.flatten(2)).view_as(beside) @ right[0, 0],
            self.layers[-1]: turn(below.flatten(2)).view_as(below).mT @ left[0, :, 0],
        }

    def invariance(self, d: int) -> Verdict:
        reason = "every factor of an instance has a layer of its own, with a Gaussian start"
        return Verdict(False, reason, rotations(*pair_of(self.factors, d)))
