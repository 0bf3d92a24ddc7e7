# SPDX-License-Identifier: LGPL-2.1-or-later
"""The results are those of scikit-image and OpenCV; more of OpenCV in test_opencv.py, SciPy in test_scipy.py."""
import cv2
import numpy
import pytest
import skimage.feature

import xcorr
from conftest import noise

CV2_METHODS = [cv2.TM_SQDIFF, cv2.TM_SQDIFF_NORMED, cv2.TM_CCORR, cv2.TM_CCORR_NORMED, cv2.TM_CCOEFF,
               cv2.TM_CCOEFF_NORMED]


def of_type(image, dtype):
    if dtype == "u2":  # of a camera of 12 bits
        return image.astype("u2") * 16 + noise(image.shape, 9) % 16
    return image.astype(dtype) / 255 if dtype == "f4" else image


# ---- scikit-image ----------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", ["u1", "u2", "f4"])
@pytest.mark.parametrize("pad_input", [False, True])
@pytest.mark.parametrize("size", [(48, 50), (31, 17), (8, 9), (1, 5)])
def test_photographs_as_scikit_image(photograph, dtype, pad_input, size):
    image = of_type(photograph, dtype)
    template = image[60:60 + size[0], 70:70 + size[1]]
    result = xcorr.match_template(image, template, pad_input=pad_input)
    # In double precision: its variances in single precision are good to three digits.
    expected = skimage.feature.match_template(image.astype("f8"), template.astype("f8"), pad_input=pad_input)
    assert result.dtype == numpy.float32
    assert result.shape == expected.shape
    numpy.testing.assert_allclose(result, expected, atol=2e-3 if dtype == "f4" else 1e-6)


def of_ramps(lines, widths, _, __):
    lines[:widths[0]], lines[-widths[1]:] = 3.7, 9.2


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap", "mean", "median", "minimum", "maximum",
                                  "linear_ramp", of_ramps])
def test_all_paddings_as_scikit_image(mode):
    image = noise((60, 80), 1)
    result, expected = (match(image, image[10:22, 20:36], True, mode)
                        for match in (xcorr.match_template, skimage.feature.match_template))
    numpy.testing.assert_allclose(result, expected, atol=1e-6)


def test_bright_squares_in_noise_are_found():
    image = noise((400, 400), 3, "f4") * numpy.float32(0.2)
    target = numpy.tri(20, dtype="f4") + numpy.tri(20, dtype="f4")[::-1]
    places = [(50, 50), (200, 200)]
    for y, x in places:
        image[y:y + 20, x:x + 20] = target
    result = xcorr.match_template(image, target)
    peaks = skimage.feature.peak_local_max(result, min_distance=10, threshold_abs=0.9)
    assert sorted(map(tuple, peaks)) == places
    padded = xcorr.match_template(image, target, pad_input=True)
    peaks = skimage.feature.peak_local_max(padded, min_distance=10, threshold_abs=0.9)
    assert sorted(map(tuple, peaks)) == [(y + 10, x + 10) for y, x in places]


def test_scores_are_normalised_and_never_nan():
    image = noise((64, 64), 4, "f4")
    image[10:40, 10:40] = 0.5
    result = xcorr.match_template(image, image[50:58, 50:58])
    assert numpy.isfinite(result).all()
    assert result.max() <= 1 and result.min() >= -1
    assert (result[12:30, 12:30] == 0).all()
    assert (xcorr.match_template(image, image[12:20, 12:20]) == 0).all()


@pytest.mark.parametrize("dtype", ["u1", "u2"])
def test_a_copy_scores_exactly_one(photograph, dtype):
    image = of_type(photograph, dtype)
    template = image[100:140, 90:150]
    assert xcorr.match_template(image, template)[100, 90] == 1
    peak = xcorr.Matcher([template], device="cpu").match(image)[0]
    assert (round(peak["x"]), round(peak["y"]), peak["score"]) == (90, 100, 1)


def test_low_bytes_decide():
    image = 0x5A00 + noise((60, 80), 10).astype("u2")
    assert numpy.argmax(xcorr.match_template(image, image[21:33, 34:50])) == 21 * 65 + 34


# ---- OpenCV ----------------------------------------------------------------------------------------

def norms(image, templ, centred):
    """The denominator of a normed score at every place."""
    height, width = templ.shape
    sums, squares = (each[height:, width:] - each[:-height, width:] - each[height:, :-width] + each[:-height, :-width]
                     for each in cv2.integral2(image.astype("f8"), sdepth=cv2.CV_64F, sqdepth=cv2.CV_64F))
    t = templ.astype("f8")
    if centred:
        squares = squares - sums ** 2 / templ.size
        t -= t.mean()
    return numpy.sqrt(numpy.maximum(squares, 0) * (t ** 2).sum())


