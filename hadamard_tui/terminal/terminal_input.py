"""Terminal input: reading without polling, and conversion to messages for keys, clicks and pastes."""

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


class ExitEvent(threading.Event):
    """Event that can end a wait for input, because it has a file descriptor.

    The descriptor is readable while the event is set.
    """

    def __init__(self) -> None:
        super().__init__()
        self._reader, self._writer = socket.socketpair()

    def set(self) -> None:
        if not self.is_set():
            super().set()  # first, because the byte below wakes a thread that checks the event
            self._writer.send(b"x")

    def clear(self) -> None:
        if self.is_set():
            self._reader.recv(1)
        super().clear()

    def fileno(self) -> int:
        return self._reader.fileno()


def chunks(fileno: int, ended: ExitEvent, patience: Callable[[], float | None]) -> Iterator[bytes]:
    """Yield the bytes that arrive at a descriptor, until `ended` is set or the input ends.

    Args:
        patience: function that returns the seconds to wait for input, or None for no limit. If no input
            arrives in this time, an empty chunk is yielded.
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
    """Reader of a terminal's input. It drops garbled escape sequences, and keeps pasted text unchanged.

    Textual's parser would interpret escape sequences inside pasted text. It would turn each character of an
    unknown sequence into a key, and the key `q`, for example, ends the app. So the parser gets the sequences
    that start and end a paste, but never the pasted text.
    """

    def __init__(self) -> None:
        self._parser = TerminalParser()
        self._recent = ""
        """Latest characters, which may end in the sequence that starts or ends a paste."""
        self._pasted: list[str] | None = None
        """Characters of the current paste; None outside a paste."""

    @property
    def patience(self) -> float | None:
        """Seconds after which an unfinished sequence, such as a lone escape, counts as complete.

        None if no sequence is unfinished.
        """
        return constants.ESCAPE_DELAY if self._parser.is_waiting else None

    def messages(self, text: str) -> list[Message]:
        """Return the messages for `text`, and for an unfinished sequence that is older than `patience`.

        Characters are parsed one by one, so that a garbled sequence does not affect its neighbours.
        """
        messages: list[Message] = []
        for letter in text:
            messages += (
                self._parsed_messages(letter) if self._pasted is None else self._completed_paste(letter)
            )
        messages += self._parsed_messages("")
        return [message for message in messages if not _is_half_surrogate(message)]

    def _parsed_messages(self, letter: str) -> list[Message]:
        """Parse a character outside a paste, and return the messages that are complete after it.

        An empty `letter` completes a key sequence that has waited long enough for further characters.
        """
        self._record_letter(letter)
        try:
            messages = list(self._parser.feed(letter) if letter else self._parser.tick())
        except Exception:  # for example, for code points out of range, if the connection garbles bytes
            self._parser = TerminalParser()
            messages = []
        if self._pasted is None and self._recent.endswith(BRACKETED_PASTE_START):
            self._pasted = []
        return messages

    def _completed_paste(self, letter: str) -> list[Message]:
        """Add a character to the current paste, and return the paste as a message if it is complete."""
        assert self._pasted is not None
        self._record_letter(letter)
        self._pasted.append(letter)
        if not self._recent.endswith(BRACKETED_PASTE_END):
            return []
        text = "".join(self._pasted[: -len(BRACKETED_PASTE_END)])
        self._pasted = None
        list(self._parser.feed(BRACKETED_PASTE_END))  # ends the parser's paste, which is empty and not used
        return [events.Paste(text.replace("\x00", ""))]

    def _record_letter(self, letter: str) -> None:
        self._recent = (self._recent + letter)[-LONGEST_BRACKET:]


def _is_half_surrogate(message: Message) -> bool:
    """Return whether a message is a key with half of a surrogate pair, which no file can store."""
    letters = (message.character or "") if isinstance(message, events.Key) else ""
    return any("\ud800" <= letter <= "\udfff" for letter in letters)
