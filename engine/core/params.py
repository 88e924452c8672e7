"""Parameters: tensors that hold the weights of many learners in one batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from engine.core.lazy import torch

Params = dict[str, "torch.Tensor"]
"""Tensors by name; the first dimension of each is the batch B = replicas × variants × targets."""


def flat(tensors: Iterable[torch.Tensor]) -> torch.Tensor:
    """Flatten and concatenate tensors [B, …] to one vector per batch member, [B, P]."""
    return torch.cat([tensor.flatten(1) for tensor in tensors], 1)


def unflat(vector: torch.Tensor, like: Mapping[str, torch.Tensor]) -> Params:
    """Split `vector` [B, P] into tensors that have the names and shapes of the tensors `like`."""
    pieces = torch.split(vector, [tensor[0].numel() for tensor in like.values()], 1)
    return {
        layer: piece.reshape(tensor.shape)
        for (layer, tensor), piece in zip(like.items(), pieces, strict=True)
    }


def per_member(numbers: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """Reshape `numbers` [B] to [B, 1, …], so that they broadcast against `like` [B, …]."""
    return numbers.view(-1, *[1] * (like.dim() - 1))


def chosen(active: torch.Tensor, new: Params, old: Params) -> Params:
    """Return `new` tensors for active batch members, and `old` tensors for the others.

    Args:
        active: whether each of the B batch members is active, [B].
    """
    return {layer: torch.where(per_member(active, w), w, old[layer]) for layer, w in new.items()}
