"""A simulated CUDA device: its tensors claim to be on it, and the CPU computes them.

Operations refuse what a real device refuses: tensors of both devices in one call, except for scalars and
indices, and reading device memory as a numpy array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any
from unittest import mock

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from engine.core import device as devices
from engine.runtime.spreading import serve

CARD = torch.device("meta")
"""Device that the tensors report, because torch built for the CPU lets no tensor report a CUDA device."""


class OnCuda(torch.Tensor):
    """CPU tensor that claims to be on the device."""

    held: torch.Tensor

    @staticmethod
    def __new__(cls, held: torch.Tensor) -> OnCuda:
        wrapper: OnCuda = torch.Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls,
            held.shape,
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            device=CARD,
            requires_grad=False,
        )
        wrapper.held = held
        return wrapper

    @classmethod
    def __torch_dispatch__(
        cls, operation: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return computed(operation, args, kwargs or {})

    def __repr__(self, **options: Any) -> str:
        return f"OnCuda({self.held!r})"


class Factories(TorchDispatchMode):
    """Creates tensors on the device and copies tensors to it."""

    def __torch_dispatch__(
        self, operation: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return computed(operation, args, kwargs or {})


INDEXING = ("aten::index.Tensor", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_")
"""Operations that accept indices on the CPU."""

COPIES = ("aten::_to_copy", "aten::copy_")


def computed(operation: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Result of an operation on the device of its tensors."""
    name = str(operation.name())  # type: ignore[attr-defined]
    tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
    on_card = [tensor for tensor in tensors if isinstance(tensor, OnCuda)]
    wanted = kwargs.get("device")
    if wanted is None and not on_card:
        return operation(*args, **kwargs)
    if on_card and name.split(".")[0] not in COPIES and not name.startswith(INDEXING):
        strangers = [tensor for tensor in tensors if not isinstance(tensor, OnCuda) and tensor.dim()]
        if strangers:
            shape = tuple(strangers[0].shape)
            raise RuntimeError(f"{name} of tensors on the card and one of {shape} on the processor")
    to_cuda = torch.device(wanted).type == CARD.type if wanted is not None else bool(on_card)
    if name.startswith("aten::copy_"):
        to_cuda = isinstance(args[0], OnCuda)
    if wanted is not None:
        kwargs = {**kwargs, "device": torch.device("cpu")}
    unwrapped = tree_map(lambda leaf: leaf.held if isinstance(leaf, OnCuda) else leaf, (args, kwargs))
    if name == "aten::_conj":  # a view whose readers conjugate, which they do not from here
        operation = torch.ops.aten._conj_physical.default
    outputs = operation(*unwrapped[0], **unwrapped[1])
    if not to_cuda:
        return outputs
    wrappers = {id(tensor.held): tensor for tensor in on_card}

    def wrapped(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor) or isinstance(leaf, OnCuda):
            return leaf
        wrapper = wrappers.get(id(leaf))
        return OnCuda(leaf) if wrapper is None else wrapper

    return tree_map(wrapped, outputs)


@contextmanager
def fake_cuda() -> Iterator[None]:
    """Simulate one CUDA device inside the block."""
    with (
        mock.patch.object(devices, "resolve", lambda device: "cpu" if device == "cpu" else CARD.type),
        mock.patch.object(devices, "describe", str),
        mock.patch.object(torch.cuda, "mem_get_info", return_value=(1 << 34, 1 << 34)),
        Factories(),
    ):
        yield


def serve_on_cpu(connection: Connection) -> None:
    """Serve a connection in a process whose CUDA device is the CPU, for `engine.runtime.spreading`."""
    with mock.patch.object(devices, "resolve", return_value="cpu"):
        serve(connection)
