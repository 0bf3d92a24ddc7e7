# SPDX-License-Identifier: LGPL-2.1-or-later
"""Arrays of any layout, without copies where the library can read them, and those that cannot be."""
import tracemalloc

import numpy
import pytest

import xcorr
from conftest import noise


def plain(image, template, **more):
    return xcorr.match_template(image.copy(order="C"), template.copy(order="C"), **more)


class OnlyDlpack:
    """What any library may hand over."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **arguments):
        return self.array.__dlpack__(**arguments)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("dtype", ["u1", "f4"])
@pytest.mark.parametrize("view", [
    lambda a: a[5:50, 7:70], lambda a: a[::-1], lambda a: a[:, ::-1], lambda a: a[::2, ::3], lambda a: a.T,
    lambda a: numpy.asfortranarray(a), lambda a: numpy.broadcast_to(a[3], a.shape), lambda a: a[::2],
], ids=["crop", "upside-down", "mirrored", "strided", "transposed", "fortran", "broadcast", "rows"])
def test_layouts(dtype, view):
    whole = noise((60, 80), 1, dtype)
    image = view(whole)
    template = view(whole)[4:12, 5:12]
    numpy.testing.assert_array_equal(xcorr.match_template(image, template), plain(image, template))
    numpy.testing.assert_array_equal(xcorr.correlate2d(image, template),
                                     xcorr.correlate2d(image.copy(order="C"), template.copy(order="C")))


def test_read_only_arrays_are_read(frame):
    expected = plain(frame, frame[10:20, 10:20])
    frame.flags.writeable = False
    numpy.testing.assert_array_equal(xcorr.match_template(frame, frame[10:20, 10:20]), expected)
    assert len(xcorr.Matcher([frame[10:20, 10:20]], device="cpu").match(frame)) == 1


def test_other_byte_orders(frame):
    floats = frame.astype("f4")
    numpy.testing.assert_array_equal(xcorr.match_template(floats.astype(">f4"), floats[:9, :9].astype(">f4")),
                                     plain(floats, floats[:9, :9]))


def test_objects_with_dlpack_alone(frame):
    numpy.testing.assert_array_equal(xcorr.match_template(OnlyDlpack(frame), OnlyDlpack(frame[3:9, 4:15].copy())),
                                     plain(frame, frame[3:9, 4:15]))


def test_sequences_and_buffers(frame):
    numpy.testing.assert_array_equal(xcorr.match_template(memoryview(frame), frame[:5, :5]),
                                     plain(frame, frame[:5, :5]))


def test_crops_are_not_copied():
    large = noise((2000, 3000), 2)
    crop, template = large[10:1990, 10:2990], large[100:120, 100:120]
    out = numpy.empty((1961, 2961), "f4")
    xcorr.match_template(crop, template, out=out)
    matcher = xcorr.Matcher([template], device="cpu")
    matcher.match(crop)
    tracemalloc.start()
    assert xcorr.match_template(crop, template, out=out) is out
    matcher.match(crop)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 100_000
    xcorr.clear_cache()


def test_out_may_be_a_part_of_something(frame):
    template = frame[10:20, 10:20]
    expected = plain(frame, template)
    whole = numpy.full((70, 90), -7, "f4")
    xcorr.match_template(frame, template, out=whole[5:56, 6:77])
    numpy.testing.assert_array_equal(whole[5:56, 6:77], expected)
    whole[5:56, 6:77] = -7
    assert (whole == -7).all()


@pytest.mark.parametrize("out, error", [
    (numpy.empty((51, 70), "f4"), ValueError), (numpy.empty((51, 71), "f8"), TypeError),
    (numpy.empty((71, 51), "f4").T, ValueError), (numpy.empty(51 * 71, "f4"), ValueError), ([[0.0]], TypeError),
    (numpy.broadcast_to(numpy.float32(0), (51, 71)), ValueError), (numpy.empty((51, 142), "f4")[:, ::2], ValueError),
])
def test_unfit_results_are_refused(frame, out, error):
    with pytest.raises(error, match="out"):
        xcorr.match_template(frame, frame[10:20, 10:20], out=out)


@pytest.mark.parametrize("dtype", ["f8", "u4", "i2", "i4", "i8", "c8", "f2", "b1", "S1", "O"])
def test_other_types_are_refused_by_a_message_that_says_what_is_taken(frame, dtype):
    other = frame.astype(dtype)
    for image, template, name in ((other, other[:5, :5], "template"), (other, frame[:5, :5], "image"),
                                  (frame, other[:5, :5], "template")):
        with pytest.raises(TypeError, match=f"^{name} has elements of type .*; uint8, uint16 or float32 is taken"):
            xcorr.match_template(image, template)
    with pytest.raises(TypeError, match="frame has elements of type .*; uint8, uint16 or float32 is taken"):
        xcorr.Matcher([frame[:5, :5]], device="cpu").match(other)
    with pytest.raises(TypeError, match="template 0 has elements of type .*; uint8, uint16 or float32 is taken"):
        xcorr.Matcher([other[:5, :5]], device="cpu")
    if dtype in ("f8", "i4"):
        xcorr.correlate2d(other, other)
    else:
        with pytest.raises(TypeError, match="a has elements of type"):
            xcorr.correlate2d(other, frame)


def test_different_types_are_refused(frame):
    floats = frame.astype("f4")
    with pytest.raises(TypeError, match="different types of elements: uint8, float32"):
        xcorr.match_template(frame, floats[:5, :5])
    with pytest.raises(TypeError, match="different types of elements: float32, uint8"):
        xcorr.correlate2d(floats, frame)
    with pytest.raises(ValueError, match="frames of f32, templates of u8"):
        xcorr.Matcher([frame[:5, :5]], device="cpu").match(floats)


@pytest.mark.parametrize("shape", [(), (60,), (60, 80, 3), (1, 2, 3, 4)])
def test_other_shapes_are_refused(frame, shape):
    other = numpy.zeros(shape, "u1")
    for call in (lambda: xcorr.match_template(other, frame[:5, :5]), lambda: xcorr.match_template(frame, other),
                 lambda: xcorr.correlate2d(other, frame), lambda: xcorr.Matcher([other], device="cpu")):
        with pytest.raises(ValueError, match="must have two dimensions"):
            call()


def test_empty_arrays_are_refused(frame):
    with pytest.raises(ValueError, match="empty"):
        xcorr.match_template(frame, frame[:0, :5])
    with pytest.raises(ValueError):
        xcorr.match_template(frame[:0], frame[:5, :5])
    with pytest.raises(ValueError, match="empty"):
        xcorr.correlate2d(frame, frame[:0])


def test_what_does_not_fit_is_refused(frame):
    for pad_input in (False, True):
        with pytest.raises(ValueError, match=r"template of shape \(61, 5\) does not fit .* \(60, 80\)"):
            xcorr.match_template(frame, numpy.zeros((61, 5), "u1"), pad_input=pad_input)
    with pytest.raises(ValueError, match="at least as large"):
        xcorr.correlate2d(frame, numpy.zeros((61, 5), "u1"), "valid")


def test_unfit_masks_are_refused(frame):
    template = frame[:5, :5]
    for mask, error, text in ((numpy.ones((5, 4), "u1"), ValueError, "4x5 pixels"),
                              (numpy.zeros((5, 5), "u1"), ValueError, "leaves no pixel"),
                              (numpy.ones((5, 5), "f4"), TypeError, "uint8 or bool is taken")):
        with pytest.raises(error, match=text):
            xcorr.match_template(frame, template, mask=mask)


def test_unknown_names_are_refused(frame):
    template = frame[:5, :5]
    for method in ("zncc", 6, -1):
        with pytest.raises(ValueError, match="no such method: .*ccoeff-normed"):
            xcorr.match_template(frame, template, method)
    with pytest.raises(ValueError, match="no such mode: 'most'"):
        xcorr.correlate2d(frame, template, "most")
    for device in ("gpu", "cuda:x", "CPU"):
        with pytest.raises(ValueError, match="no such device"):
            xcorr.match_template(frame, template, device=device)
