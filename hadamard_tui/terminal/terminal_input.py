"""Terminal input: read without polling, and posted as messages for keys, clicks and pastes."""

from __future__ import annotations

import os
import selectors
import socket
import threading
from collections.abc import Callable, Iterator

from textual import constants, events
from textual.message import Message

from hadamard_tui.terminal.textual_internals import TerminalParser

CHUNK = 4096
"""Bytes per read."""


class ExitEvent(threading.Event):
    """Event that ends a wait for input."""

    def __init__(self) -> None:
        super().__init__()
        self._reader, self._writer = socket.socketpair()

    def set(self) -> None:
        if not self.is_set():
            super().set()  # before the byte, because the thread that it wakes checks the event
            self._writer.send(b"x")

    def clear(self) -> None:
        if self.is_set():
            self._reader.recv(1)
        super().clear()

    def fileno(self) -> int:
        """Return the descriptor that is readable while the event is set."""
        return self._reader.fileno()


def chunks(fileno: int, ended: ExitEvent, patience: Callable[[], float | None]) -> Iterator[bytes]:
    """Yield incoming bytes, until `ended` is set or every sender is gone.

    Args:
        patience: seconds without input after which an empty chunk is yielded; None for never.
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
            except OSError:  # the terminal is lost
                return
            if not data:
                return
            yield data


BRACKETED_PASTE_START, BRACKETED_PASTE_END = "\x1b[200~", "\x1b[201~"
LONGEST_BRACKET = max(len(BRACKETED_PASTE_START), len(BRACKETED_PASTE_END))


class InputReader:
    """Reader of a terminal's input, which drops garbled sequences and keeps pastes as text.

    Textual's parser reads escape sequences inside a paste and sends unknown ones as keys, of which `q` ends
    the app. It receives only the brackets of a paste, never the text between them.
    """

    def __init__(self) -> None:
        self._parser = TerminalParser()
        self._recent = ""
        """Latest letters, which may end in a paste bracket."""
        self._pasted: list[str] | None = None
        """Letters of the present paste; None outside a paste."""

    @property
    def patience(self) -> float | None:
        """Seconds after which the latest letters, such as a lone escape, are complete; None if they are."""
        return constants.ESCAPE_DELAY if self._parser.is_waiting else None

    def messages(self, text: str) -> list[Message]:
        """Return the messages of `text`, and messages that elapsed time has completed before it.

        Letters are parsed one by one, so that a garbled sequence does not affect its neighbours.
        """
        messages: list[Message] = []
        for letter in text:
            messages += self._parsed(letter) if self._pasted is None else self._collected(letter)
        messages += self._parsed("")
        return [message for message in messages if not _surrogate(message)]

    def _parsed(self, letter: str) -> list[Message]:
        """Return the messages of one letter outside a paste, or of elapsed time if it is empty."""
        self._follow(letter)
        try:
            messages = list(self._parser.feed(letter) if letter else self._parser.tick())
        except Exception:  # such as code points out of range on a garbled line
            self._parser = TerminalParser()
            messages = []
        if self._pasted is None and self._recent.endswith(BRACKETED_PASTE_START):
            self._pasted = []
        return messages

    def _collected(self, letter: str) -> list[Message]:
        """Return the paste if this letter ends it."""
        assert self._pasted is not None
        self._follow(letter)
        self._pasted.append(letter)
        if not self._recent.endswith(BRACKETED_PASTE_END):
            return []
        text = "".join(self._pasted[: -len(BRACKETED_PASTE_END)])
        self._pasted = None
        list(self._parser.feed(BRACKETED_PASTE_END))  # ends its empty paste, which ours replaces
        return [events.Paste(text.replace("\x00", ""))]

    def _follow(self, letter: str) -> None:
        self._recent = (self._recent + letter)[-LONGEST_BRACKET:]


def _surrogate(message: Message) -> bool:
    """Return whether a key is half of a surrogate pair, which no file can store."""
    letters = (message.character or "") if isinstance(message, events.Key) else ""
    return any("\ud800" <= letter <= "\udfff" for letter in letters)
