"""Images of ten classes: IDX files as MNIST has them, and CIFAR-10 in binary; packed by gzip or not."""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from engine.core.free_memory import free_bytes, in_words
from engine.problems.formats import NotATable

IMAGES, LABELS = 0x803, 0x801
"""What IDX files of images and of labels begin with, big-endian: bytes in three dimensions, or in one."""

CIFAR_PIXELS = 3 * 32 * 32
"""Bytes of an image of CIFAR-10: 1024 for red, as many for green and blue; its label comes before them."""

CLASSES = 10

PIECE = 1 << 24
"""Bytes that are read at once where no header says how many there are."""

PACKED = b"\x1f\x8b"
"""What gzip begins its files with."""

FAULTS = (EOFError, zlib.error, gzip.BadGzipFile)
"""What is raised of a file that gzip has not packed, or not to its end."""


class Images(NamedTuple):
    """Images one by one, and the class of each."""

    pixels: NDArray[np.uint8]
    """[n, d]."""

    classes: NDArray[np.int64]
    """[n], 0 … 9."""


def read(images: Path, labels: Path | None) -> Images:
    """The images of one file: of IDX, whose labels are another file, or of CIFAR-10, which has them itself.

    Raises: NotATable, OSError, or one of FAULTS; `labels` is at fault where its name is in the text.
    """
    with _opened(images) as stream:
        beginning = stream.read(4)
        if int.from_bytes(beginning) == IMAGES:
            pixels = _idx(stream, 3, images.name)
            if labels is None:
                raise NotATable("an IDX file has no labels; give the file of its labels, too")
        else:
            if labels is not None:
                raise NotATable(f"it does not begin as an IDX file of images does, with {IMAGES:#x}")
            return _cifar(beginning, stream)
    with _opened(labels) as stream:
        if int.from_bytes(stream.read(4)) != LABELS:
            raise NotATable(f"{labels.name} does not begin as an IDX file of labels does, with {LABELS:#x}")
        classes = _idx(stream, 1, labels.name)
    if len(classes) != len(pixels):
        raise NotATable(f"{labels.name} has {len(classes)} labels for {len(pixels)} images")
    if classes.max() >= CLASSES:
        raise NotATable(f"{labels.name} has the label {classes.max()}; labels are 0 … {CLASSES - 1}")
    return Images(pixels.reshape(len(pixels), -1), classes.astype(np.int64))


def _opened(file: Path) -> IO[bytes]:
    """A file, unpacked where gzip has packed it."""
    with file.open("rb") as stream:
        packed = stream.read(len(PACKED)) == PACKED
    return cast("IO[bytes]", gzip.open(file)) if packed else file.open("rb")


def _idx(stream: IO[bytes], dimensions: int, name: str) -> NDArray[np.uint8]:
    """The bytes of an IDX file after its first number."""
    header = stream.read(4 * dimensions)
    if len(header) < 4 * dimensions:
        raise NotATable(f"{name} is cut off in its header")
    shape = tuple(int(size) for size in np.frombuffer(header, ">u4"))
    if not all(shape):
        raise NotATable(f"{name} holds nothing: its header says {' × '.join(map(str, shape))}")
    size = math.prod(shape)
    _check_memory(size, name)
    content = stream.read(size + 1)
    if len(content) != size:
        what = "is cut off" if len(content) < size else "goes on after its end"
        raise NotATable(f"{name} {what}: its header says {' × '.join(map(str, shape))} bytes")
    return np.frombuffer(content, np.uint8).reshape(shape)


def _cifar(beginning: bytes, stream: IO[bytes]) -> Images:
    """Records of a label and an image."""
    content = bytearray(beginning)
    while piece := stream.read(PIECE):
        _check_memory(len(content) + len(piece), "what it holds")
        content += piece
    records, left = divmod(len(content), 1 + CIFAR_PIXELS)
    if left or not records:
        raise NotATable(
            f"it is neither an IDX file of images, which begins with {IMAGES:#x}, nor CIFAR-10 in binary, "
            f"records of {1 + CIFAR_PIXELS} bytes"
        )
    table = np.frombuffer(content, np.uint8).reshape(records, -1)
    classes = table[:, 0].astype(np.int64)
    if (wrong := np.flatnonzero(classes >= CLASSES)).size:
        first = int(wrong[0])
        what = f"record {first} begins with {classes[first]}"
        raise NotATable(f"{what}, and CIFAR-10 has the labels 0 … {CLASSES - 1}")
    return Images(table[:, 1:], classes)


def _check_memory(size: int, name: str) -> None:
    if size > (free := free_bytes()):
        raise NotATable(f"{name} has {in_words(size)} of pixels, and {in_words(free)} are free")


def standardised(pixels: NDArray[np.uint8], of: NDArray[np.uint8]) -> NDArray[np.float64]:
    """(x − mean)/deviation by those of all pixels of some images, counted by their 256 values."""
    counts = np.bincount(of.ravel(), minlength=256).astype(np.float64)
    values = np.arange(256.0)
    mean = float(counts @ values / counts.sum())
    deviation = float(np.sqrt(counts @ (values - mean) ** 2 / counts.sum()))
    found: NDArray[Any] = (pixels - mean) / (deviation or 1.0)
    return found
