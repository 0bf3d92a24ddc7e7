# SPDX-License-Identifier: LGPL-2.1-or-later
"""`xcorr watch`: what it makes of the element's lines, its reports, and with the element whole recordings."""
import json
import pathlib
import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from conftest import needs_the_element
from watch_screen import Page, run, screen  # noqa: F401
from xcorr.command import reports, watch
from xcorr.command.main import parser
from xcorr.field.images import Unreadable

Image = pytest.importorskip("PIL.Image")
SCRIPTS = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</style><script>", "'onload='x", "&amp;<b>",
           "]]></system-out><x>", "a\x00b\x1b[2Jc\ud800"]


def peak(label, x=10):
    return {"label": label, "x": x, "y": 20, "width": 30, "height": 40, "score": 0.99, "similarity": 0.98,
            "lost": False}


def event(what, label, first, last, unanalysed=0):
    return {"event": what, "label": label, "first-running-time": first, "last-running-time": last,
            "unanalysed": unanalysed, "peak": peak(label)}


def line(number, came=(), left=(), events=(), analysed=True):
    return {"running-time": 7_000_000_000 + number * 40_000_000, "frame-width": 640, "frame-height": 480,
            "analysed": analysed, "came": list(came), "left": list(left), "events": list(events)}


def thumbnail(number):
    return bytes([number]) * (3 * reports.THUMBNAIL[0] * reports.THUMBNAIL[1])


def played(expectations=(), label="logo"):
    """A label that is there from frame 2 to frame 5, and again from frame 9; frame 6 is not analysed."""
    begin = 7_000_000_000
    events = {3: [event("appeared", label, begin + 80_000_000, begin + 120_000_000)],
              7: [event("gone", label, begin + 80_000_000, begin + 200_000_000, 1)],
              10: [event("appeared", label, begin + 360_000_000, begin + 400_000_000)]}
    taken = watch.Watch(reports.Report("screen.mp4", "pictures", list(expectations)))
    lines = []
    for number in range(11):
        came, left = [label] * (number in (2, 9)), [label] * (number == 7)
        passed_on = {0: [0], 2: [2], 7: [5], 9: [9]}.get(number, [])
        for told in taken.take(line(number, came, left, events.get(number, ()), number != 6),
                               iter(map(thumbnail, passed_on)).__next__):
            lines.append(watch.text_of(told))
    taken.end(thumbnail(10))
    taken.report.took = 0.5
    return taken.report, lines


def test_lines_of_events():
    report, lines = played()
    assert [" ".join(text.split()[:4]) for text in lines] == ["0.080 s appeared logo", "0.200 s gone logo",
                                                              "0.360 s appeared logo"]
    assert "at 10,20 score 0.99" in " ".join(lines[0].split())
    assert lines[1].endswith("before unanalysed frames: 1")
    assert (report.frames, report.analysed, report.seconds, report.passed) == (11, 10, 0.4, True)
    first, second = report.intervals
    assert (first.first, first.last, second.first, second.last) == (0.08, 0.2, 0.36, None)
    shown = first.thumbnail, first.last_thumbnail, second.thumbnail, second.last_thumbnail
    assert [each[0] for each in shown] == [2, 5, 9, 10]


def test_expectations():
    def met(*expected):
        report, _ = played([reports.Expectation(label, within) for label, within in expected])
        return [each.met for each in report.expectations], report.passed

    assert met(("logo", 0.1)) == ([True], True)  # confirmed later, but there in time
    assert met(("logo", 0.07)) == ([False], False)
    assert met(("logo", 1), ("menu", 1)) == ([True, False], False)


def test_files_of_expectations(tmp_path):
    file = tmp_path / "expected.txt"
    file.write_text("# after a restart\n\nlogo within 5 s\n  within within 2.5s \nmain menu within 20 s\n")
    assert [(each.label, each.within) for each in watch.read_expectations(str(file))] == [
        ("logo", 5), ("within", 2.5), ("main menu", 20)]
    for text, reason in (("logo in 5 s", "line 1: it is LABEL within SECONDS s"), ("within 5 s", "line 1: "),
                         ("a within -1 s", "line 1: "), ("# none", "nothing is expected"),
                         (f"a within {'9' * 400} s", "line 1: ")):
        file.write_text(text)
        with pytest.raises(Unreadable, match=reason):
            watch.read_expectations(str(file))
    with pytest.raises(Unreadable):
        watch.read_expectations(str(tmp_path / "none"))


@pytest.mark.parametrize("label", SCRIPTS)
def test_labels_of_any_characters(tmp_path, label, capsys):
    report, lines = played([reports.Expectation(label, 1), reports.Expectation(label, 0)], label)
    report.source = report.templates = report.error = label
    assert all(text.isprintable() for text in lines)
    for suffix in reports.WRITERS:
        reports.write(report, str(tmp_path / f"report{suffix}"))
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.tags <= {"html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "table", "tr", "th", "td",
                         "figure", "img", "svg", "rect", "br"}
    assert not [name for name, _ in page.attributes if name.startswith("on") or name == "href"]
    assert all(value.startswith("data:image/jpeg;base64,") for name, value in page.attributes if name == "src")
    assert re.sub("[\x00\x1b\ud800]", "\ufffd", label) in page.text
    assert any("default-src 'none'" in value for name, value in page.attributes if name == "content")
    suite = ElementTree.parse(tmp_path / "report.xml").getroot()
    assert suite.get("tests") == "2" and suite.get("failures") == "1" and len(suite.findall("testcase/failure")) == 1
    told = json.loads((tmp_path / "report.json").read_text())
    assert told["intervals"][0]["label"] == label and told["error"] == label and not told["passed"]


