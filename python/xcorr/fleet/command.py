# SPDX-License-Identifier: LGPL-2.1-or-later
"""`xcorr fleet`: many cameras followed by the workers of a Ray cluster."""
from __future__ import annotations

import argparse
import sys
from typing import Any


def add_to(commands: Any) -> None:
    parser = commands.add_parser("fleet", help="follows many cameras on a Ray cluster",
                                 description="Follows cameras until they end; results go to Redis streams.")
    parser.add_argument("file", metavar="FILE", help="the cameras, in YAML")
    parser.add_argument("--address", help="of a Ray cluster; by default one of this machine")
    parser.add_argument("--workers", type=int, metavar="N", help="of a cluster of this machine; by default one a core")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from . import camera, cluster, config
    failed = []

    def tell(one: Any, reason: str | None) -> None:
        print(f"{one.name}: {reason or 'the stream has ended'}", file=sys.stderr, flush=True)
        if reason:
            failed.append(one)
    fleet = config.read(options.file)
    for one in fleet:
        camera.launch_line(one)  # refuses what is not a property
        camera.client(one.redis).close()
    try:
        cluster.run(fleet, options.address, options.workers, tell)
    except KeyboardInterrupt:
        pass  # cameras may have no end
    return 2 if failed else 0