@pytest.mark.parametrize("dtype", ["u1", "f4"])
@pytest.mark.parametrize("method", CV2_METHODS)
@pytest.mark.parametrize("size", [(48, 50), (8, 9)])
def test_photographs_as_opencv(photograph, dtype, method, size):
    image = of_type(photograph, dtype)
    templ = image[60:60 + size[0], 70:70 + size[1]]
    result = xcorr.matchTemplate(image, templ, method)
    expected = cv2.matchTemplate(image, templ, method)
    assert result.dtype == expected.dtype and result.shape == expected.shape
    # OpenCV's products have the error of an FFT in single precision, which is one of the whole sums; where there is
    # little contrast it is much of a score, and where there is next to none that score becomes 0 or 1.
    error = numpy.abs(result.astype("f8") - expected)
    if method % 2:
        error *= norms(image, templ, method == cv2.TM_CCOEFF_NORMED)
    assert error.max() < (2e-4 if method % 2 else 1e-5) * cv2.matchTemplate(image, templ, cv2.TM_CCORR).max()


def by_definition(image, templ, method):
    """In extended precision."""
    windows = numpy.lib.stride_tricks.sliding_window_view(image.astype("g"), templ.shape)
    t = templ.astype("g")
    if method in (cv2.TM_CCOEFF, cv2.TM_CCOEFF_NORMED):
        t = t - t.mean()
        windows = windows - windows.mean(axis=(2, 3), keepdims=True)
    squares = (windows ** 2).sum(axis=(2, 3)) * (t ** 2).sum()
    if method in (cv2.TM_SQDIFF, cv2.TM_SQDIFF_NORMED):
        sums = ((windows - t) ** 2).sum(axis=(2, 3))
    else:
        sums = (windows * t).sum(axis=(2, 3))
    return numpy.minimum(sums / numpy.sqrt(squares), 1) if method % 2 else sums


@pytest.mark.parametrize("dtype", ["u1", "u2"])
@pytest.mark.parametrize("method", CV2_METHODS)
def test_sums_of_integers_are_exact(method, dtype):
    image, templ = noise((40, 50), 5, dtype), noise((9, 7), 6, dtype)
    result = xcorr.matchTemplate(image, templ, method).astype("f8")
    expected = by_definition(image, templ, method)
    numpy.testing.assert_allclose(result, expected, rtol=1e-6, atol=1e-7 * numpy.abs(expected).max())


@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8"])
@pytest.mark.parametrize("method", CV2_METHODS)
def test_integers_up_to_the_ends_of_their_range(method, dtype):
    ends = numpy.iinfo(dtype)
    image = numpy.random.default_rng(7).integers(ends.min, ends.max, (40, 50), dtype, endpoint=True)
    templ = image[5:14, 7:19]
    expected = by_definition(image, templ, method)
    result = xcorr.match_template(image, templ, method=method)
    numpy.testing.assert_allclose(result, expected.astype("f8"), rtol=0, atol=1e-14 * float(numpy.abs(expected).max()))


def test_what_is_common_to_large_integers_hides_nothing():
    image = noise((40, 50), 8)
    expected = xcorr.match_template(image, image[5:14, 7:19])
    for dtype, common in (("u8", 2 ** 63), ("i8", -2 ** 62)):
        large = image.astype(dtype) + numpy.array(common, dtype)
        numpy.testing.assert_allclose(xcorr.match_template(large, large[5:14, 7:19]), expected, atol=1e-6)


@pytest.mark.parametrize("size", [2.0 ** 1000, 2.0 ** 500, 2.0 ** -500, 2.0 ** -1060])
@pytest.mark.parametrize("method", CV2_METHODS)
def test_floats_of_any_size(method, size):
    image = noise((40, 50), 9).astype("f8")
    templ = image[5:14, 7:19]
    expected = xcorr.match_template(image, templ, method=method)
    with numpy.errstate(over="ignore"):
        result = xcorr.match_template(image * size, templ * size, method=method)
        numpy.testing.assert_array_equal(result, expected if method % 2 else expected * size * size)


def test_methods_have_opencvs_numbers_and_names():
    for name in ("SQDIFF", "SQDIFF_NORMED", "CCORR", "CCORR_NORMED", "CCOEFF", "CCOEFF_NORMED"):
        number = getattr(xcorr, f"TM_{name}")
        assert number == getattr(cv2, f"TM_{name}")
        image, templ = noise((20, 20), 1), noise((5, 5), 2)
        result = xcorr.match_template(image, templ, method=number)
        for other in (f"TM_{name}", name.lower(), name.lower().replace("_", "-")):
            numpy.testing.assert_array_equal(xcorr.match_template(image, templ, method=other), result)
