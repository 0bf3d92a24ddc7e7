# SPDX-License-Identifier: LGPL-2.1-or-later
"""The command `xcorr`, by its functions and once as a program."""
import csv
import importlib
import io
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import numpy
import pytest

import xcorr
from conftest import needs_the_element, noise
from xcorr.command import track
from xcorr.command.find import rounded
from xcorr.command.main import main

Image = pytest.importorskip("PIL.Image")


@pytest.fixture
def folder(tmp_path):
    """Two images, of which the first has the template at 30, 10, and what is none."""
    image = noise((60, 80), 1)
    Image.fromarray(image).save(tmp_path / "first.png")
    Image.fromarray(noise((60, 80), 2)).save(tmp_path / "second.png")
    Image.fromarray(image[10:22, 30:45]).save(tmp_path / "part.tga")
    (tmp_path / "notes.txt").write_text("none")
    return tmp_path


def run(capsys, *words):
    status = main([str(word) for word in words])
    return status, *capsys.readouterr()


def find(capsys, folder, *words):
    return run(capsys, "find", *words, "-t", folder / "part.tga", "--device", "cpu")


def test_a_folder_as_json(folder, capsys):
    status, out, err = find(capsys, folder, folder, "--format", "json")
    lines = [json.loads(line) for line in out.splitlines()]
    assert (status, err) == (0, "") and [line["image"] for line in lines] == ["first.png", "second.png"]
    match, = lines[0]["matches"]
    assert (match["template"], match["x"], match["y"], match["width"], match["height"]) == ("part", 30, 10, 15, 12)
    assert match["score"] == 1 and match["corners"][0] == [29.5, 9.5] and match["corners"][2] == [44.5, 21.5]
    assert lines[1]["matches"] == []


