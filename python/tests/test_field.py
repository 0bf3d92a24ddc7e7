# SPDX-License-Identifier: LGPL-2.1-or-later
"""Displacement fields of images whose displacement is known."""
import numpy
import pytest

import xcorr
from conftest import noise


def shifted(x, y, shape=(96, 128)):
    """A part of one texture: what is in it has moved by (-x, -y)."""
    texture = noise((shape[0] + 40, shape[1] + 40), 7)
    return texture[20 + y:20 + y + shape[0], 20 + x:20 + x + shape[1]]


def inner(vectors):
    return vectors[1:-1, 1:-1]


def test_whole_pixels():
    matcher = xcorr.FieldMatcher(shifted(0, 0), device="cpu", subpixel="none", search_range=8)
    vectors = matcher.match(shifted(3, -2))
    assert vectors.dtype == xcorr.VECTOR and vectors.shape == (5, 7)
    assert (inner(vectors)["dx"] == -3).all() and (inner(vectors)["dy"] == 2).all()
    assert (inner(vectors)["score"] == 1).all() and (inner(vectors)["status"] == 0).all()
    assert vectors[0, 0]["x"] == 15.5 and vectors[0, 1]["x"] == 31.5 and vectors[1, 0]["y"] == 31.5


@pytest.mark.parametrize("kind, scale", [("u2", 200), ("f4", 0.001)])
def test_deep_images(kind, scale):
    before, after = ((30000 + image.astype("f8") * scale).astype(kind) if kind == "u2"
                     else (image * scale).astype(kind) for image in (shifted(0, 0), shifted(3, -2)))
    vectors = xcorr.FieldMatcher(before, device="cpu", subpixel="none", search_range=8).match(after)
    assert (inner(vectors)["dx"] == -3).all() and (inner(vectors)["dy"] == 2).all()
    assert (inner(vectors)["score"] > 0.999999).all()
    matcher = xcorr.FieldMatcher(shifted(0, 0), device="cpu", subpixel="none", search_range=8)
    matcher.set_reference(before)  # of another type
    assert (inner(matcher.match(after))["dx"] == -3).all()


def test_what_is_not_finite():
    before, after = shifted(0, 0).astype("f4"), shifted(3, -2).astype("f4")
    before[40:44, 60:64], after[50, 70] = numpy.nan, numpy.inf
    vectors = xcorr.FieldMatcher(before, device="cpu", subpixel="least-squares").match(after)
    for name in vectors.dtype.names:
        assert numpy.isfinite(vectors[name]).all()


def test_references():
    matcher = xcorr.FieldMatcher(device="cpu", search_range=8, subpixel="none")
    with pytest.raises(ValueError, match="there is no reference"):
        matcher.match(shifted(0, 0))
    matcher.set_reference(shifted(0, 0))
    assert (inner(matcher.match(shifted(4, 0)))["dx"] == -4).all()
    matcher.advance()
    assert (inner(matcher.match(shifted(5, 0)))["dx"] == -1).all()
    matcher.set_reference(shifted(0, 0, (64, 64)))  # of another size
    assert matcher.match(shifted(1, 0, (64, 64))).shape == (3, 3)


def test_least_squares_and_passes():
    shape = 256, 288
    matcher = xcorr.FieldMatcher(shifted(0, 0, shape), device="cpu", windows=(64, 32), subpixel="least-squares",
                                 order=0)
    assert matcher.settings.windows == (64, 32) and matcher.device == "cpu"
    vectors = matcher.match(shifted(2, 1, shape))[4:-4, 4:-4]
    assert numpy.allclose(vectors["dx"], -2, atol=1e-3) and (vectors["sigma"] >= 0).all()


def noisy(x, y, seed):
    """So much that a single pair of small windows says little."""
    return (0.2 * shifted(x, y) + 0.8 * noise((96, 128), seed)).astype("u1")


