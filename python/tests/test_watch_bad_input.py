# SPDX-License-Identifier: LGPL-2.1-or-later
"""`xcorr watch` with what is no good: folders, sources, expectations, reports, numbers; and ends before its time."""
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from xml.etree import ElementTree

import pytest

from conftest import noise
from test_watch import line
from watch_screen import Image, Page, run, screen  # noqa: F401
from xcorr.command import reports, watch
from xcorr.command.main import main


def test_bad_input(screen, capsys):  # noqa: F811
    folder, pictures = screen
    clip = folder / "screen.avi"
    Image.fromarray(noise((300, 400))).save(pictures / "large.png")
    (pictures / "broken.png").write_bytes(b"broken")
    status, out, err = run(capsys, clip, "--templates", pictures, "--device", "cpu", "--interval", "3")
    assert status == 0 and "logo" in out and "after unanalysed frames: 2" in out
    assert "broken.png" in err and "large.png" in err and "is larger than the 320x240" in err
    (folder / "empty").mkdir()
    (folder / "x.xml").mkdir()
    (folder / "empty.avi").touch()
    status, _, err = run(capsys, clip, "--templates", folder / "empty")
    assert status == 1 and "There is no template in the folder" in err and "until an image comes there" in err
    status, _, err = run(capsys, clip, "--templates", folder / "empty", "-t", pictures / "logo.png", "--device", "cpu")
    assert status == 0 and "no template" not in err
    for words, text in (([clip, "--templates", folder / "none"], "there is no such folder"),
                        ([clip, "--templates", clip], "there is no such folder"),
                        ([folder / "none.avi", "--templates", pictures], "none.avi"),
                        ([pictures / "notes.txt", "--templates", pictures], "notes.txt"),
                        ([clip, "--templates", pictures, "--report", "x.pdf"], "ends with .html, .json or .xml"),
                        ([clip, "--templates", pictures, "--report", folder / "none/x.xml"], "there is no folder "),
                        ([clip, "--templates", pictures, "--report", folder / "x.xml"], "x.xml: it is a folder"),
                        ([clip, "--templates", pictures, "--device", "tpu"], "could not set property"),
                        ([clip, "--templates", pictures, "--threshold", "nan"], "threshold must be in"),
                        ([folder / "empty", "--templates", pictures], "is a directory"),
                        ([folder / "empty.avi", "--templates", pictures], "contains no data"),
                        (["rtsp://127.0.0.1:9/x", "--templates", pictures], "rtsp://127.0.0.1:9/x: "),
                        ([clip, "--templates", pictures, "--expect", folder / "none"], "No such file")):
        status, _, err = run(capsys, *words)
        assert status == 2 and text in err and "Traceback" not in err, err


def test_other_files_in_the_folder(screen, capsys):  # noqa: F811
    folder, pictures = screen
    (pictures / "folder.png").mkdir()
    (pictures / "nowhere.png").symlink_to(folder / "nothing")
    (pictures / ".hidden.png").write_bytes((pictures / "logo.png").read_bytes())
    os.mkfifo(pictures / "pipe.png")
    (pictures / "empty.png").touch()
    status, out, err = run(capsys, folder / "screen.avi", "--templates", pictures, "--device", "cpu")
    assert status == 0 and len(out.splitlines()) == 3 and "hidden" not in out
    assert "pipe.png': not a regular file" in err and "empty.png': the file is empty" in err
    assert "nowhere.png': No such file" in err


@pytest.mark.parametrize("name", ['we"ird \'name\'.avi', "new\nline ü.avi", "back\\slash! #.avi", "-dash.avi"])
def test_sources_of_any_name(screen, capsys, monkeypatch, name):  # noqa: F811
    folder, pictures = screen
    monkeypatch.chdir(folder)
    (folder / name).symlink_to("screen.avi")
    status, out, err = run(capsys, "--templates", pictures, "--device", "cpu", "--report", "report.html", "--", name)
    assert status == 0 and len(out.splitlines()) == 3, err
    assert name in Page((folder / "report.html").read_text(encoding="utf-8")).text


def test_labels_by_names_of_files(screen, capsys):  # noqa: F811
    folder, pictures = screen
    (pictures / "templates.yaml").unlink()
    names = ["new\nline", "ünï ✓", "$(x) `y` \\", "!", "<script>alert(1)<"]
    for name in names:
        (pictures / f"{name}.png").write_bytes((pictures / "logo.png").read_bytes())
    (folder / "expected.txt").write_text("ünï ✓ within 1 s\n!  within 1 s\n", encoding="utf-8-sig")
    many = [word for suffix in reports.WRITERS for word in ("--report", folder / f"report{suffix.upper()}")]
    status, out, err = run(capsys, folder / "screen.avi", "--templates", pictures, "--device", "cpu", "--expect",
                           folder / "expected.txt", *many)
    assert status == 0 and "new\\nline" in out, err
    told = json.loads((folder / "report.JSON").read_text(encoding="utf-8"))
    assert {*names} <= {each["label"] for each in told["intervals"]}
    page = Page((folder / "report.HTML").read_text(encoding="utf-8"))
    assert "script" not in page.tags and all(name in page.text for name in names)
    assert ElementTree.parse(folder / "report.XML").getroot().get("failures") == "0"


