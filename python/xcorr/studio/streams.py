# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a fleet's Redis streams say: of each camera the last frame, rates, gaps and events.

A thread reads all streams `places:CAMERA` and goes on from the last entries when the server was away. Whoever looks
gets what there is. Nothing in an entry is trusted: what is not as docs/results.schema.json has it is counted, not
shown.
"""
from __future__ import annotations

import collections
import json
import math
import threading
import time
from typing import Any

from .._missing import need
from ..fleet.camera import FIRST_PAUSE, client
from .player import TOLD

PREFIX = "places:"
SPAN = 60  # s that are remembered of rates
RATE = 5  # s that a rate is of
LOOK = 2.0  # s between searches for new streams
LONGEST_PAUSE = 5.0  # s, between tries of a server that fails
FIRST_ENTRIES = 20_000  # of all streams together, from before somebody looks
ENTRIES = 50  # of a stream, in a piece
BLOCK = 500  # ms, for new entries
MOST_CAMERAS, MOST_EVENTS, MOST_GAPS, MOST_PEAKS, LONGEST_TEXT = 500, 500, 20, 32, 128


def seconds_of(key: str) -> float:
    """Of an entry's ID."""
    return int(key.partition("-")[0]) / 1000


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no text")
    return value[:LONGEST_TEXT]


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"{value!r} is no number")
    return value


def _key(name: str) -> bytes:
    return (PREFIX + name).encode(errors="surrogateescape")


def _name(key: bytes) -> str:
    return key.decode(errors="surrogateescape").removeprefix(PREFIX)


class Camera:
    """What is known of one."""

    def __init__(self, name: str) -> None:
        self.name, self.key = name, "0-0"  # of the last entry
        self.refused = 0  # entries that cannot be read
        self._counts: dict[int, list[int]] = {}  # by the second: frames, and of these those that were not analysed
        self._gaps: collections.deque[dict[str, Any]] = collections.deque(maxlen=MOST_GAPS)
        self._first: float | None = None
        self._last: float | None = None
        self._frame: dict[str, Any] = {"peaks": [], "size": [0, 0], "backend": ""}

    def take(self, key: str, fields: dict[bytes, bytes]) -> list[dict[str, Any]]:
        """An entry; returns its events."""
        self.key = key
        try:
            entry = {name.decode(): json.loads(value) for name, value in fields.items()}
            return self._gap(seconds_of(key), entry["gap"]) if "gap" in entry else self._take(seconds_of(key), entry)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
            self.refused += 1
            return []

    def _gap(self, at: float, gap: dict[str, Any]) -> list[dict[str, Any]]:
        made = {"from": seconds_of(gap["after"]), "until": None, "reason": _text(gap["reason"]),
                "host": _text(gap["host"])}
        self._gaps.append(made)
        return [{"event": "gap", "label": made["reason"], "when": at, "host": made["host"]}]

    def _take(self, at: float, entry: dict[str, Any]) -> list[dict[str, Any]]:
        events = [{"event": _text(event["event"]), "label": _text(event["label"]),
                   "when": at - _number(entry["running-time"] - event[TOLD[event["event"]]]) / 1e9}
                  for event in entry.get("events", ())]
        analysed = entry.get("analysed", False) is True
        if analysed:
            peaks = [{"label": _text(peak["label"]), "template": _number(peak["template-id"]),
                      "score": _number(peak["score"]), "state": _text(peak["state"]),
                      "box": [_number(peak[name]) for name in ("nx", "ny", "nwidth", "nheight")]}
                     for peak in entry["peaks"][:MOST_PEAKS]]
            self._frame = {"peaks": peaks, "size": [_number(entry["frame-width"]), _number(entry["frame-height"])],
                           "backend": _text(entry["backend"])}
        counts = self._counts.setdefault(int(at), [0, 0])
        counts[0] += 1
        counts[1] += not analysed
        if len(self._counts) > 2 * SPAN:  # IDs grow, so the first is the oldest
            del self._counts[next(iter(self._counts))]
        self._first, self._last = at if self._first is None else self._first, at
        if self._gaps and self._gaps[-1]["until"] is None:
            self._gaps[-1]["until"] = at
        return events

    def summary(self, now: float) -> dict[str, Any]:
        """By the server's clock."""
        counts = [self._counts.get(second, (0, 0)) for second in range(int(now) - SPAN, int(now))]
        seconds = min(RATE, max(1, int(now) - int(self._first or now)))  # whole ones since it is there
        return {"name": self.name[:LONGEST_TEXT], **self._frame, "last": self._last, "refused": self.refused,
                "rate": sum(count for count, _ in counts[-seconds:]) / seconds,
                "counts": [count for count, _ in counts], "missed": sum(missed for _, missed in counts),
                "gaps": list(self._gaps)}


