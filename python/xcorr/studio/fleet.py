# SPDX-License-Identifier: LGPL-2.1-or-later
"""The page of a fleet: cameras as tiles, and their events. A page asks when it has shown what it got, so one that
sleeps gets nothing."""
from __future__ import annotations

import asyncio
import json
from typing import Any

from ..fleet.config import address_of
from .client import Host
from .streams import Streams


def is_fleet(address: str) -> bool:
    return address.startswith(("redis://", "rediss://", "unix:"))


class Fleet(Host):
    index = "fleet.html"

    def __init__(self, address: str) -> None:
        super().__init__()
        address_of(address)
        self._streams = Streams(address)

    def state(self) -> dict[str, Any]:
        return {"type": "state", "source": self._streams.address}

    async def do_look(self, client: Any, message: dict[str, Any]) -> None:
        since = message.get("since", 0)
        if type(since) is not int:
            raise ValueError(f"events have numbers, not {since!r}")
        client.send(json.dumps({"type": "fleet", **self._streams.snapshot(since)}))

    async def close(self) -> None:
        await asyncio.get_running_loop().run_in_executor(None, self._streams.close)
