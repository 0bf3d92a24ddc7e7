# SPDX-License-Identifier: LGPL-2.1-or-later
"""The studio's server: the page's files, a websocket, and who may have them. docs/security.md has the threat model."""
from __future__ import annotations

import asyncio
import contextlib
import errno
import hmac
import json
import pathlib
import secrets
import signal
import socket as socket_names
import webbrowser
from typing import Any, AsyncIterator, Awaitable, Callable

from .._missing import need
from ..field.images import Unreadable
from .client import Client, Host
from .fleet import Fleet, is_fleet
from .sources import Sources
from .studio import Studio

need("aiohttp", "aiohttp", "pip install './python[studio]'")
from aiohttp import WSMsgType, web  # noqa: E402

PAGE = pathlib.Path(__file__).parent / "page"
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
LOOPBACK = {"127.0.0.1", "localhost", "::1", "[::1]"}  # [::1] in addresses
ANY = {"0.0.0.0", "::"}
MOST_PAGES = 16
LARGEST_MESSAGE = 65536  # bytes, from a page

#: `TICKETS` are tokens for one use: other people of this machine see the command line of a browser that is started.
TOKEN, TICKETS, NAMES = web.AppKey("token", str), web.AppKey("tickets", set), web.AppKey("names", set)
HOST = web.AppKey("host", Host)

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src "
                               "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
}


def _cookie_of(request: web.Request) -> str:
    """Cookies are for all ports of a host, so each server has its own."""
    return f"xcorr-studio-{request.url.port}"


def _refusal(request: web.Request) -> str:
    """Why a request gets nothing, or an empty text."""
    names = request.app[NAMES]
    host = request.host.rpartition(":")[0] if request.host.rpartition(":")[2].isdigit() else request.host
    if names and host not in names:  # another name for this address: DNS rebinding
        return "This server is not called that."
    given = request.query.get("token") or request.cookies.get(_cookie_of(request), "")
    tickets = request.app[TICKETS]
    if request.path == "/" and given in tickets:
        tickets.remove(given)
    elif not hmac.compare_digest(given.encode(), request.app[TOKEN].encode()):
        return "Open the address that xcorr studio printed: it has a token, and this one has not the right one."
    origin = request.headers.get("Origin")
    if origin is not None and origin != f"{request.scheme}://{request.host}":
        return "This page belongs to somebody else."
    return ""


