"""`serve` shows the app in a real browser, and nothing to other clients."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import aiohttp
import psutil
import pytest
from chromium import Page, blank_page, until
from PIL import Image

from engine.pictures.view import KindPlace
from hadamard_tui.colours import palette
from hadamard_tui.serving.server import listen

from .conftest import Answer

MOST = 120.0
"""Most seconds for a response of a viewer on a busy machine."""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


class Served:
    """A running server: its process, and the address that it printed."""

    def __init__(self) -> None:
        port = free_port()
        command = [sys.executable, "-m", "hadamard_tui", "serve", "--port", str(port), "--viewers", "1"]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment()
        )
        assert self.process.stdout is not None
        self.printed = "".join(self.process.stdout.readline() for _ in range(3))
        self.address = self.printed.split()[0]
        assert re.fullmatch(rf"http://localhost:{port}/[\w-]{{32}}/", self.address)

    def apps(self) -> list[psutil.Process]:
        """Processes of its viewers."""
        return psutil.Process(self.process.pid).children(recursive=True)


def environment() -> dict[str, str]:
    """Environment of the tests, in which the program can be imported from any folder."""
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """Server started in an empty folder."""
    folder = tmp_path / "served"
    folder.mkdir()
    monkeypatch.chdir(folder)
    server = Served()
    yield server
    if server.process.poll() is None:
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(60) == 0


@pytest.mark.slow
async def test_viewers_download_their_files_and_a_killed_server_ends_their_apps(served: Served):
    async with asyncio.timeout(MOST), aiohttp.ClientSession() as session:
        origin = served.address[: served.address.index("/", 8)]
        async with session.ws_connect(f"{served.address}ws", headers={"Origin": origin}) as page:
            ignored = "\x1b[99999999999u\x1b[200~abc \x1b[31mX \x1b[q\x1b[201~"  # garbled, and q in a paste
            for keys, shown in (("", "Watch learners train"), (f"{ignored}S", "your browser saves the file")):
                await page.send_json(["stdin", keys])
                while shown not in (await page.receive_bytes()).decode(errors="replace"):
                    pass
            await page.send_json(["stdin", "/tmp/x/\r"])  # a name in another folder, which is refused
            await page.send_json(["stdin", "\x15mine.toml\r"])
            while (message := await page.receive()).type is not aiohttp.WSMsgType.TEXT:
                assert message.type is aiohttp.WSMsgType.BINARY
            [kind, offer] = json.loads(message.data)
            assert kind == "open_url"
            async with session.get(served.address + offer["url"]) as download:
                assert "mine.toml" in download.headers["Content-Disposition"]
                assert "[problem.matrix]" in await download.text()
            assert os.listdir() == []
            [app] = served.apps()
            served.process.kill()
            await until(lambda: not app.is_running() or app.status() == psutil.STATUS_ZOMBIE, 10)
            served.process.wait(60)


@pytest.mark.slow
async def test_a_browser_shows_the_focused_app_and_the_reason_of_its_end(served: Served, tmp_path: Path):
    async with blank_page(tmp_path) as page:
        await page.ask("Page.navigate", url=f"{served.address}?fontsize=10&preset=hadamard-128")
        await page.until_true("document.body.classList.contains('-first-byte')")
        await shows(
            page,
            palette.DARK.ground,
            [palette.DARK.of(KindPlace(kind)) for kind in ("exact", "sparse")],
        )
        await page.press("t")
        await shows(
            page,
            palette.LIGHT.ground,
            [palette.LIGHT.of(KindPlace(kind)) for kind in ("exact", "sparse")],
        )
        await page.ask("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
        await page.press("P")
        await until(lambda: list(tmp_path.glob("*.svg")))
        served.process.send_signal(signal.SIGINT)
        await page.until_true(says("The server was stopped."))
        assert served.process.wait(60) == 0


def says(words: str) -> str:
    """Script that checks whether the page shows a text beside the terminal."""
    return f"document.body.innerText.includes({json.dumps(words)})"


async def shows(page: Page, ground: str, learners: Sequence[str]) -> None:
    """Wait until one colour fills most of the page and the colours of the learners are on it."""
    for _ in range(60):
        picture = Image.open(io.BytesIO(await page.picture())).convert("RGB")
        counts = {f"#{r:02x}{g:02x}{b:02x}": count for count, (r, g, b) in picture.getcolors(1 << 24)}
        if max(counts, key=counts.__getitem__) == ground and counts.keys() >= {*learners}:
            return
        await asyncio.sleep(1)
    raise AssertionError(f"the page never showed the app on {ground}")


@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_a_port_in_use_on_either_loopback_address_is_refused(
    family: int, host: str, call: Callable[..., Answer]
):
    try:
        listener = socket.create_server((host, 0), family=family)
    except OSError:
        pytest.skip(f"this machine has no {host}")
    with listener:
        port = str(listener.getsockname()[1])
        code, _, error = call("serve", "--port", port)
    assert code == 2
    assert f"--port {port}: cannot be used: Address already in use" in error
    assert error.count("\n") == 1


def test_the_server_listens_only_on_loopback_addresses():
    port = free_port()
    with contextlib.ExitStack() as sockets:
        names = [sockets.enter_context(listener).getsockname()[0] for listener in listen(port)]
    assert names == ["127.0.0.1", "::1"][: len(names)]
    assert names
