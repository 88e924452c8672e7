"""A page of a headless Chromium, through the DevTools protocol."""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Page:
    """A page of a browser.

    Attributes:
        events: messages that the page sent without a request, such as errors on its console.
    """

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket, self._number = socket, 0
        self.events: list[dict[str, Any]] = []

    async def ask(self, method: str, **parameters: object) -> dict[str, Any]:
        """Call a method and wait for its answer."""
        self._number += 1
        await self._socket.send_json({"id": self._number, "method": method, "params": parameters})
        while True:
            answer = json.loads((await self._socket.receive(timeout=60)).data)
            if answer.get("id") == self._number:
                return dict(answer["result"])
            self.events.append(answer)

    async def picture(self) -> bytes:
        return base64.b64decode((await self.ask("Page.captureScreenshot"))["data"])

    async def press(self, key: str, **more: object) -> None:
        """Press a key, wherever the focus is."""
        for kind in ("keyDown", "keyUp"):
            await self.ask("Input.dispatchKeyEvent", type=kind, text=key, key=key, **more)

    async def evaluate(self, script: str) -> Any:
        """Value of an expression in the page; None while the page has no document."""
        answer = await self.ask("Runtime.evaluate", expression=script, returnByValue=True)
        return answer["result"].get("value")

    async def until_true(self, script: str) -> None:
        """Wait until a script is true in the page."""
        for _ in range(200):
            if await self.evaluate(script):
                return
            await asyncio.sleep(0.3)
        raise AssertionError(f"it never came to {script}")


@asynccontextmanager
async def blank_page(folder: Path) -> AsyncIterator[Page]:
    """A blank page of a browser that keeps its files in a folder."""
    assert CHROMIUM is not None, "this test needs chromium: apt-get install chromium"
    options = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        f"--user-data-dir={folder / 'browser'}",
        "--remote-debugging-port=0",
        "--window-size=800,600",
    ]
    browser = subprocess.Popen(
        [CHROMIUM, *options, "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        port = folder / "browser" / "DevToolsActivePort"
        await until(lambda: port.exists() and port.read_text().count("\n"))
        tools = f"http://localhost:{port.read_text().split()[0]}/json"
        async with aiohttp.ClientSession() as session:
            first = await _page_of(session, tools, "about:blank")
            async with session.ws_connect(first, max_msg_size=0) as socket:
                yield Page(socket)
    finally:
        browser.terminate()
        browser.wait(20)


async def until(condition: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait for a condition; fails if that takes too long."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came to that"
        await asyncio.sleep(0.05)


async def _page_of(session: aiohttp.ClientSession, tools: str, address: str) -> str:
    """DevTools address of the page with this URL, once the browser has it."""
    for _ in range(600):
        with_pages = await session.get(tools)
        for page in await with_pages.json():
            if page["url"] == address:
                return str(page["webSocketDebuggerUrl"])
        await asyncio.sleep(0.1)
    raise AssertionError("the browser never opened the page")
