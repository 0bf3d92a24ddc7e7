# SPDX-License-Identifier: LGPL-2.1-or-later
"""Small images of the first and the last frame of each label, for the events that name these frames.

An event is told some frames later than the one that it names, so an image is made whenever a label comes or goes, and
looked up by the frame's time. A thread of its own makes them; where it falls behind there are fewer.
"""
from __future__ import annotations

import asyncio
import collections
import concurrent.futures
from typing import Any

from .images import Encoder
from .player import Frame

WIDEST = 160  # pixels
MOST = 400  # are kept
MOST_WAITING = 16


class Thumbnails:
    def __init__(self) -> None:
        self._work = concurrent.futures.ThreadPoolExecutor(1, "thumbnails")
        self._encoder = Encoder(WIDEST)
        self._made: collections.OrderedDict[int, concurrent.futures.Future[bytes]] = collections.OrderedDict()
        self._numbers: dict[tuple[str, int], int] = {}  # by label and running time
        self._seen: set[str] = set()
        self._before: int | None = None  # running time of the frame before
        self._number = 0

    def take(self, frame: Frame) -> None:
        """In the order of the frames, by one thread."""
        results = frame.results
        if not results.get("analysed"):
            return
        seen = {peak["label"] for peak in results["peaks"] if not peak["lost"]}
        for label in seen - self._seen:
            self._make(label, results["running-time"], frame.sample)
        for label in self._seen - seen:
            self._make(label, self._before, frame.before)
        self._seen, self._before = seen, results["running-time"]

    def _make(self, label: str, running_time: int | None, sample: Any) -> None:
        waiting = sum(not each.done() for each in list(self._made.values())[-MOST_WAITING:])
        if running_time is None or sample is None or waiting >= MOST_WAITING:
            return
        self._number += 1
        self._made[self._number] = self._work.submit(self._encoder, sample)
        self._numbers[label, running_time] = self._number
        if len(self._made) > MOST:
            gone = self._made.popitem(last=False)[0]
            self._numbers = {key: number for key, number in self._numbers.items() if number != gone}

    def number(self, label: str, running_time: int) -> int | None:
        return self._numbers.get((label, running_time))

    async def get(self, number: int) -> bytes:
        """A JPEG image. Raises KeyError where there is none, RuntimeError where none could be made."""
        return await asyncio.shield(asyncio.wrap_future(self._made[number]))  # others may wait for it too

    def close(self) -> None:
        self._work.shutdown(cancel_futures=True)
        self._encoder.close()
