# SPDX-License-Identifier: LGPL-2.1-or-later
"""Arrays of any layout, without copies where the library can read them, and those that cannot be."""
import importlib
import tracemalloc

import numpy
import pytest
import skimage.feature

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


@pytest.mark.parametrize("dtype", ["u1", "f4"])
def test_one_row_of_what_is_upside_down(dtype):
    """NumPy calls it contiguous, though its rows lie backwards."""
    row = noise((60, 80), 1, dtype)[::-1][:1]
    numpy.testing.assert_array_equal(xcorr.match_template(row, row[:, 5:12]), plain(row, row[:, 5:12]))


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


@pytest.mark.parametrize("dtype", ["i1", "i2", "u4", "i4", "u8", "i8", "f2", "f8", "b1"])
def test_functions_take_all_real_numbers(dtype):
    image = noise((40, 50), 1).astype(dtype)
    template = image[10:19, 20:31]
    result = xcorr.match_template(image, template)
    assert result.dtype == ("f4" if dtype in ("f2", "b1") else "f8")
    expected = skimage.feature.match_template(image.astype("f8"), template.astype("f8"))
    numpy.testing.assert_allclose(result, expected, atol=1e-6)
    assert xcorr.matchTemplate(image, template, xcorr.TM_SQDIFF)[10, 20] == 0


@pytest.mark.parametrize("dtype", ["c8", "S1", "O", "U3", "M8[s]", "g"])
def test_other_types_are_refused_by_a_message_that_says_what_is_taken(frame, dtype):
    other = numpy.zeros(frame.shape, dtype)
    for image, template, name in ((other, frame[:5, :5], "image"), (frame, other[:5, :5], "template")):
        with pytest.raises(TypeError, match=f"^{name} has elements of type .*; integers, bool, float32 and float64"):
            xcorr.match_template(image, template)
    with pytest.raises(TypeError, match="^mask has elements of type"):
        xcorr.match_template(frame, frame[:5, :5], mask=other[:5, :5])
    if dtype != "c8":
        with pytest.raises(TypeError, match="in1 has elements of type .*complex128 are taken"):
            xcorr.correlate2d(other, frame)
        with pytest.raises(TypeError, match="in2 has elements of type"):
            xcorr.convolve2d(frame, other)


@pytest.mark.parametrize("dtype", ["f8", "u4", "i2", "i4", "i8", "c8", "f2", "b1", "S1", "O"])
def test_matchers_say_what_they_take(frame, dtype):
    other = frame.astype(dtype)
    with pytest.raises(TypeError, match="frame has elements of type .*; uint8, uint16 or float32 is taken"):
        xcorr.Matcher([frame[:5, :5]], device="cpu").match(other)
    with pytest.raises(TypeError, match="template 0 has elements of type .*; uint8, uint16 or float32 is taken"):
        xcorr.Matcher([other[:5, :5]], device="cpu")


def test_different_types(frame):
    floats = frame.astype("f4")
    expected = xcorr.match_template(frame, frame[:5, :5])
    for image, template in ((frame, floats[:5, :5]), (floats, frame[:5, :5]), (frame.astype("u2"), frame[:5, :5])):
        numpy.testing.assert_allclose(xcorr.match_template(image, template), expected, atol=1e-6)
    numpy.testing.assert_array_equal(xcorr.correlate2d(floats, frame[:5, :5]), xcorr.correlate2d(frame, frame[:5, :5]))
    with pytest.raises(ValueError, match="frames of f32, templates of u8"):
        xcorr.Matcher([frame[:5, :5]], device="cpu").match(floats)


def test_what_does_not_fit_is_refused(frame):
    for pad_input in (False, True):
        with pytest.raises(ValueError, match=r"template of shape \(61, 5\) does not fit .* \(60, 80\)"):
            xcorr.match_template(frame, numpy.zeros((61, 5), "u1"), pad_input=pad_input)
    with pytest.raises(ValueError, match="at least as large"):
        xcorr.correlate2d(frame, numpy.zeros((61, 5), "u1"), "valid")


def test_unfit_masks_are_refused(frame):
    template = frame[:5, :5]
    for mask, text in ((numpy.ones((5, 4), "u1"),
                        r"mask of shape \(5, 4\) does not fit the template of shape \(5, 5\)"),
                       (numpy.zeros((5, 5), "u1"), "leaves no pixel"),
                       (numpy.full((5, 5), numpy.nan, "f4"), "weights that are not finite")):
        with pytest.raises(ValueError, match=text):
            xcorr.match_template(frame, template, mask=mask)
    with pytest.raises(ValueError, match="volumes are matched without a mask"):
        xcorr.match_template(noise((9, 9, 9)), noise((3, 3, 3)), mask=numpy.ones((3, 3, 3)))


def test_unknown_names_are_refused(frame):
    template = frame[:5, :5]
    for method in ("zncc", 6, -1):
        with pytest.raises(ValueError, match="no such method: .*ccoeff-normed"):
            xcorr.match_template(frame, template, method=method)
    with pytest.raises(ValueError, match="no such mode: 'most'"):
        xcorr.correlate2d(frame, template, "most")
    with pytest.raises(ValueError, match="no such boundary: 'mirror'"):
        xcorr.correlate2d(frame, template, boundary="mirror")
    with pytest.raises(ValueError, match="no such method: 'quick'"):
        xcorr.convolve2d(frame, template, method="quick")
    for method in ("ccoeff-normed", xcorr.TM_SQDIFF, 5):
        with pytest.raises(TypeError, match="a method is given by its name"):
            xcorr.match_template(frame, template, method)
    for device in ("gpu", "cuda:x", "CPU"):
        with pytest.raises(ValueError, match="no such device"):
            xcorr.match_template(frame, template, device=device)


