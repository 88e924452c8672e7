"""Where tensors live: the CPU, or a CUDA device that is really there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from engine.core.lazy import torch
from engine.core.parts import BadInput


def resolve(device: str) -> str:
    """The device that a run uses: `auto` is the first CUDA device if there is one, else the CPU.

    Raises: BadInput for a device that is not there, saying which are.
    """
    devices = ["cpu", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))]
    if device == "auto":
        return devices[1] if len(devices) > 1 else "cpu"
    wanted = "cuda:0" if device == "cuda" else device
    if wanted not in devices:
        raise BadInput("run.device", f"{device} is not there; this machine has {', '.join(devices)}")
    return wanted


@contextmanager
def threads(count: int | None) -> Iterator[None]:
    """Compute with so many threads for a while; None leaves them as they are."""
    before = torch.get_num_threads()
    if count is not None:
        torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def describe(device: str) -> str:
    """The device with the name of its card, for people."""
    return device if device == "cpu" else f"{device} ({torch.cuda.get_device_name(device)})"
