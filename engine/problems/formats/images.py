"""Readers of images with ten classes: IDX files such as MNIST's, binary CIFAR-10 files, and mnist.npz.

IDX and CIFAR-10 files may be compressed by gzip.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.core import files
from engine.core.memory import free_bytes, in_words
from engine.core.parts import BadField
from engine.core.texts import listed
from engine.problems import formats
from engine.problems.formats import NotATable

IMAGES, LABELS = 0x803, 0x801
"""First four bytes, as big-endian numbers, of IDX files of images and of IDX files of labels."""

CIFAR_PIXELS = 3 * 32 * 32
"""Bytes of an image in a CIFAR-10 record: 1024 each for red, green and blue. The label precedes them."""

CLASSES = 10

PIECE = 1 << 24
"""Number of bytes that one call reads from a file whose size no header states."""

ARCHIVE = b"PK\x03\x04"
"""First bytes of .npz files."""

NPZ_IMAGES, NPZ_LABELS = "x_train", "y_train"
"""Names of the arrays that are read from mnist.npz."""

TAR = slice(257, 262), b"ustar"
"""Position and content of the bytes that identify a .tar archive."""


class Images(NamedTuple):
    """Images with their classes."""

    pixels: NDArray[np.uint8]
    """Pixels of every image, [n, d]."""

    classes: NDArray[np.int64]
    """Class 0 … 9 of every image, [n]."""

    notes: tuple[str, ...] = ()
    """Phrases for the report, which say where images and labels were found."""

    left_out: tuple[str, ...] = ()
    """Names of arrays in the file that are not read."""


def read(images: Path, labels: Path | None) -> Images:
    """Read images and their labels.

    `labels` is the file of the labels of IDX images, or None if `images` also contains the labels.

    Raises: BadField, at the field `images` or `labels` that names the faulty file.
    """
    with _faults_of_file(images, "images"):
        beginning = _first_bytes(images)
        magic = int.from_bytes(beginning)
        if magic == LABELS:
            raise NotATable(
                f"begins with {LABELS:#x}, as IDX files of labels do; "
                f"set `images` to a file that begins with {IMAGES:#x}"
            )
        has_own_labels = magic != IMAGES
        if has_own_labels and labels is None:
            return _images_of_archive(images) if beginning == ARCHIVE else _images_of_cifar(images)
        if has_own_labels:
            raise NotATable(
                f"does not begin with {IMAGES:#x}, as IDX files of images do; for other formats, "
                "leave the setting `labels` out"
            )
        if labels is None:
            raise BadField(
                "labels",
                f"missing: {images.name} is an IDX file of images; set `labels` to the file of their labels",
            )
        pixels = _array_of_idx(images, 3)
    with _faults_of_file(labels, "labels"):
        if (magic := int.from_bytes(_first_bytes(labels))) != LABELS:
            which = ", as images do" if magic == IMAGES else ""
            raise NotATable(
                f"begins with {magic:#x}{which}; set `labels` to a file that begins with {LABELS:#x}"
            )
        classes = _array_of_idx(labels, 1)
        _check_classes(classes, len(pixels), images.name)
    notes = (f"labels in {labels.name}",)
    return Images(pixels.reshape(len(pixels), -1), classes.astype(np.int64), notes)


def standardised(pixels: NDArray[np.uint8], of: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return (pixels − mean)/deviation, with the mean and standard deviation of all pixels in `of`."""
    counts = np.bincount(of.ravel(), minlength=256).astype(np.float64)
    values = np.arange(256.0)
    mean = float(counts @ values / counts.sum())
    deviation = float(np.sqrt(counts @ (values - mean) ** 2 / counts.sum()))
    return np.asarray((pixels - mean) / (deviation or 1.0))


@contextmanager
def _faults_of_file(file: Path, field: str) -> Iterator[None]:
    """Convert errors that `file` causes inside the block to BadField at `field`."""
    try:
        yield
    except NotATable as error:
        raise BadField(field, f"{file.name} {error}") from error
    except (OSError, zipfile.BadZipFile, ValueError, *formats.FAULTS) as error:
        if isinstance(error, BadField):
            raise
        is_pickle = "pickle" in str(error)
        reason = "it holds Python objects; save arrays of numbers" if is_pickle else files.reason(error)
        raise BadField(field, f"{file.name} cannot be read as {field}: {reason}") from error


def _first_bytes(file: Path) -> bytes:
    with formats.opened(file) as stream:
        return stream.read(4)


