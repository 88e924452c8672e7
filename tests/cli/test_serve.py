"""`serve`: the app in a real browser, and nothing for anybody else."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from PIL import Image

from hadamard_tui import palette

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def free_port() -> int:
    with socket.create_server(("localhost", 0)) as server:
        return int(server.getsockname()[1])


def await_listener(port: int) -> None:
    """Wait until somebody listens: the address is told a moment before."""
    for _ in range(200):
        try:
            socket.create_connection(("localhost", port)).close()
        except OSError:
            time.sleep(0.1)
        else:
            return


@pytest.fixture
def server() -> Iterator[str]:
    """The address of a running server."""
    port = free_port()
    command = [sys.executable, "-m", "hadamard_tui", "serve", "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    told = process.stdout.readline()
    assert f"http://localhost:{port} " in told
    assert "engine of their own" in told
    await_listener(port)
    yield f"http://localhost:{port}"
    process.send_signal(signal.SIGINT)
    process.wait(20)


class Page:
    """A page of a headless browser, through the DevTools protocol."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket, self._number = socket, 0

    async def ask(self, method: str, **parameters: object) -> dict[str, Any]:
        """Call a method and wait for its answer."""
        self._number += 1
        await self._socket.send_json({"id": self._number, "method": method, "params": parameters})
        while True:
            answer = json.loads((await self._socket.receive()).data)
            if answer.get("id") == self._number:
                return dict(answer["result"])

    async def picture(self) -> bytes:
        return base64.b64decode((await self.ask("Page.captureScreenshot"))["data"])

    async def type(self, key: str) -> None:
        """Click on the terminal, so that it has the focus, and press a key."""
        for kind in ("mousePressed", "mouseReleased"):
            await self.ask("Input.dispatchMouseEvent", type=kind, x=600, y=10, button="left", clickCount=1)
        for kind in ("keyDown", "keyUp"):
            await self.ask("Input.dispatchKeyEvent", type=kind, text=key, key=key)


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")
async def test_a_browser_shows_the_app_and_its_keys_are_heard(server: str, tmp_path: Path) -> None:
    debugging = free_port()
    options = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path}",
        f"--remote-debugging-port={debugging}",
        "--window-size=1200,800",
    ]
    browser = subprocess.Popen(
        [str(CHROMIUM), *options, server], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        async with aiohttp.ClientSession() as session:
            address = await page_address(session, debugging, server)
            async with session.ws_connect(address, max_msg_size=0) as socket:
                page = Page(socket)
                await shows(page, palette.DARK.ground, palette.DARK.learners[1:5])
                await page.type("t")
                await shows(page, palette.LIGHT.ground, palette.LIGHT.learners[1:5])
    finally:
        browser.terminate()
        browser.wait(20)


async def page_address(session: aiohttp.ClientSession, debugging: int, server: str) -> str:
    """Where the page can be talked to, once the browser has it."""
    for _ in range(300):
        await asyncio.sleep(0.1)
        try:
            async with session.get(f"http://localhost:{debugging}/json") as answer:
                pages = await answer.json()
        except aiohttp.ClientError:
            continue
        for page in pages:
            if page["url"].startswith(server):
                return str(page["webSocketDebuggerUrl"])
    raise AssertionError("the browser never opened the page")


async def shows(page: Page, ground: str, learners: Sequence[str]) -> None:
    """Wait until the page is mostly of one colour and has the colours of the learners, too."""
    for _ in range(100):
        await asyncio.sleep(0.2)
        picture = Image.open(io.BytesIO(await page.picture())).convert("RGB")
        counts = {f"#{r:02x}{g:02x}{b:02x}": count for count, (r, g, b) in picture.getcolors(1 << 24)}
        if max(counts, key=counts.__getitem__) == ground and counts.keys() >= {*learners}:
            return
    raise AssertionError(f"the page never showed the app on {ground}")


async def test_a_page_of_another_site_is_refused(server: str) -> None:
    async with aiohttp.ClientSession() as session:
        for origin in ("https://example.org", "http://localhost:1", ""):
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await session.ws_connect(f"{server}/ws", headers={"Origin": origin})
            assert refused.value.status == 403


def test_only_this_machine_is_served(server: str) -> None:
    port = int(server.rpartition(":")[2])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing; finds the address that others know
        except OSError:
            pytest.skip("this machine has no address but its own")
        address = probe.getsockname()[0]
    if address.startswith("127."):
        pytest.skip("this machine has no address but its own")
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((address, port), timeout=2)


def test_a_port_that_is_taken_is_told_in_one_line() -> None:
    with socket.create_server(("localhost", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = subprocess.run(
            [sys.executable, "-m", "hadamard_tui", "serve", "--port", port], capture_output=True, text=True
        )
    assert done.returncode == 2
    assert f"--port {port}: cannot be had" in done.stderr
    assert done.stderr.count("\n") == 1


def test_without_textual_serve_one_line_says_what_to_install() -> None:
    hidden = "import sys; sys.modules['textual_serve'] = None\n"
    program = f"{hidden}from hadamard_tui.cli import main; sys.exit(main(['serve']))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 2
    assert "hadamard-tui[serve]" in done.stderr
    assert done.stderr.count("\n") == 1
