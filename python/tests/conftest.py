# SPDX-License-Identifier: LGPL-2.1-or-later
import numpy
import pytest
import skimage.data


def noise(shape, seed=0, dtype="u1"):
    generator = numpy.random.default_rng(seed)
    if dtype in ("u1", "u2"):
        return generator.integers(0, numpy.iinfo(dtype).max, shape, dtype, endpoint=True)
    return generator.random(shape, dtype)


@pytest.fixture(params=["camera", "coins", "moon", "page"])
def photograph(request):
    return getattr(skimage.data, request.param)()


@pytest.fixture
def frame():
    return noise((60, 80), 1)
