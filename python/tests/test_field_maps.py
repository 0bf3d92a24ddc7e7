# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the maps of xcorr-field show, of fields that are formulas."""
import numpy
import pytest

import xcorr
from xcorr.field.plot import MAPS, values_of

X, Y = numpy.meshgrid(15.5 + 16 * numpy.arange(9), 31.5 + 8 * numpy.arange(6))  # the grid is not square, nor its steps
U = 3 + 0.02 * X - 0.05 * Y + 0.0003 * X * Y
V = -2 + 0.01 * X + 0.03 * Y - 0.0002 * X * Y
U_BY_X, U_BY_Y = 0.02 + 0.0003 * Y, -0.05 + 0.0003 * X
V_BY_X, V_BY_Y = 0.01 - 0.0002 * Y, 0.03 - 0.0002 * X
TRUTH = {"magnitude": numpy.sqrt(U ** 2 + V ** 2), "u": U, "v": V, "strain-xx": U_BY_X, "strain-yy": V_BY_Y,
         "strain-xy": (U_BY_Y + V_BY_X) / 2, "vorticity": V_BY_X - U_BY_Y}


def field(**arrays):
    vectors = numpy.zeros(X.shape, xcorr.VECTOR)
    for name, values in {"x": X, "y": Y, "dx": U, "dy": V, **arrays}.items():
        vectors[name] = values
    return vectors


def test_each_map_has_its_truth():
    assert {"none", *TRUTH} == set(MAPS)


@pytest.mark.parametrize("shown", TRUTH)
def test_from_displacements(shown):
    """Along each axis they are straight, so differences are exact, at the rims too."""
    numpy.testing.assert_allclose(values_of(field(), shown), TRUTH[shown], atol=1e-6)


@pytest.mark.parametrize("shown", TRUTH)
def test_from_measured_slopes(shown):
    """Which are not those of the displacements here, so that it is seen which ones are shown."""
    vectors = field(dx_by_x=2 * U_BY_X, dx_by_y=2 * U_BY_Y, dy_by_x=2 * V_BY_X, dy_by_y=2 * V_BY_Y)
    factor = 1 if shown in ("magnitude", "u", "v") else 2
    numpy.testing.assert_allclose(values_of(vectors, shown), factor * TRUTH[shown], atol=1e-6)


@pytest.mark.parametrize("shown", TRUTH)
def test_replaced_windows_have_no_slopes(shown):
    """Their displacements are their neighbours', so differences are shown."""
    vectors = field(dx_by_x=U_BY_X, dx_by_y=U_BY_Y, dy_by_x=V_BY_X, dy_by_y=V_BY_Y)
    vectors["status"][2:4, 5] = 1
    for name in ("dx_by_x", "dx_by_y", "dy_by_x", "dy_by_y"):
        vectors[name][2:4, 5] = 0
    numpy.testing.assert_allclose(values_of(vectors, shown), TRUTH[shown], atol=1e-6)


def test_a_rotation():
    """Clockwise, as y points down: no strain, and twice the angle as vorticity."""
    vectors = field(dx=-0.01 * (Y - 50), dy=0.01 * (X - 70))
    numpy.testing.assert_allclose(values_of(vectors, "vorticity"), 0.02, atol=1e-6)
    for shown in ("strain-xx", "strain-yy", "strain-xy"):
        numpy.testing.assert_allclose(values_of(vectors, shown), 0, atol=1e-6)


@pytest.mark.parametrize("shape", [(1, 9), (6, 1)])
def test_a_single_line_has_no_differences(shape):
    vectors = field()[:shape[0], :shape[1]]
    assert numpy.isnan(values_of(vectors, "vorticity")).all()
    assert values_of(vectors, "u").any()