def _array_of_idx(file: Path, dimensions: int) -> NDArray[np.uint8]:
    """Return the array in an IDX file (the format of MNIST), which must have `dimensions` dimensions.

    Raises: NotATable.
    """
    with formats.opened(file) as stream:
        header = stream.read(4 + 4 * dimensions)[4:]
        if len(header) < 4 * dimensions:
            raise NotATable("ends before the end of its header")
        shape = tuple(int(size) for size in np.frombuffer(header, ">u4"))
        in_header = " × ".join(map(str, shape))
        if not all(shape):
            raise NotATable(f"holds no data: its header states the size {in_header}")
        size = math.prod(shape)
        _check_memory(size)
        # Read one byte more than the header says, to detect a file that is too long.
        content = stream.read(size + 1)
    if len(content) != size:
        fault = "is too short" if len(content) < size else "is too long"
        raise NotATable(f"{fault}: its header states {in_header} bytes")
    return np.frombuffer(content, np.uint8).reshape(shape)


def _images_of_cifar(file: Path) -> Images:
    with formats.opened(file) as stream:
        content = _content_of_stream(stream)
    place, mark = TAR
    if content[place] == mark:
        raise NotATable("is a .tar archive; unpack it, and name one of its files instead")
    records, rest = divmod(len(content), 1 + CIFAR_PIXELS)
    if rest and not len(content) % (2 + CIFAR_PIXELS):
        raise NotATable(
            f"has records of {2 + CIFAR_PIXELS} bytes, as CIFAR-100 does; use CIFAR-10, which has ten classes"
        )
    if rest or not records:
        raise NotATable(
            f"is neither an IDX file of images (first bytes {IMAGES:#x}), nor binary CIFAR-10 "
            f"(records of {1 + CIFAR_PIXELS} bytes), nor mnist.npz"
        )
    table = np.frombuffer(content, np.uint8).reshape(records, -1)
    classes = table[:, 0].astype(np.int64)
    if (wrong := np.flatnonzero(classes >= CLASSES)).size:
        first = int(wrong[0])
        fault = f"has the label {classes[first]} in record {first}"
        raise NotATable(f"{fault}; the labels of CIFAR-10 are 0 … {CLASSES - 1}")
    return Images(table[:, 1:], classes, ("each record begins with its label",))


def _images_of_archive(file: Path) -> Images:
    """Return the training images of mnist.npz with their classes. Raises: NotATable, or errors of numpy."""
    with file.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
        for name in (NPZ_IMAGES, NPZ_LABELS):
            if name not in archive:
                raise NotATable(f"has no array {name}; its arrays are {listed(archive) or 'none'}")
        _check_memory(file.stat().st_size)
        pixels, classes = archive[NPZ_IMAGES], archive[NPZ_LABELS]
        left_out = tuple(name for name in archive if name not in (NPZ_IMAGES, NPZ_LABELS))
    if pixels.dtype != np.uint8 or pixels.ndim < 2 or not pixels.size:
        raise NotATable(
            f"has an array {NPZ_IMAGES} of dtype {pixels.dtype} and shape {pixels.shape}; "
            "this array must hold bytes [n, …]"
        )
    if classes.dtype.kind not in "iu" or classes.ndim != 1:
        raise NotATable(
            f"has an array {NPZ_LABELS} of dtype {classes.dtype} and shape {classes.shape}; "
            "this array must hold integers [n]"
        )
    _check_classes(classes, len(pixels), NPZ_IMAGES)
    notes = (f"images in {NPZ_IMAGES}", f"labels in {NPZ_LABELS}")
    return Images(pixels.reshape(len(pixels), -1), classes.astype(np.int64), notes, left_out)


def _content_of_stream(stream: IO[bytes]) -> bytearray:
    content = bytearray()
    while piece := stream.read(PIECE):
        _check_memory(len(content) + len(piece))
        content += piece
    return content


def _check_classes(classes: NDArray[np.integer], count: int, images: str) -> None:
    if len(classes) != count:
        raise NotATable(f"has {len(classes)} labels for the {count} images of {images}")
    if not 0 <= int(classes.min()) <= int(classes.max()) < CLASSES:
        wrong = next(int(label) for label in classes if not 0 <= label < CLASSES)
        raise NotATable(f"has the label {wrong}; labels must be 0 … {CLASSES - 1}")


def _check_memory(size: int) -> None:
    if size > (free := free_bytes()):
        raise NotATable(f"has {in_words(size)} of pixels, but only {in_words(free)} of memory are free")
