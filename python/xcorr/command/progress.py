# SPDX-License-Identifier: LGPL-2.1-or-later
"""A bar for whatever takes longer than a second, where standard error is a terminal and tqdm is there."""
from __future__ import annotations

import contextlib
import importlib.util
import time
from typing import Any, ContextManager, Iterable, Iterator, TypeVar

Item = TypeVar("Item")

SILENCE = 1.0  # s


def _bars() -> Any:
    if importlib.util.find_spec("tqdm") is None:
        return None
    from tqdm import tqdm
    return tqdm


def progress(items: Iterable[Item], count: int | None, quiet: bool, unit: str = "images") -> Iterator[Item]:
    """The items, with a bar while they are taken. `count`: how many there will be, where that is known."""
    bars = None if quiet else _bars()
    began, bar = time.monotonic(), None
    try:
        for number, item in enumerate(items, 1):
            yield item
            if bar is not None:
                bar.update()
            elif bars and time.monotonic() - began > SILENCE:  # tqdm's own delay ends when lines are written beside it
                bar = bars(initial=number, total=count, disable=None, unit=" " + unit, dynamic_ncols=True, leave=False)
    finally:
        if bar is not None:
            bar.close()


def beside_the_bar() -> ContextManager[Any]:
    """While something else is printed, which may be on the same terminal."""
    bars = _bars()
    context: ContextManager[Any] = contextlib.nullcontext() if bars is None else bars.external_write_mode()
    return context
