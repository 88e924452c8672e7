"""Viewer of the served app: the app's process, its page in a browser, and the messages between them."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import sys
from asyncio.subprocess import PIPE, Process
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Annotated

import msgspec
from aiohttp import WSCloseCode, WSMsgType, web
from msgspec import Meta, Struct

LARGEST = 1000, 400
"""Maximum number of columns and of rows of an app, about as many as the largest screens have."""


class Size(Struct):
    """Size of a terminal in character cells."""

    width: Annotated[int, Meta(ge=1)] = 80
    height: Annotated[int, Meta(ge=1)] = 24

    def bounded(self) -> Size:
        return Size(min(self.width, LARGEST[0]), min(self.height, LARGEST[1]))


class Stdin(Struct, array_like=True, tag="stdin"):
    """Message with keys, clicks and pasted text, as a terminal encodes them."""

    text: Annotated[str, Meta(min_length=1)]  # for Textual, an empty text means the end of the input


class Resize(Struct, array_like=True, tag="resize"):
    """Message with a new size of the terminal."""

    size: Size


class Focus(Struct, array_like=True, tag="focus"):
    """Message that the terminal has the focus."""


class Blur(Struct, array_like=True, tag="blur"):
    """Message that the terminal has lost the focus."""


Message = Stdin | Resize | Focus | Blur

_decoder = msgspec.json.Decoder(Message)


def parse_message(text: str) -> Message | None:
    try:
        message: Message = _decoder.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None
    return message


def size_of(query: Mapping[str, str]) -> Size:
    """Return the terminal size in the query of a websocket's address; the default size if it is invalid."""
    try:
        return msgspec.convert(dict(query), Size, strict=False).bounded()
    except msgspec.ValidationError:
        return Size()


PING = 2.0
"""Seconds from an answer to the next ping, which are also the maximum seconds to wait for an answer."""

PATIENCE = 3
"""Number of consecutive unanswered pings after which the app of a viewer ends.

A lost page is detected within 8 s, but a connection may stall for a moment.
"""

LEAVING = 2.0
"""Maximum seconds that an app may take to exit after it has closed its output."""

FILES = 4
"""Maximum number of files that are kept for a browser to download; the oldest are dropped."""

FAILED = "The app has failed; the terminal of the server says why."


