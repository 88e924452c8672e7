"""An architecture of my own. `hadamard-tui parts check FILE.py` checks it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
import torch
from msgspec import Meta
from numpy.typing import NDArray

from engine.architectures import ModuleArchitecture


class MyPart(ModuleArchitecture, frozen=True, tag="my-part"):
    """A net of torch with a hidden layer of tanh units.

    Any module works that maps instances [n, d] to [n] or [n, 1]. Source: none needed.
    """

    width: Annotated[int, Meta(ge=1, le=4096, title="width", description="number of hidden units")] = 32

    def module(self, d: int) -> torch.nn.Module:
        return torch.nn.Sequential(
            torch.nn.Linear(d, self.width), torch.nn.Tanh(), torch.nn.Linear(self.width, 1)
        )


def naive_my_part(net: MyPart, tensors: Mapping[str, NDArray[Any]], X: NDArray[Any]) -> NDArray[Any]:
    """Return the predictions [n] for instances X [n, d], computed in the plainest way."""
    hidden = np.tanh(X @ tensors["0.weight"].T + tensors["0.bias"])
    predictions: NDArray[Any] = (hidden @ tensors["2.weight"].T + tensors["2.bias"])[:, 0]
    return predictions
