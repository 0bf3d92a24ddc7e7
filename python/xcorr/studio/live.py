# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which pages get live video: by WebRTC what plays, once a page has shown that it arrives, else JPEG images."""
from __future__ import annotations

import asyncio
import ipaddress
import json
from typing import Any, Callable

from ..field.images import Unreadable
from .client import Client, Host
from .player import Frame
from .video import Video, codecs, missing

MOST_CODECS = 100  # in a page's list


def _plain(address: str) -> Any:
    found = ipaddress.ip_address(address)
    return getattr(found, "ipv4_mapped", None) or found


class LiveHost(Host):
    """Its pages ask for live video when they open."""

    def __init__(self, way: str = "auto") -> None:
        """`way`: of the option --video."""
        super().__init__()
        self._loop, self._closed = asyncio.get_running_loop(), False
        self._way, self._lacks = way, missing()
        if way == "webrtc" and self._lacks:
            raise Unreadable(f"--video=webrtc: {self._lacks}")

    def plays(self) -> bool:
        raise NotImplementedError

    def soon(self, what: Callable[..., Any], *values: Any) -> None:
        """In the loop's thread, from any other."""
        if not self._closed:
            self._loop.call_soon_threadsafe(what, *values)

    async def _aside(self, what: Callable[..., Any], *values: Any) -> Any:
        """In a thread that may wait for GStreamer's."""
        return await self._loop.run_in_executor(None, what, *values)

    def _why_not(self, client: Client) -> str:
        """Why a page gets JPEG images, or an empty text."""
        if self._way == "mjpeg":
            return "as --video=mjpeg says"
        if self._lacks:
            return self._lacks
        here, there = map(_plain, (client.here, client.there))
        if self._way == "auto" and (there.is_loopback or here == there):
            return "the page is on the machine of the studio"
        return ""

    async def do_video(self, client: Client, message: dict[str, Any]) -> None:
        """The page can play video that is coded so."""
        named = message.get("codecs")
        if not isinstance(named, list) or len(named) > MOST_CODECS:
            raise ValueError("codecs are a list of their names")
        common = [name for name in codecs() if name in named]
        if why := self._why_not(client) or ("" if common else "the browser plays nothing that is coded here"):
            self._end(client)
            client.send(json.dumps({"type": "images", "text": why}))
            return

        def send(told: dict[str, Any]) -> None:
            self.soon(client.send, json.dumps(told | {"codec": common[0]}))
        video = await self._aside(Video, common[0], client.here, send, lambda: self.soon(self._lose, client))
        if client not in self.clients:  # it has left meanwhile
            await self._aside(video.close)
            return
        self._end(client)
        client.video = video
        await self._aside(video.begin)

    async def do_answer(self, client: Client, message: dict[str, Any]) -> None:
        if not client.video:
            raise ValueError("no video was offered")
        await self._aside(client.video.answer, message.get("sdp"))

    async def do_no_video(self, client: Client, _: dict[str, Any]) -> None:
        """It does not arrive."""
        self._end(client)

    def _end(self, client: Client) -> None:
        video, client.video = client.video, None
        if video:
            self.want()
            self._loop.run_in_executor(None, video.close)  # nobody waits for it

    def leave(self, client: Client) -> None:
        super().leave(client)
        self._end(client)

    def _lose(self, client: Client) -> None:
        client.send(json.dumps({"type": "images", "text": "the connection for video was lost"}))

    def remember(self, frame: Frame, record: list[Any]) -> None:
        for client in self.clients:
            client.take(frame, record)