def test_tables(folder, capsys):
    status, out, _ = find(capsys, folder, folder / "first.png", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert status == 0 and len(rows) == 1 and (rows[0]["image"], float(rows[0]["x"])) == ("first.png", 30)
    status, out, _ = find(capsys, folder, folder / "first.png")
    heading, line = out.splitlines()
    assert heading.split()[:4] == ["image", "template", "x", "y"] and line.split()[:4] == ["first.png", "part", "30.00",
                                                                                          "10.00"]
    assert find(capsys, folder, folder / "first.png", "-o", folder / "found.csv", "--format", "csv")[1] == ""
    assert len((folder / "found.csv").read_text().splitlines()) == 2


def test_confidence(folder, capsys):
    words = folder / "first.png", "--min-confidence", "0.5"
    match, = json.loads(find(capsys, folder, *words, "--format", "json")[1])["matches"]
    assert 0.9 < match["confidence"] < 1
    heading, line = find(capsys, folder, *words)[1].splitlines()
    assert heading.split()[-1] == "confidence" and float(line.split()[-1]) > 0.9
    assert find(capsys, folder, *words, "--max-peaks", "2000")[0] == 2


def test_the_status_is_greps(folder, capsys):
    assert find(capsys, folder, folder / "second.png")[0] == 1
    status, out, err = find(capsys, folder, folder / "first.png", folder / "none.png")
    assert status == 2 and "first.png" in out and err == f"xcorr: {folder}/none.png: there is no such file\n"
    (folder / "second.png").write_bytes(b"broken")
    status, out, err = find(capsys, folder, folder)
    assert status == 2 and "first.png" in out and "second.png" in err


def test_angles_and_sizes(folder, capsys):
    cv2 = pytest.importorskip("cv2")
    part = cv2.GaussianBlur(noise((48, 48), 3), (0, 0), 2)
    part = cv2.normalize(part, None, 0, 255, cv2.NORM_MINMAX)
    scene = numpy.full((200, 200), 90, "u1")
    turn = cv2.getRotationMatrix2D((23.5, 23.5), 33, 1.25)
    turn[:, 2] += (80, 60)
    cv2.warpAffine(part, turn, (200, 200), scene, borderMode=cv2.BORDER_TRANSPARENT)
    Image.fromarray(part).save(folder / "turned.png")
    Image.fromarray(scene).save(folder / "scene.png")
    status, out, _ = run(capsys, "find", folder / "scene.png", "-t", folder / "turned.png", "--angles", "any",
                         "--scales", "0.8,1.4", "--device", "cpu", "--format", "json", "--save", folder / "boxes.png")
    match, = json.loads(out)["matches"]
    assert status == 0 and abs(match["angle"] - 33) < 0.5 and abs(match["scale"] - 1.25) < 0.02
    expected = turn @ [-0.5, -0.5, 1]
    assert numpy.abs(numpy.array(match["corners"][0]) - expected).max() < 1
    boxes = numpy.asarray(Image.open(folder / "boxes.png"))
    x, y = numpy.mean(match["corners"][:2], axis=0).round().astype(int)
    assert boxes.shape == (200, 200, 3) and (boxes[y - 2:y + 3, x - 2:x + 3] == (255, 60, 30)).all(axis=2).any()


def test_buttons_of_equal_luma(folder, capsys):
    scene = numpy.full((60, 100, 3), 110, "u1")
    scene[20:40, 10:35] = 210, 59, 110
    scene[20:40, 60:85] = 10, 161, 110
    Image.fromarray(scene).save(folder / "buttons.png")
    Image.fromarray(scene[15:45, 5:40]).save(folder / "red.png")
    status, out, _ = run(capsys, "find", folder / "buttons.png", "-t", folder / "red.png", "--match-on", "color",
                         "--max-peaks", "3", "--device", "cpu", "--format", "json", "--save", folder / "boxes.png")
    match, = json.loads(out)["matches"]
    assert status == 0 and (match["x"], match["y"], match["score"]) == (5, 15, 1)
    assert Image.open(folder / "boxes.png").size == (100, 60)
    assert "match-on=color" in run(capsys, "pipeline", "a.mp4", "-t", folder / "red.png", "--match-on", "color")[1]


def test_half_a_button(folder, capsys):
    scene = numpy.full((70, 110), 120, "u1")
    scene[20:50, 30:80] = 220
    Image.fromarray(scene[10:60, 20:90]).save(folder / "button.png")
    scene[35:] = 120
    Image.fromarray(scene).save(folder / "half.png")
    options = ["find", folder / "half.png", "-t", folder / "button.png", "--match-on", "edges", "--device", "cpu"]
    status, out, _ = run(capsys, *options, "--threshold", "0.4", "--format", "json")
    match, = json.loads(out)["matches"]
    assert status == 0 and abs(match["x"] - 20) < 1 and abs(match["y"] - 10) < 1 and match["score"] < 0.7
    assert "match-on=edges" in run(capsys, "pipeline", "a.mp4", "-t", folder / "button.png", "--match-on", "edges")[1]
    Image.fromarray(numpy.rot90(scene)).save(folder / "half.png")  # what is left is one end or the other
    status, out, _ = run(capsys, *options, "--threshold", "0.4", "--angles", "any", "--format", "json")
    match, = json.loads(out)["matches"]
    assert status == 0 and abs(abs(match["angle"]) - 90) < 1 and match["score"] < 0.7


def test_transparent_pixels_do_not_count(folder, capsys):
    part = numpy.dstack([noise((60, 80), 1)[10:22, 30:45]] * 3 + [numpy.full((12, 15), 255, "u1")])
    part[:6, :7] = (0, 200, 10, 0)
    Image.fromarray(part).save(folder / "part.tga")
    _, out, _ = find(capsys, folder, folder / "first.png", "--format", "json")
    assert json.loads(out)["matches"][0]["score"] == 1
    part[..., 3] //= 3  # nowhere opaque: half of the largest decides
    Image.fromarray(part).save(folder / "part.tga")
    _, out, _ = find(capsys, folder, folder / "first.png", "--format", "json")
    assert json.loads(out)["matches"][0]["score"] == 1
    part[..., 3] = 0
    Image.fromarray(part).save(folder / "part.tga")
    status, _, err = find(capsys, folder, folder / "first.png")
    assert status == 2 and "transparent everywhere" in err


def test_a_mask(folder, capsys):
    part = noise((60, 80), 1)[10:22, 30:45]
    part[:6, :7] = 0
    Image.fromarray(part).save(folder / "part.tga")
    mask = numpy.full((12, 15), 255, "u1")
    mask[:6, :7] = 0
    Image.fromarray(mask).save(folder / "mask.pgm")
    words = folder / "first.png", "--threshold", "0.2", "--format", "json"
    assert json.loads(find(capsys, folder, *words)[1])["matches"][0]["score"] < 0.99
    match, = json.loads(find(capsys, folder, *words, "--mask", folder / "mask.pgm")[1])["matches"]
    assert (match["x"], match["y"], match["score"]) == (30, 10, 1)
    status, _, err = find(capsys, folder, *words, "--mask", folder / "first.png")
    assert status == 2 and "first.png: it has 80x60 pixels, its template 15x12" in err
    status, _, err = find(capsys, folder, *words, "--mask", "a.png", "--mask", "b.png")
    assert status == 2 and "--mask is there 2 times, --template 1 times" in err


def test_images_with_boxes_of_a_folder(folder, capsys):
    assert find(capsys, folder, folder, "--save", folder / "boxes")[0] == 0
    assert sorted(path.name for path in (folder / "boxes").iterdir()) == ["first.png", "second.png"]


def test_a_video(folder, capsys):
    cv2 = pytest.importorskip("cv2")
    video = cv2.VideoWriter(str(folder / "clip.avi"), cv2.VideoWriter_fourcc(*"MJPG"), 25, (80, 60))
    if not video.isOpened():
        pytest.skip("this OpenCV writes no MJPEG")
    smooth = cv2.GaussianBlur(noise((60, 80), 1), (0, 0), 3)
    for shift in range(4):
        video.write(cv2.cvtColor(numpy.roll(smooth, shift, 1), cv2.COLOR_GRAY2BGR))
    video.release()
    Image.fromarray(smooth[10:40, 30:60]).save(folder / "part.tga")
    status, out, err = find(capsys, folder, folder / "clip.avi", "--format", "csv")
    assert (status, err) == (0, "")
    assert [round(float(row["x"])) for row in csv.DictReader(io.StringIO(out))] == [30, 31, 32, 33]


@pytest.mark.parametrize("words, text", [
    (["find", "{}/first.png"], "-t/--template"), (["find"], "INPUT"), ([], "COMMAND"), (["seek"], "invalid choice"),
    (["find", "{}/first.png", "-t", "x.png", "--angles", "10"], "angles are FIRST,LAST in degrees, or any, not '10'"),
    (["find", "{}/first.png", "-t", "x.png", "--method", "best"], "invalid choice: 'best'"),
    (["cut", "{}/first.png", "1,2,3", "-o", "x.png"], "a box is x,y,width,height in whole pixels, not '1,2,3'"),
    (["cut", "{}/first.png", "1,2,0,3", "-o", "x.png"], "a box lies in the image and has pixels"),
    (["track", "clip.mp4", "-t", "x.png", "--save", "boxes.gif"],
     "a video ends with .avi, .mkv, .mp4, not 'boxes.gif'"),
    (["track", "clip.mp4", "-t", "x.png", "--save", "boxes.mp4", "--show"], "not allowed with argument"),
])
def test_command_lines_that_cannot_be_understood(folder, capsys, words, text):
    with pytest.raises(SystemExit) as ended:
        main([word.format(folder) for word in words])
    assert ended.value.code == 2 and text in capsys.readouterr().err


@pytest.mark.parametrize("words, text", [
    (["find", "{}/first.png", "-t", "{}/none.png"], "none.png: No such file"),
    (["find", "{}/first.png", "-t", "{}/notes.txt"], "cannot identify image file"),
    (["find", "{}/first.png", "-t", "{}/part.tga", "--threshold", "2"], r"threshold must be in [-1, 1], not 2.0"),
    (["find", "{}/first.png", "-t", "{}/part.tga", "--device", "gpu"], "no such device: 'gpu'"),
    (["find", "{}/empty", "-t", "{}/part.tga"], "a folder without images; they end with"),
    (["find", "{}/notes.txt", "-t", "{}/part.tga"], "no image, and no video that OpenCV can read"),
    (["find", "{}/first.png", "-t", "{}/part.tga", "-o", "{}/none/x.csv"], "No such file"),
    (["cut", "{}/first.png", "70,50,20,20", "-o", "{}/x.png"], "it has 80x60 pixels, and the box of 20x20 at 70,50"),
    (["cut", "{}/first.png", "7,5,20,20", "-o", "{}/x.what"], "x.what"),
    (["track", "{}/clip.mp4"], "what is followed?"),
    (["track", "{}/clip.mp4", "-t", "{}/part.tga"], "clip.mp4: there is no such file"),
    (["track", "{}/notes.txt", "-t", "{}/part.tga", "--threshold", "2"], "threshold must be in [-1, 1], not 2.0"),
])
def test_what_goes_wrong_is_said(folder, capsys, words, text):
    pytest.importorskip("cv2")
    (folder / "empty").mkdir()
    status, out, err = run(capsys, *(word.format(folder) for word in words))
    assert status == 2 and err.startswith("xcorr: ") and text in err and "Traceback" not in err
    assert not [line for line in out.splitlines() if not line.startswith("image")]


def test_templates_that_do_not_fit_are_not_found(folder, capsys):
    Image.fromarray(noise((70, 9), 1)).save(folder / "part.tga")
    assert find(capsys, folder, folder / "first.png")[0] == 1


def test_cut_and_find(folder, capsys):
    assert run(capsys, "cut", folder / "first.png", "5,6,20,15", "-o", folder / "cut.png")[0] == 0
    assert (numpy.asarray(Image.open(folder / "cut.png")) == noise((60, 80), 1)[6:21, 5:25]).all()


def test_cut_learns_what_stays(folder, capsys):
    for i, label in enumerate((3, 4, 5)):
        image = noise((60, 80), 1) // 2 + 10 * i  # another brightness
        image[12:17, 10:20] = noise((5, 10), label)
        Image.fromarray(image).save(folder / f"label-{i}.png")
    learn = ["--learn", folder / "label-1.png", "--learn", folder / "label-2.png"]
    assert run(capsys, "cut", folder / "label-0.png", "5,6,20,15", "-o", folder / "cut.png", *learn)[0] == 0
    alpha = numpy.asarray(Image.open(folder / "cut.png"))[..., 3]
    assert set(alpha.flat) == {0, 255} and not alpha[6:11, 5:15].any()
    assert alpha[:5].all() and alpha[12:].all() and alpha[:, :4].all() and alpha[:, 16:].all()
    status, _, err = run(capsys, "cut", folder / "label-0.png", "5,6,20,15", "-o", folder / "cut.png", "--learn",
                         folder / "first.png", "--tolerance", "0.01")
    assert status == 2 and "no pixel differs by 0.01 gray levels or less" in err


def test_doctor(capsys):
    status, out, _ = run(capsys, "doctor")
    assert status == 0 and f"ok  xcorr              {xcorr.__version__}" in out and "device cpu" in out
    found = json.loads(run(capsys, "doctor", "--json")[1])
    assert found["numpy"] == {"found": numpy.__version__, "advice": None}
    assert all(bool(each["found"]) != bool(each["advice"]) for each in found.values())
    assert ("gst-inspect-1.0" in str(shutil.which("gst-inspect-1.0"))) == bool(found["GStreamer"]["found"])


def test_pipelines(folder, capsys):
    (folder / "a clip").mkdir()
    words = ["pipeline", folder / "a clip/one.mp4", "-t", folder / "part.tga", "--angles", "-10,20", "--scales",
             "0.5,2", "--device", "cuda:1", "--track"]
    line = shlex.split(run(capsys, *words)[1])
    assert line[:2] == ["gst-launch-1.0", "-q"] and f"location={folder}/a clip/one.mp4" in line
    assert {f"template={folder}/part.tga", "angle-start=-10", "angle-extent=30", "scale-min=0.5", "scale-max=2",
            "track=true", "backend=cuda", "cuda-device-id=1", "threshold=0.7", "max-peaks=1"} <= set(line)
    assert line[-3:] == ["xcorrjson", "!", "fakesink"]
    line = shlex.split(run(capsys, *words, "--save", folder / "a clip/two.MP4")[1])
    assert line[-5:] == ["x264enc", "!", "mp4mux", "!", "filesink", f"location={folder}/a clip/two.MP4"][-5:]
    line = shlex.split(run(capsys, "pipeline", "rtsp://one/two", "-t", "a.png", "-t", "b.png", "--show")[1])
    assert "uri=rtsp://one/two" in line and line[-1] == "autovideosink" and "track=true" not in line
    assert any(word.startswith('templates=<"/') and word.endswith('/b.png">') for word in line)
    assert "device=/dev/video3" in run(capsys, "pipeline", "3", "-t", "a.png")[1]


def test_tracks(tmp_path, capsys):
    videos = videos_for_the_element()
    video = videos.make_video(tmp_path / "one.mp4", 1, 12)
    template = videos.make_template(tmp_path / "target.png")
    status, out, err = run(capsys, "track", video, "-t", template, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert status == 0 and len(rows) >= 8, err
    for row in rows[:8]:
        x, y = videos.place(1, int(row["frame"]))
        assert abs(float(row["x"]) - x) < 1 and abs(float(row["y"]) - y) < 1 and row["id"] == rows[0]["id"]
    x, y = videos.place(1, 0)
    status, out, err = run(capsys, "track", video, "--box", f"{x},{y},{videos.SIZE},{videos.SIZE}")
    assert status == 0 and len(out.splitlines()) > 8, err


def videos_for_the_element():
    needs_the_element()
    return pytest.importorskip("videos")


def test_a_video_with_boxes(tmp_path, capsys):
    cv2 = pytest.importorskip("cv2")
    videos = videos_for_the_element()
    video, template = videos.make_video(tmp_path / "one.mp4", 1, 12), videos.make_template(tmp_path / "target.png")
    status, out, err = run(capsys, "track", video, "-t", template, "--save", tmp_path / "boxes.avi", "-f", "json", "-o",
                           tmp_path / "tracks.json")
    assert (status, out) == (0, ""), err
    assert [json.loads(line)["analysed"] for line in (tmp_path / "tracks.json").read_text().splitlines()] == [True] * 12
    drawn = cv2.VideoCapture(str(tmp_path / "boxes.avi"))
    _, frame = drawn.read()
    colourful = frame.max(axis=2).astype(int) - frame.min(axis=2) > 60
    x, y = videos.place(1, 0)
    rows, columns = colourful.nonzero()
    assert colourful.any() and abs(rows - y).min() <= 2 and abs(columns - x).min() <= 2


@pytest.mark.parametrize("words, text", [
    (["{}/notes.txt", "-t", "{}/part.png"], "notes.txt: "),
    (["{}/one.mp4", "-t", "{}/notes.txt"], "one.mp4: Cannot read the template file '{}/notes.txt'"),
    (["{}/one.mp4", "-t", "{}/part.png", "--save", "{}/none/boxes.avi"], 'Could not open file "{}/none/boxes.avi"'),
    (["{}/one.mp4", "--box", "180,100,40,40"], "its frames have 192x128 pixels, and the box of 40x40 at 180,100"),
])
def test_pipelines_that_fail_say_it_in_a_line(tmp_path, capsys, words, text):
    videos = videos_for_the_element()
    videos.make_video(tmp_path / "one.mp4", 1, 12)
    videos.make_template(tmp_path / "part.png")
    (tmp_path / "notes.txt").write_text("none")
    status, out, err = run(capsys, "track", *(word.format(tmp_path) for word in words))
    assert (status, out) == (2, "") and err.startswith("xcorr: ") and text.format(tmp_path) in err
    assert err.count("\n") == 1, err


def test_tracks_without_gstreamer(monkeypatch, capsys):
    monkeypatch.setenv("PATH", "/nowhere")
    status, _, err = run(capsys, "track", "rtsp://one", "-t", "a.png")
    assert status == 2 and "gst-launch-1.0 is missing (Debian: gstreamer1.0-tools)" in err
    found = json.loads(run(capsys, "doctor", "--json")[1])
    assert not found["GStreamer"]["found"] and "apt-get install" in found["GStreamer"]["advice"]


def test_lines_of_the_element_as_rows():
    line = json.dumps({"pts": 0,
                       "peaks": [{"id": 3, "label": "a", "x": 1.5, "y": 2, "width": 4, "height": 5, "score": 0.5,
                                  "confidence": 1}]})
    assert track.rows(line, 7) == [[7, 3, "a", "", 1.5, 2, 4, 5, 0.5, 1]]


def test_commands_of_their_own(series, capsys):
    status, out, _ = run(capsys, "field", series / "0.png", series / "2.png", "--search-range", "8", "--device", "cpu")
    assert status == 0 and out.startswith("1: dx -")
    for name in ("field", "archive", "fleet"):
        with pytest.raises(SystemExit) as ended:
            main([name, "--help"])
        assert ended.value.code == 0 and f"usage: xcorr {name}" in capsys.readouterr().out


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completion_has_all_commands_and_options(shell, capsys):
    pytest.importorskip("shtab")
    status, out, err = run(capsys, "completion", shell)
    assert (status, err) == (0, "")
    for word in ("find", "archive", "search", "threshold", "gpus-per-worker", "search-range"):
        assert word in out, word


def test_a_shell_completes(folder, capsys):
    pytest.importorskip("shtab")
    if not shutil.which("bash"):
        pytest.skip("no bash")
    (folder / "completion").write_text(run(capsys, "completion", "bash")[1])

    def completed(*words):
        script = f". ./completion; COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}; _shtab_xcorr; " \
                 'printf "%s\\n" "${COMPREPLY[@]}"'
        return subprocess.run(["bash", "-c", script], cwd=folder, text=True, stdout=subprocess.PIPE,
                              check=True).stdout.split()

    assert completed("xcorr", "fi") == ["find", "field"] or completed("xcorr", "fi") == ["field", "find"]
    assert completed("xcorr", "find", "--thr") == ["--threshold"]
    assert completed("xcorr", "archive", "se") == ["search"]
    assert completed("xcorr", "find", "-t", "pa") == ["part.tga"]


def test_the_manual_is_that_of_the_parsers():
    import runpy
    folder = pathlib.Path(__file__).parents[1] / "man"
    written = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.1")}
    assert written == runpy.run_path(str(folder / "manual.py"))["pages"](), "python/man/manual.py python/man writes it"
    installed = (folder.parent / "meson.build").read_text(encoding="utf-8")
    assert all(f"'man/{name}'" in installed for name in written)


def test_the_manual_is_formatted_without_warnings():
    if not shutil.which("groff"):
        pytest.skip("no groff")
    for path in (pathlib.Path(__file__).parents[1] / "man").glob("*.1"):
        done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-z", path], text=True, stderr=subprocess.PIPE,
                              check=True)
        assert not done.stderr, done.stderr


def test_as_a_program_in_a_pipe(folder):
    program = [sys.executable, "-m", "xcorr"]
    version = subprocess.run([*program, "--version"], text=True, stdout=subprocess.PIPE, check=True).stdout
    assert version == f"xcorr {xcorr.__version__}\n"
    done = subprocess.run(f"{shlex.join(program)} find {'first.png ' * 2000} -q --device cpu -t part.tga | head -n 2",
                          shell=True, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert len(done.stdout.splitlines()) == 2 and "Traceback" not in done.stderr and "Broken" not in done.stderr


def test_an_image_that_comes_by_a_pipe(folder):
    program = f"{shlex.quote(sys.executable)} -m xcorr find --device cpu -t part.tga -f csv"
    by_pipe, by_name = ([line.split(",")[1:] for line in subprocess.run(
        words, shell=True, cwd=folder, text=True, stdout=subprocess.PIPE, check=True).stdout.splitlines()]
        for words in (f"cat first.png | {program} -", f"{program} first.png"))
    assert by_pipe == by_name and len(by_name) > 1


def test_the_page_has_every_command_and_its_transcript(tmp_path):
    from xcorr.command.main import parser
    source = pathlib.Path(__file__).parents[2]
    page = (source / "docs/python.md").read_text(encoding="utf-8")
    commands = next(each for each in parser()._actions if each.dest == "command").choices
    for name in commands:
        assert f"`xcorr {name}" in page, name
    transcript = re.search(r"^```\n(\$ xcorr cut.*?)^```$", page, re.MULTILINE | re.DOTALL)[1]
    expected = "".join(line for line in transcript.splitlines(True) if not line.startswith("$"))
    words = [shlex.split(line[2:]) for line in transcript.splitlines() if line.startswith("$")]
    out = ""
    for command in words:
        there = [str(source / word) if word.startswith("docs/") else word for word in command[1:]]
        out += subprocess.run([sys.executable, "-m", "xcorr", *there], cwd=tmp_path, text=True, stdout=subprocess.PIPE,
                              check=True).stdout
    assert out == expected


@pytest.mark.parametrize("package", ["xcorr", "xcorr.archive", "xcorr.field", "xcorr.fleet"])
def test_importing_its_main_runs_nothing(package):
    importlib.import_module(f"{package}.__main__")


def test_help_is_quick():
    """What only one subcommand needs, and takes long to import, is not there before it runs."""
    code = "import sys, xcorr.command.main as command; command.parser().format_help(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], text=True, stdout=subprocess.PIPE, check=True)
    slow = {"asyncio", "aiohttp", "cv2", "PIL", "matplotlib", "scipy", "ray", "gi", "tqdm", "shtab"}
    assert not slow & set(done.stdout.split())


def test_no_sign_before_0():
    assert str(rounded(-1e-9, 3)) == "0.0" and rounded(-1.23456, 3) == -1.235
