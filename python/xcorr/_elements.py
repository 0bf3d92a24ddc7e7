# SPDX-License-Identifier: LGPL-2.1-or-later
"""Elements of arrays: their types, how they lie, and their values: what is finite, how large is the largest."""
from __future__ import annotations

import math
from typing import Iterable, Sequence

import numpy as np

from . import _xcorr

#: Codes of the types of elements, by what they are for.
MATCHED = ("u1", "u2", "f4")
MASKS = ("u1", "b1")
CORRELATED = ("u1", "u2", "i4", "f4", "f8")


def check_type(code: str, taken: Iterable[str], name: str) -> None:
    """Raise TypeError unless the code is one of those that are taken."""
    if code in taken:
        return
    *first, last = (str(np.dtype(each)) for each in taken)
    types = f"{', '.join(first)} or {last}" if first else last
    try:
        given = str(np.dtype(code))
    except TypeError:
        given = code
    raise TypeError(f"{name} has elements of type {given}; {types} is taken, so convert it first")


def check_alike(one: _xcorr.Image, its_name: str, other: _xcorr.Image, others_name: str) -> None:
    """Raise TypeError unless two images have elements of one type."""
    if one.type != other.type:
        raise TypeError(f"{its_name} and {others_name} have different types of elements: {np.dtype(one.type)}, "
                        f"{np.dtype(other.type)}")


def rows_are_dense(shape: Sequence[int], strides: Sequence[int], item: int) -> bool:
    """Whether the library reads such rows where they are; strides in bytes."""
    element = item
    if len(shape) == 3:
        if strides[2] != item:
            return False
        element *= shape[2]
    if len(shape) not in (2, 3) or strides[1] != element:
        return False
    return strides[0] >= element * shape[1]


def is_finite(array: np.ndarray) -> bool:
    """The sum tells of most arrays."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(array.sum())) or bool(np.isfinite(array).all())


def finite(array: np.ndarray) -> np.ndarray:
    """With 0 in place of what is not."""
    if array.dtype.kind != "f" or is_finite(array):
        return array
    return np.where(np.isfinite(array), array, array.dtype.type(0))


def largest(array: np.ndarray) -> int:
    """Of integers, whatever their signs."""
    return max(abs(int(array.min())), abs(int(array.max())))


def exponent(*arrays: np.ndarray) -> int:
    """That of the power of two which makes their largest element less than 1: to divide by it is exact, and squares and
    sums of what is divided neither overflow nor vanish."""
    greatest = max(float(np.abs(array).max()) for array in arrays)
    return max(math.frexp(greatest)[1], -1000)  # whose inverse is a double, too