class Viewer:
    """Process of the app for one page.

    The app stores nothing on this machine, so its process is killed as soon as the page is closed or lost.
    """

    def __init__(
        self, websocket: web.WebSocketResponse, command: Sequence[str], size: Size, stopped: asyncio.Event
    ) -> None:
        """Prepare the app of a page.

        Args:
            command: command that starts the app.
            size: initial size of the terminal.
            stopped: event that is set when the server ends.
        """
        self._websocket, self._command, self._size, self._stopped = websocket, command, size, stopped
        self._answer = asyncio.Event()
        self._complaint = b""
        self.files: OrderedDict[str, tuple[str, bytes]] = OrderedDict()
        """Names and contents of files that the browser can download, by the key in their address."""
        self.silent = False
        """Whether the page has stopped answering."""

    async def run(self) -> None:
        process = await self._start_app()
        work = (
            self._forward_messages(process),
            self._forward_output(process),
            self._ping_page(),
            self._stopped.wait(),
        )
        tasks = [asyncio.create_task(part) for part in work]
        complaints = asyncio.create_task(self._collect_errors(process))
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if (by_itself := process.returncode) is None:
                with suppress(ProcessLookupError):
                    process.kill()
            for task in tasks:
                task.cancel()
            outcomes = await asyncio.gather(*tasks, return_exceptions=True)
            await complaints
            await process.communicate()  # empties the pipes, because a full one would prevent the exit
        await self._close_page(by_itself)
        for outcome in outcomes:
            if isinstance(outcome, Exception):
                raise outcome

    async def _start_app(self) -> Process:
        environment = {
            **os.environ,
            "TEXTUAL_DRIVER": "hadamard_tui.serving.driver:ViewerDriver",
            "TEXTUAL_FPS": "60",
            "TEXTUAL_COLOR_SYSTEM": "truecolor",
            "COLUMNS": str(self._size.width),
            "ROWS": str(self._size.height),
        }
        # In a new session, Ctrl-C does not reach the app. It stops the server, which then ends its apps.
        return await asyncio.create_subprocess_exec(
            *self._command, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=environment, start_new_session=True
        )

    async def _forward_messages(self, process: Process) -> None:
        assert process.stdin is not None
        with suppress(ConnectionError):
            async for frame in self._websocket:
                self._answer.set()
                if frame.type is WSMsgType.PING:
                    await self._websocket.pong(frame.data)
                elif frame.type is WSMsgType.TEXT and (message := parse_message(frame.data)) is not None:
                    process.stdin.write(_driver_packet(message))
                    await process.stdin.drain()

    async def _forward_output(self, process: Process) -> None:
        output = process.stdout
        assert output is not None
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            await output.readuntil(b"__GANGLION__\n")  # Textual writes this when an app has started
            while True:
                kind = await output.readexactly(1)
                content = await output.readexactly(int.from_bytes(await output.readexactly(4), "big"))
                if kind == b"D":
                    await self._websocket.send_bytes(content)
                elif kind == b"F":
                    await self._offer_download(content)
        with suppress(TimeoutError):
            async with asyncio.timeout(LEAVING):
                await process.wait()

    async def _offer_download(self, content: bytes) -> None:
        file_name, _, data = content.partition(b"\0")
        key = secrets.token_urlsafe(16)
        self.files[key] = file_name.decode(), data
        if len(self.files) > FILES:
            self.files.popitem(last=False)
        await self._websocket.send_json(["open_url", {"url": f"download/{key}", "new_tab": True}])

    async def _ping_page(self) -> None:
        """Ping the page until it stops answering, because a lost page does not close its connection."""
        unanswered = 0
        with suppress(ConnectionError):
            while unanswered < PATIENCE:
                self._answer.clear()
                try:
                    async with asyncio.timeout(PING):
                        await self._websocket.ping()
                        await self._answer.wait()
                except TimeoutError:
                    unanswered += 1
                else:
                    unanswered = 0
                    await asyncio.sleep(PING)
            self.silent = True

    async def _collect_errors(self, process: Process) -> None:
        assert process.stderr is not None
        while text := await process.stderr.read(4096):
            self._complaint = (self._complaint + text)[-4096:]

    async def _close_page(self, code: int | None) -> None:
        if code:
            lines = self._complaint.decode(errors="replace").strip().splitlines() or [f"exit code {code}"]
            print(f"the app of a viewer has failed: {_printable(lines[-1])}", file=sys.stderr, flush=True)
        if self._stopped.is_set():
            why, reason = WSCloseCode.GOING_AWAY, "The server was stopped."
        elif code:
            why, reason = WSCloseCode.INTERNAL_ERROR, FAILED
        else:
            why, reason = WSCloseCode.OK, "The app has ended."
        if not self.silent:
            await self._websocket.close(code=why, message=reason.encode(), drain=False)


def _driver_packet(message: Message) -> bytes:
    match message:
        case Stdin(text):
            return _with_header(b"D", text.encode())
        case Resize(size):
            return _with_header(
                b"M", json.dumps({"type": "resize", **msgspec.structs.asdict(size.bounded())}).encode()
            )
        case Focus():
            return _with_header(b"M", b'{"type": "focus"}')
        case Blur():
            return _with_header(b"M", b'{"type": "blur"}')


def _with_header(kind: bytes, content: bytes) -> bytes:
    return kind + len(content).to_bytes(4, "big") + content


def _printable(text: str) -> str:
    """Return a short text without control characters, because the text comes from an app."""
    return "".join(letter if letter.isprintable() else " " for letter in text)[:400]
