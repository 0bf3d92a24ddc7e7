# SPDX-License-Identifier: LGPL-2.1-or-later
"""Correlations and convolutions of two arrays, with SciPy's signatures.

The library multiplies bytes, 16 bits and both kinds of floats. Everything else is made of these: integers are doubles
while no sum exceeds what those hold exactly, and pieces of 31 bits beyond; complex numbers are pairs of floats; what
lies outside an array is put around it, unless it is 0.
"""
from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from . import _xcorr
from ._arrays import Host, host_array, kind_of, place_of
from ._elements import CORRELATED, check_alike, exponent, is_finite, largest
from ._typing import overload

Mode = Literal["full", "valid", "same"]
Boundary = Literal["fill", "wrap", "circular", "symm", "symmetric"]
How = Literal["auto", "direct", "fft"]
_MODES, _HOWS = ("full", "valid", "same"), ("auto", "direct", "fft")
#: SciPy's names, and `numpy.pad`'s.
_BOUNDARIES: dict[str, Any] = {"fill": "constant", "wrap": "wrap", "circular": "wrap", "symm": "symmetric",
                               "symmetric": "symmetric"}

#: x, y, width, height: of shifts of the second array over the first.
Shifts = tuple[int, int, int, int]

_EXACT = 2 ** 53  # integers below are doubles
_PIECE = 31  # bits
_FEW = 2 ** 20  # products, which are made no slower than an FFT, and of floats that are exact integers
_POINT = 100  # products of doubles that are made while an FFT treats one of its points, as measured


def _run(place: Any, a: Any, b: Any, shifts: Shifts, how: str) -> Any:
    """By the library, of elements that it takes."""
    left, right = (place.image(array, name, CORRELATED) for array, name in ((a, "in1"), (b, "in2")))
    check_alike(left, "in1", right, "in2")
    kernel = how if place.device.is_gpu else _kernel(a.shape, b.shape, left.type, shifts, how)
    plan = _xcorr.Correlator(place.device, left, right, shifts, kernel)
    out = place.empty((shifts[3], shifts[2]), plan.output_type)
    workspace = place.empty((1, plan.workspace_bytes), "u1")
    plan.run(left, right, place.pointer(out), place.pointer(workspace), place.stream)
    return out


def _kernel(shape1: Any, shape2: Any, type_: str, shifts: Shifts, how: str) -> str:
    """The CPU's for a method. For doubles the library chooses none that is less exact than the definition."""
    height, width = (min(pair) for pair in zip(shape1, shape2))
    count = shifts[2] * shifts[3] * height * width
    if how == "auto" and count < _FEW:
        return "direct"
    if type_ != "f8":
        return how
    points = (shifts[2] + width) * (shifts[3] + height)
    return "direct" if how == "direct" or (how == "auto" and count < _POINT * points) else "fft_double"


# ---- in host memory ---------------------------------------------------------------------------------


def _energy(array: np.ndarray) -> float:
    """The sum of squares, in this thread: those of a BLAS would spin on beside the library's."""
    return float(np.einsum("ij,ij->", array, array))


def _error_of_fft(energy1: float, energy2: float, shape1: tuple[int, ...], shape2: tuple[int, ...]) -> float:
    """A bound: each of three transforms errs by less than 10 epsilons for each doubling of its size."""
    points = 4.0 * (shape1[0] + shape2[0]) * (shape1[1] + shape2[1])
    return 3 * 10 * 2.0 ** -53 * math.log2(points) * math.sqrt(energy1 * energy2)


def _pieces(array: np.ndarray) -> list[np.ndarray]:
    """Modulo 2^64, the lowest first."""
    bits = array.astype(np.int64, copy=False).view(np.uint64)
    mask = np.uint64(2 ** _PIECE - 1)
    return [((bits >> np.uint64(_PIECE * place)) & mask).astype("i4") for place in range(3)]


