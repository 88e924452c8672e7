"""Load and memory of the machine's processors and GPUs during a run, sampled at most once a second."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

import msgspec

SECONDS = 1.0
"""Shortest time between two samples."""


class GpuSample(msgspec.Struct, frozen=True):
    """Use of a GPU.

    Args:
        load: share of recent time in which the GPU computed, 0 to 1. None if not reported.
        used: bytes of GPU memory in use.
        total: total bytes of GPU memory.
    """

    load: float | None
    used: int
    total: int


class MachineSample(msgspec.Struct, frozen=True):
    """Use of the machine by all programs.

    Args:
        load: share of the processors' time in use since the last sample, 0 to 1.
        used: bytes of main memory that are not available.
        total: total bytes of main memory.
        gpus: the use of every GPU, in the order of the driver; empty if NVIDIA's driver is missing.
    """

    load: float
    used: int
    total: int
    gpus: tuple[GpuSample, ...] = ()


class Sampler:
    """Measures the use of processors, memory and GPUs during a run, at most once a second.

    The load of the processors is a mean over the time between two readings. The first reading gives no
    sample, so the first sample is available at the earliest two seconds after the start. Psutil and pynvml
    are imported after the first second, because shorter runs do not need them.
    """

    def __init__(self) -> None:
        self._looked = time.monotonic()
        self._has_begun = False
        self._gpus: list[Any] | None = None
        """NVML's handles of the GPUs, or None before the first sample."""

    def sample(self) -> MachineSample | None:
        """Return a sample, or None if the last reading is less than a second old.

        The first reading only starts the measurement, and also returns None.
        """
        if time.monotonic() - self._looked < SECONDS:
            return None
        import psutil

        self._looked = time.monotonic()
        load, has_begun, self._has_begun = psutil.cpu_percent() / 100, self._has_begun, True
        if not has_begun:
            return None
        memory = psutil.virtual_memory()
        used = int(memory.total - memory.available)
        return MachineSample(load, used, int(memory.total), self._gpu_samples())

    def rest(self) -> None:
        """Restart the measurement after a pause of the run, so that the load does not include the pause."""
        self._looked = time.monotonic()
        self._has_begun = False

    def _gpu_samples(self) -> tuple[GpuSample, ...]:
        import pynvml

        if self._gpus is None:
            self._gpus = []
            with suppress(pynvml.NVMLError):
                pynvml.nvmlInit()
                count = pynvml.nvmlDeviceGetCount()
                self._gpus = [pynvml.nvmlDeviceGetHandleByIndex(number) for number in range(count)]
        samples = []
        for gpu in self._gpus:
            with suppress(pynvml.NVMLError):
                memory, load = pynvml.nvmlDeviceGetMemoryInfo(gpu), None
                with suppress(pynvml.NVMLError):  # a partition of a GPU has separate memory, but no load
                    load = pynvml.nvmlDeviceGetUtilizationRates(gpu).gpu / 100
                samples.append(GpuSample(load, int(memory.used), int(memory.total)))
        return tuple(samples)


def in_words(sample: MachineSample) -> str:
    """Return a sample in words, such as "processor 87 % · memory 3.1 of 16 GiB · GPU 64 %, 4.2 of 80 GiB"."""
    words = [f"processor {sample.load:.0%}", f"memory {_bytes_in_words(sample.used, sample.total)}"]
    for number, gpu in enumerate(sample.gpus):
        name = "GPU" if len(sample.gpus) == 1 else f"GPU {number}"
        load = "" if gpu.load is None else f"{gpu.load:.0%}, "
        words.append(f"{name} {load}{_bytes_in_words(gpu.used, gpu.total)}")
    return " · ".join(words).replace("%", " %")


def _bytes_in_words(used: int, total: int) -> str:
    return f"{used / 2**30:.3g} of {total / 2**30:.3g} GiB"