def test_pictures_are_in_the_reports(tmp_path):
    report, _ = played([reports.Expectation("logo", 1)])
    for suffix in reports.WRITERS:
        reports.write(report, str(tmp_path / f"report{suffix}"))
    told = json.loads((tmp_path / "report.json").read_text())
    assert told["intervals"][0]["first-frame"].startswith("data:image/jpeg;base64,/9j/")
    case, = ElementTree.parse(tmp_path / "report.xml").getroot().findall("testcase")
    assert case.get("name") == "logo within 1 s"
    assert [each.get("name") for each in case.findall("properties/property")] == ["first frame", "last frame"]
    assert (tmp_path / "report.html").read_text().count("<img ") == 4
    with pytest.raises(Unreadable):
        reports.write(report, str(tmp_path / "none/report.html"))


def test_a_recording(screen, capsys):  # noqa: F811
    folder, pictures = screen
    (folder / "expected.txt").write_text("logo within 0.5 s\n<b> & \"menu\" within 1 s\n")
    words = [folder / "screen.avi", "--templates", pictures, "--device", "cpu"]
    many = [word for suffix in (".html", ".json", ".xml") for word in ("--report", folder / f"report{suffix}")]
    status, out, err = run(capsys, *words, "--expect", folder / "expected.txt", *many)
    assert status == 0, err
    assert [text.split()[0:3:2] + [text.split()[3].strip('"')] for text in out.splitlines()] == [
        ["0.400", "appeared", "logo"], ["0.800", "appeared", "<b>"], ["1.160", "gone", "logo"]]
    assert "at 200,20" in out and "at 30,150" in out and "logo: appeared within 0.5 s" in err
    told = json.loads((folder / "report.json").read_text())
    assert told["passed"] and told["frames"] == told["analysed"] == 40
    assert [each["last"] for each in told["intervals"]] == [1.16, None]
    pictures_told = [each[which] for each in told["intervals"] for which in ("first-frame", "last-frame")]
    assert len(set(pictures_told)) == 3 and all(pictures_told)  # frames 20 to 29 are alike
    assert "menu" in Page((folder / "report.html").read_text()).text
    assert run(capsys, *words, "--for", "1", "--report", folder / "short.json")[0] == 0
    told = json.loads((folder / "short.json").read_text())
    assert told["frames"] == 26 and [(each["last"], bool(each["last-frame"])) for each in told["intervals"]] == [
        (None, True), (None, True)]
    (folder / "expected.txt").write_text("logo within 0.3 s\n")
    status, out, err = run(capsys, *words, "--expect", folder / "expected.txt", "--format", "json")
    assert status == 1 and "logo: did not appear within 0.3 s" in err
    first = json.loads(out.splitlines()[0])
    assert (first["event"], first["label"], first["at"], first["unanalysed"]) == ("appeared", "logo", 0.4, 0)


@pytest.mark.parametrize("downloads", [True, False])
def test_frames_stay_in_a_gpu_s_memory(monkeypatch, downloads):
    monkeypatch.setattr(watch, "has_element", lambda name: downloads and name == "cudadownload")

    def words(*arguments):
        return watch.words_of(parser().parse_args(["watch", *arguments, "--templates", "t"]), 3, 4)

    made = words("one.mp4")
    after = made[made.index("xcorrjson"):]
    assert ("cudadownload" in made) == downloads and "changes=true" in after
    # Alone what has changed gets there.
    assert after[after.index("!") + 1] == ("cudadownload" if downloads else "videoscale")
    assert "async-depth=4" in made and "async-depth=4" not in words("rtsp://camera") + words("0")


def test_a_live_source_ends_when_all_is_decided(screen, capsys, monkeypatch):  # noqa: F811
    folder, pictures = screen
    (folder / "expected.txt").write_text("logo within 5 s\n")
    monkeypatch.setattr(watch, "source",
                        lambda text: ["filesrc", f"location={folder}/screen.avi", "!", "decodebin", "!",
                                      "identity", "sync=true"])
    status, out, _ = run(capsys, "rtsp://camera", "--templates", pictures, "--device", "cpu", "--expect",
                         folder / "expected.txt")
    assert status == 0 and len(out.splitlines()) == 1


def test_the_page(tmp_path):
    """The page's commands make the recording that its transcript is of."""
    needs_the_element()
    source = pathlib.Path(__file__).parents[2]
    page = (source / "docs/watch.md").read_text(encoding="utf-8")
    (tmp_path / "docs").symlink_to(source / "docs")
    commands = [block for block in re.findall(r"^```sh\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
                if "export" not in block]
    subprocess.run(["bash", "-eu", "-c", "".join(commands)], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    transcript = re.search(r"^```\n\$ (xcorr .*?)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    out = subprocess.run([sys.executable, "-m", *transcript[1].split(), "--device", "cpu"], cwd=tmp_path, check=True,
                         text=True, stdout=subprocess.PIPE).stdout
    assert out == transcript[2]