@web.middleware
async def guard(request: web.Request,
                handler: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> web.StreamResponse:
    if text := _refusal(request):
        return web.Response(status=403, text=text)
    return await handler(request)


async def _with_headers(_: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(_HEADERS)


async def page(request: web.Request) -> web.StreamResponse:
    if "token" in request.query:  # a cookie has it from now on, and no address that the browser keeps
        moved = web.HTTPFound("/")
        moved.set_cookie(_cookie_of(request), request.app[TOKEN], httponly=True, samesite="Strict")
        raise moved
    return _file(request.app[HOST].index)


async def file(request: web.Request) -> web.StreamResponse:
    return _file(request.match_info["name"])


def _file(name: str) -> web.StreamResponse:
    found = {each.name: each for each in PAGE.iterdir() if each.suffix in KINDS}.get(name)
    if not found:
        raise web.HTTPNotFound
    return web.Response(text=found.read_text(encoding="utf-8"), content_type=KINDS[found.suffix], charset="utf-8")


async def image(request: web.Request) -> web.StreamResponse:
    try:
        body, kind = await request.app[HOST].image(request.match_info["kind"], int(request.match_info["number"]))
        return web.Response(body=body, content_type=kind)
    except (ValueError, KeyError, RuntimeError, OSError):
        raise web.HTTPNotFound from None


async def socket(request: web.Request) -> web.StreamResponse:
    studio = request.app[HOST]
    if len(studio.clients) >= MOST_PAGES:
        raise web.HTTPServiceUnavailable(text=f"{MOST_PAGES} pages are open; close one first")
    made = web.WebSocketResponse(heartbeat=20, max_msg_size=LARGEST_MESSAGE, compress=False)
    await made.prepare(request)
    here, there = (request.get_extra_info(name)[0] for name in ("sockname", "peername"))
    client = Client(studio, made, here, there)
    studio.clients.add(client)
    writer = asyncio.create_task(client.write())
    works: set[asyncio.Task[None]] = set()
    client.send(json.dumps(studio.state()))
    studio.want()
    try:
        async for message in made:
            if message.type == WSMsgType.TEXT:
                _take(studio, client, message.data, works)
    finally:
        writer.cancel()
        studio.leave(client)
    return made


def _take(studio: Host, client: Client, text: str, works: set[asyncio.Task[None]]) -> None:
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        message = None
    if not isinstance(message, dict):
        client.send(json.dumps({"type": "error", "text": "that is no JSON object"}))
    elif message.get("do") == "shown":  # at once, whatever else is being done
        client.shown(message.get("number"), message.get("video") is True)
    else:
        work = asyncio.create_task(_do(studio, client, message))
        works.add(work)
        work.add_done_callback(works.discard)


async def _do(studio: Host, client: Client, message: dict[str, Any]) -> None:
    try:
        await studio.do(client, message)
    except (ValueError, RuntimeError, OSError, Unreadable) as error:
        client.send(json.dumps({"type": "error", "text": str(error), "do": str(message.get("do"))}))


def application(studio: Host, token: str, host: str = "127.0.0.1") -> web.Application:
    made = web.Application(middlewares=[guard], client_max_size=LARGEST_MESSAGE)
    made[TOKEN], made[TICKETS], made[NAMES] = token, set(), LOOPBACK if host in LOOPBACK else set()
    made[HOST] = studio
    made.on_response_prepare.append(_with_headers)
    made.add_routes([web.get("/", page), web.get("/socket", socket), web.get("/{kind}/{number}", image),
                     web.get("/{name}", file)])

    async def end(_: web.Application) -> None:
        for client in list(studio.clients):
            await client.end()
        await studio.close()
    made.on_shutdown.append(end)
    return made


def _host_of(options: Any) -> Host:
    fleets = [each for each in options.inputs if is_fleet(each)]
    if not fleets:
        return Studio(Sources(options.inputs), pathlib.Path(options.templates), options.device, options.video)
    if len(options.inputs) > 1 or options.template:
        raise Unreadable(f"{fleets[0]}: a fleet has a page of its own; give nothing else")
    return Fleet(fleets[0])


@contextlib.asynccontextmanager
async def serving(options: Any) -> AsyncIterator[tuple[str, str]]:
    """Until the block ends. Yields the address with the token, and one that works once."""
    studio = _host_of(options)
    token = secrets.token_urlsafe(24)
    made = application(studio, token, options.host)
    runner = web.AppRunner(made, access_log=None, shutdown_timeout=1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, options.host, options.port)
        try:
            await site.start()
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise Unreadable(f"cannot listen at --host {options.host}: {error.strerror or error}") from None
            raise Unreadable(f"port {options.port} is in use, by another studio perhaps: give --port another one, or 0 "
                             "for any that is free") from None
        port = runner.addresses[0][1]
        await studio.begin(options.template)
        ticket = secrets.token_urlsafe(24)
        made[TICKETS].add(ticket)
        host = socket_names.gethostname() if options.host in ANY else options.host
        address = f"http://{f'[{host}]' if ':' in host else host}:{port}/?token="
        yield address + token, address + ticket
    finally:
        await runner.cleanup()


async def serve(options: Any) -> None:
    async with serving(options) as (address, once):
        if options.host not in LOOPBACK:
            print("Whoever reaches this machine and sees this address can look and change things; it is not encrypted.")
        print(f"xcorr studio: {address}\nCtrl-C ends it.", flush=True)
        if not options.no_browser:
            webbrowser.open(once)
        ended = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
        await ended.wait()
