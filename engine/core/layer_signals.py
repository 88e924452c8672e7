"""What goes into the layers of a function, and what comes back through them."""

from __future__ import annotations

from typing import NamedTuple

from engine.core.lazy import torch


class LayerSignals(NamedTuple):
    """Of a trained tensor W [B, o, i] that makes z = W a of its inputs a, on n examples.

    A vector w [B, i] is a layer of one output.
    """

    inputs: torch.Tensor
    """a, [B, i, n]."""

    back: torch.Tensor
    """What comes back to z, [B, o, n]: its derivatives ∂ŷ/∂z times what was sent back."""
