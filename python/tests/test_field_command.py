# SPDX-License-Identifier: LGPL-2.1-or-later
"""The command xcorr field, on images whose displacement is known."""
import csv
import dataclasses
import io
import re
import subprocess
import sys

import numpy
import pytest

import xcorr
from conftest import noise
from test_field import shifted
from xcorr.command import progress as bars
from xcorr.field import command
from xcorr.field.__main__ import main

Image = pytest.importorskip("PIL.Image")
WHOLE = ["--subpixel", "none", "--search-range", "8", "--device", "cpu"]


def medians(path):
    """Of dx, by the number of the image."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {number: numpy.median([float(row["dx"]) for row in rows if row["frame"] == number])
            for number in dict.fromkeys(row["frame"] for row in rows)}


def test_two_images(series, tmp_path, capsys):
    out = tmp_path / "field.csv"
    assert main([str(series / "0.png"), str(series / "2.png"), "-o", str(out), *WHOLE]) == 0
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
    assert main([str(series), "-o", str(out), "--reference", reference, "-q", *WHOLE]) == 0
    assert medians(out) == expected


def test_ensemble(series, tmp_path):
    out = tmp_path / "field.csv"
    pairs = [str(series / name) for name in ("0.png", "1.png", "0.png", "1.png")]
    assert main([*pairs, "-o", str(out), "--reference", "pairs", "--ensemble", "-q", *WHOLE]) == 0
    assert medians(out) == {"1": -1}


def test_places(series, tmp_path):
    pytest.importorskip("matplotlib")
    out, places = tmp_path / "field.csv", tmp_path / "places.csv"
    pair = [str(series / "0.png"), str(series / "2.png"), "-o", str(out), "-q", *WHOLE, "--places", str(places)]
    for text in ("50.5,40.5\n60.5,50.5\n", "name,y,x\na,40.5,50.5\n\nb,50.5,60.5\n",
                 "\ufeffx,y\n50.5,40.5\n60.5,50.5\n"):
        places.write_text(text, encoding="utf-8")
        assert main([*pair, "--plot", str(tmp_path / "field.png")]) == 0
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
    assert main([str(series), "--places", str(places), *WHOLE]) == 2
    assert capsys.readouterr().err == f"xcorr: {places}: {said}\n"


@pytest.mark.parametrize("shown", ["magnitude", "strain-xy", "none"])
def test_plot(series, tmp_path, shown):
    pytest.importorskip("matplotlib")
    out = tmp_path / "field.png"
    assert main([str(series / "0.png"), str(series / "1.png"), "--plot", str(out), "--map", shown, "-q",
                         *WHOLE]) == 0
    with Image.open(out) as plot:
        assert plot.width > 400


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
@pytest.mark.filterwarnings("error")
def test_a_map_of_windows_at_places(series, tmp_path, count):
    """Matplotlib takes three or four numbers in a row for a colour, and warns."""
    pytest.importorskip("matplotlib")
    (tmp_path / "places.csv").write_text("".join(f"{48 + 8 * i},48\n" for i in range(count)))
    assert main([str(series / "0.png"), str(series / "1.png"), "--plot", str(tmp_path / "field.png"), "-q",
                         "--places", str(tmp_path / "places.csv"), *WHOLE]) == 0


@pytest.mark.parametrize("places", [(), ("--places",)])
def test_plot_without_the_reference(series, tmp_path, places):
    pytest.importorskip("matplotlib")
    if places:
        (tmp_path / "places.csv").write_text("48,48\n64,48\n80,40\n")
        places = ("--places", str(tmp_path / "places.csv"))
    dark = {}
    for background in ("reference", "none"):
        out = tmp_path / f"{background}.png"
        assert main([str(series / "0.png"), str(series / "1.png"), "--plot", str(out), "--map", "none", "-q",
                             "--background", background, *places, *WHOLE]) == 0
        with Image.open(out) as plot:
            dark[background] = (numpy.asarray(plot.convert("L")) < 240).mean()
            size = plot.size
    assert dark["reference"] > 0.3 > 0.1 > dark["none"] > 0
    with Image.open(tmp_path / "reference.png") as plot:
        assert plot.size == size


def write_video(path, places):
    cv2 = pytest.importorskip("cv2")
    video = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"MJPG"), 25, (128, 96))
    for x in places:
        video.write(cv2.cvtColor(shifted(x, 0).copy(), cv2.COLOR_GRAY2BGR))
    video.release()


def test_video(tmp_path):
    path = tmp_path / "clip.avi"
    write_video(path, (0, 2, 4))
    out = tmp_path / "field.csv"
    assert main([str(path), "-o", str(out), "-q", *WHOLE]) == 0
    assert medians(out) == {"1": -2, "2": -2}


def test_a_cut(series, tmp_path, capsys):
    Image.fromarray(noise((96, 128), 99)).save(series / "2a.png")
    out = tmp_path / "field.csv"
    assert main([str(series), "-o", str(out), *WHOLE]) == 0
    assert list(medians(out)) == ["1", "2", "3", "4"]  # to the other image and back
    said = capsys.readouterr()
    assert said.err.splitlines() == [f"xcorr: {name}: a cut, it seems: half of the windows score less than 0.4"
                                     for name in ("2a.png", "3.png")]
    assert [line.endswith(" cut") for line in said.out.splitlines()] == [False, False, True, True]
    assert main([str(series), "--cut-score", "-1", *WHOLE]) == 0
    said = capsys.readouterr()
    assert not said.err and "cut" not in said.out
    pairs = [str(series / name) for name in ("2.png", "2a.png")]
    assert main([*pairs, "--reference", "pairs", "--ensemble", *WHOLE]) == 0
    assert not capsys.readouterr().err


@pytest.mark.parametrize("scores, states, cut", [
    ([0.1, 0.1, 0.9], [0, 0, 0], True),
    ([0.1, 0.9], [0, 1], False),  # less than half of them: the greater one of the middle two counts
    ([0.1, 0.1, 0.9], [2, 4, 0], False),
    ([0.1, 0.1], [2, 4], False),
    ([0.5, 0.5], [0, 0], False),
])
def test_what_a_cut_is(scores, states, cut):
    vectors = numpy.zeros((1, len(scores)), xcorr.VECTOR)
    vectors["score"], vectors["status"] = scores, states
    assert command._is_cut(vectors, 0.5) == cut


def test_a_video_that_ends_early(tmp_path, capsys):
    path = tmp_path / "clip.avi"
    write_video(path, range(12))
    whole = path.read_bytes()
    assert main([str(path), "-q", *WHOLE]) == 0
    assert not capsys.readouterr().err
    path.write_bytes(whole[:len(whole) // 2])
    assert main([str(path), "-q", *WHOLE]) == 0
    assert re.fullmatch(f"xcorr: {re.escape(str(path))}: it ends after [3-8] frames of 12: it is broken there, or "
                        "that number is an estimate\n", capsys.readouterr().err)


def test_broken_images_are_named_and_the_rest_goes_on(series, tmp_path, capsys):
    (series / "1.png").write_bytes(b"no image")
    Image.fromarray(shifted(0, 0, (40, 50)).copy()).save(series / "2a.png")
    out = tmp_path / "field.csv"
    assert main([str(series), "-o", str(out), "-q", *WHOLE]) == 2
    assert medians(out) == {"2": -3, "4": -3}
    said = capsys.readouterr().err
    assert "1.png" in said and "2a.png: it has 50x40 pixels, the reference 128x96" in said


def test_a_broken_first_of_a_pair(series, tmp_path):
    (series / "0.png").write_bytes(b"no image")
    out = tmp_path / "field.csv"
    assert main([str(series), "-o", str(out), "--reference", "pairs", "-q", *WHOLE]) == 2
    assert medians(out) == {"3": -3}


def test_mask(series, tmp_path):
    mask = numpy.full((96, 128), 255, "u1")
    mask[:, :48] = 0
    Image.fromarray(mask).save(tmp_path / "mask.png")
    out = tmp_path / "field.csv"
    assert main([str(series / "0.png"), str(series / "1.png"), "--mask", str(tmp_path / "mask.png"), "-o",
                         str(out), "-q", *WHOLE]) == 0
    with open(out, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["status"] for row in rows if float(row["x"]) < 30} == {"masked"}
    assert {row["status"] for row in rows if float(row["x"]) > 80} == {"ok"}


@pytest.mark.parametrize("words, text", [
    (["missing.png", "b.png"], "missing.png: there is no such file"),
    (["0.png", "1.png", "--mask", "missing.png"], "xcorr: missing.png: No such file or directory\n"),
    (["0.png", "1.png", "--places", "missing.csv"], "xcorr: missing.csv: No such file or directory\n"),
    (["0.png"], "one image has nothing to be compared with"),
    (["0.png", "1.png", "-o", "field.doc"], "field.doc: its ending is none of"),
    (["0.png", "1.png", "--windows", "300"], "windows must be of 4 to 256 pixels along a side, not 300"),
    (["0.png", "1.png", "--map", "u"], "--map is of a plot: it needs --plot"),
    (["0.png", "1.png", "--background", "none"], "--background is of a plot: it needs --plot"),
    (["0.png", "1.png", "-o", "no/such/folder.csv"], "no/such/folder.csv: there is no such folder"),
    (["0.png", "1.png", "-o", "no/such/folder.npz"], "no/such/folder.npz: there is no such folder"),
    (["0.png", "1.png", "-o", "folder.csv"], "folder.csv: Is a directory"),
    (["0.png", "1.png", "-o", "/dev/full/x.csv"], "/dev/full"),
])
def test_what_cannot_be(series, monkeypatch, capsys, words, text):
    monkeypatch.chdir(series)
    (series / "folder.csv").mkdir()
    assert main([*words, "-q", "--device", "cpu"]) == 2
    assert text in capsys.readouterr().err


def test_a_command_line_that_cannot_be(capsys):
    for words, text in ((["a.png", "b.png", "--windows", "64,wide"], "no whole numbers with commas between: '64,wide'"),
                        ([], "the following arguments are required: INPUT")):
        with pytest.raises(SystemExit) as left:
            main(words)
        assert left.value.code == 2 and text in capsys.readouterr().err


def test_help_explains_each_setting(capsys):
    with pytest.raises(SystemExit) as left:
        main(["--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert left.value.code == 0
    explanations = command._explanations()
    assert set(explanations) == {setting.name for setting in dataclasses.fields(xcorr.FieldSettings)}
    assert all(each in text for each in explanations.values())
    assert "--subpixel str none, gauss, quadratic or least-squares (gauss)" in text


def test_an_interruption(series, tmp_path, monkeypatch):
    """What has been measured is in the files."""
    measured = []

    def match(matcher, image):
        if len(measured) == 2:
            raise KeyboardInterrupt
        measured.append(original(matcher, image))
        return measured[-1]

    original = command.FieldMatcher.match
    monkeypatch.setattr(command.FieldMatcher, "match", match)
    out = tmp_path / "field.npz"
    assert main([str(series), "-o", str(out), "-q", *WHOLE]) == 130
    with numpy.load(out) as arrays:
        assert list(arrays["frame"]) == [1, 2]


def test_it_is_a_module(series):
    done = subprocess.run([sys.executable, "-m", "xcorr.field", str(series), *WHOLE], check=True, text=True,
                          capture_output=True)
    assert len(done.stdout.splitlines()) == 3 and not done.stderr  # no bar where there is no terminal


@pytest.mark.parametrize("silence, shown", [(-1, True), (60, False)])
def test_a_bar_for_what_takes_long(series, monkeypatch, silence, shown):
    pytest.importorskip("tqdm")
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(bars, "SILENCE", silence)
    assert main([str(series), *WHOLE]) == 0
    assert ("/4 [" in terminal.getvalue()) == shown
