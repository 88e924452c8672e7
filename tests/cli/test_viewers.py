"""The server of `serve`, with small programs in place of the app."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

import aiohttp
import pytest
from aiohttp import WSMsgType, web
from looping import looped

from hadamard_tui.serving import viewer
from hadamard_tui.serving.driver import Packets
from hadamard_tui.serving.server import LARGEST_MESSAGE, Server
from hadamard_tui.serving.viewer import Focus, Resize, Size, Stdin, parse_message, size_of

BEGIN = """
import os, signal, sys, time

def send(kind, content):
    sys.stdout.buffer.write(kind + len(content).to_bytes(4, "big") + content)
    sys.stdout.buffer.flush()

print("__GANGLION__", flush=True)
send(b"D", str(os.getpid()).encode())
"""
ECHO = """
while kind := sys.stdin.buffer.read(1):
    content = sys.stdin.buffer.read(int.from_bytes(sys.stdin.buffer.read(4), "big"))
    if content == b"end":
        sys.exit(0)
    if content == b"fail":
        sys.exit("first line\\n\\x1b]0;title\\x07the reason")
    if content.startswith(b"file "):
        send(b"F", content[5:] + b"\\0" + b"a,b\\r\\n1,2\\r\\n")
    else:
        send(b"D", kind + content)
"""
DEAF = """
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
while True:
    send(b"D", b"x" * 65536)
