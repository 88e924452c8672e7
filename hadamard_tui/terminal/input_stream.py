"""Input that a thread waits for without polling."""

from __future__ import annotations

import os
import selectors
import socket
import threading
from collections.abc import Callable, Iterator

CHUNK = 4096
"""Bytes per read."""


class ExitEvent(threading.Event):
    """An event that ends a wait for input."""

    def __init__(self) -> None:
        super().__init__()
        self._reader, self._writer = socket.socketpair()

    def set(self) -> None:
        if not self.is_set():
            super().set()  # first: the thread that the byte wakes asks whether the event is set
            self._writer.send(b"x")

    def clear(self) -> None:
        if self.is_set():
            self._reader.recv(1)
        super().clear()

    def fileno(self) -> int:
        """The descriptor that is readable while the event is set."""
        return self._reader.fileno()


def chunks(fileno: int, ended: ExitEvent, patience: Callable[[], float | None]) -> Iterator[bytes]:
    """Yield the bytes that come in, until `ended` is set or nobody can send any more.

    Args:
        patience: seconds after which an empty chunk is yielded if nothing comes in; None for never.
    """
    with selectors.DefaultSelector() as selector:
        selector.register(fileno, selectors.EVENT_READ)
        selector.register(ended, selectors.EVENT_READ)
        while True:
            ready = [key.fileobj for key, _ in selector.select(patience())]
            if ended in ready:
                return
            if not ready:
                yield b""
                continue
            try:
                data = os.read(fileno, CHUNK)
            except OSError:  # the terminal is gone
                return
            if not data:
                return
            yield data
