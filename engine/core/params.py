"""Parameters: the tensors of learners, many side by side."""

from __future__ import annotations

from engine.core.lazy import torch

Params = dict[str, "torch.Tensor"]
"""Tensors by name; the first dimension of each is the batch B = replicas × variants × targets."""
