"""Writing of files in a separate thread, so that the screen never waits for them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from engine.core import files
from engine.core.parts import BadInput
from engine.core.texts import escaped

Content = TypeVar("Content")
Result = TypeVar("Result")


class FileWriter:
    """Makes and writes files in one thread, one after the other: figures cannot be made in parallel."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "files")
        self._under_way: dict[Future[Any], str] = {}
        self._placing = Lock()
        """Lock that is held while a file is written to the disk."""
        self._making = self._ended = False

    def write(
        self, name: str, make: Callable[[], Content], place: Callable[[Content], Result]
    ) -> Future[Result]:
        """Make and write a file in the thread. Return a future of the value that `place` returns.

        Args:
            name: name of the file, for the reports of `end` about files that were not written.
            make: function that returns the content of the file.
            place: function that writes the content.
        """
        result = self._thread.submit(self._make_and_place, make, place)
        self._under_way[result] = name
        result.add_done_callback(self._under_way.pop)
        return result

    def _make_and_place(self, make: Callable[[], Content], place: Callable[[Content], Result]) -> Result:
        with self._placing:
            if self._ended:
                raise CancelledError
            self._making = True
        try:
            content = make()
        finally:
            self._making = False
        with self._placing:
            if self._ended:
                raise CancelledError
            return place(content)

    def end(self, seconds: float) -> list[str]:
        """Wait at most `seconds` for pending files. Return a line of text about each unwritten file.

        A file that is being written after this time is still completed, so that no file is half-written.
        """
        unwritten = dict(self._under_way)
        wait(unwritten, seconds)
        with self._placing:
            self._ended, making = True, self._making
        self._thread.shutdown(wait=not making, cancel_futures=True)
        reasons = [(file_name, _reason_of_failure(result)) for result, file_name in unwritten.items()]
        return [f"{escaped(file_name)} was not written: {why}" for file_name, why in reasons if why]


def _reason_of_failure(result: Future[Any]) -> str:
    if not result.done() or result.cancelled():
        return "the program ended before the file was made"
    match result.exception():
        case None:
            return ""
        case CancelledError():
            return "the program ended before the file was made"
        case BadInput() as error:
            return error.fault
        case error:
            return f"{type(error).__name__}: {error}"


def place_file(path: Path, content: bytes) -> str:
    with files.faults(str(path), "cannot be written"):
        wrote = f"{'Replaced' if path.exists() else 'Wrote'} {escaped(str(path.absolute()))}"
    files.write(path, content, "")
    return wrote
