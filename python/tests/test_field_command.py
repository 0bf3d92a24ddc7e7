# SPDX-License-Identifier: LGPL-2.1-or-later
"""The command xcorr-field, on pictures whose displacement is known."""
import csv
import io
import subprocess
import sys

import numpy
import pytest

from test_field import shifted
from xcorr.field import command, pictures

Image = pytest.importorskip("PIL.Image")
WHOLE = ["--subpixel", "none", "--search-range", "8", "--device", "cpu"]


@pytest.fixture
def series(tmp_path):
    """A folder of four pictures, which move by a pixel more from each to the next."""
    folder = tmp_path / "series"
    folder.mkdir()
    for number, x in enumerate([0, 1, 3, 6]):
        Image.fromarray(shifted(x, 0).copy()).save(folder / f"{number}.png")
    return folder


def medians(path):
    """Of dx, by the number of the picture."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {number: numpy.median([float(row["dx"]) for row in rows if row["frame"] == number])
            for number in dict.fromkeys(row["frame"] for row in rows)}


def test_two_pictures(series, tmp_path, capsys):
    out = tmp_path / "field.csv"
    assert command.main([str(series / "0.png"), str(series / "2.png"), "-o", str(out), *WHOLE]) == 0
    assert medians(out) == {"1": -3}
    with open(out, encoding="utf-8") as file:
        assert len(file.readlines()) == 1 + 5 * 7
    assert capsys.readouterr().out.startswith("1: dx -")


@pytest.mark.parametrize("reference, expected", [
    ("previous", {"1": -1, "2": -2, "3": -3}),
    ("first", {"1": -1, "2": -3, "3": -6}),
    ("pairs", {"1": -1, "3": -3}),
])
def test_references(series, tmp_path, reference, expected):
    out = tmp_path / "field.csv"
    assert command.main([str(series), "-o", str(out), "--reference", reference, "-q", *WHOLE]) == 0
    assert medians(out) == expected


def test_ensemble(series, tmp_path):
    out = tmp_path / "field.csv"
    pairs = [str(series / name) for name in ("0.png", "1.png", "0.png", "1.png")]
    assert command.main([*pairs, "-o", str(out), "--reference", "pairs", "--ensemble", "-q", *WHOLE]) == 0
    assert medians(out) == {"1": -1}


def test_places(series, tmp_path):
    pytest.importorskip("matplotlib")
    out, places = tmp_path / "field.csv", tmp_path / "places.csv"
    pair = [str(series / "0.png"), str(series / "2.png"), "-o", str(out), "-q", *WHOLE, "--places", str(places)]
    for text in ("50.5,40.5\n60.5,50.5\n", "name,y,x\na,40.5,50.5\n\nb,50.5,60.5\n"):
        places.write_text(text)
        assert command.main([*pair, "--plot", str(tmp_path / "field.png")]) == 0
        with open(out, newline="", encoding="utf-8") as file:
            assert [(row["x"], row["y"], row["dx"]) for row in csv.DictReader(file)] == [
                ("50.5", "40.5", "-3.0"), ("60.5", "50.5", "-3.0")]
    assert (tmp_path / "field.png").stat().st_size > 10_000


@pytest.mark.parametrize("text, said", [
    ("", "no places"),
    ("column,row\n1,2\n", "no columns x and y"),
    ("50,40\n50\n", "place 2 is no x and y: 50"),
    ("50,40\n50,here\n", "place 2 is no x and y: 50,here"),
])
def test_places_that_cannot_be(series, tmp_path, capsys, text, said):
    places = tmp_path / "places.csv"
    places.write_text(text)
    assert command.main([str(series), "--places", str(places), *WHOLE]) == 1
    assert capsys.readouterr().err == f"xcorr-field: {places}: {said}\n"


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


@pytest.mark.parametrize("shown", ["magnitude", "strain-xy", "none"])
def test_plot(series, tmp_path, shown):
    pytest.importorskip("matplotlib")
    out = tmp_path / "field.png"
    assert command.main([str(series / "0.png"), str(series / "1.png"), "--plot", str(out), "--map", shown, "-q",
                         *WHOLE]) == 0
    with Image.open(out) as plot:
        assert plot.width > 400


def test_video(tmp_path):
    cv2 = pytest.importorskip("cv2")
    path = tmp_path / "clip.avi"
    video = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"MJPG"), 25, (128, 96))
    for x in (0, 2, 4):
        video.write(cv2.cvtColor(shifted(x, 0).copy(), cv2.COLOR_GRAY2BGR))
    video.release()
    out = tmp_path / "field.csv"
    assert command.main([str(path), "-o", str(out), "-q", *WHOLE]) == 0
    assert medians(out) == {"1": -2, "2": -2}


def test_broken_pictures_are_named_and_the_rest_goes_on(series, tmp_path, capsys):
    (series / "1.png").write_bytes(b"no picture")
    Image.fromarray(shifted(0, 0, (40, 50)).copy()).save(series / "2a.png")
    out = tmp_path / "field.csv"
    assert command.main([str(series), "-o", str(out), "-q", *WHOLE]) == 1
    assert medians(out) == {"2": -3, "4": -3}
    said = capsys.readouterr().err
    assert "1.png" in said and "2a.png: it has 50x40 pixels, the reference 128x96" in said


def test_a_broken_first_of_a_pair(series, tmp_path):
    (series / "0.png").write_bytes(b"no picture")
    out = tmp_path / "field.csv"
    assert command.main([str(series), "-o", str(out), "--reference", "pairs", "-q", *WHOLE]) == 1
    assert medians(out) == {"3": -3}


def test_mask(series, tmp_path):
    mask = numpy.full((96, 128), 255, "u1")
    mask[:, :48] = 0
    Image.fromarray(mask).save(tmp_path / "mask.png")
    out = tmp_path / "field.csv"
    assert command.main([str(series / "0.png"), str(series / "1.png"), "--mask", str(tmp_path / "mask.png"), "-o",
                         str(out), "-q", *WHOLE]) == 0
    with open(out, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["status"] for row in rows if float(row["x"]) < 30} == {"2"}


def test_deep_pictures(tmp_path):
    names = []
    for x in (0, 3):
        names.append(str(tmp_path / f"{x}.png"))
        deep = 30000 + shifted(x, 0).astype("u2") // 4  # less than a step of 8 bits
        Image.fromarray(deep).save(names[-1])
    read = pictures.read_picture(tmp_path / "0.png")
    assert read.dtype == numpy.uint16 and (read == 30000 + shifted(0, 0).astype("u2") // 4).all()
    out = tmp_path / "field.csv"
    assert command.main([*names, "-o", str(out), "-q", *WHOLE]) == 0
    assert medians(out) == {"1": -3}


def test_what_pictures_are_read_as():
    for kind, made in (("u1", "u1"), ("u2", "u2"), ("i4", "u2"), ("f4", "f4"), ("f8", "f4"), ("?", "u1")):
        assert pictures.to_gray(numpy.ones((2, 3), kind)).dtype == made
    assert pictures.to_gray(numpy.array([[-1, 70000]])).dtype == "f4"


def test_pictures_of_other_types_are_named(series, tmp_path, capsys):
    Image.fromarray(shifted(1, 0).astype("u2")).save(series / "1.png")
    out = tmp_path / "field.csv"
    assert command.main([str(series), "-o", str(out), "-q", *WHOLE]) == 1
    assert medians(out) == {"2": -3, "3": -3}
    assert "1.png: its pixels are of uint16, those of the reference of uint8" in capsys.readouterr().err


@pytest.mark.parametrize("words, text", [
    (["missing.png", "b.png"], "missing.png: there is no such file"),
    (["0.png"], "one picture has nothing to be compared with"),
    (["0.png", "1.png", "-o", "field.doc"], "field.doc: its ending is none of"),
    (["0.png", "1.png", "--windows", "300"], "windows must be of 4 to 256 pixels along a side, not 300"),
    (["0.png", "1.png", "-o", "no/such/folder.csv"], "no/such/folder.csv"),
    (["0.png", "1.png", "-o", "/dev/full/x.csv"], "/dev/full"),
])
def test_what_cannot_be(series, monkeypatch, capsys, words, text):
    monkeypatch.chdir(series)
    assert command.main([*words, "-q", "--device", "cpu"]) == 1
    assert text in capsys.readouterr().err


def test_a_library_that_is_missing(series, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "h5py", None)
    assert command.main([str(series), "-o", str(tmp_path / "field.h5"), "-q"]) == 1
    assert "writing field.h5 needs h5py: pip install h5py" in capsys.readouterr().err


def test_it_is_a_module(series):
    done = subprocess.run([sys.executable, "-m", "xcorr.field", str(series), *WHOLE], check=True, text=True,
                          capture_output=True)
    assert len(done.stdout.splitlines()) == 3 and not done.stderr  # no bar where there is no terminal


def test_netcdf(series, tmp_path):
    library = pytest.importorskip("netCDF4")
    out = tmp_path / "field.nc"
    assert command.main([str(series), "-q", "-o", str(out), *WHOLE]) == 0
    with library.Dataset(out) as file:
        assert file["dx"].shape == (3, 5, 7) and file["dx"][1, 2, 3] == -2 and list(file["frame"]) == [1, 2, 3]


def test_full_disk(series, tmp_path, capsys):
    (tmp_path / "field.csv").symlink_to("/dev/full")
    assert command.main([str(series), "-q", "-o", str(tmp_path / "field.csv"), *WHOLE]) == 1
    assert "No space left on device" in capsys.readouterr().err


def test_progress(series, monkeypatch):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", terminal)
    assert command.main([str(series), *WHOLE]) == 0
    assert terminal.getvalue().endswith(f"\r[{'#' * 40}] 4/4\n")
