"""Web server that shows the app in browsers on this machine, to a limited number of viewers.

Every address contains a secret in its path. A cookie would be no secret: browsers send it to every port of
localhost, where other programs may listen. They send a path only to the port in its address. No response
allows a Referer, and no request is logged.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import secrets
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import SplitResult, quote, urlsplit

import textual_serve
from aiohttp import WSCloseCode, web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.typedefs import Handler, Middleware

from engine.core.parts import BadInput
from engine.spec import presets
from hadamard_tui.serving import NOTICE
from hadamard_tui.serving.viewer import LEAVING, Viewer, size_of

LOOPBACK = {"localhost", "127.0.0.1", "::1"}
"""Accepted host names of this machine. Any port is accepted, because ssh -L may forward another port."""

HEADERS = {
    "Cache-Control": "no-store",
    # 'unsafe-inline' is necessary, because the script of the terminal adds style elements.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def guard(token: str) -> Middleware:
    """Return a middleware that answers 403 if a request lacks the secret or names a foreign host."""

    @web.middleware
    async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
        if _parsed_address(f"//{request.host}").hostname not in LOOPBACK:
            raise web.HTTPForbidden(text="403: this server accepts only the host name localhost\n")
        request_token = request.match_info.get("token", "")
        if not secrets.compare_digest(request_token.encode(errors="replace"), token.encode()):
            raise web.HTTPForbidden(
                text="403: open the whole address that hadamard-tui serve printed when it was started\n"
            )
        return await handler(request)

    return guarded


def need_own_page(request: web.Request) -> None:
    """Raise web.HTTPForbidden unless a request comes from a page of this server.

    Without this check, a page of another server could open the app through a websocket.
    """
    if _parsed_address(request.headers.get("Origin", "")).netloc != request.host:
        raise web.HTTPForbidden(text="403: only the pages of this server may open the app\n")


async def harden(request: web.Request, response: web.StreamResponse) -> None:
    """Forbid caching, framing, content sniffing, Referer headers and foreign scripts."""
    response.headers.update(HEADERS)
    response.headers.pop("Server", None)


def _parsed_address(address: str) -> SplitResult:
    try:
        return urlsplit(address)
    except ValueError:  # unclosed brackets
        return urlsplit("")


LARGEST_MESSAGE = 1 << 20
"""Maximum bytes of a message, and so of pasted text. A longer message ends the viewer's session."""

TURNOVER = 2 * LEAVING
"""Seconds for which a new page waits if the server is full.

When a page is reloaded, its previous app needs this time to end.
"""

PAGE = Path(__file__).parent / "page"
TERMINAL = Path(textual_serve.__file__).parent / "static"
FILES = {
    "index.html": PAGE / "index.html",
    "page.css": PAGE / "page.css",
    "page.js": PAGE / "page.js",
    "xterm.css": TERMINAL / "css" / "xterm.css",
    "textual.js": TERMINAL / "js" / "textual.js",
    "RobotoMono.ttf": TERMINAL / "fonts" / "RobotoMono-VariableFont_wght.ttf",
}
"""Paths of all files that the server offers, by name. A path in a request is never opened directly."""


