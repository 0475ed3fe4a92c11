"""Who may talk to the server, and how much they may say.

Every request passes `Guard`: its Host and Origin, its token or cookie, the size of its body and the time it
takes. Every response leaves with headers that keep it out of caches and frames and forbid foreign code.
"""

from __future__ import annotations

import asyncio
import ipaddress
import sys
from secrets import compare_digest
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import cookie_parser
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shoal.web.refusals import Refusal, error_json, internal_json
from shoal.web.settings import Settings

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    # Not `no-referrer`: with it, browsers send forms with the origin `null`.
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_SAFE = {"GET", "HEAD", "OPTIONS"}
UPLOAD = "/upload"  # how the addresses of uploads end
_SLOWEST = 1024  # bytes a second, once the patience is used up


class Guard:
    """The middleware that every request passes."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        answer = _Answer(send)
        try:
            early = self._answer(scope)
            if early is not None:
                await early(scope, receive, answer.send)
                return
            limited = answer.limited = _Limited(receive, self._limit(scope), self._settings.patience)
            await self._app(scope, limited.receive, answer.send)
        except Refusal as refusal:
            await answer.refuse(scope, receive, refusal.status, refusal.to_dict())
        except HTTPException as error:
            body = error_json("web.refused", str(error.detail))
            await answer.refuse(scope, receive, error.status_code, body)
        except Exception as error:  # its message may quote a cell, so it is neither shown nor logged
            body = internal_json(error)
            print(f"shoal web: {body['error']['message']}", file=sys.stderr)
            await answer.refuse(scope, receive, 500, body)

    def _answer(self, scope: Scope) -> Response | None:
        """Return the response to a request that goes no further; None for one that may pass."""
        headers = Headers(scope=scope)
        self._check_host(headers)
        self._check_origin(headers)
        query = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
        if "token" in query and scope["method"] == "GET":
            return self._sign_in(scope, query)
        by_cookie = self._has_cookie(headers)
        if not by_cookie and not self._has_bearer(headers):
            raise Refusal(
                401,
                "web.token",
                "This page needs the token of the server.",
                "open the address that `shoal web` printed; programs send `Authorization: Bearer TOKEN`",
            )
        if by_cookie and scope["method"] not in _SAFE and not _is_own(headers):
            message = "The request does not say that it comes from this page."
            raise Refusal(403, "web.origin", message, "send the header Origin, or use the bearer token")
        self._check_size(scope, headers)
        return None

    def _check_host(self, headers: Headers) -> None:
        hosts = headers.getlist("host")
        if len(hosts) == 1 and self._is_known(hosts[0]):
            return
        message = "The request was sent to a name that is not this server's."
        raise Refusal(400, "web.host", message, "open the address that `shoal web` printed")

    def _is_known(self, host: str) -> bool:
        settings = self._settings
        name, port = _split(host)
        if port not in (None, settings.port) and not settings.any_address:
            return False
        return name in settings.hosts or (settings.any_address and _is_address(name))

    def _check_origin(self, headers: Headers) -> None:
        origin = headers.get("origin")
        if origin is None:
            if headers.get("sec-fetch-site") in ("cross-site", "same-site") and not _is_visit(headers):
                raise _foreign()
            return
        if origin not in {f"{scheme}://{headers['host']}" for scheme in ("http", "https")}:
            raise _foreign()

    def _sign_in(self, scope: Scope, query: dict[str, str]) -> Response:
        """Exchange the token in the address for a cookie, and leave the address clean."""
        if not _same(query.pop("token"), self._settings.token):
            raise Refusal(
                403,
                "web.token",
                "The token in the address is wrong.",
                "copy the address that `shoal web` printed",
            )
        clean = quote(scope["path"]).replace("//", "/") + (f"?{urlencode(query)}" if query else "")
        response = RedirectResponse(clean, status_code=303)
        response.set_cookie(
            self._settings.cookie, self._settings.session, httponly=True, samesite="strict", path="/"
        )
        return response

    def _has_cookie(self, headers: Headers) -> bool:
        cookies = [cookie_parser(text).get(self._settings.cookie, "") for text in headers.getlist("cookie")]
        return any(_same(cookie, self._settings.session) for cookie in cookies)

    def _has_bearer(self, headers: Headers) -> bool:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and _same(token.strip(), self._settings.token)

    def _limit(self, scope: Scope) -> int:
        """Return how large the body may be."""
        is_upload = scope["path"].endswith(UPLOAD)
        return self._settings.max_upload if is_upload else self._settings.max_body

    def _check_size(self, scope: Scope, headers: Headers) -> None:
        """Refuse a body that says it is too large before any of it is read."""
        if headers.get("content-encoding", "identity") != "identity":
            message = "Compressed requests are not accepted."
            raise Refusal(415, "web.compressed", message, "send the file as it is")
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit() or int(length) > self._limit(scope):
            raise too_large(self._limit(scope))


class _Answer:
    """Sends a response with our headers, and knows whether it has begun."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._has_begun = False
        self.limited: _Limited | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._has_begun = True
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            if self.limited is not None and self.limited.is_cut_off:
                headers["Connection"] = "close"  # or the server would go on to read, and throw away
        await self._send(message)

    async def refuse(self, scope: Scope, receive: Receive, status: int, body: dict[str, Any]) -> None:
        """Send an error, unless a response has begun: then the connection just ends."""
        if self._has_begun:
            return
        error = body["error"]
        # What is left of the request is not read.
        headers = {"Connection": "close"}
        response: Response
        if scope["path"].startswith("/api"):
            response = JSONResponse(body, status, headers)
        else:
            text = f"{error['message']}\n\n{error['hint'][:1].upper()}{error['hint'][1:]}\n"
            response = PlainTextResponse(text, status, headers)
        await response(scope, receive, self.send)


