# SPDX-License-Identifier: LGPL-2.1-or-later
"""`matchTemplate` is cv2's: depths, channels, methods and masks, compared with it and with the formulas in OpenCV's
documentation, which are written out here in double precision."""
import inspect
import itertools

import cv2
import numpy
import pytest

import xcorr
from conftest import noise

METHODS = range(6)
DEPTHS = ["u1", "f4"]
#: Of pixels, of pixels with weights, of each channel.
MASKS = [None, "u1", "f4", "u1 each", "f4 each"]
TABLE = [case for case in itertools.product(METHODS, DEPTHS, [1, 2, 3, 4], MASKS)
         if case[2] > 1 or not (case[3] or "").endswith("each")]


def images(depth, channels, seed=5, size=(31, 40), part=(9, 7)):
    shape = size if channels == 1 else (*size, channels)
    image = noise(shape, seed, depth)
    templ = image[11:11 + part[0], 20:20 + part[1]].copy()
    templ[2:5, 1:4] = noise(templ[2:5, 1:4].shape, seed + 1, depth)
    return image, templ


def mask_of(kind, templ):
    if kind is None:
        return None
    shape = templ.shape if kind.endswith("each") else templ.shape[:2]
    return noise(shape, 8, "f4") if kind.startswith("f4") else (noise(shape, 8) > 99).astype("u1")


def by_definition(image, templ, method, mask=None):
    """OpenCV's formulas; those with a mask are the general ones."""
    image, templ = (array.astype("f8").reshape(*array.shape[:2], -1) for array in (image, templ))
    weights = numpy.ones(templ.shape) if mask is None else numpy.broadcast_to(
        mask.astype("f8").reshape(*mask.shape[:2], -1), templ.shape)
    windows = numpy.lib.stride_tricks.sliding_window_view(image, templ.shape[:2], (0, 1)).transpose(0, 1, 3, 4, 2)
    area = (2, 3)
    if method >= cv2.TM_CCOEFF:
        total = weights.sum(axis=(0, 1))
        templ = templ - (templ * weights).sum(axis=(0, 1)) / total
        windows = windows - (windows * weights).sum(axis=area, keepdims=True) / total
    templ, windows = templ * weights, windows * weights
    every = (2, 3, 4)
    sums = ((windows - templ) ** 2).sum(axis=every) if method < 2 else (windows * templ).sum(axis=every)
    return sums / numpy.sqrt((windows ** 2).sum(axis=every) * (templ ** 2).sum()) if method % 2 else sums


@pytest.mark.parametrize("method, depth, channels, kind", TABLE)
def test_as_opencv_and_its_formulas(method, depth, channels, kind):
    image, templ = images(depth, channels)
    mask = mask_of(kind, templ)
    result = xcorr.matchTemplate(image, templ, method, mask=mask)
    truth = by_definition(image, templ, method, mask)
    assert result.dtype == numpy.float32 and result.shape == truth.shape
    scale = numpy.abs(truth).max()
    numpy.testing.assert_allclose(result, truth, rtol=2e-7, atol=1e-7 * scale)
    expected = cv2.matchTemplate(image, templ, method, mask=mask)
    assert result.dtype == expected.dtype and result.shape == expected.shape
    numpy.testing.assert_allclose(result, expected, rtol=1e-3, atol=2e-4 * max(scale, numpy.abs(expected).max()))


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("part", [(1, 1), (1, 9), (31, 40), (30, 3)])
def test_templates_of_any_shape(depth, channels, part):
    image, _ = images(depth, channels)
    templ = noise((*part, channels) if channels > 1 else part, 3, depth)
    image, templ = image + image.dtype.type(1) * (image == 0), templ + templ.dtype.type(1) * (templ == 0)
    for method in (cv2.TM_SQDIFF, cv2.TM_CCORR, cv2.TM_CCORR_NORMED):
        truth = by_definition(image, templ, method)
        numpy.testing.assert_allclose(xcorr.matchTemplate(image, templ, method), truth, rtol=1e-6,
                                      atol=1e-6 * numpy.abs(truth).max())


