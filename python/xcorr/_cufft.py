# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where cuFFT is, when it came by pip.

The library opens cuFFT by its soname when a kernel needs it. A toolkit's is found by the dynamic linker; that
of the package ``nvidia-cufft`` lies among the Python packages, and is found by its soname once it is loaded.
"""
from __future__ import annotations

import ctypes
import importlib.util
import pathlib

_NAMES = ("libcufft.so.12", "libcufft.so.11")
#: Of the packages for CUDA 13, then 12.
_FOLDERS = ("cu13/lib", "cufft/lib")

_loaded: list[ctypes.CDLL] = []


def _can_load(path: str) -> bool:
    try:
        _loaded.append(ctypes.CDLL(path))
    except OSError:
        return False
    return True


def _packaged() -> list[str]:
    spec = importlib.util.find_spec("nvidia")
    places = list(spec.submodule_search_locations or ()) if spec else []
    files = (pathlib.Path(place) / folder / name for place in places for folder in _FOLDERS for name in _NAMES)
    return [str(file) for file in files if file.exists()]


def load() -> None:
    """Load cuFFT, if it is anywhere. Without it the kernels that need no FFT remain."""
    if _loaded:
        return
    any(_can_load(path) for path in (*_NAMES, *_packaged()))
