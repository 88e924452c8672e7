"""Printing to standard streams that may be closed, full, without a reader, or unable to encode charts."""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer

from engine.core import files
from engine.core.parts import BadInput


class ReaderGone(Exception):
    """Raised if the reader of standard output, such as `head`, has ended. Callers stop silently."""


DRAWN = "drawn in ASCII"
"""Name of the error handler that replaces characters that a stream cannot encode."""

LETTERS = "⣿─│…"
"""Characters beyond ASCII that charts consist of. A stream that cannot encode them gets ASCII charts."""


def prepare() -> None:
    """Make standard streams safe to use: open closed streams, and replace characters that cannot be encoded.

    A stream that the shell has closed by `>&-` is opened on the null device. Otherwise, the next opened file
    would get the descriptor of the stream, and output to the stream would go into this file. Characters that
    the encoding of a stream lacks are printed in their ASCII form.
    """
    for stream_name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, stream_name) is None:
            setattr(sys, stream_name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - open to the end
    codecs.register_error(DRAWN, _ascii_replacement)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=DRAWN)


def print_ascii() -> None:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="ascii", errors=DRAWN)


def lacks_letters() -> bool:
    try:
        LETTERS.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return True
    return False


def _ascii_replacement(error: UnicodeError) -> tuple[str, int]:
    """Return the ASCII form of a text that cannot be encoded, and the position after the text.

    If the encoding is ASCII, the text reaches to the end of the line. Longer forms can then use the spaces in
    the rest of the line.
    """
    from hadamard_tui.terminal.ascii_text import ascii_rest, to_ascii

    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object
    if error.encoding != "ascii":
        return to_ascii(text[error.start : error.end]), error.end
    start = text.rfind("\n", 0, error.start) + 1
    end = text.find("\n", error.start)
    end = len(text) if end < 0 else end
    return ascii_rest(text[start:end], error.start - start), end


@contextmanager
def printing() -> Iterator[None]:
    """Flush standard output after the block, and convert write errors.

    Raises: ReaderGone if the reader of the output has ended; BadInput if writing fails, as on a full disk.
    """
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        discard()
        if isinstance(error, BrokenPipeError):
            raise ReaderGone from error
        raise BadInput("standard output", f"cannot be written: {files.reason(error)}") from error


def discard() -> None:
    """Redirect standard output to the null device, after a write to it has failed.

    Python writes buffered output when it exits. Without the redirection, this write would fail, too.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def echo(text: str | bytes, nl: bool = True) -> None:
    with printing():
        typer.echo(text, nl=nl)


class Delivery:
    """Context in which results are printed or saved. After an error, the remaining results still follow.

    The end of the `with` block raises at most one error: the first error that is neither BadInput nor
    ReaderGone. Without such an error, it raises BadInput with the messages of all BadInput errors. If there
    was only ReaderGone, it raises ReaderGone.
    """

    def __init__(self) -> None:
        self._refused: list[BadInput] = []
        self._broken: list[Exception] = []
        self._gone: list[ReaderGone] = []

    def attempt(self, act: Callable[[], object]) -> None:
        """Call `act`, which prints or saves a result. Its error is raised at the end of the block."""
        try:
            act()
        except ReaderGone as error:
            self._gone.append(error)
        except BadInput as error:
            self._refused.append(error)
        except Exception as error:
            self._broken.append(error)

    @property
    def hindered(self) -> bool:
        return bool(self._refused or self._broken or self._gone)

    def __enter__(self) -> Delivery:
        return self

    def __exit__(self, kind: object, raised: BaseException | None, trace: object) -> None:
        if raised is not None:
            return
        if self._refused and not self._broken:
            raise BadInput("", "; ".join(map(str, self._refused)))
        for error in (*self._broken, *self._gone):
            raise error
