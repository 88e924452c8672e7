"""The app in a browser: textual-serve, for this machine alone, with an engine for each viewer."""

from __future__ import annotations

import os
import shlex
import socket
import sys
from urllib.parse import urlsplit

from engine.parts import BadInput

HOST = "localhost"
TOLD = "Every viewer has an engine of their own on this machine; close the page to end it."


def serve(port: int, preset: str) -> None:
    """Serve until Ctrl-C. Raises: BadInput if that cannot be."""
    try:
        from textual_serve.server import Server
    except ImportError as error:
        what = "needs textual-serve, which is not installed: pip install 'hadamard-tui[serve]'"
        raise BadInput("serve", what) from error
    _need_free(port)
    from aiohttp import web

    class LocalServer(Server):  # type: ignore[misc]
        """Serves pages of this machine's own browsers, and no page of another site that reaches for it."""

        async def on_startup(self, app: web.Application) -> None:
            print(f"{self.public_url} opens the app in a browser on this machine. {TOLD}")
            print("Ctrl-C ends the server.", flush=True)

        async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
            origin = request.headers.get("Origin", "")
            if urlsplit(origin).netloc != urlsplit(self.public_url).netloc:
                raise web.HTTPForbidden(text=f"only pages of {self.public_url} may open the app")
            answer: web.WebSocketResponse = await super().handle_websocket(request)
            return answer

    command = [sys.executable, "-m", "hadamard_tui", "--reset", "--preset", preset]
    LocalServer(shlex.join(command), HOST, port, title="hadamard-tui").serve()


def served() -> bool:
    """Whether this process is the app of a viewer in a browser."""
    return "TEXTUAL_DRIVER" in os.environ


def _need_free(port: int) -> None:
    try:
        socket.create_server((HOST, port)).close()
    except OSError as error:
        raise BadInput(f"--port {port}", f"cannot be had: {error.strerror}; take another") from error
