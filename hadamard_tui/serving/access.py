"""Who is answered: whoever knows the secret address, by a name of this machine, from our own page.

The secret is the first part of every path. A cookie would be sent to every program that serves localhost on
any other port; a path goes nowhere by itself, and two servers side by side never mix their secrets. No
response allows a Referer, and no request is logged.
"""

from __future__ import annotations

import secrets
from urllib.parse import SplitResult, urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

LOOPBACK = {"localhost", "127.0.0.1", "::1"}
"""What a browser may call this machine. The port is free: ssh -L may forward another one."""

HEADERS = {
    "Cache-Control": "no-store",
    # The terminal sets its colours and sizes in style elements of its own.
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
    """Answers 403 with one line to whoever lacks the token, and to names that are not this machine's."""

    @web.middleware
    async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
        if _parsed(f"//{request.host}").hostname not in LOOPBACK:
            raise web.HTTPForbidden(text="403: this server answers to the name localhost alone\n")
        request_token = request.match_info.get("token", "")
        if not secrets.compare_digest(request_token.encode(errors="replace"), token.encode()):
            raise web.HTTPForbidden(
                text="403: open the whole address that hadamard-tui serve printed when it was started\n"
            )
        return await handler(request)

    return guarded


def need_own_page(request: web.Request) -> None:
    """Refuse websockets of pages that came from elsewhere. Raises: web.HTTPForbidden."""
    if _parsed(request.headers.get("Origin", "")).netloc != request.host:
        raise web.HTTPForbidden(text="403: only the pages of this server may open the app\n")


async def harden(request: web.Request, response: web.StreamResponse) -> None:
    """Let nothing be cached, framed, sniffed or referred to, and no script run but ours."""
    response.headers.update(HEADERS)
    response.headers.pop("Server", None)


def _parsed(address: str) -> SplitResult:
    try:
        return urlsplit(address)
    except ValueError:  # brackets that are not closed
        return urlsplit("")
