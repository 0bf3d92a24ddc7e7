# SPDX-License-Identifier: LGPL-2.1-or-later
"""Packages that only parts of this one need."""
from __future__ import annotations

import importlib
from typing import Any


def need(module: str, name: str, how: str) -> Any:
    """The module, or an ImportError that says how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"{name} is missing ({error}). {how}") from None
