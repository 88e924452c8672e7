"""Driver of an app in a browser; it extends Textual's driver for the web.

App and server exchange packets: a letter, the length of the content in four bytes, and the content. D stands
for text from or to the terminal, and M for JSON about the app. F stands for a file: its name, a zero byte,
and its content.
"""

from __future__ import annotations

import json
import os
import sys
from codecs import getincrementaldecoder
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, TextIO

from textual import events
from textual.app import App
from textual.drivers.web_driver import WebDriver

from hadamard_tui.terminal.terminal_input import ExitEvent, InputReader, chunks

GONE = 3
"""Exit code of an app whose server has ended. Any other failure of the app has the same exit code."""

HEAD = 5
"""Number of bytes of a packet before its content."""


class ViewerDriver(WebDriver):
    """Driver that ends the app together with its server, and that sends files to the browser."""

    def __init__(self, app: App[Any], **options: Any) -> None:
        super().__init__(app, **options)
        self.app = app
        self.exit_event: ExitEvent = ExitEvent()
        self._lock = Lock()

    def start_application_mode(self) -> None:
        """Start the app's output, and give the app the focus, which Textual does not do in a browser."""
        super().start_application_mode()
        self.app.call_later(self.app.post_message, events.AppFocus())

    def write(self, data: str) -> None:
        self._send_packet(b"D", data.encode())

    def write_meta(self, data: dict[str, object]) -> None:
        self._send_packet(b"M", json.dumps(data).encode(errors="ignore"))

    def _send_packet(self, kind: bytes, content: bytes) -> None:
        packet = kind + len(content).to_bytes(4, "big") + content
        try:
            with self._lock:
                while packet:
                    packet = packet[os.write(self.fileno, packet) :]
        except BrokenPipeError:
            os._exit(GONE)

    def run_input_thread(self) -> None:
        """Read packets from the server until the app ends.

        If the input ends first, the server is gone, and the process exits.
        """
        decode = getincrementaldecoder("utf-8")(errors="replace").decode
        keys, packets = InputReader(), Packets()
        assert sys.__stdin__ is not None, "the server holds the other end of it"
        for chunk in chunks(sys.__stdin__.fileno(), self.exit_event, lambda: keys.patience):
            text = ""
            for kind, content in packets.feed(chunk):
                if kind == "D":
                    text += decode(content)
                else:
                    meta = json.loads(content)
                    self.on_meta(meta["type"], meta)
            for message in keys.messages(text):
                self.process_message(message)
        if not self.exit_event.is_set():
            os._exit(GONE)

    def deliver_binary(
        self, binary: BinaryIO | TextIO, *, save_path: Path, encoding: str | None = None, **_: Any
    ) -> None:
        """Send a file to the browser.

        One packet holds the file, so that the browser knows its length and notices a broken download.
        """
        with binary:
            content = binary.read()
        if isinstance(content, str):
            content = content.encode(encoding or "utf-8")
        self._send_packet(b"F", save_path.name.encode() + b"\0" + content)


class Packets:
    """Parser that splits the bytes from the server into packets."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[str, bytes]]:
        self._bytes += data
        while len(self._bytes) >= HEAD:
            end = HEAD + int.from_bytes(self._bytes[1:HEAD], "big")
            if len(self._bytes) < end:
                return
            kind, content = chr(self._bytes[0]), bytes(self._bytes[HEAD:end])
            del self._bytes[:end]
            yield kind, content
