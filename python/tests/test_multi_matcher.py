# SPDX-License-Identifier: LGPL-2.1-or-later
"""Several devices find what one finds. The CPU is several here; with two GPUs they are compared with one."""
import dataclasses
import pickle

import numpy
import pytest

import xcorr
from conftest import noise

FRAME = noise((96, 120), 1)
BANK = [FRAME[y:y + 9 + i % 3, x:x + 12 + i % 2] for i, (x, y) in enumerate(
    [(5, 6), (30, 20), (61, 40), (80, 70), (2, 50), (90, 3), (44, 60)])]
SETTINGS = xcorr.Settings(threshold=0.2, max_peaks=4)
SEVERAL = [("cpu",), ("cpu",) * 2, ("cpu",) * 9]
TWO_GPUS = ("cuda:0", "cuda:1")


def needs_two_gpus():
    if not set(TWO_GPUS) <= set(xcorr.devices()):
        pytest.skip("there are no two GPUs, or this is a build without CUDA")


@pytest.mark.parametrize("devices", [*SEVERAL, TWO_GPUS])
@pytest.mark.parametrize("dtype", ["u1", "u2"])
def test_peaks_are_those_of_one(devices, dtype):
    if devices == TWO_GPUS:
        needs_two_gpus()
    frame = FRAME.astype(dtype)
    bank = [template.astype(dtype) for template in BANK]
    masks = [None, numpy.tri(*bank[1].shape, dtype="u1")] + [None] * 5
    one = xcorr.Matcher(bank, masks, device=devices[0], settings=SETTINGS)
    several = xcorr.MultiMatcher(bank, masks, devices=devices, settings=SETTINGS)
    assert several.devices == devices
    expected = one.match(frame)
    assert set(expected["template_index"]) == set(range(7))
    numpy.testing.assert_array_equal(several.match(frame), expected)
    assert several.kernel
    for index in range(7):
        numpy.testing.assert_array_equal(several.respond(frame, index), one.respond(frame, index))
    several.settings = one.settings = dataclasses.replace(SETTINGS, threshold=0.95)
    numpy.testing.assert_array_equal(several.match(frame[5:]), one.match(frame[5:]))
    several.set_templates(bank[:1])
    assert list(several.match(frame)["template_index"]) == [0]


def test_colours_live_templates_and_pickles():
    image = noise((40, 50, 3), 8)
    several = xcorr.MultiMatcher([image[10:20, 8:20]] * 3, devices=("cpu", "cpu"), colours="rgb", subpixel=False)
    assert list(several.match(image)["x"]) == [8, 8, 8]
    copy = pickle.loads(pickle.dumps(several))
    assert copy.devices == ("cpu", "cpu") and copy.settings == several.settings
    numpy.testing.assert_array_equal(copy.match(image), several.match(image))
    live = xcorr.LiveTemplate(BANK[0], device="cpu")
    several = xcorr.MultiMatcher([live], devices=("cpu", "cpu"), subpixel=False)
    assert several.match(FRAME)["x"][0] == 5
    live.blend(FRAME, 30, 20, 1.0)
    assert several.match(FRAME)["x"][0] == 30


def test_a_frame_is_collected_once():
    several = xcorr.MultiMatcher(BANK, devices=("cpu", "cpu"))
    with pytest.raises(ValueError, match="no frame is enqueued"):
        several.collect()
    several.enqueue(FRAME.copy())  # which it keeps
    assert len(several.collect()) == 7
    with pytest.raises(ValueError, match="no frame is enqueued"):
        several.collect()


@pytest.mark.parametrize("devices, error, text", [
    ((), ValueError, "there must be a device"), ("cpu", TypeError, "a sequence of names"),
    (("cpu", "gpu"), ValueError, "no such device: 'gpu'"), (("cpu", "cuda:99"), RuntimeError, "CUDA|NVIDIA"),
])
def test_devices_that_cannot_be(devices, error, text):
    with pytest.raises(error, match=text):
        xcorr.MultiMatcher(BANK, devices=devices)


def test_what_is_refused_leaves_the_bank():
    several = xcorr.MultiMatcher(BANK, devices=("cpu", "cpu"))
    with pytest.raises(ValueError, match="1 masks for 7 templates"):
        several.set_templates(BANK, [numpy.ones(BANK[0].shape, "u1")])
    with pytest.raises(ValueError, match="frames of f32, templates of u8"):
        several.match(FRAME.astype("f4"))
    with pytest.raises(ValueError, match="no template 7"):
        several.respond(FRAME, 7)
    assert len(several.match(FRAME)) == 7


def test_two_gpus_once_each():
    needs_two_gpus()
    with pytest.raises(ValueError, match="device 1 is named twice"):
        xcorr.MultiMatcher(BANK, devices=("cuda:0", "cuda:1", "cuda:1"))


@pytest.mark.parametrize("library", ["torch", "cupy"])
def test_frames_on_the_first_of_two_gpus(library):
    needs_two_gpus()
    module = pytest.importorskip(library)
    there = [module.as_tensor(FRAME, device=name) for name in TWO_GPUS] if library == "torch" else []
    for ordinal in range(2) if library == "cupy" else ():
        with module.cuda.Device(ordinal):
            there.append(module.asarray(FRAME))
    several = xcorr.MultiMatcher(BANK, devices=TWO_GPUS, settings=SETTINGS)
    numpy.testing.assert_array_equal(several.match(there[0]), several.match(FRAME))
    with pytest.raises(ValueError, match="the frame is on cuda:1, the matcher on cuda:0"):
        several.match(there[1])
