# SPDX-License-Identifier: LGPL-2.1-or-later
"""`xcorr archive`: many recordings searched by the workers of a Ray cluster."""
from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from .._missing import need


def add_to(commands: Any) -> None:
    parser = commands.add_parser("archive", help="searches many recordings on a Ray cluster",
                                 description="Searches many videos, on all cores and GPUs of this machine or of a "
                                 "cluster. What has been searched is not searched again.")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    search = actions.add_parser("search", help="searches what has not been searched yet")
    search.add_argument("files", nargs="+", metavar="FILE", help="a video, or a folder or TIFF of images")
    search.add_argument("-t", "--template", action="append", required=True, metavar="FILE",
                        help="an image to look for; may be repeated")
    search.add_argument("-o", "--out", required=True, metavar="DIR", help="the folder of results, for all workers the "
                        "same")
    search.add_argument("--set", action="append", default=[], metavar="PROPERTY=VALUE", help="of the element cudaxcorr")
    search.add_argument("--address", help="of a Ray cluster; by default one of this machine")
    search.add_argument("--workers", type=int, metavar="N", help="of a cluster of this machine; by default one a core")
    search.add_argument("--gpus-per-worker", type=float, default=0, metavar="SHARE", help="by default CPUs work")
    search.add_argument("--unit", type=int, metavar="FRAMES",
                        help="at least so many at once; by default 500, on GPUs 5000")
    search.add_argument("--white", type=int, default=65535, metavar="VALUE",
                        help="which of 16-bit stacks becomes 255, such as 4095; brighter ones do, too")
    search.set_defaults(run=run_search)
    summary = actions.add_parser("summary", help="prints what was found")
    summary.add_argument("folder", metavar="DIR")
    summary.set_defaults(run=run_summary)


def wanted_by(options: argparse.Namespace) -> Any:
    """The search, a `units.Search`, or a ValueError that says what cannot be."""
    from . import units
    from .search import readable
    from .._gstreamer import digest, matcher
    settings = dict(pair.split("=", 1) for pair in options.set)
    settings.setdefault("backend", "cuda" if options.gpus_per_worker else "cpu")
    if settings.get("track", "false") != "false":
        raise ValueError("units are searched on their own, so targets cannot be followed: leave 'track' out")
    matcher(options.template, settings)  # refuses what is not a property
    if not 1 <= options.white <= 65535:
        raise ValueError("--white is 1 to 65535")
    templates = tuple(readable(template) for template in options.template)
    return units.Search(templates, tuple(sorted(settings.items())),
                        digest(templates, {**settings, "white": options.white}), options.white)


class _Said:
    """Progress, and each complaint once."""

    def __init__(self, bar: Any) -> None:
        self._bar = bar
        self._warned: set[tuple[str, str]] = set()
        self._failed: set[str] = set()

    def show(self, searched: int, before: int, known: int) -> None:
        self._bar.total, self._bar.initial = known, before
        self._bar.n = before + searched
        self._bar.refresh()

    def fail(self, file: str, reason: str) -> None:
        if file not in self._failed:
            self._failed.add(file)
            self._bar.write(f"{file}: {reason}", file=sys.stderr)

    def warn(self, file: str, warning: str) -> None:
        if (file, warning) not in self._warned:
            self._warned.add((file, warning))
            self._bar.write(f"{file}: {warning}", file=sys.stderr)


def run_search(options: argparse.Namespace) -> int:
    from . import cluster, units
    from .._ray import connect
    units.pyarrow()
    tqdm = need("tqdm", "tqdm", "pip install 'xcorr[ray]', or tqdm itself")
    wanted = wanted_by(options)
    os.makedirs(options.out, exist_ok=True)
    connect(options.address, options.workers)
    with tqdm.tqdm(unit=" frames", unit_scale=True, smoothing=0.05) as bar:
        said = _Said(bar)
        searched, failed = cluster.run([os.path.abspath(file) for file in options.files], wanted,
                                       os.path.abspath(options.out), least=options.unit, gpus=options.gpus_per_worker,
                                       on_progress=said.show, on_failure=said.fail, on_warning=said.warn)
    print(f"{searched} frames searched, {len(failed)} of {len(options.files)} files failed")
    return 2 if failed else 0


def run_summary(options: argparse.Namespace) -> int:
    from .summary import print_summary
    print_summary(options.folder)
    return 0