class Streams:
    """Of one server, read until it is closed."""

    def __init__(self, address: str) -> None:
        self.address, self._server = address, client(address)
        self._errors = (need("redis", "redis-py", "").RedisError, OSError)
        self._cameras: dict[str, Camera] = {}
        self._events: collections.deque[dict[str, Any]] = collections.deque(maxlen=MOST_EVENTS)
        self._number = 0
        self._trouble = "it has not answered yet"
        self._ahead = 0.0  # s, of the server's clock
        self._lock, self._closed = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def snapshot(self, since: int) -> dict[str, Any]:
        """Of all cameras, and the events with larger numbers than that."""
        with self._lock:
            now = time.time() + self._ahead
            return {"now": now, "trouble": self._trouble, "span": SPAN,
                    "cameras": [self._cameras[name].summary(now) for name in sorted(self._cameras)],
                    "events": [event for event in self._events if event["number"] > since]}

    def close(self) -> None:
        self._closed.set()
        self._thread.join(BLOCK / 1000 + FIRST_PAUSE)
        self._server.connection_pool.disconnect()

    def _run(self) -> None:
        pause = FIRST_PAUSE
        while not self._closed.is_set():
            try:
                self._find()
                self._trouble, pause = "", FIRST_PAUSE
                end = time.monotonic() + LOOK
                while time.monotonic() < end and not self._closed.is_set():
                    self._read()
            except self._errors as error:
                self._trouble = str(error) or type(error).__name__
                self._closed.wait(pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    def _find(self) -> None:
        """Streams that are new, with what they have of the last minute; those that are gone are no cameras any more."""
        seconds, microseconds = self._server.time()
        self._ahead = seconds + microseconds / 1e6 - time.time()
        names = {_name(key) for key in self._server.scan_iter(match=f"{PREFIX}*", count=1000, _type="stream")}
        with self._lock:
            for name in self._cameras.keys() - names:
                del self._cameras[name]
        new = sorted(names - self._cameras.keys())[:MOST_CAMERAS - len(self._cameras)]
        for name in new:
            camera = Camera(name)
            last = self._server.xrevrange(_key(name), min=(seconds - SPAN) * 1000,
                                          count=max(ENTRIES, FIRST_ENTRIES // len(new)))
            last = last or self._server.xrevrange(_key(name), count=1)
            with self._lock:
                self._cameras[name] = camera
                self._take(camera, last[::-1])

    def _read(self) -> None:
        if not self._cameras:
            self._closed.wait(BLOCK / 1000)
            return
        found = self._server.xread({_key(name): camera.key for name, camera in self._cameras.items()}, ENTRIES, BLOCK)
        for key, entries in found:
            with self._lock:
                self._take(self._cameras[_name(key)], entries)

    def _take(self, camera: Camera, entries: Any) -> None:
        for key, fields in entries:
            for event in camera.take(key.decode(), fields):
                self._number += 1
                self._events.append({"number": self._number, "camera": camera.name[:LONGEST_TEXT], **event})
