# SPDX-License-Identifier: LGPL-2.1-or-later
"""Masks from samples: what changes goes, what differs in brightness, contrast and noise alone stays."""
import pathlib
import subprocess
import sys

import numpy
import pytest

import xcorr


def samples(channels, ground=None):
    """A texture or a button on flat ground, with a label of other pixels in each; and where the labels are."""
    random = numpy.random.default_rng(5)
    down, across = numpy.mgrid[:40, :60]
    same = 120 + 40 * numpy.sin(across / 5) + 30 * numpy.cos(down / 4)
    if ground is not None:
        same = numpy.where((down > 8) & (down < 34) & (across > 10) & (across < 54), 170.0, ground)
    made = []
    for gain, offset in ((1, 0), (0.7, 30), (1.1, -10)):
        image = same.copy()
        image[14:26, 24:40] = random.integers(30, 220, (12, 16))
        image = numpy.repeat(image[..., None], channels, 2) * gain + offset
        image += random.normal(0, 3, image.shape)
        made.append(numpy.clip(numpy.round(image), 0, 255).astype("u1").squeeze())
    return made, (slice(14, 26), slice(24, 40)), (slice(13, 27), slice(23, 41))


@pytest.mark.parametrize("channels, ground", [(1, None), (3, None), (1, 90)])
def test_what_changes_goes(channels, ground):
    pictures, label, around = samples(channels, ground)
    mask = xcorr.learn_mask(pictures)
    assert mask.dtype == "u1" and mask.shape == (40, 60)
    assert not mask[label].any()
    mask[around] = 255
    assert (mask == 255).all()


def test_a_learnt_mask_makes_samples_match():
    pictures, _, _ = samples(1)
    mask = xcorr.learn_mask(pictures[:2])
    for masks, least, most in ((None, 0, 0.9), ([mask], 0.97, 1)):
        peak, = xcorr.Matcher([pictures[0]], masks, device="cpu", threshold=0).match(pictures[2])
        assert least < peak["score"] < most


def test_samples_that_show_nothing_alike_are_refused():
    pictures, _, _ = samples(1)
    with pytest.raises(ValueError, match="what stays is learnt from two samples or more"):
        xcorr.learn_mask(pictures[:1])
    with pytest.raises(ValueError, match=r"sample 1 is of shape \(39, 60\), the first of \(40, 60\)"):
        xcorr.learn_mask([pictures[0], pictures[0][1:]])
    with pytest.raises(ValueError, match="no pixel differs by 12 gray levels or less in all samples"):
        xcorr.learn_mask([pictures[0], 255 - pictures[0]])


def test_the_picture_of_the_page_has_the_sign_without_what_changes(tmp_path):
    pytest.importorskip("PIL")
    program = pathlib.Path(__file__).parents[2] / "docs" / "images" / "learn.py"
    if not program.exists():
        pytest.skip("the pages are not here")
    subprocess.run([sys.executable, program, tmp_path], check=True)
    assert (tmp_path / "learn-mask.png").exists()
