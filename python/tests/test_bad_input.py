# SPDX-License-Identifier: LGPL-2.1-or-later
"""What cannot be an image: whoever gets it says in a sentence what was given and what is taken. A table of both."""
import decimal
import pathlib
import re

import numpy
import PIL.Image
import pytest

import xcorr
from conftest import noise

IMAGE = noise((60, 80), 1)
PART = IMAGE[5:15, 5:20]


def matcher():
    return xcorr.Matcher([PART], device="cpu")


def fields(image=IMAGE):
    return xcorr.FieldMatcher(image, device="cpu", windows=(16,), search_range=4)


#: Who takes an image, and what it is called there.
TAKERS = {
    "match_template": ("image", lambda bad: xcorr.match_template(bad, PART)),
    "match_template's template": ("template", lambda bad: xcorr.match_template(IMAGE, bad)),
    "matchTemplate": ("image", lambda bad: xcorr.matchTemplate(bad, PART, xcorr.TM_CCOEFF_NORMED)),
    "correlate2d": ("in1", lambda bad: xcorr.correlate2d(bad, PART)),
    "convolve2d": ("in2", lambda bad: xcorr.convolve2d(IMAGE, bad)),
    "Matcher": ("template 0", lambda bad: xcorr.Matcher([bad], device="cpu")),
    "Matcher.match": ("frame", lambda bad: matcher().match(bad)),
    "Matcher.match_batch": ("frame", lambda bad: matcher().match_batch([bad])),
    "Matcher.score": ("frame", lambda bad: matcher().score(bad)),
    "MultiMatcher": ("template 0", lambda bad: xcorr.MultiMatcher([bad], devices=("cpu",))),
    "LiveTemplate": ("pixels", lambda bad: xcorr.LiveTemplate(bad, "cpu")),
    "FieldMatcher": ("reference", fields),
    "FieldMatcher.match": ("frame", lambda bad: fields().match(bad)),
}

NO_ARRAY = (TypeError, "{name} is a {type}, no array of pixels; a file must be read first")
NO_NUMBERS = (TypeError, "{name} has elements of type {dtype}; .* taken, so convert it first")
NO_IMAGE = (ValueError, r"{name} must have two( or three)? dimensions.*; it has the shape {shape}")

#: What is given, and what is said of it.
BAD = {
    "indices": (PIL.Image.fromarray(IMAGE).convert("P"), TypeError, "{name} is .* indices into a palette; convert"),
    "a file's name": ("photograph.png", *NO_ARRAY),
    "a path": (pathlib.PurePosixPath("photograph.png"), *NO_ARRAY),
    "a mapping": ({"pixels": 3}, *NO_ARRAY),
    "bytes": (b"PNG", *NO_ARRAY),
    "rows of different lengths": ([[1, 2], [3]], ValueError, "{name} is a list, of which NumPy makes no array"),
    "rows of words": ([["a", "b"]], *NO_NUMBERS),
    "objects": (IMAGE.astype(object), *NO_NUMBERS),
    "fractions": (numpy.full((60, 80), decimal.Decimal(1)), *NO_NUMBERS),
    "times": (IMAGE.astype("M8[s]"), *NO_NUMBERS),
    "records": (numpy.zeros((60, 80), [("red", "u1")]), TypeError, "{name} has elements of type .* taken"),
    "a number": (numpy.uint8(3), *NO_IMAGE),
    "a row": (IMAGE[0], *NO_IMAGE),
    "a batch": (IMAGE[None, None], *NO_IMAGE),
    "no rows": (IMAGE[:0], ValueError, "empty|of 80x0"),
    "no columns": (IMAGE[:, :0], ValueError, "empty|of 0x60"),
    "masked elements": (numpy.ma.masked_array(IMAGE, mask=IMAGE < 9), ValueError, "{name} has masked elements"),
}


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize("given", BAD)
def test_what_is_no_image(taker, given):
    (name, call), (bad, error, text) = TAKERS[taker], BAD[given]
    shape = re.escape(str(bad.shape)) if isinstance(bad, (numpy.ndarray, numpy.generic)) else ""
    text = text.format(name=name, type=type(bad).__name__, shape=shape, dtype=".*")
    with pytest.raises(error, match=text) as raised:
        call(bad)
    assert "\n" not in str(raised.value) and len(str(raised.value)) < 250


@pytest.mark.parametrize("taker", [taker for taker in TAKERS if taker != "FieldMatcher"])  # which may get one later
def test_nothing_is_what_opencv_reads_of_a_missing_file(taker):
    name, call = TAKERS[taker]
    with pytest.raises(TypeError, match=f"{name} is None, which is what cv2.imread returns"):
        call(None)


def test_devices_have_names():
    with pytest.raises(ValueError, match="no such device: 3; there are 'cpu'"):
        xcorr.match_template(IMAGE, PART, device=3)


#: What looks odd and is an image nevertheless.
GOOD = {
    "mirrored": lambda image: numpy.ascontiguousarray(image[::-1, ::-1])[::-1, ::-1],
    "every second column": lambda image: numpy.repeat(image, 2, 1)[:, ::2],
    "transposed": lambda image: numpy.ascontiguousarray(image.T).T,
    "read-only": lambda image: numpy.broadcast_to(image, image.shape),
    "masked, nothing is": numpy.ma.masked_array,
    "big-endian": lambda image: image.astype(">u2"),
}


@pytest.mark.parametrize("given", GOOD)
@pytest.mark.parametrize("taker",
                         ["match_template", "matchTemplate", "correlate2d", "Matcher.match", "FieldMatcher.match"])
def test_what_is_an_image(taker, given):
    wide = GOOD[given](IMAGE).dtype.itemsize == 2
    image, part = (array.astype("u2") if wide else array for array in (IMAGE, PART))
    call = {"match_template": lambda given: xcorr.match_template(given, part),
            "matchTemplate": lambda given: xcorr.matchTemplate(given, part, xcorr.TM_SQDIFF),
            "correlate2d": lambda given: xcorr.correlate2d(given, part),
            "Matcher.match": xcorr.Matcher([part], device="cpu").match,
            "FieldMatcher.match": fields(image).match}[taker]
    numpy.testing.assert_array_equal(call(GOOD[given](image)), call(image))


def test_a_tensor_on_a_device_that_is_no_gpu_of_nvidia():
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match="image"):
        xcorr.match_template(torch.zeros((60, 80), device="meta"), PART)
