# SPDX-License-Identifier: LGPL-2.1-or-later
"""Scores by the library: what it prepared for the last sizes is kept."""
from __future__ import annotations

import collections
import threading
from typing import Any

import numpy as np

from . import _xcorr
from ._arrays import host_image
from ._elements import MASKS, MATCHED

#: How many sizes of problems are kept ready.
_KEPT = 4


class _Scorer:
    """Scores of frames and templates of one size, on one stream, under one mask."""

    def __init__(self, device: _xcorr.Device, code: str, frame: tuple[int, int], template: tuple[int, int],
                 mask: np.ndarray | None, in_color: bool) -> None:
        self._code, self._frame = code, frame
        blank = np.zeros((3, *template) if in_color else template, code)
        self._live = _xcorr.LiveTemplate(device, host_image(blank, "template", MATCHED, "planes" if in_color else ""))
        self._matcher = _xcorr.Matcher(device)
        masks = [] if mask is None else [host_image(mask, "mask", MASKS)]
        self._matcher.set_live_templates([self._live], masks)
        self._settings = _xcorr.MatchSettings()
        self._settings.match_on = int(in_color)
        self._method = -1

    def score(self, frame: _xcorr.Image, template: _xcorr.Image, method: int, out: _xcorr.Image,
              stream: int) -> None:
        if method != self._method:
            self._settings.method = method
            self._matcher.prepare(self._code, *self._frame, self._settings)
            self._method = method
        self._live.blend(template, 0, 0, 1.0, stream)
        self._matcher.score(frame, 0, out, stream)


class _Scorers:
    """Idle ones, the last used last. A call has one for itself."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: collections.OrderedDict[Any, _Scorer] = collections.OrderedDict()

    def take(self, key: Any) -> _Scorer | None:
        with self._lock:
            return self._idle.pop(key, None)

    def give(self, key: Any, scorer: _Scorer) -> None:
        with self._lock:
            self._idle[key] = scorer
            while len(self._idle) > _KEPT:
                self._idle.popitem(last=False)

    def clear(self) -> None:
        with self._lock:
            self._idle.clear()


_scorers = _Scorers()


def clear_cache() -> None:
    """Free what :func:`match_template` keeps ready for its next call: the memory of the last four sizes."""
    _scorers.clear()


def score(place: Any, frame: _xcorr.Image, pattern: _xcorr.Image, method: int, mask: np.ndarray | None,
          target: _xcorr.Image, in_color: bool = False) -> None:
    """Write what a template scores at every place of a frame, both of one type."""
    key = (place.device.ordinal, place.stream, frame.type, frame.height, frame.width, pattern.height,
           pattern.width, in_color, None if mask is None else (mask.shape, mask.dtype.str, mask.tobytes()))
    scorer = _scorers.take(key)
    if scorer is None:
        scorer = _Scorer(place.device, frame.type, (frame.height, frame.width), (pattern.height, pattern.width), mask,
                         in_color)
    scorer.score(frame, pattern, method, target, place.stream)
    _scorers.give(key, scorer)