# ---- what is not finite ----------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("method", xcorr.METHODS)
@pytest.mark.parametrize("size", [(5, 7), (40, 60)])
def test_nan_spoils_the_windows_that_contain_it_whatever_the_method(dtype, method, size):
    """831 pixels, some in stripes, and a plain wall: windows without contrast go on scoring 0."""
    image = noise((480, 640), 1, dtype)
    image[300:420, 300:500] = 0.5
    template = image[30:30 + size[0], 50:50 + size[1]].copy()
    expected = xcorr.match_template(image, template, method=method)
    bad = numpy.zeros(image.shape, bool)
    bad[200, 100:400] = bad[350, 100:631] = True
    assert bad.sum() == 831
    image[bad] = numpy.nan
    spoiled = numpy.lib.stride_tricks.sliding_window_view(bad, size).any(axis=(2, 3))
    for result in (xcorr.match_template(image, template, method=method),
                   xcorr.matchTemplate(image, template, getattr(xcorr, "TM_" + method.upper().replace("-", "_")))):
        assert (numpy.isnan(result) == spoiled).all()
        numpy.testing.assert_allclose(result[~spoiled], expected[~spoiled], rtol=1e-4, atol=2e-5)


def test_nan_and_padding():
    """With scikit-image's `pad_input` windows reach beyond the image."""
    image = noise((60, 80), 1, "f8")
    template = image[10:19, 20:33].copy()
    image[40, 50] = numpy.nan
    for mode in ("constant", "reflect", "edge"):
        result = xcorr.match_template(image, template, True, mode)
        assert numpy.isnan(result).sum() == 9 * 13 and numpy.isnan(result[36:45, 44:57]).all()
        assert result[14, 26] == pytest.approx(1)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("value", [numpy.nan, numpy.inf, -numpy.inf])
@pytest.mark.parametrize("masked", [False, True])
def test_what_is_not_finite_spoils_the_windows_that_contain_it(dtype, value, masked):
    image = noise((90, 120), 1, dtype)
    template, mask = image[5:17, 30:44], None
    if masked:
        mask = numpy.ones(template.shape, "u1")
        mask[3:7, 2:9] = 0
    expected = xcorr.match_template(image, template, mask=mask)
    bad = numpy.zeros(image.shape, bool)
    bad[noise(image.shape, 2) < 1] = True
    image = numpy.where(bad, image.dtype.type(value), image)
    windows = numpy.lib.stride_tricks.sliding_window_view(bad, template.shape)
    spoiled = (windows & (True if mask is None else mask > 0)).any(axis=(2, 3))
    assert 0 < spoiled.sum() < spoiled.size
    template = numpy.where(numpy.isfinite(image[5:17, 30:44]), image[5:17, 30:44], template)
    result = xcorr.match_template(image, template, mask=mask)
    assert (numpy.isnan(result) == spoiled).all()
    numpy.testing.assert_allclose(result[~spoiled], expected[~spoiled], atol=2e-6)


@pytest.mark.parametrize("unit", [1e-30, 1e-21, 1e18, 1e30])
def test_floats_beyond_what_single_precision_adds_up(frame, unit):
    image = frame.astype("f4") * numpy.float32(unit)
    template = image[5:15, 6:18]
    scores = xcorr.match_template(image, template)
    assert numpy.unravel_index(scores.argmax(), scores.shape) == (5, 6) and abs(scores.max() - 1) < 1e-6
    with pytest.raises(ValueError, match="floats are matched from 1e-18 to 1e.15"):
        xcorr.Matcher([template])


def test_nan_in_a_template_spoils_everything_unless_it_is_masked(frame):
    image, template = frame.astype("f4"), frame[5:15, 6:18].astype("f4")
    mask = numpy.ones(template.shape, "u1")
    mask[2, 3] = 0
    expected = xcorr.match_template(image, template, mask=mask)
    template[2, 3] = numpy.nan
    assert numpy.isnan(xcorr.match_template(image, template)).all()
    numpy.testing.assert_array_equal(xcorr.match_template(image, template, mask=mask), expected)


def test_channels_with_nan():
    image = noise((30, 40, 3), 1, "f4")
    template = image[3:9, 4:12].copy()
    image[20, 20, 1] = numpy.nan
    result = xcorr.matchTemplate(image, template, xcorr.TM_CCOEFF_NORMED)
    assert numpy.isnan(result).sum() == 6 * 8 and numpy.isnan(result[15:21, 13:21]).all() and result[3, 4] == 1


# ---- what people hand over -------------------------------------------------------------------------

def test_arrays_of_other_libraries(frame):
    expected = plain(frame, frame[3:12, 4:16])
    for name, convert in (("PIL.Image", lambda m, a: m.fromarray(a)), ("pandas", lambda m, a: m.DataFrame(a)),
                          ("torch", lambda m, a: m.from_numpy(a)), ("numpy.ma", lambda m, a: m.masked_array(a))):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        numpy.testing.assert_array_equal(
            xcorr.match_template(convert(module, frame.copy()), convert(module, frame[3:12, 4:16].copy())), expected)