"""
"""App that draws endlessly, reads nothing, and ignores requests to end."""


class Site(NamedTuple):
    """Running server with a client."""

    server: Server
    runner: web.AppRunner
    session: aiohttp.ClientSession
    host: str

    @property
    def address(self) -> str:
        """Address that `serve` would print."""
        return f"http://{self.host}/{self.server.token}/"

    @asynccontextmanager
    async def page(self, query: str = "", **options: object) -> AsyncIterator[Page]:
        """Open the app in a page; the page has the process id of the app."""
        headers = {"Origin": f"http://{self.host}"}
        async with self.session.ws_connect(
            f"{self.address}ws{query}", headers=headers, max_msg_size=0, **options
        ) as socket:
            while (message := await socket.receive(timeout=60)).type is not WSMsgType.BINARY:
                assert message.type is WSMsgType.PING
            yield Page(socket, int(message.data))

    async def ask(self, path: str, **headers: str) -> tuple[int, str, dict[str, str]]:
        """Status, text and headers of a GET request whose path is sent unchanged."""
        reader, writer = await asyncio.open_connection(*self.host.split(":"))
        lines = [f"GET {path} HTTP/1.1", f"Host: {headers.pop('Host', self.host)}", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        answer = (await asyncio.wait_for(reader.read(), 60)).decode("latin-1")
        writer.close()
        head, _, body = answer.partition("\r\n\r\n")
        status, *fields = head.split("\r\n")
        return int(status.split()[1]), body, dict(field.split(": ", 1) for field in fields)


class Page(NamedTuple):
    socket: aiohttp.ClientWebSocketResponse
    app: int


@asynccontextmanager
async def site(program: str, viewers: int = 4) -> AsyncIterator[Site]:
    """A server of a program."""
    server = Server([sys.executable, "-I", "-S", "-c", BEGIN + program], viewers)
    runner = server.runner()
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0]
    async with aiohttp.ClientSession() as session:
        try:
            yield Site(server, runner, session, f"{host}:{port}")
        finally:
            await runner.cleanup()


async def until(condition: Callable[[], object]) -> None:
    """Wait for a condition; fail after the ten seconds that the documentation promises."""
    for _ in range(200):
        if condition():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("it never came to that")


def ended(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return False


# Who is answered


async def test_a_wrong_token_gets_one_line_and_403():
    async with site(ECHO) as served:
        token = served.server.token
        wrong = ("A" if token[0] != "A" else "B") + token[1:]
        beside = ("/", f"/{token}", f"/{token[:-1]}/", f"/?token={token}", "/textual.js", "//", "/%e9/")
        for path in (*beside, *(f"/{wrong}/{name}" for name in ("", "ws", "textual.js", "download/x"))):
            status, text, _ = await served.ask(path)
            assert (status, text.count("\n")) == (403, 1), path
            assert "the whole address that hadamard-tui serve printed" in text
            assert token not in text
        assert (await served.ask(f"/{token}/"))[0] == 200


WORDS_OF_COMMAND = """
send(b"D", " ".join(sys.argv[1:]).encode())
"""


@pytest.mark.parametrize(("query", "options"), [("", ""), ("?preset=rotated-128", "--preset=rotated-128")])
async def test_an_address_can_name_a_shipped_preset(query: str, options: str):
    async with site(WORDS_OF_COMMAND) as served, served.page(query) as page:
        assert (await page.socket.receive_bytes()).decode() == options


async def test_an_address_with_an_unknown_preset_gets_404_and_opens_no_app():
    async with site(ECHO) as served:
        for path in ("", "ws"):
            for name in ("rotated-127", "", "..%2Fpresets%2Frotated-128.toml", "%2Fetc%2Fpasswd"):
                address = f"/{served.server.token}/{path}?preset={name}"
                status, text, _ = await served.ask(address, Origin=f"http://{served.host}")
                assert (status, text.count("\n")) == (404, 1)
                assert "preset" in text
        assert "rotated-128" in (await served.ask(f"/{served.server.token}/?preset=rotated-127"))[1]


async def test_invalid_requests_write_nothing_to_the_log(caplog: pytest.LogCaptureFixture):
    async with site(ECHO) as served:
        for path in ("/\xe9/", "x" * 100_000, "/ HTTP/1.1\r\n\x1b]0;title\x07"):
            assert (await served.ask(path))[0] == 400
    assert caplog.text == ""


async def test_only_host_names_of_this_machine_are_answered():
    async with site(ECHO) as served:
        path = f"/{served.server.token}/"
        for host in (
            "evil.example",
            "localhost.evil.example",
            "evil.example:80",
            "192.168.0.7:8000",
            "",
            "[::1",
        ):
            assert (await served.ask(path, Host=host))[0] == 403, host
        for host in ("localhost", "LOCALHOST:9000", "127.0.0.1:8000", "[::1]:8000"):
            assert (await served.ask(path, Host=host))[0] == 200, host


async def test_pages_of_foreign_sites_open_no_app():
    async with site(ECHO) as served:
        for origin in ("https://example.org", "http://localhost:1", "null", "", "http://[::1"):
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await served.session.ws_connect(f"{served.address}ws", headers={"Origin": origin})
            assert refused.value.status == 403, origin


async def test_answers_forbid_caching_framing_and_referrers():
    async with site(ECHO) as served:
        for path in (
            "/",
            f"/{served.server.token}/",
            f"/{served.server.token}/textual.js",
            f"/{served.server.token}/x",
        ):
            _, _, fields = await served.ask(path)
            assert fields["Cache-Control"] == "no-store"
            assert fields["Referrer-Policy"] == "no-referrer"
            assert fields["X-Frame-Options"] == "DENY"
            assert fields["X-Content-Type-Options"] == "nosniff"
            assert "default-src 'none'" in fields["Content-Security-Policy"]
            assert "frame-ancestors 'none'" in fields["Content-Security-Policy"]
            assert "Server" not in fields


async def test_paths_outside_the_page_are_refused():
    async with site(ECHO) as served:
        up = ("../../../../etc/passwd", "..%2f..%2f..%2fetc%2fpasswd", "../server.py", "page.css/../../x")
        for name in (*up, "%2fetc%2fpasswd", "server.py", "static/", "download/..%2f..%2fserver.py"):
            status, text, _ = await served.ask(f"/{served.server.token}/{name}")
            assert status in (403, 404), name
            assert len(text) < 200


# What pages send


@looped(
    "text",
    ["", "{", "7", "[]", "null", '["stdin"]', '["stdin", 7]', '["stdin", null]', '["stdin", "\\ud800"]',
     '["resize", 3]', '["resize", {"width": -1, "height": 24}]', '["resize", {"width": 1e99, "height": 24}]',
     '["resize", {"width": 1.5, "height": 24}]', '["unknown", 1]', '[["stdin"], "x"]', '["ping", "1"]',
     "[" * 100_000, '["focus", ' + "[" * 100_000, '["stdin", ' + "[" * 100_000 + "]" * 100_000 + "]"],
)  # fmt: skip
def test_invalid_messages_are_dropped(text: str):
    assert parse_message(text) is None


def test_messages_are_parsed_and_sizes_are_bounded():
    assert parse_message('["stdin", "ü\\u001b"]') == Stdin("ü\x1b")
    assert parse_message('["focus"]') == Focus()
    message = parse_message('["resize", {"width": 1000000000, "height": 24}]')
    assert isinstance(message, Resize)
    assert message.size.bounded() == Size(1000, 24)
    assert size_of({"width": "132", "height": "50"}) == Size(132, 50)
    assert size_of({"width": "1000000000", "height": "9999999"}) == Size(1000, 400)
    for width in ("NaN", "-1", "0", "", "9" * 5000):
        assert size_of({"width": width}) == Size(80, 24)


async def test_invalid_messages_and_floods_of_sizes_end_no_viewer():
    async with site(ECHO) as served, served.page("?width=NaN") as page:
        for text in ("{", "[]", '["stdin", 7]', "[" * 100_000):
            await page.socket.send_str(text)
        await page.socket.send_bytes(b"\xff\x00")
        for width in range(1, 2000):
            await page.socket.send_json(["resize", {"width": width, "height": 24}])
        await page.socket.send_json(["stdin", "hello"])
        sizes = []
        while (answer := await page.socket.receive_bytes(timeout=60)) != b"Dhello":
            sizes.append(json.loads(answer[1:])["width"])
        assert sizes == [min(width, 1000) for width in range(1, 2000)]


async def test_an_oversized_message_ends_only_its_viewer():
    async with site(ECHO) as served, served.page() as other, served.page() as page:
        await page.socket.send_str("x" * (LARGEST_MESSAGE + 1))
        message = await page.socket.receive(timeout=60)
        assert message.type in (WSMsgType.CLOSE, WSMsgType.CLOSED)
        await until(lambda: ended(page.app))
        await other.socket.send_json(["stdin", "still"])
        assert await other.socket.receive_bytes(timeout=60) == b"Dstill"


# What browsers are given


@pytest.mark.parametrize(
    "file_name", ["curves.csv", "../../etc/cron.d/x", 'a"; filename=evil.exe', "a\r\nSet-Cookie: b", "µ.csv"]
)
async def test_files_are_downloads_with_a_plain_name(file_name: str):
    async with site(ECHO) as served, served.page() as page:
        await page.socket.send_json(["stdin", f"file {file_name}"])
        kind, offer = json.loads(await page.socket.receive_str(timeout=60))
        assert kind == "open_url"
        status, text, fields = await served.ask(f"/{served.server.token}/{offer['url']}")
        assert (status, text) == (200, "a,b\r\n1,2\r\n")
        disposition = fields["Content-Disposition"]
        assert disposition.startswith("attachment; filename*=UTF-8''")
        assert not set('/\\"; ') & set(disposition.removeprefix("attachment; filename*="))
        assert fields["Content-Type"] == "application/octet-stream"
        assert fields["Content-Length"] == str(len(text))
        assert "Set-Cookie" not in fields
        assert (await served.ask(f"/{offer['url']}"))[0] == 403


async def test_files_are_offered_until_newer_files_or_the_end_of_their_viewer():
    async with site(ECHO) as served:
        async with served.page() as page:
            urls = []
            for number in range(viewer.FILES + 1):
                await page.socket.send_json(["stdin", f"file {number}.csv"])
                urls.append(json.loads(await page.socket.receive_str(timeout=60))[1]["url"])
            answers = [(await served.ask(f"/{served.server.token}/{url}"))[0] for url in urls]
            assert answers == [404] + viewer.FILES * [200]
        while (await served.ask(f"/{served.server.token}/{urls[-1]}"))[0] == 200:
            await asyncio.sleep(0.05)


# How many there may be, and what ends


async def test_an_excess_viewer_is_refused_until_a_place_is_free(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("hadamard_tui.serving.server.TURNOVER", 0.2)
    async with site(ECHO, viewers=1) as served:
        late = served.session.ws_connect(f"{served.address}ws", headers={"Origin": served.address})
        async with served.page(), late as socket:
            message = await socket.receive(timeout=60)
            assert (message.type, socket.close_code) == (WSMsgType.CLOSE, 1013)
            assert message.extra.startswith("The server is full (--viewers 1).")
        monkeypatch.setattr("hadamard_tui.serving.server.TURNOVER", 60)
        async with served.page() as page:
            assert not ended(page.app)


@pytest.mark.parametrize("program", [ECHO, DEAF], ids=["echo", "deaf"])
async def test_an_app_ends_when_its_page_closes(program: str):
    async with site(program) as served:
        async with served.page() as page:
            assert not ended(page.app)
        await until(lambda: ended(page.app))


@pytest.mark.parametrize("program", [ECHO, DEAF], ids=["echo", "deaf"])
async def test_an_app_ends_when_its_page_stops_answering_pings(program: str, monkeypatch: pytest.MonkeyPatch):
    assert viewer.PING * (viewer.PATIENCE + 1) < 10  # seconds that are promised
    monkeypatch.setattr(viewer, "PING", 0.1)
    async with site(program) as served, served.page(autoping=False) as page:
        await until(lambda: ended(page.app))


@pytest.mark.slow
async def test_a_page_answering_pings_stays_connected(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(viewer, "PING", 0.2)
    async with site(ECHO) as served, served.page() as page:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(2):
                await page.socket.receive()  # pings are answered meanwhile
        assert not ended(page.app)


async def test_the_page_reports_the_end_of_the_app_and_the_terminal_its_failure(
    capfd: pytest.CaptureFixture[str],
):
    async with site(ECHO) as served:
        for word, reason in (("end", "The app has ended."), ("fail", viewer.FAILED)):
            async with served.page() as page:
                await page.socket.send_json(["stdin", word])
                message = await page.socket.receive(timeout=60)
                assert (message.type, message.extra) == (WSMsgType.CLOSE, reason)
    assert capfd.readouterr().err == "the app of a viewer has failed:  ]0;title the reason\n"


@pytest.mark.parametrize("program", [ECHO, DEAF], ids=["echo", "deaf"])
async def test_a_stopped_server_ends_every_app_with_a_message(program: str):
    async with site(program) as served, served.page() as first, served.page() as two:
        stopping = asyncio.create_task(served.runner.cleanup())
        for page in (first, two):
            while (message := await page.socket.receive(timeout=60)).type is WSMsgType.BINARY:
                assert program is DEAF
            assert message.extra == "The server was stopped."
        await stopping
        assert ended(first.app)
        assert ended(two.app)


@pytest.mark.parametrize("size", [1, 4, 5, 7, 1000])
def test_packets_are_read_independently_of_the_split_of_their_bytes(size: int):
    sent = [("D", b"a"), ("M", b""), ("D", bytes(300)), ("M", b"{}")]
    stream = b"".join(kind.encode() + len(content).to_bytes(4, "big") + content for kind, content in sent)
    packets = Packets()
    pieces = [stream[start : start + size] for start in range(0, len(stream), size)]
    assert [packet for piece in [b"", *pieces] for packet in packets.feed(piece)] == sent


DRIVEN = """
import io, os, sys
from textual.app import App
from hadamard_tui.serving.driver import ViewerDriver

