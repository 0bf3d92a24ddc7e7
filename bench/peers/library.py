# SPDX-License-Identifier: LGPL-2.1-or-later
"""Libraries of C, by ctypes, as far as the linker's cache knows them."""
import ctypes
import ctypes.util

from . import Missing


def load(library):
    name = ctypes.util.find_library(library)
    if not name:
        raise Missing(f'no lib{library}')
    return ctypes.CDLL(name)


def require(status, what):
    if status != 0:
        raise RuntimeError(f'{what}: status {status}')