def test_expectations_that_nothing_can_meet(screen, capsys):  # noqa: F811
    folder, pictures = screen
    (pictures / "templates.yaml").write_text("logo: {label: sign}\n")
    (folder / "expected.txt").write_text("sign within 0.3 s\nsing within 1 s\n")
    status, _, err = run(capsys, folder / "screen.avi", "--templates", pictures, "--device", "cpu", "--expect",
                         folder / "expected.txt", "--report", folder / "report.xml")
    assert status == 1 and "sing is expected, and nothing in " in err and "sign is expected" not in err
    failures = ElementTree.parse(folder / "report.xml").getroot().findall("testcase/failure")
    assert [each.get("message") for each in failures] == ["it appeared after 0.400 s", "it did not appear"]


@pytest.mark.parametrize("words",
                         [["--interval", "0"], ["--appear-frames", "0"], ["--gone-frames", "-1"], ["--stall", "nan"],
                          ["--stall", "0"], ["--for", "-1"], ["--for", "inf"]])
def test_numbers_that_cannot_be(capsys, words):
    with pytest.raises(SystemExit) as ended:
        main(["watch", "one.avi", "--templates", "t", *words])
    assert ended.value.code == 2 and f"argument {words[0]}: it is " in capsys.readouterr().err


@pytest.mark.parametrize("how, sent", [("the reader has enough", None), ("interrupted", signal.SIGINT),
                                       ("terminated", signal.SIGTERM)])
def test_ends_before_its_time(screen, how, sent):  # noqa: F811
    """The verdict and the report are not lost. The source, a pipe, goes on for as long as somebody writes."""
    folder, pictures = screen
    (folder / "expected.txt").write_text("logo within 1 s\nlogo within 0.3 s\n")
    os.mkfifo(folder / "pipe.avi")
    words = [sys.executable, "-m", "xcorr", "watch", "pipe.avi", "--templates", pictures, "--device", "cpu", "--expect",
             "expected.txt", "--report", "report.json"]
    with subprocess.Popen(words, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as command:
        # Also a reader: filesrc closes a pipe and opens it again at its start, and what was written must not be lost.
        with open(os.open(folder / "pipe.avi", os.O_RDWR), "wb", buffering=0) as pipe:
            clip = (folder / "screen.avi").read_bytes()
            pipe.write(clip[:len(clip) * 3 // 4])
            assert " logo " in command.stdout.readline()
            if sent:
                command.send_signal(sent)
                assert command.wait(20) == 130
            else:
                command.stdout.close()
        assert command.wait(20) == (130 if sent else 1)
        err = command.stderr.read()
    assert "logo: appeared within 1 s" in err and "logo: did not appear within 0.3 s" in err and "Traceback" not in err
    told = json.loads((folder / "report.json").read_text())
    assert told["error"] == ("it was interrupted" if sent else None), how
    assert [each["met"] for each in told["expectations"]] == [True, False] and told["intervals"]


def test_outputs_that_are_full_or_closed(screen):  # noqa: F811
    folder, pictures = screen
    (folder / "full.json").symlink_to("/dev/full")
    command = [sys.executable, "-m", "xcorr", "watch", "screen.avi", "--templates", str(pictures), "--device", "cpu"]
    for rest, status, said in [(">/dev/full", 2, "No space left"), (">&-", 0, ""), ("2>&- | head -n 1", 0, ""),
                               ("--report full.json --report good.json", 2, "full.json: No space left"),
                               ("--report good.json >/dev/full", 2, "standard output: No space left")]:
        done = subprocess.run(["bash", "-o", "pipefail", "-c", f"{shlex.join(command)} {rest}"], cwd=folder, text=True,
                              capture_output=True)
        assert done.returncode == status and said in done.stderr and "Traceback" not in done.stderr, (rest, done.stderr)
        if "good.json" in rest:
            assert json.loads((folder / "good.json").read_text())["passed"]
            (folder / "good.json").unlink()


def test_a_source_that_stalls(screen, capsys, monkeypatch):  # noqa: F811
    _, pictures = screen

    def stalls(_, lines, __):
        return ["sh", "-c", f"echo '{json.dumps(line(0))}' > /dev/fd/{lines}; exec sleep 60"]

    monkeypatch.setattr(watch, "words_of", stalls)
    begin = time.monotonic()
    status, _, err = run(capsys, "rtsp://camera", "--templates", pictures, "--stall", "0.5")
    assert status == 2 and "no frame has come for 0.5 s" in err and time.monotonic() - begin < 10


def test_without_gstreamer(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("PATH", "/nowhere")
    status, _, err = run(capsys, "one.mp4", "--templates", tmp_path)
    assert status == 2 and "gst-launch-1.0 is missing (Debian: gstreamer1.0-tools)" in err
