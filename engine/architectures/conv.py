"""The linear convolutional network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta

from engine.architectures import Architecture, ArchitectureStructure, Layout, Start
from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import MOST_LAYERS, Verdict
from engine.core.streams import Stream
from engine.problems.instances import Instances


class Conv(Architecture, frozen=True, tag="conv"):
    """A linear circular convolutional net with full-width filters w_l: ŷ = xᵀβ with β = w_1 ⊛ … ⊛ w_L.

    Here (a ⊛ b)_i = Σ_j a_j b_{i−j mod d}. Each Fourier coefficient of β is the product of the corresponding
    coefficients of the w_l. Gradient descent on a loss with an exponential tail prefers a small
    ‖DFT(β)‖_{2/L}. The w_l start as vectors of independent N(0, s²/d) entries, with s = `scale`. With `init`
    = identity, every w_l starts at (s, 0, …, 0), and a convolution with w_l multiplies by s. Source:
    Gunasekar, Lee, Soudry, Srebro 2018; theory/conventions#architectures.
    """

    depth: Annotated[int, Meta(ge=2, le=MOST_LAYERS, title="depth L", description="number of filters")] = 2
    init: Annotated[
        Literal["gaussian", "identity"], Meta(title="start", description="how the filters start")
    ] = "gaussian"
    scale: Annotated[float, Meta(gt=0, title="scale s", description="size of the start")] = 1.0

    def structure(self) -> ArchitectureStructure:
        return super().structure()._replace(fixed_input_start=self.init == "identity")

    @property
    def layers(self) -> tuple[str, ...]:
        return tuple(f"w{number}" for number in range(1, self.depth + 1))

    def start(self, stream: Stream, d: int) -> Start:
        if self.init == "identity":
            filters = [np.tile(self.scale * np.eye(1, d), (stream.replicas, 1))] * self.depth
        else:
            filters = [self.scale / np.sqrt(d) * stream.normal(d) for _ in self.layers]
        return dict(zip(self.layers, filters, strict=True))

    def layout(self, d: int) -> Layout:
        return Layout(dict.fromkeys(self.layers, (d,)))

    def predict(self, params: Params, instances: Instances) -> torch.Tensor:
        return instances.products(self.weights(params))

    def weights(self, params: Params) -> torch.Tensor:
        return self._filters_of_spectra(self._filter_spectra(params).prod(0), params)

    def _filter_spectra(self, params: Params) -> torch.Tensor:
        spectra: torch.Tensor = torch.fft.rfft(torch.stack([params[layer] for layer in self.layers]))
        return spectra

    def _filters_of_spectra(self, spectra: torch.Tensor, params: Params) -> torch.Tensor:
        vectors: torch.Tensor = torch.fft.irfft(spectra, n=params[self.layers[0]].shape[-1])
        return vectors

    def gradient(
        self, params: Params, instances: Instances, slope: Callable[[torch.Tensor], torch.Tensor]
    ) -> Params:
        spectra = self._filter_spectra(params)
        predictions = instances.products(self._filters_of_spectra(spectra.prod(0), params))
        by_weight = torch.fft.rfft(instances.combine(slope(predictions)))
        gradients = self._filters_of_spectra(by_weight * _products_of_others(spectra).conj(), params)
        return dict(zip(self.layers, gradients, strict=True))

    def invariance(self, d: int) -> Verdict:
        return Verdict(
            False, "a convolution depends on which inputs are neighbours, and a rotation mixes all inputs"
        )


def _products_of_others(spectra: torch.Tensor) -> torch.Tensor:
    """Return, for each filter, the product of the spectra of all other filters, [L, B, f]."""
    if len(spectra) == 2:
        return spectra.flip(0)
    numbers = range(len(spectra))
    return torch.stack([torch.cat((spectra[:number], spectra[number + 1 :])).prod(0) for number in numbers])
