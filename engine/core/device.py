"""The device of tensors: the CPU, or an available CUDA device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from engine.core.lazy import torch
from engine.core.parts import BadInput


def resolve(device: str) -> str:
    """Return the device that a run uses. `auto` prefers the first CUDA device to the CPU.

    Raises: BadInput for an unavailable device; the message lists the available devices.
    """
    devices = ["cpu", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))]
    if device == "auto":
        return devices[1] if len(devices) > 1 else "cpu"
    wanted = "cuda:0" if device == "cuda" else device
    if wanted not in devices:
        raise BadInput("run.device", f"{device} is not available; this machine has {', '.join(devices)}")
    return wanted


@contextmanager
def threads(count: int | None) -> Iterator[None]:
    """Make torch use `count` threads inside the block; None changes nothing."""
    before = torch.get_num_threads()
    if count is not None:
        torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def describe(device: str) -> str:
    """Return a device's name for display, with the model of a CUDA card."""
    return device if device == "cpu" else f"{device} ({torch.cuda.get_device_name(device)})"
