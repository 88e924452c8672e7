"""The viewer's end of the app: what Textual's driver for the web leaves open.

Packets to the server are a letter, four bytes of length, and so many bytes: D is text for the terminal, M is
JSON about the app, and F is a file, its name before a zero byte and its content after it.
"""

from __future__ import annotations

import os
import sys
from codecs import getincrementaldecoder
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, TextIO

from textual import events
from textual.drivers._byte_stream import ByteStream
from textual.drivers.web_driver import WebDriver

from hadamard_tui.terminal.input_stream import ExitEvent, chunks
from hadamard_tui.terminal.keys import Keys

GONE = 3
"""Exit code of an app whose server has gone, as after any failure."""


class ViewerDriver(WebDriver):
    """Ends the app with its server, keeps packets whole, and hands files to the browser."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.exit_event: ExitEvent = ExitEvent()
        self._lock = Lock()
        self._write = self._write_whole  # type: ignore[assignment]

    def start_application_mode(self) -> None:
        """Begin with the focus, which Textual takes from apps of the web: a page has it until it says no."""
        super().start_application_mode()
        self._app.call_later(self._app.post_message, events.AppFocus())

    def _write_whole(self, packet: bytes) -> None:
        """Packets of one thread never end up within those of another."""
        try:
            with self._lock:
                while packet:
                    packet = packet[os.write(self.fileno, packet) :]
        except BrokenPipeError:
            os._exit(GONE)

    def run_input_thread(self) -> None:
        """Read to the end of the input. If the app does not end by itself then, its server has gone."""
        decode = getincrementaldecoder("utf-8")(errors="replace").decode
        keys, packets = Keys(self._debug), ByteStream()
        assert sys.__stdin__ is not None, "the server holds the other end of it"
        for data in chunks(sys.__stdin__.fileno(), self.exit_event, lambda: keys.patience):
            text = ""
            for kind, content in packets.feed(data) if data else ():
                if kind == "D":
                    text += decode(content)
                else:
                    self._on_meta(kind, content)
            for message in keys.messages(text):
                self.process_message(message)
        if not self.exit_event.is_set():
            os._exit(GONE)

    def deliver_binary(
        self, binary: BinaryIO | TextIO, *, save_path: Path, encoding: str | None = None, **_: Any
    ) -> None:
        """Send a whole file at once, so that the browser knows its length and sees a broken download."""
        with binary:
            content = binary.read()
        if isinstance(content, str):
            content = content.encode(encoding or "utf-8")
        payload = save_path.name.encode() + b"\0" + content
        self._write(b"F%s%s" % (len(payload).to_bytes(4, "big"), payload))
