# SPDX-License-Identifier: LGPL-2.1-or-later
import shutil

import numpy
import pytest
import skimage.data

from xcorr.command.launch import has_element


def noise(shape, seed=0, dtype="u1"):
    generator = numpy.random.default_rng(seed)
    if dtype in ("u1", "u2"):
        return generator.integers(0, numpy.iinfo(dtype).max, shape, dtype, endpoint=True)
    return generator.random(shape, dtype)


def needs_the_element():
    if not shutil.which("gst-inspect-1.0") or not has_element("cudaxcorr"):
        pytest.skip("no GStreamer, or not its element cudaxcorr")


@pytest.fixture(params=["camera", "coins", "moon", "page"])
def photograph(request):
    return getattr(skimage.data, request.param)()


@pytest.fixture
def frame():
    return noise((60, 80), 1)


@pytest.fixture
def series(tmp_path):
    """A folder of four images, which move by a pixel more from each to the next."""
    from PIL import Image
    from test_field import shifted
    folder = tmp_path / "series"
    folder.mkdir()
    for number, x in enumerate([0, 1, 3, 6]):
        Image.fromarray(shifted(x, 0).copy()).save(folder / f"{number}.png")
    return folder
