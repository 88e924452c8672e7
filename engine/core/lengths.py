"""Lengths of vectors: norms, and what is called one."""

from __future__ import annotations

import math
from typing import Literal

from engine.core.lazy import torch

Exponent = Literal["1", "2", "max", "2/3", "fourier", "fourier-2/3"]
"""‖w‖_p, or ‖c‖_p for the coefficients c of the unitary discrete Fourier transform of w, p = 1 or ⅔."""

POWERS: dict[Exponent, float] = {
    "1": 1,
    "2": 2,
    "max": math.inf,
    "2/3": 2 / 3,
    "fourier": 1,
    "fourier-2/3": 2 / 3,
}

WORDS = "Σ|w_i|, the Euclidean length, max|w_i|, (Σ|w_i|^⅔)^1½, or Σ|c_f|, (Σ|c_f|^⅔)^1½ in frequencies"


def length(w: torch.Tensor, exponent: Exponent) -> torch.Tensor:
    """The length [B] of vectors [B, d], in float64."""
    found: torch.Tensor = torch.linalg.vector_norm(coefficients(w, exponent), POWERS[exponent], 1)
    return found


def coefficients(w: torch.Tensor, exponent: Exponent) -> torch.Tensor:
    """What a length of vectors [B, d] is of, in float64: their entries, or Fourier coefficients."""
    if not exponent.startswith("fourier"):
        return w.double()
    transformed: torch.Tensor = torch.fft.fft(w.double(), norm="ortho")
    return transformed