class Small(App):
    async def on_mount(self):
        self.deliver_binary(io.BytesIO(b"\\x00" * 300_000), save_filename="zeros.npy")
        self.notify("here")

Small(driver_class=ViewerDriver).run()
"""


@pytest.fixture
def driven() -> subprocess.Popen[bytes]:
    """Small app with the driver of viewers."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen([sys.executable, "-c", DRIVEN], **pipes)
    assert process.stdout is not None
    assert process.stdout.readline() == b"__GANGLION__\n"
    return process


@pytest.mark.slow
def test_an_app_sends_whole_packets_and_ends_with_its_input(driven: subprocess.Popen[bytes]):
    assert driven.stdout is not None
    assert driven.stdin is not None
    files = []
    while not files:
        kind, size = driven.stdout.read(1), int.from_bytes(driven.stdout.read(4), "big")
        content = driven.stdout.read(size)
        assert kind in b"DMF"
        if kind == b"F":
            files.append(content)
    assert files == [b"zeros.npy\0" + bytes(300_000)]
    driven.stdin.close()
    driven.stdout.read()
    assert driven.wait(60) == 3


def test_an_app_ends_when_the_reader_of_its_output_closes(driven: subprocess.Popen[bytes]):
    assert driven.stdout is not None
    driven.stdout.close()
    assert driven.wait(60) == 3
