"""Lengths of vectors: norms, and what is called one."""

from __future__ import annotations

import math
from typing import Literal

from engine.core.lazy import torch

Exponent = Literal["1", "2", "max", "2/3", "fourier"]
"""‖w‖_p, or Σ_f |c_f| over the coefficients c of the unitary discrete Fourier transform of w."""

POWERS: dict[Exponent, float] = {"1": 1, "2": 2, "max": math.inf, "2/3": 2 / 3, "fourier": 1}

WORDS = "Σ|w_i|, the Euclidean length, max|w_i|, (Σ|w_i|^⅔)^1½, or Σ|c_f| of Fourier coefficients"


def length(w: torch.Tensor, exponent: Exponent) -> torch.Tensor:
    """The length [B] of vectors [B, d], in float64."""
    w = w.double()
    if exponent == "fourier":
        w = torch.fft.fft(w, norm="ortho").abs()
    found: torch.Tensor = torch.linalg.vector_norm(w, POWERS[exponent], 1)
    return found