def test_the_signature_is_opencvs():
    assert list(inspect.signature(xcorr.matchTemplate).parameters) == ["image", "templ", "method", "result", "mask"]
    image, templ = images("u1", 1)
    mask = mask_of("u1", templ)
    expected = xcorr.matchTemplate(image, templ, cv2.TM_CCORR, None, mask)
    numpy.testing.assert_array_equal(
        xcorr.matchTemplate(image=image, templ=templ, method=cv2.TM_CCORR, mask=mask), expected)
    result = numpy.empty_like(expected)
    assert xcorr.matchTemplate(image, templ, cv2.TM_CCORR, result, mask) is result
    numpy.testing.assert_array_equal(result, expected)
    other = numpy.zeros((3, 3), "f4")
    numpy.testing.assert_array_equal(xcorr.matchTemplate(image, templ, cv2.TM_CCORR, other, mask), expected)
    assert not other.any()


@pytest.mark.parametrize("channels", [1, 3])
def test_a_copy_scores_exactly(channels):
    image, _ = images("u1", channels)
    templ = image[11:20, 20:27]
    assert xcorr.matchTemplate(image, templ, cv2.TM_SQDIFF)[11, 20] == 0
    assert xcorr.matchTemplate(image, templ, cv2.TM_SQDIFF_NORMED)[11, 20] == 0
    for method in (cv2.TM_CCORR_NORMED, cv2.TM_CCOEFF_NORMED):
        assert xcorr.matchTemplate(image, templ, method)[11, 20] == 1


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("kind", [None, "u1", "f4"])
def test_sqdiff_normed_ends_at_1(depth, kind):
    """OpenCV's does so without a mask only."""
    image, templ = images(depth, 1)
    templ = templ.max() - templ
    image[:12] = image[:12] * 0.02
    mask = mask_of(kind, templ)
    result = xcorr.matchTemplate(image, templ, cv2.TM_SQDIFF_NORMED, mask=mask)
    expected = cv2.matchTemplate(image, templ, cv2.TM_SQDIFF_NORMED, mask=mask)
    assert (expected > 1).any() == (mask is not None) and (result == 1).any()
    numpy.testing.assert_allclose(result, numpy.minimum(expected, 1), rtol=1e-3, atol=2e-4)


def test_a_channel_of_one_is_gray():
    image, templ = images("u1", 1)
    mask = mask_of("f4", templ)
    numpy.testing.assert_array_equal(
        xcorr.matchTemplate(image[..., None], templ[..., None], cv2.TM_CCOEFF, mask=mask[..., None]),
        xcorr.matchTemplate(image, templ, cv2.TM_CCOEFF, mask=mask))


def test_what_opencv_refuses_is_refused():
    """And what it swaps: a template that is larger than the image in both directions."""
    image, templ = images("u1", 3)
    for arguments, error, text in (
            ((image, templ[..., :2], 0), ValueError, "image has 3 channels, templ 2"),
            ((image, templ.astype("f4"), 0), TypeError, "different types of elements: uint8, float32"),
            ((image, templ[..., 0], 0), ValueError, "must have as many dimensions"),
            ((image, numpy.zeros((50, 3, 3), "u1"), 0), ValueError, "does not fit into the image"),
            ((templ, image, 0), ValueError, "does not fit into the image"),
            ((image, templ, 6), ValueError, "no such method"),
            ((image, templ, 0, None, numpy.ones((2, 2), "u1")), ValueError, "does not fit the template"),
            ((image, templ, 0, None, numpy.zeros(templ.shape, "f4")), ValueError, "leaves no pixel that counts")):
        with pytest.raises(error, match=text):
            xcorr.matchTemplate(*arguments)