def test_ensemble():
    matcher = xcorr.FieldMatcher(device="cpu", subpixel="none", windows=(16,), search_range=8, median_limit=0.0)
    pairs = [(noisy(0, 0, 20 + i), noisy(3, -2, 40 + i)) for i in range(24)]

    def share(vectors):
        return ((inner(vectors)["dx"] == -3) & (inner(vectors)["dy"] == 2)).mean()

    alone = share(matcher.match_ensemble(pairs[:1]))
    assert share(matcher.match_ensemble(pairs)) > max(0.8, 2 * alone)
    with pytest.raises(ValueError, match="there is no reference"):
        matcher.match(pairs[0][1])
    with pytest.raises(ValueError, match="at least one pair"):
        matcher.match_ensemble([])
    with pytest.raises(ValueError, match="prepared for 128x96"):
        matcher.match_ensemble([pairs[0], (shifted(0, 0, (64, 64)), shifted(0, 0, (64, 64)))])
    with pytest.raises(ValueError, match="least squares fit single pairs"):
        xcorr.FieldMatcher(device="cpu", subpixel="least-squares").match_ensemble(pairs)


def test_deformation():
    stretched = xcorr.FieldMatcher(shifted(0, 0), device="cpu", windows=(32, 32), search_range=8, deformation=True)
    vectors = stretched.match(shifted(2, 1))
    assert abs(numpy.median(inner(vectors)["dx"]) + 2) < 0.1 and abs(numpy.median(inner(vectors)["dy"]) + 1) < 0.1


def test_mask():
    mask = numpy.ones((96, 128), bool)
    mask[:, :48] = False
    vectors = xcorr.FieldMatcher(shifted(0, 0), mask, device="cpu").match(shifted(1, 1))
    assert xcorr.FIELD_STATUS[vectors[2, 0]["status"]] == "masked"
    assert xcorr.FIELD_STATUS[vectors[2, 5]["status"]] == "ok"


@pytest.mark.parametrize("changes, text", [
    ({"windows": (256,)}, "windows of 256x256 are larger than the image of 128x96"),
    ({"windows": (16, 32)}, "windows must not grow from pass to pass: 32 after 16"),
    ({"spacing": 0}, "the spacing must be at least 1, not 0"),
    ({"subpixel": "cubic"}, "subpixel is one of none, gauss, quadratic, least-squares, not 'cubic'"),
])
def test_settings_that_cannot_be(changes, text):
    with pytest.raises(ValueError, match=text):
        xcorr.FieldMatcher(shifted(0, 0), device="cpu", **changes)


def test_images_that_cannot_be():
    matcher = xcorr.FieldMatcher(shifted(0, 0), device="cpu")
    with pytest.raises(ValueError, match="prepared for 128x96"):
        matcher.match(shifted(0, 0, (64, 64)))
    with pytest.raises(TypeError, match="of type float32, the reference of uint8"):
        matcher.match(shifted(0, 0).astype("f4"))
    with pytest.raises(TypeError, match="different types of elements: uint8, float32"):
        matcher.match_ensemble([(shifted(0, 0), shifted(0, 0).astype("f4"))])
    with pytest.raises(TypeError, match="float64"):
        matcher.set_reference(shifted(0, 0).astype("f8"))
    with pytest.raises(ValueError, match="mask"):
        xcorr.FieldMatcher(shifted(0, 0), numpy.ones((5, 5), bool), device="cpu")
    with pytest.raises(TypeError, match="spacing cannot be 'wide'"):
        xcorr.FieldMatcher(device="cpu", spacing="wide")


def test_places():
    places = numpy.array([(50.2, 40), (81.5, 47.5), (60, 60), (34, 50)])
    matcher = xcorr.FieldMatcher(shifted(0, 0), places=places, device="cpu", subpixel="none", search_range=8,
                                 windows=(48, 32))
    vectors = matcher.match(shifted(3, -2))
    assert vectors.shape == (1, 4)
    assert (vectors["dx"] == -3).all() and (vectors["dy"] == 2).all() and (vectors["score"] == 1).all()
    assert vectors["x"].tolist() == [[50.5, 81.5, 60.5, 34.5]]


@pytest.mark.parametrize("places, text", [
    ([(10, 40)], "the window at 10.000000, 40.000000 is not inside the image"),
    ([1, 2, 3], r"of the shape \(n, 2\), not \(3,\)"),
    (numpy.empty((0, 2)), r"of the shape \(n, 2\), not \(0, 2\)"),
])
def test_places_that_cannot_be(places, text):
    with pytest.raises(ValueError, match=text):
        xcorr.FieldMatcher(shifted(0, 0), places=places, device="cpu")
