# SPDX-License-Identifier: LGPL-2.1-or-later
"""`correlate2d` and `convolve2d` are SciPy's, but that integers do not overflow."""
import inspect

import numpy
import pytest
import scipy.signal

import xcorr
from conftest import noise

SHAPES = [((20, 31), (6, 5)), ((7, 8), (7, 8)), ((3, 4), (9, 8)), ((1, 9), (1, 4)), ((1, 1), (1, 1)),
          ((120, 100), (50, 60))]
FUNCTIONS = ["correlate2d", "convolve2d"]


def numbers(shape, dtype, seed):
    """Small whole ones, or fractions."""
    dtype = numpy.dtype(dtype)
    generator = numpy.random.default_rng(seed)
    if dtype.kind == "c":
        return (generator.random(shape) - 0.5 + 1j * generator.random(shape)).astype(dtype)
    if dtype.kind == "f":
        return (generator.random(shape) - 0.5).astype(dtype)
    return generator.integers(0 if dtype.kind == "u" else -100, 2 if dtype == bool else 100, shape).astype(dtype)


def both(function, *arguments, **more):
    return getattr(xcorr, function)(*arguments, **more), getattr(scipy.signal, function)(*arguments, **more)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_signature_begins_as_scipys(function):
    ours, theirs = (inspect.signature(getattr(module, function)).parameters for module in (xcorr, scipy.signal))
    assert [(each.name, each.default) for each in list(ours.values())[:5]] == [
        (each.name, each.default) for each in theirs.values()]


@pytest.mark.parametrize("dtype, exact", [("u1", "u4"), ("u2", "u8"), ("i4", "i8"), ("f4", "f4"), ("f8", "f8")])
@pytest.mark.parametrize("mode", ["full", "valid", "same"])
@pytest.mark.parametrize("shapes", SHAPES)
def test_correlations_as_scipy(dtype, exact, mode, shapes):
    a, b = (noise(shape, seed).astype(dtype) for seed, shape in enumerate(shapes))
    if dtype[0] != "u":
        a -= a.dtype.type(100)
    result = xcorr.correlate2d(a, b, mode)
    expected = scipy.signal.correlate2d(a.astype("f8"), b.astype("f8"), mode)
    assert result.dtype == exact and result.shape == expected.shape
    tolerance = 2e-6 * numpy.abs(expected).max() if dtype == "f4" else 1e-14 * numpy.abs(expected).max()
    numpy.testing.assert_allclose(result, expected, rtol=0, atol=0 if dtype in ("u1", "u2", "i4") else tolerance)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("method", ["auto", "direct", "fft"])
@pytest.mark.parametrize("mode", ["full", "valid", "same"])
@pytest.mark.parametrize("types",
                         [("f8", "f8"), ("f4", "f8"), ("i8", "f4"), ("c16", "c16"), ("c8", "c8"), ("c16", "f8"),
                          ("f4", "c8"), ("i8", "i8"), ("i1", "u2"), ("b1", "i4"), ("u1", "u2")])
@pytest.mark.parametrize("shapes", [((20, 31), (6, 5)), ((3, 4), (9, 8)), ((70, 60), (30, 20))])
def test_types(function, method, mode, types, shapes):
    a, b = (numbers(shape, dtype, seed) for seed, (shape, dtype) in enumerate(zip(shapes, types)))
    result = getattr(xcorr, function)(a, b, mode, method=method)
    wide = [array.astype("i8") if array.dtype.kind in "iub" else array for array in (a, b)]
    expected = getattr(scipy.signal, function)(*wide, mode)
    common = numpy.result_type(a, b)
    assert result.dtype == (common if common.kind in "fc" else "i8") and result.shape == expected.shape
    epsilon = 0 if common.kind in "iub" else numpy.finfo(common).eps
    numpy.testing.assert_allclose(result, expected, rtol=0, atol=20 * epsilon * numpy.sqrt(
        (numpy.abs(wide[0].astype("c16")) ** 2).sum() * (numpy.abs(wide[1].astype("c16")) ** 2).sum()))


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("mode", ["full", "valid", "same"])
@pytest.mark.parametrize("outside", [{"boundary": "wrap"}, {"boundary": "symm"}, {"boundary": "circular"},
                                     {"boundary": "symmetric"}, {"fillvalue": 3},
                                     {"fillvalue": [2.5]}, {"boundary": "fill", "fillvalue": -1.5}])
@pytest.mark.parametrize("dtype", ["f8", "i8", "c16"])
@pytest.mark.parametrize("shapes", SHAPES[:-1])
def test_boundaries(function, mode, outside, dtype, shapes):
    a, b = (numbers(shape, dtype, seed) for seed, shape in enumerate(shapes))
    result, expected = both(function, a, b, mode, **outside)
    assert result.dtype == expected.dtype
    numpy.testing.assert_allclose(result, expected, rtol=0, atol=1e-14 * numpy.abs(expected).max())


