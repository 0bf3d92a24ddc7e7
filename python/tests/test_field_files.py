# SPDX-License-Identifier: LGPL-2.1-or-later
"""What xcorr-field writes."""
import sys

import numpy
import pytest

from test_field_command import WHOLE
from xcorr.field import command

pytest.importorskip("PIL.Image")


def test_other_formats(series, tmp_path):
    files = [tmp_path / name for name in ("field.vtk", "field.npz", "field.h5")]
    pytest.importorskip("h5py")
    outputs = [word for file in files for word in ("-o", str(file))]
    assert command.main([str(series), "-q", *outputs, *WHOLE]) == 0
    assert not files[0].exists()
    vtk = (tmp_path / "field-000002.vtk").read_text().splitlines()
    assert vtk[0] == "# vtk DataFile Version 3.0" and "DIMENSIONS 7 5 1" in vtk
    assert vtk[vtk.index("VECTORS displacement float") + 1 + 17] == "-2 0 0"
    with numpy.load(files[1]) as arrays:
        assert arrays["dx"].shape == (3, 5, 7) and list(arrays["frame"]) == [1, 2, 3]
        assert arrays["dx"][2, 2, 3] == -3
    import h5py
    with h5py.File(files[2]) as file:
        assert file["dx"].shape == (3, 5, 7) and file["dx"][1, 2, 3] == -2


def test_netcdf(series, tmp_path):
    library = pytest.importorskip("netCDF4")
    out = tmp_path / "field.nc"
    assert command.main([str(series), "-q", "-o", str(out), *WHOLE]) == 0
    with library.Dataset(out) as file:
        assert file["dx"].shape == (3, 5, 7) and file["dx"][1, 2, 3] == -2 and list(file["frame"]) == [1, 2, 3]


def test_a_library_that_is_missing(series, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "h5py", None)
    assert command.main([str(series), "-o", str(tmp_path / "field.h5"), "-q"]) == 1
    assert "writing field.h5 needs h5py: pip install h5py" in capsys.readouterr().err


def test_full_disk(series, tmp_path, capsys):
    (tmp_path / "field.csv").symlink_to("/dev/full")
    assert command.main([str(series), "-q", "-o", str(tmp_path / "field.csv"), *WHOLE]) == 1
    assert "No space left on device" in capsys.readouterr().err
