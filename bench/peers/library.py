# SPDX-License-Identifier: LGPL-2.1-or-later
"""Libraries of C, by ctypes, as far as the linker's cache knows them."""
import ctypes
import ctypes.util

from . import Missing


def with_function(name, *libraries):
    """The first of the libraries that has the function."""
    for library in libraries:
        path = ctypes.util.find_library(library)
        if path and hasattr(found := ctypes.CDLL(path), name):
            return found
    raise Missing(f'no {name} in {", ".join(f"lib{library}" for library in libraries)}')


def require(status, what):
    if status != 0:
        raise RuntimeError(f'{what}: status {status}')