@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_scipy_refuses_is_refused(function):
    correlate = getattr(xcorr, function)
    a = numpy.ones((3, 4))
    for arguments in ((a, a.T, "valid"), (a, a, "most"), (a, a, "full", "mirror"), (a, a, "full", "fill", []),
                      (a, a, "full", "fill", [1, 2]), (a, a, "full", "fill", 1j), (3, 4), ([3], [4]),
                      ([[[3]]], [[[4]]])):
        for refuses in (correlate, getattr(scipy.signal, function)):
            with pytest.raises(ValueError):
                refuses(*arguments)


def test_large_sums_of_bytes_do_not_overflow():
    a = numpy.full((300, 300), 255, "u1")
    result = xcorr.correlate2d(a, a, "valid")
    assert result.dtype == numpy.uint64 and result.item() == 300 * 300 * 255 * 255


@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8"])
def test_large_integers_are_exact(dtype):
    """Modulo 2^64, as NumPy's."""
    limits = numpy.iinfo(dtype)
    a, b = (numpy.random.default_rng(seed).integers(limits.min, limits.max, shape, dtype, endpoint=True)
            for seed, shape in enumerate([(40, 50), (20, 30)]))
    result = xcorr.correlate2d(a, b, "valid")
    windows = numpy.lib.stride_tricks.sliding_window_view(a.astype(object), b.shape)
    expected = (windows * b.astype(object)).sum(axis=(2, 3))
    assert result.dtype == ("u8" if dtype == "u8" else "i8")
    assert all(int(have) % 2 ** 64 == int(want) % 2 ** 64 for have, want in zip(result.flat, expected.flat))


@pytest.mark.parametrize("bits", [4, 12, 15, 18])
@pytest.mark.parametrize("method", ["auto", "fft"])
def test_sums_of_integers_by_fft_are_rounded_right(bits, method):
    a, b = (numpy.random.default_rng(seed).integers(-2 ** bits, 2 ** bits, shape, "i4")
            for seed, shape in enumerate([(250, 260), (60, 70)]))
    result = xcorr.correlate2d(a, b, "full", method=method)
    numpy.testing.assert_array_equal(result, xcorr.correlate2d(a, b, "full", method="direct"))
    numpy.testing.assert_array_equal(result[59:-59, 69:-69][::40, ::40], [[
        int((a[y:y + 60, x:x + 70].astype("i8") * b).sum()) for x in range(0, 191, 40)] for y in range(0, 191, 40)])


@pytest.mark.parametrize("size", [(9, 8), (60, 70)])
def test_what_is_not_finite_reaches_what_it_is_part_of(size):
    a, b = numbers((100, 120), "f8", 1), numbers(size, "f8", 2)
    b[2:4, 3] = 0
    a[50, 60], a[20, 30], a[21, 33] = numpy.nan, numpy.inf, -numpy.inf
    for function in FUNCTIONS:
        result, expected = both(function, a, b, "same")
        finite = numpy.isfinite(expected)
        assert 0 < finite.sum() < finite.size
        numpy.testing.assert_array_equal(result[~finite], expected[~finite])
        numpy.testing.assert_allclose(result[finite], expected[finite], rtol=0, atol=1e-11)
    b[1, 1] = numpy.inf
    result, expected = both("correlate2d", a, b, "valid")
    numpy.testing.assert_array_equal(numpy.isnan(result), numpy.isnan(expected))


@pytest.mark.parametrize("method", ["auto", "direct", "fft"])
@pytest.mark.parametrize("type_, largest", [("f4", 2.0 ** 120), ("f8", 2.0 ** 1000)])
def test_sums_that_are_almost_too_large(method, type_, largest):
    a, b = (numbers(shape, type_, seed) for seed, shape in enumerate([(90, 80), (60, 70)]))
    sums = xcorr.correlate2d(a, b, method=method)
    error = {"f4": 1e-4, "f8": 1e-12}[type_]
    numpy.testing.assert_allclose(xcorr.correlate2d(a * a.dtype.type(largest), b, method=method) / largest, sums,
                                  rtol=0, atol=error)
    # Those that are too large are infinite, as the definition's.
    too_large = xcorr.correlate2d(a * a.dtype.type(largest), b * b.dtype.type(largest), method=method)
    assert numpy.isposinf(too_large[sums > 1]).all() and numpy.isneginf(too_large[sums < -1]).all()


@pytest.mark.parametrize("type_", ["f4", "f8"])
def test_what_is_too_large_leaves_other_sums_as_they_are(type_):
    a, b = (numbers(shape, type_, seed) for seed, shape in enumerate([(40, 50), (6, 5)]))
    b += 1
    expected = xcorr.correlate2d(a, b, "valid")
    a[0, 0] = numpy.finfo(type_).max
    sums = xcorr.correlate2d(a, b * b.dtype.type(8), "valid") / 8
    assert numpy.isposinf(sums[0, 0])
    numpy.testing.assert_allclose(sums.flat[1:], expected.flat[1:], rtol=1e-6 if type_ == "f4" else 1e-13)