class Server:
    """Web server that offers the page, downloads, and a websocket for each viewer."""

    def __init__(self, command: Sequence[str], most_viewers: int) -> None:
        self.token = secrets.token_urlsafe(24)
        self._command, self._most_viewers = command, most_viewers
        self._places = asyncio.Semaphore(most_viewers)
        self._viewers: set[Viewer] = set()
        self._stopped = asyncio.Event()

    def application(self) -> web.Application:
        app = web.Application(middlewares=[guard(self.token)])
        app.add_routes(
            [
                web.get("/{token}/", self._serve_file),
                web.get("/{token}/ws", self._serve_websocket),
                web.get("/{token}/download/{key}", self._serve_download),
                web.get("/{token}/{name}", self._serve_file),
            ]
        )
        app.on_response_prepare.append(harden)
        app.on_shutdown.append(self._stop_viewers)
        return app

    def runner(self) -> web.AppRunner:
        """Return a runner that does not log requests, because the log would reveal the secret."""
        log = logging.getLogger(__name__)
        log.addFilter(_is_fault_of_server)
        return web.AppRunner(self.application(), access_log=None, logger=log, shutdown_timeout=5.0)

    async def _serve_file(self, request: web.Request) -> web.StreamResponse:
        chosen_preset(request)
        file = FILES.get(request.match_info.get("name", "index.html"))
        if file is None:
            raise web.HTTPNotFound
        return web.FileResponse(file)

    async def _serve_download(self, request: web.Request) -> web.StreamResponse:
        for viewer in self._viewers:
            if (file := viewer.files.get(request.match_info["key"])) is not None:
                file_name, content = file
                disposition = f"attachment; filename*=UTF-8''{quote(Path(file_name).name, safe='')}"
                headers = {"Content-Disposition": disposition, "Content-Type": "application/octet-stream"}
                return web.Response(body=content, headers=headers)
        raise web.HTTPNotFound(text="404: this file is no longer offered; export it again\n")

    async def _serve_websocket(self, request: web.Request) -> web.StreamResponse:
        need_own_page(request)
        preset = chosen_preset(request)
        command = self._command if preset is None else [*self._command, f"--preset={preset}"]
        websocket = web.WebSocketResponse(autoping=False, max_msg_size=LARGEST_MESSAGE, timeout=1.0)
        await websocket.prepare(request)
        try:
            async with asyncio.timeout(TURNOVER):
                await self._places.acquire()
        except TimeoutError:
            remedy = "Close another page, then open this one again."
            reason = f"The server is full (--viewers {self._most_viewers}). {remedy}"
            await websocket.close(code=WSCloseCode.TRY_AGAIN_LATER, message=reason.encode())
            return websocket
        viewer = Viewer(websocket, command, size_of(request.query), self._stopped)
        self._viewers.add(viewer)
        try:
            await viewer.run()
        finally:
            self._viewers.discard(viewer)
            self._places.release()
            if viewer.silent and request.transport is not None:
                request.transport.abort()  # the page no longer reads
        return websocket

    async def _stop_viewers(self, app: web.Application) -> None:
        self._stopped.set()


def chosen_preset(request: web.Request) -> str | None:
    preset_name = request.query.get("preset")
    if preset_name is not None and preset_name not in presets.names():
        raise web.HTTPNotFound(text=f"404: {presets.unknown(preset_name, 'preset', presets.names())}\n")
    return preset_name


def serve(port: int, preset: str | None, viewers: int) -> None:
    """Serve the app on the loopback addresses until Ctrl-C, SIGTERM or SIGHUP.

    Args:
        preset: preset that the app opens; None for the welcome page.
        viewers: maximum number of simultaneous viewers.

    Raises: BadInput if the port is unavailable.
    """
    sockets = listen(port)
    # -P prevents Python from importing modules of the working folder.
    command = [sys.executable, "-P", "-m", "hadamard_tui", "--reset", "--no-parts"]
    if preset is not None:
        command.append(f"--preset={preset}")
    asyncio.run(_run_server(sockets, command, viewers))


async def _run_server(sockets: Sequence[socket.socket], command: Sequence[str], viewers: int) -> None:
    server = Server(command, viewers)
    runner = server.runner()
    await runner.setup()
    for bound_socket in sockets:
        await web.SockSite(runner, bound_socket).start()
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    port = sockets[0].getsockname()[1]
    print(f"http://localhost:{port}/{server.token}/ opens the app in a browser on this machine.")
    print(f"Anyone who knows this address can use the app, {viewers} at once. {NOTICE}")
    print("Ctrl-C ends the server.", flush=True)
    await stopped.wait()
    await runner.cleanup()


def _is_fault_of_server(record: logging.LogRecord) -> bool:
    """Return whether a log record is about a fault of the server.

    Malformed requests are no faults, because any local program can send them.
    """
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


def listen(port: int) -> list[socket.socket]:
    """Return sockets that listen on both loopback addresses, IPv4 and IPv6.

    If another program listened on one of these addresses, a browser might send the secret to that program. On
    a machine without IPv6, only the IPv4 address is used.

    Raises: BadInput if the port cannot be used.
    """
    sockets = []
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        try:
            sockets.append(socket.create_server((host, port), family=family))
        except OSError as error:
            if sockets and error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                continue  # a machine without IPv6
            with suppress(IndexError):
                sockets.pop().close()
            raise BadInput(f"--port {port}", f"cannot be used: {error.strerror}; give another") from error
    return sockets