def _rounded(a: np.ndarray, b: np.ndarray, bits: int, shifts: Shifts) -> np.ndarray | None:
    """Of integers by FFTs, one for each of so many pieces of the second's bits that all sums are rounded to the right
    ones; None where too many would be needed."""
    energy = _energy(a)
    for count in range(1, 5):
        step = max(1, -(-bits // count))
        pieces = [(b >> step * i) & (1 << step) - 1 for i in range(count - 1)] + [b >> step * (count - 1)]
        floats = [piece.astype("f8") for piece in pieces]
        if all(_error_of_fft(energy, _energy(piece), a.shape, b.shape) < 0.25 for piece in floats):
            total = None
            for i, piece in enumerate(floats):
                sums = _run(Host(), a, piece, shifts, "fft")
                part = np.rint(sums, out=sums).astype("i8")
                total = part if total is None else np.add(total, part << step * i, out=total)
            return total
    return None


def _integers(a: np.ndarray, b: np.ndarray, shifts: Shifts, how: str) -> np.ndarray:
    """Exactly, or modulo 2^64."""
    of_type = np.dtype("u8") if np.result_type(a, b) == np.uint64 else np.dtype("i8")
    overlap = min(a.shape[0], b.shape[0]) * min(a.shape[1], b.shape[1])
    sizes = largest(a), largest(b)
    if sizes[0] * sizes[1] * overlap < _EXACT:
        x = a.astype("f8")
        by_fft = _kernel(a.shape, b.shape, "f8", shifts, how) == "fft_double"
        sums = _rounded(x, b.astype("i8"), sizes[1].bit_length(), shifts) if by_fft else None
        return (_run(Host(), x, b.astype("f8"), shifts, "direct") if sums is None else sums).astype(of_type, copy=False)
    if max(sizes) < 2 ** _PIECE:
        return _run(Host(), a.astype("i4"), b.astype("i4"), shifts, "direct").view(of_type)
    total = np.zeros((shifts[3], shifts[2]), "u8")
    pieces = _pieces(a), _pieces(b)
    for i in range(3):
        for j in range(3 - i):
            if pieces[0][i].any() and pieces[1][j].any():
                part = _run(Host(), pieces[0][i], pieces[1][j], shifts, "direct").view("u8")
                total += part << np.uint64(_PIECE * (i + j))
    return total.view(of_type)


def _not_finite(a: np.ndarray, b: np.ndarray, shifts: Shifts, how: str) -> np.ndarray:
    """Infinities and NaN reach the shifts that meet them and no others."""

    def meet(*pairs: tuple[Any, Any]) -> np.ndarray:
        there = np.zeros((shifts[3], shifts[2]), bool)
        for x, y in pairs:
            if x.any() and y.any():
                there |= _run(Host(), x.view("u1"), y.view("u1"), shifts, "auto") > 0
        return there

    sums = _real(np.where(np.isfinite(a), a, 0), np.where(np.isfinite(b), b, 0), shifts, how)
    up = meet((a == np.inf, b > 0), (a == -np.inf, b < 0), (a > 0, b == np.inf), (a < 0, b == -np.inf))
    down = meet((a == np.inf, b < 0), (a == -np.inf, b > 0), (a < 0, b == np.inf), (a > 0, b == -np.inf))
    spoiled = meet((np.isnan(a), np.ones(b.shape, bool)), (np.ones(a.shape, bool), np.isnan(b)),
                   (np.isinf(a), b == 0), (a == 0, np.isinf(b)))
    sums[up] = np.inf
    sums[down] = -np.inf
    sums[spoiled | (up & down)] = np.nan
    return sums


def _scaled(a: np.ndarray, b: np.ndarray, shifts: Shifts, how: str) -> np.ndarray:
    """Of floats so large that what an FFT adds up on its way overflows, where the sums themselves may not."""
    powers = exponent(a), exponent(b)
    sums = _run(Host(), np.ldexp(a, -powers[0]), np.ldexp(b, -powers[1]), shifts, how)
    with np.errstate(over="ignore"):
        return np.ldexp(sums, sum(powers))


def _real(a: np.ndarray, b: np.ndarray, shifts: Shifts, how: str) -> np.ndarray:
    common = np.result_type(a, b)
    if common.kind == "f":
        code = "f4" if common.itemsize <= 4 else "f8"
        a, b = (array.astype(code, copy=False) for array in (a, b))
        if is_finite(a) and is_finite(b):
            sums = _run(Host(), a, b, shifts, how)
            if not is_finite(sums):
                np.copyto(sums, _scaled(a, b, shifts, how), where=~np.isfinite(sums))
            return sums
        return _not_finite(a, b, shifts, how)
    a, b = (array.view("u1") if array.dtype == bool else array for array in (a, b))
    if a.dtype == b.dtype and a.dtype.str[1:] in ("u1", "u2") and min(a.size, b.size) <= 2 ** 21:
        return _run(Host(), a, b, shifts, how)
    return _integers(a, b, shifts, how)


def products(a: Any, b: Any, shifts: Shifts | None = None, how: str = "auto") -> np.ndarray:
    """Sums of ``a * conj(b)`` at each of the shifts, or at those at which `b` lies wholly inside."""
    if shifts is None:
        shifts = (0, 0, a.shape[1] - b.shape[1] + 1, a.shape[0] - b.shape[0] + 1)
    if a.dtype.kind != "c" and b.dtype.kind != "c":
        return _real(a, b, shifts, how)
    sums: Any = np.empty((shifts[3], shifts[2]), np.result_type(a, b))
    sums.real = _real(a.real, b.real, shifts, how)
    sums.imag = 0
    if b.dtype.kind == "c":
        sums.imag -= _real(a.real, b.imag, shifts, how)
    if a.dtype.kind == "c":
        sums.imag += _real(a.imag, b.real, shifts, how)
        if b.dtype.kind == "c":
            sums.real += _real(a.imag, b.imag, shifts, how)
    return sums


# ---- SciPy's functions ------------------------------------------------------------------------------


def _numbers(array: Any, name: str) -> np.ndarray:
    """As an array of NumPy's that the functions above know."""
    array = host_array(array, name)
    if array.dtype.kind not in "biufc" or array.dtype.itemsize > (16 if array.dtype.kind == "c" else 8):
        raise TypeError(f"{name} has elements of type {array.dtype}; integers, bool, float32, float64, complex64 and "
                        "complex128 are taken, so convert it first")
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _check(shape1: tuple[int, ...], shape2: tuple[int, ...], mode: str, boundary: str, method: str) -> None:
    for what, given, known in (("mode", mode, _MODES), ("boundary", boundary, tuple(_BOUNDARIES)),
                               ("method", method, _HOWS)):
        if given not in known:
            raise ValueError(f"no such {what}: {given!r}; there are {', '.join(map(repr, known))}")
    for name, shape in (("in1", shape1), ("in2", shape2)):
        if len(shape) != 2:
            raise ValueError(f"{name} must have two dimensions: height and width; it has the shape {shape}")
        if not math.prod(shape):
            raise ValueError(f"{name} is empty: it has the shape {shape}")
    if mode == "valid" and (shape1[0] - shape2[0]) * (shape1[1] - shape2[1]) < 0:
        raise ValueError("for mode 'valid' one of the arrays must be at least as large in both directions; they have "
                         f"the shapes {shape1} and {shape2}")


def _shifts(shape1: tuple[int, ...], shape2: tuple[int, ...], mode: str, convolves: bool) -> Shifts:
    (h1, w1), (h2, w2) = shape1, shape2
    if mode == "full":
        return 1 - w2, 1 - h2, w1 + w2 - 1, h1 + h2 - 1
    if mode == "valid":
        return min(w1 - w2, 0), min(h1 - h2, 0), abs(w1 - w2) + 1, abs(h1 - h2) + 1
    return (-(w2 // 2), -(h2 // 2), w1, h1) if convolves else (-((w2 - 1) // 2), -((h2 - 1) // 2), w1, h1)


def _fill(value: Any, type_: np.dtype[Any]) -> Any:
    """The value outside, as one of the results' type."""
    array = np.asarray(value)
    if array.size != 1:
        raise ValueError("`fillvalue` must be scalar or an array with one element; it has the shape "
                         f"{array.shape}")
    if array.dtype.kind not in "biufc":
        raise ValueError(f"`fillvalue` must be a number, not {value!r}")
    number = array.reshape(())[()]
    if type_.kind != "c" and np.imag(number) != 0:
        raise ValueError(f"could not cast `fillvalue` directly to the output type {type_}: {value!r} is complex")
    return np.asarray(number if type_.kind == "c" else np.real(number)).astype(type_)[()]


def _surrounded(a: np.ndarray, shape2: tuple[int, ...], shifts: Shifts, boundary: str, fill: Any) -> np.ndarray:
    """With what lies outside around it, as far as the shifts reach."""
    x, y, width, height = shifts
    margins = ((-y, height + y + shape2[0] - 1 - a.shape[0]), (-x, width + x + shape2[1] - 1 - a.shape[1]))
    if boundary == "fill":
        return np.pad(a.astype(np.result_type(a, fill), copy=False), margins, constant_values=fill)
    return np.pad(a, margins, mode=_BOUNDARIES[boundary])


def _on_host(a: np.ndarray, b: np.ndarray, shifts: Shifts, mode: str, boundary: str, fillvalue: Any,
             method: str) -> np.ndarray:
    common = np.result_type(a, b)
    fill = _fill(fillvalue, common if common.kind in "fc" else np.dtype("i8"))
    if mode != "valid" and (boundary != "fill" or fill != 0):
        a = _surrounded(a, b.shape, shifts, boundary, fill)
        shifts = (0, 0, shifts[2], shifts[3])
    return products(a, b, shifts, method)


def _on_gpu(in1: Any, in2: Any, mode: str, boundary: str, fillvalue: Any, method: str, convolves: bool) -> Any:
    if boundary != "fill" or fillvalue != 0 or method != "auto":
        raise ValueError("arrays on a GPU are correlated with boundary 'fill', fillvalue 0 and method 'auto'")
    place = place_of(in1, "in1", None)
    with place.current():
        in1, in2 = place.here(in1), place.here(in2)
        shapes = tuple(in1.shape), tuple(in2.shape)
        _check(*shapes, mode, boundary, method)
        return _run(place, in1, place.turned(in2) if convolves else in2, _shifts(*shapes, mode, convolves), "auto")


def _combine(in1: Any, in2: Any, mode: str, boundary: str, fillvalue: Any, method: str, convolves: bool) -> Any:
    if kind_of(in1) is not Host:
        return _on_gpu(in1, in2, mode, boundary, fillvalue, method, convolves)
    a, b = _numbers(in1, "in1"), _numbers(in2, "in2")
    _check(a.shape, b.shape, mode, boundary, method)
    shifts = _shifts(a.shape, b.shape, mode, convolves)
    if convolves:
        b = b[::-1, ::-1].conj()
    sums = _on_host(a, b, shifts, mode, boundary, fillvalue, method)
    swapped = mode == "valid" and (a.shape[0] < b.shape[0] or a.shape[1] < b.shape[1])
    return sums.conj() if swapped and not convolves and sums.dtype.kind == "c" else sums


@overload
def correlate2d(in1: np.ndarray, in2: Any, mode: Mode = ..., boundary: Boundary = ..., fillvalue: Any = ..., *,
                method: How = ...) -> np.ndarray: ...
@overload
def correlate2d(in1: Any, in2: Any, mode: Mode = ..., boundary: Boundary = ..., fillvalue: Any = ..., *,
                method: How = ...) -> Any: ...
def correlate2d(in1: Any, in2: Any, mode: Mode = "full", boundary: Boundary = "fill", fillvalue: Any = 0, *,
                method: How = "auto") -> Any:
    """Cross-correlate two matrices.

    As `scipy.signal.correlate2d`, but integers do not overflow.

    Parameters
    ----------
    in1, in2 : arrays of shape (height, width)
        Integers, bool, float32, float64, complex64 or complex128, in host memory; or on one GPU, of CuPy or PyTorch
        and of one type: uint8, uint16, int32, float32 or float64.
    mode : {"full", "valid", "same"}
        All shifts at which the two overlap; those at which one lies wholly inside the other; or the middle part
        of all, of the shape of `in1`.
    boundary : {"fill", "wrap", "symm"}
        What lies outside of `in1`: a value, `in1` again ("circular", too), or `in1` mirrored ("symmetric").
    fillvalue : number
        That value. On a GPU it is 0.
    method : {"auto", "direct", "fft"}
        By the definition or by an FFT; "auto": what is quicker for such sizes, as measured. Integers are exact in any
        case: where an FFT would not be, the definition is taken.

    Returns
    -------
    array
        Of uint8 an exact sum in uint32 or, for more than 66,051 elements of `in2`, uint64; of uint16 in uint64; of
        other integers in int64, or uint64 if one is of that; of others in the type of both. An array of the library
        of `in1`; work on a GPU is enqueued on its current stream.

    Raises
    ------
    TypeError
        Elements of other types.
    ValueError
        Other shapes; for "valid": neither lies wholly inside the other.

    Notes
    -----
    Infinities and NaN reach the sums that they are part of and no others. As SciPy's, the result of complex arrays is
    conjugated where mode is "valid" and `in2` is the larger one.
    """
    return _combine(in1, in2, mode, boundary, fillvalue, method, False)


@overload
def convolve2d(in1: np.ndarray, in2: Any, mode: Mode = ..., boundary: Boundary = ..., fillvalue: Any = ..., *,
               method: How = ...) -> np.ndarray: ...
@overload
def convolve2d(in1: Any, in2: Any, mode: Mode = ..., boundary: Boundary = ..., fillvalue: Any = ..., *,
               method: How = ...) -> Any: ...
def convolve2d(in1: Any, in2: Any, mode: Mode = "full", boundary: Boundary = "fill", fillvalue: Any = 0, *,
               method: How = "auto") -> Any:
    """Convolve two matrices, as `scipy.signal.convolve2d`.

    What :func:`correlate2d` does with the second one turned by 180 degrees and conjugated; it describes the
    parameters, results and exceptions.
    """
    return _combine(in1, in2, mode, boundary, fillvalue, method, True)
