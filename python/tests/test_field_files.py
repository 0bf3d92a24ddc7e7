# SPDX-License-Identifier: LGPL-2.1-or-later
"""What xcorr-field writes, and what it leaves when there is no room."""
import subprocess
import sys

import numpy
import pytest

from test_field_command import WHOLE
from xcorr.field import writing
from xcorr.field.__main__ import main

pytest.importorskip("PIL.Image")


def test_other_formats(series, tmp_path):
    files = [tmp_path / name for name in ("field.vtk", "field.npz", "field.h5")]
    pytest.importorskip("h5py")
    outputs = [word for file in files for word in ("-o", str(file))]
    assert main([str(series), "-q", *outputs, *WHOLE]) == 0
    assert not files[0].exists()
    vtk = (tmp_path / "field-000002.vtk").read_text().splitlines()
    assert vtk[1].endswith("; status: 0 ok, 1 replaced, 2 masked, 3 out_of_range, 4 flat") and len(vtk[1]) < 256
    assert vtk[0] == "# vtk DataFile Version 3.0" and "DIMENSIONS 7 5 1" in vtk
    assert vtk[vtk.index("VECTORS displacement float") + 1 + 17] == "-2 0 0"
    with numpy.load(files[1]) as arrays:
        assert arrays["dx"].shape == (3, 5, 7) and list(arrays["frame"]) == [1, 2, 3]
        assert arrays["dx"][2, 2, 3] == -3
        assert list(arrays["status_names"]) == ["ok", "replaced", "masked", "out_of_range", "flat"]
    import h5py
    with h5py.File(files[2]) as file:
        assert file["dx"].shape == (3, 5, 7) and file["dx"][1, 2, 3] == -2 and list(file["frame"]) == [1, 2, 3]
        assert_names_states(file["status"].attrs)


def assert_names_states(attributes):
    """As a reader that knows CF finds them."""
    assert dict(zip(attributes["flag_values"], attributes["flag_meanings"].split())) == {
        0: "ok", 1: "replaced", 2: "masked", 3: "out_of_range", 4: "flat"}


def test_netcdf(series, tmp_path):
    library = pytest.importorskip("netCDF4")
    out = tmp_path / "field.nc"
    assert main([str(series), "-q", "-o", str(out), *WHOLE]) == 0
    with library.Dataset(out) as file:
        assert file["dx"].shape == (3, 5, 7) and file["dx"][1, 2, 3] == -2 and list(file["frame"]) == [1, 2, 3]
        assert file["status"].dtype == "i4"
        assert_names_states(file["status"].__dict__)


def test_a_library_that_is_missing(series, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "h5py", None)
    assert main([str(series), "-o", str(tmp_path / "field.h5"), "-q"]) == 2
    assert "writing field.h5 needs h5py: pip install h5py" in capsys.readouterr().err


def test_full_disk(series, tmp_path, capsys):
    (tmp_path / "field.csv").symlink_to("/dev/full")
    assert main([str(series), "-q", "-o", str(tmp_path / "field.csv"), *WHOLE]) == 2
    assert capsys.readouterr().err == (f"xcorr: {tmp_path / 'field.csv'}: No space left on device\n"
                                       "xcorr: there is no file left to write\n")


LIMITED = """
import resource, sys
from xcorr.field.__main__ import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
sys.exit(main(sys.argv[2:]))
"""
DENSE = ["--windows", "8", "--spacing", "1"]  # 10,769 vectors of 48 bytes


@pytest.mark.parametrize("name, limit, options, other", [
    ("field.csv", 1_000_000, DENSE, "other.vtk"),
    ("field.h5", 1_700_000, DENSE, "other.vtk"),
    ("field.nc", 1_700_000, DENSE, "other.vtk"),
    ("field.vtk", 300_000, DENSE, "other.npz"),
    ("field.npz", 2100, [], "other.vtk"),
    ("field.png", 10_000, [], "other.vtk"),
])
def test_a_file_that_does_not_fit(series, tmp_path, name, limit, options, other):
    """A limit on the size of files, which the kernel keeps as it does that of a disk: the file is named, it keeps whole
    fields or is not there, and another one has them all."""
    ending = name.rpartition(".")[2]
    library = pytest.importorskip({"h5": "h5py", "nc": "netCDF4", "png": "matplotlib"}.get(ending, "numpy"))
    out = tmp_path / name
    done = subprocess.run([sys.executable, "-c", LIMITED, str(limit), str(series), "-q", *WHOLE, *options,
                           "-o", str(tmp_path / other), "--plot" if ending == "png" else "-o", str(out)], text=True,
                          capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (2, f"xcorr: {out}: File too large\n")
    if other.endswith("npz"):
        with numpy.load(tmp_path / other) as arrays:
            assert arrays["dx"].shape == (3, 89, 121)
    else:
        assert len(list(tmp_path.glob("other-00000?.vtk"))) == 3
    if ending == "csv":
        lines = out.read_text().splitlines()[:-1]
        assert len(lines) > 10769 and lines[-1].count(",") == lines[0].count(",")
    elif ending in ("h5", "nc"):
        with (library.File(out) if ending == "h5" else library.Dataset(out)) as file:
            assert file["frame"][:] == [1] and file["dx"].shape == (1, 89, 121) and (file["dx"][:] == -1).all()
    else:
        assert not list(tmp_path.glob("field*"))


@pytest.mark.parametrize("name", ["field.h5", "field.nc"])
def test_no_room_at_all(series, tmp_path, name):
    pytest.importorskip({"field.h5": "h5py", "field.nc": "netCDF4"}[name])
    done = subprocess.run([sys.executable, "-c", LIMITED, "0", str(series), "-o", str(tmp_path / name), *WHOLE],
                          text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (2, f"xcorr: {tmp_path / name}: File too large\n")


def test_a_file_is_whole_or_as_it_was(tmp_path):
    path = tmp_path / "field.npz"
    for text in ("first", "second"):
        with writing.whole(path) as part:
            part.write_text(text)
    with pytest.raises(OSError), writing.whole(path) as part:
        part.write_text("a half")
        raise OSError
    assert path.read_text() == "second" and list(tmp_path.iterdir()) == [path]


def test_each_file_is_closed(capsys):
    class Writer:
        def __init__(self, fault):
            self.fault, self.closed = fault, False

        def close(self):
            self.closed = True
            if self.fault:
                raise self.fault

    writers = {"a": Writer(RuntimeError("no room")), "b": Writer(MemoryError()), "c": Writer(None)}
    outputs = writing.Outputs(dict(writers))
    outputs.close()
    assert all(writer.closed for writer in writers.values()) and outputs.broken == 2
    assert capsys.readouterr().err == "xcorr: a: no room\nxcorr: b: MemoryError\n"