class _Limited:
    """Receives the body of a request, up to a size and at a minimum speed."""

    def __init__(self, receive: Receive, limit: int, patience: float) -> None:
        self._receive, self._limit, self._patience = receive, limit, patience
        self._size, self._waited, self._is_complete = 0, 0.0, False
        self.is_cut_off = False

    async def receive(self) -> Message:
        if self._is_complete:  # what follows is only the end of the connection, which may take hours
            return await self._receive()
        clock = asyncio.get_running_loop().time
        begin = clock()
        try:
            async with asyncio.timeout(self._patience):
                message = await self._receive()
        except TimeoutError:
            self.is_cut_off = True
            raise _slow() from None
        self._waited += clock() - begin
        self._size += len(message.get("body", b""))
        self._is_complete = not message.get("more_body", False)
        is_slow = not self._is_complete and self._size < _SLOWEST * (self._waited - self._patience)
        self.is_cut_off = is_slow or self._size > self._limit
        if self.is_cut_off:
            raise _slow() if is_slow else too_large(self._limit)
        return message


class _Http(Refusal, HTTPException):
    """A refusal that FastAPI passes on when it is raised while a body is read."""

    def __init__(self, status: int, code: str, message: str, hint: str) -> None:
        Refusal.__init__(self, status, code, message, hint)
        self.status_code, self.detail, self.headers = status, message, None


def too_large(limit: int) -> Refusal:
    """Build the refusal of a body that is too large."""
    size = f"{limit / (1 << 30):.3g} GB" if limit >= 1 << 30 else f"{limit / (1 << 20):.3g} MB"
    hint = "copy the file into the folder that is served, and open it there"
    return _Http(413, "web.too_large", f"The request is larger than {size}.", hint)


def _slow() -> Refusal:
    return _Http(408, "web.slow", "The request arrives too slowly.", "try again with a better connection")


def _foreign() -> Refusal:
    message = "The request comes from another page."
    return Refusal(403, "web.origin", message, "open the address that `shoal web` printed")


def _is_own(headers: Headers) -> bool:
    """Return whether a browser says that the request comes from this page; Origin has been checked."""
    return "origin" in headers or headers.get("sec-fetch-site") == "same-origin"


def _is_visit(headers: Headers) -> bool:
    """Return whether somebody followed a link: it shows a page, and the strict cookie is not sent."""
    return headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"


def _same(given: str, secret: str) -> bool:
    return compare_digest(given.encode("utf-8", "replace"), secret.encode())


def _split(host: str) -> tuple[str, int | None]:
    """Split the Host header into the name and the port."""
    try:
        parts = urlsplit(f"//{host}")
        has_more = parts.path or parts.query or parts.fragment or parts.username is not None
        return ("" if has_more else parts.hostname or ""), parts.port
    except ValueError:
        return "", None


def _is_address(name: str) -> bool:
    """Return whether a name is an IP address: no foreign name can be made to point to the server then."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
