# SPDX-License-Identifier: LGPL-2.1-or-later
"""A page: what it has shown, and what it is still to be sent. It gets an image when it has shown the one before, or
live video. And what all hosts of pages have in common."""
from __future__ import annotations

import asyncio
import collections
import contextlib
import json
import time
from typing import Any, NamedTuple

from .images import size_of
from .player import Frame
from .video import Video


class Picture(NamedTuple):
    frame: Frame
    jpeg: bytes


def packed(header: dict[str, Any], body: bytes) -> bytes:
    """A message of both: the header's length in four bytes, the header as JSON, the body."""
    text = json.dumps(header).encode()
    return len(text).to_bytes(4, "little") + text + body


class Host:
    """What pages are of. Each function `do_NAME` has the name that pages use; what it raises is told to that page."""
    index = "index.html"

    def __init__(self) -> None:
        self.clients: set[Client] = set()
        self.latest: Picture | None = None

    async def begin(self, templates: list[str]) -> None:
        """With these files, when there is somebody to see it."""

    async def image(self, kind: str, number: int) -> tuple[bytes, str]:
        """And its media type. Raises KeyError, ValueError, RuntimeError or OSError."""
        raise KeyError(kind)

    def state(self) -> dict[str, Any]:
        """What a page has to know at first."""
        raise NotImplementedError

    def want(self) -> None:
        """Looks whether any page waits for an image."""

    def plays(self) -> bool:
        """Whether frames come as they do in a video."""
        return False

    def leave(self, client: Client) -> None:
        """The page has gone."""
        self.clients.discard(client)
        self.want()

    async def do(self, client: Client, message: dict[str, Any]) -> None:
        name = message.get("do")
        function = getattr(self, f"do_{name}", None) if isinstance(name, str) else None
        if not function:
            raise ValueError(f"there is nothing called {name!r} to do")
        await function(client, message)

    async def close(self) -> None:
        """For good."""


class Client:
    def __init__(self, studio: Host, socket: Any, here: str = "127.0.0.1", there: str = "127.0.0.1") -> None:
        self.here, self.there = here, there  # the addresses of both ends
        self.video: Video | None = None
        self.due = asyncio.Event()
        self.history: collections.deque[list[Any]] = collections.deque(maxlen=4000)
        self.behind: float | None = None  # s, from when the sink got the last frame until the page had shown it
        self._studio, self._socket = studio, socket
        self._messages: collections.deque[str | bytes] = collections.deque(maxlen=100)
        self._sent: Picture | None = None
        self._shown: Picture | None = None

    def waits(self) -> bool:
        return self._sent is None and not self._has_video()

    def _has_video(self) -> bool:
        """What stands still comes as an image all the same: it is sharp."""
        return self.video is not None and self.video.flows and self._studio.plays()

    def picture(self, number: object) -> Picture:
        """One that is on this page's screen."""
        for picture in self._sent, self._shown:
            if picture and picture.frame.number == number:
                return picture
        raise ValueError("that picture is no longer on the screen; try again")

    def on_screen(self) -> Picture:
        if self._shown is None:
            raise ValueError("there is no picture yet")
        return self._shown

    def shown(self, number: object, by_video: bool = False) -> None:
        if by_video and self.video and (frame := self.video.shown(number)):
            now = Picture(frame, b"")
        elif self._sent and self._sent.frame.number == number:
            now = self._sent
            if self.video:
                self.video.rest()
        else:
            return
        self._shown, self.behind = now, time.monotonic() - now.frame.taken
        if self._sent and self._sent.frame.number <= now.frame.number:  # an image that video has overtaken is not shown
            self._sent = None
            self.due.set()
            self._studio.want()

    def take(self, frame: Frame, record: list[Any]) -> None:
        """A frame, and what the timeline has of it."""
        self.history.append(record)
        if not self.video or not self._studio.plays():
            return
        flowed, stamp = self.video.flows, self.video.feed(frame)
        if stamp is not None:
            self.send(json.dumps(self._header("frame", frame) | {"stamp": stamp}))
        if flowed and not self.video.flows:  # images again
            self._studio.want()

    def _header(self, kind: str, frame: Frame) -> dict[str, Any]:
        history = list(self.history)
        self.history.clear()
        return {"type": kind, "number": frame.number, "size": size_of(frame.sample), "history": history,
                "behind": self.behind, "results": frame.results}

    def send(self, message: str | bytes) -> None:
        self._messages.append(message)
        self.due.set()

    async def end(self) -> None:
        await self._socket.close(message=b"xcorr studio has ended")

    async def write(self) -> None:
        """Until it is cancelled or the page has gone. Only this page waits where its connection does."""
        with contextlib.suppress(ConnectionError):
            while True:
                await self._write_what_is_due()

    async def _write_what_is_due(self) -> None:
        await self.due.wait()
        self.due.clear()
        while self._messages:
            message = self._messages.popleft()
            await (self._socket.send_str if isinstance(message, str) else self._socket.send_bytes)(message)
        picture = self._studio.latest
        if picture and self._sent is None and self._is_news(picture) and not self._has_video():
            self._sent = picture
            self._studio.want()
            await self._socket.send_bytes(packed(self._header("picture", picture.frame), picture.jpeg))

    def _is_news(self, picture: Picture) -> bool:
        """Also where it is the sharp image of what came as video."""
        if self._shown is None:
            return True
        new, shown = ((each.frame.number, bool(each.jpeg)) for each in (picture, self._shown))
        return new > shown
