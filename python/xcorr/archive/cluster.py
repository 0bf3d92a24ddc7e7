# SPDX-License-Identifier: LGPL-2.1-or-later
"""The driver: files and units are handed to the workers of a Ray cluster, paths and results stay on its disks.

A worker that dies is replaced by Ray and its unit begun again; whatever a unit leaves is one part or none.
"""
from __future__ import annotations

import collections
from typing import Any, Callable, Sequence

from .._ray import connect
from . import search, units


# So many frames take some seconds, beside which what a unit costs at its begin is little.
UNIT, UNIT_ON_GPU = 500, 5000


def units_and_warnings(file: str, search: units.Search, least: int) -> tuple[list[units.Unit], list[str]]:
    warnings: list[str] = []
    return units.units_of(file, search, least, warnings), warnings


def run(files: Sequence[str], wanted: units.Search, folder: str, *, least: int | None = None, gpus: float = 0.0,
        on_progress: Callable[[int, int, int], object] | None = None,
        on_failure: Callable[[str, str], object] | None = None,
        on_warning: Callable[[str, str], object] | None = None) -> tuple[int, dict[str, str]]:
    """Searches files for what `wanted`, a `units.Search`, says. Returns (frames searched now, files that failed).

    least: frames of a unit; None: UNIT, or on GPUs UNIT_ON_GPU.
    gpus: a worker's share of a GPU; 0: workers take one CPU each.
    on_progress: is called with the numbers of frames searched, of those that were known before, and of all so far.
    on_failure: is called with a file and what is wrong with it; the others go on.
    on_warning: is called with a file and what GStreamer warned of.
    """
    ray = connect()
    least = least or (UNIT_ON_GPU if gpus else UNIT)
    # max_calls: else Ray ends a process after each of its tasks on a GPU, and the next one takes seconds to begin.
    resources = {"num_cpus": 1, "num_gpus": gpus, "max_retries": 5, "max_calls": 0}
    index = ray.remote(**resources)(units_and_warnings)
    work = ray.remote(**resources)(search.search_unit)
    total = ray.cluster_resources()
    workers = int(total.get("GPU", 0) / gpus if gpus else total.get("CPU", 1))
    if not workers:
        raise RuntimeError("the cluster has no GPU" if gpus else "the cluster has no CPU")

    there = units.done(folder)
    todo: collections.deque[tuple[Any, Any]] = collections.deque((index, file) for file in files)
    pending: dict[Any, tuple[Any, Any]] = {}
    failed: dict[str, str] = {}
    searched = before = known = 0
    while todo or pending:
        while todo and len(pending) < 2 * workers:
            task, what = todo.popleft()
            arguments = (what, wanted, least) if task is index else (what, folder)
            pending[task.remote(*arguments)] = task, what
        for reference in ray.wait(list(pending))[0]:
            task, what = pending.pop(reference)
            file = what if task is index else what.file
            try:
                result, warnings = ray.get(reference)
            except Exception as error:  # whatever it is, the others go on
                cause = getattr(error, "cause", None) or error
                failed.setdefault(file, str(cause))
                if on_failure:
                    on_failure(file, str(cause))
                continue
            for warning in warnings:
                if on_warning:
                    on_warning(file, warning)
            if task is work:
                searched += result
            else:
                known += sum(len(unit.times) for unit in result)
                before += sum(len(unit.times) for unit in result if unit.name in there)
                todo.extendleft((work, unit) for unit in reversed(result) if unit.name not in there)
            if on_progress:
                on_progress(searched, before, known)
    return searched, failed
