# SPDX-License-Identifier: LGPL-2.1-or-later
"""Ray, for `xcorr.archive` and `xcorr.fleet`."""
from __future__ import annotations

import os
from typing import Any

from ._missing import need


def connect(address: str | None = None, workers: int | None = None) -> Any:
    """Ray in the cluster there, or in one of this machine with so many workers (None: one a core)."""
    ray = need("ray", "Ray", "pip install 'xcorr[ray]', or ray itself")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray's makers are told nothing
    if not ray.is_initialized():
        here = {} if address else {"num_cpus": workers, "include_dashboard": False}
        ray.init(address, log_to_driver=False, **here)
    return ray
