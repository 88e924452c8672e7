"""Formats of tables: what a file holds is said by its header, before any number is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

NOT_NUMBERS = {
    "c": "complex numbers",
    "M": "dates",
    "m": "spans of time",
    "U": "texts",
    "S": "texts",
    "O": "objects",
    "V": "records of several fields",
}
"""What arrays hold that are none of numbers, by the kind of their type. Truth values are 0 and 1."""


PIECE = 1 << 16
"""Numbers that are held at once while a file is looked through."""


class NotATable(ValueError):
    """A file that holds no table of numbers. Its text is the reason, in one line without a full stop."""


class Found(NamedTuple):
    """What a file holds, as far as is known without reading it."""

    needed: int
    """Bytes that are held while it is read, the numbers in float64 among them, at most."""

    read: Callable[[], NDArray[Any]]
    """The numbers. Raises: NotATable, or what a library raises."""

    pieces: Callable[[], Iterator[NDArray[Any]]]
    """The numbers in pieces of about `PIECE`, in any order, none of which is held. Raises: as `read`."""

    shape: tuple[int, ...] | None = None
    """The shape of the numbers; None if the file must be read to know it."""


class Format(NamedTuple):
    """How files of one kind are read."""

    found: Callable[[Path], Found]
    """What a file holds. Raises: NotATable, OSError, or what `faults` says."""

    faults: Callable[[], tuple[type[Exception], ...]] = lambda: (ValueError,)
    """What libraries raise of a file that is none of this kind, or is damaged."""


def check_type(kind: np.dtype[Any]) -> None:
    """Raises: NotATable for a type that is none of real numbers."""
    if (what := NOT_NUMBERS.get(kind.kind)) is not None:
        raise NotATable(f"it holds {what}, and every entry must be a real number")
