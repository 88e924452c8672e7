"""Something remembered of every growing array, for as long as the buffer that it is written into is alive."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

import numpy as np

T = TypeVar("T")

Key = tuple[int, int, int]


class BufferCache(Generic[T]):
    """Makes one thing for every column of every buffer, and finds it again by an array that begins there.

    Views take new slices of the same buffers for every frame, so the arrays themselves identify nothing.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: dict[Key, tuple[weakref.ref[object], T]] = {}

    def of(self, array: np.ndarray) -> T:
        """Return the value for the buffer that an array is a slice of; it is made once per buffer."""
        buffer = array if array.base is None else array.base
        key = id(buffer), array.__array_interface__["data"][0], array.strides[0]
        if key not in self._made:
            try:
                alive: weakref.ref[object] = weakref.ref(buffer, lambda _: self._made.pop(key, None))
            except TypeError:  # bytes, as of a file, cannot be watched
                return self._make()
            self._made[key] = alive, self._make()
        return self._made[key][1]
