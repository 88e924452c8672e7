"""Parameters: the tensors of learners, many side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from engine.core.lazy import torch

Params = dict[str, "torch.Tensor"]
"""Tensors by name; the first dimension of each is the batch B = replicas × variants × targets."""


def flat(tensors: Iterable[torch.Tensor]) -> torch.Tensor:
    """Tensors [B, …] one after the other, [B, P]."""
    return torch.cat([tensor.flatten(1) for tensor in tensors], 1)


def unflat(vector: torch.Tensor, like: Mapping[str, torch.Tensor]) -> Params:
    """The tensors of which `vector` [B, P] is made, under the names and in the shapes of others."""
    pieces = torch.split(vector, [tensor[0].numel() for tensor in like.values()], 1)
    return {
        name: piece.reshape(tensor.shape) for (name, tensor), piece in zip(like.items(), pieces, strict=True)
    }


def per_member(numbers: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """A number of every member of the batch [B], shaped [B, 1, …] to go with a tensor."""
    return numbers.view(-1, *[1] * (like.dim() - 1))
