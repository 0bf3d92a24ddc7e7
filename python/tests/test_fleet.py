# SPDX-License-Identifier: LGPL-2.1-or-later
"""Fleets: cameras go on when a worker dies, in order and without doubles, and gaps are told."""
import datetime
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time
import types

import numpy
import pytest

pytest.importorskip("ray")
pytest.importorskip("PIL.Image")
redis = pytest.importorskip("redis")
pytest.importorskip("gi", reason="PyGObject is missing (Debian: python3-gi)")
import PIL.Image  # noqa: E402
from ray_workers import busy, environment, wait_for  # noqa: E402
from redis_server import server  # noqa: E402, F401
from videos import SIZE, TARGET, make_template, smooth  # noqa: E402

from xcorr import _gstreamer  # noqa: E402
from xcorr.fleet import camera as cameras  # noqa: E402
from xcorr.fleet import config  # noqa: E402

for element in "cudaxcorr", "xcorrredis":
    if not _gstreamer.Gst.ElementFactory.find(element):
        pytest.skip(f"GStreamer has no element {element}", allow_module_level=True)

WIDTH, HEIGHT, RATE = 128, 96, 25
SCHEMA = json.loads((pathlib.Path(__file__).parents[2] / "docs/results.schema.json").read_text(encoding="utf-8"))
GAP = SCHEMA["properties"]["gap"]
TAKEOVER = 5  # s; about 2 on two loaded cores


class LiveCamera:
    """Sends numbered frames, 25 a second from now on, to whoever connects; the target's place is the number."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.ended = threading.Event()
        self.background = smooth((HEIGHT, WIDTH), 7)
        self.begin = time.monotonic()
        threading.Thread(target=self.accept, daemon=True).start()

    @property
    def source(self):
        return (f"tcpclientsrc host=127.0.0.1 port={self.port} do-timestamp=true ! rawvideoparse format=gray8 "
                f"width={WIDTH} height={HEIGHT} framerate={RATE}/1")

    def frame(self, number):
        image = self.background.copy()
        x, y = place_of(number)
        image[y:y + SIZE, x:x + SIZE] = TARGET
        return image.tobytes()

    def accept(self):
        while not self.ended.is_set():
            try:
                viewer, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=[viewer], daemon=True).start()

    def serve(self, viewer):
        number = int((time.monotonic() - self.begin) * RATE)
        with viewer:
            while not self.ended.is_set():
                number += 1
                time.sleep(max(0, self.begin + number / RATE - time.monotonic()))
                try:
                    viewer.sendall(self.frame(number))
                except OSError:
                    return

    def end(self):
        self.ended.set()
        self.listener.close()


def place_of(number):
    across = WIDTH - SIZE
    return number % across, number // across


def number_of(peak):
    return round(peak["x"]) + (WIDTH - SIZE) * round(peak["y"])


def entries(client, name):
    return [(key.decode(), {field.decode(): json.loads(value) for field, value in fields.items()})
            for key, fields in client.xrange(f"places:{name}")]


def test_a_worker_is_killed(server, tmp_path):
    client, address = server
    make_template(tmp_path / "part.png")
    live = {name: LiveCamera() for name in ("gate", "door")}
    file = tmp_path / "fleet.yaml"
    file.write_text("\n".join([f"redis: '{address}'", "cameras:"] + [
        f"  {name}: {{source: '{camera.source}', templates: [part.png], "
        "settings: {backend: cpu, threshold: 0.8}}" for name, camera in live.items()]))
    said = tmp_path / "stderr"  # a file takes whatever Ray says
    with said.open("w") as stderr:
        fleet = subprocess.Popen([sys.executable, "-m", "xcorr.fleet", file, "--workers", "2"],
                                 env=environment(tmp_path), stderr=stderr)
    try:
        wait_for(lambda: all(client.xlen(f"places:{name}") > 20 for name in live) or fleet.poll())
        assert fleet.poll() is None, said.read_text()
        counts = {name: client.xlen(f"places:{name}") for name in live}
        os.kill(busy(tmp_path, "CameraActor.follow")[0], signal.SIGKILL)
        wait_for(lambda: any("gap" in entry for name in live for _, entry in entries(client, name)[counts[name]:]))
        counts = {name: client.xlen(f"places:{name}") for name in live}
        wait_for(lambda: all(client.xlen(f"places:{name}") > counts[name] + 20 for name in live))
    finally:
        fleet.terminate()
        fleet.wait()
        for camera in live.values():
            camera.end()

    taken_over = []
    for name in live:
        found = entries(client, name)
        frames = [number_of(entry["peaks"][0]) for _, entry in found if "gap" not in entry]
        assert frames == sorted(set(frames)), f"{name}: out of order, or doubled"
        assert all(entry["camera"] == name for _, entry in found)
        for at, (_, entry) in enumerate(found):
            if "gap" in entry:
                assert_gap(entry, after=found[at - 1][0])
                taken_over.append((frames[at] - frames[at - 1]) / RATE)
        # Elsewhere there is none: a frame is missing only where a gap is told.
        assert sum(b - a > 1 for a, b in zip(frames, frames[1:])) == sum("gap" in entry for _, entry in found), name
    assert len(taken_over) == 1
    print(f"taken over after {taken_over[0]:.2f} s")
    assert taken_over[0] < TAKEOVER


def assert_gap(entry, after, reason="started"):
    """A record as the schema has it, of this machine, noticed after that entry."""
    assert set(entry) == {"schema", "camera", "gap"}
    assert entry["schema"] == SCHEMA["properties"]["schema"]["const"]
    gap = entry["gap"]
    assert set(gap) == set(GAP["required"]) == set(GAP["properties"])
    assert (gap["after"], gap["reason"], gap["host"]) == (after, reason, socket.gethostname())
    noticed = datetime.datetime.fromisoformat(gap["noticed"].replace("Z", "+00:00"))
    assert noticed.timestamp() * 1000 >= int(after.split("-")[0])


def test_a_gap_is_told_once_and_only_where_there_was_something(server):
    client, _ = server
    cameras.mark_gap(client, "gate", "started")
    assert entries(client, "gate") == []
    client.xadd("places:gate", {"schema": 1}, id="1000-7")
    cameras.mark_gap(client, "gate", "the camera is gone")
    (_, _), (key, entry) = entries(client, "gate")
    assert key == "1000-8"
    assert entry["camera"] == "gate"
    assert_gap(entry, "1000-7", "the camera is gone")


def test_a_camera_that_fails_is_tried_again(server, tmp_path, monkeypatch):
    """Three times, with pauses that double, and the gap says why."""
    client, address = server
    make_template(tmp_path / "part.png")
    camera = config.Camera("gate", address, (str(tmp_path / "part.png"),), uri=f"file://{tmp_path}/gone.mp4",
                           settings={"backend": "cpu"})
    client.xadd("places:gate", {"schema": 1}, id="1000-0")
    pauses = []

    def pause(seconds):
        pauses.append(seconds)
        if len(pauses) == 3:
            raise KeyboardInterrupt
    monkeypatch.setattr(cameras.time, "sleep", pause)
    with pytest.raises(KeyboardInterrupt):
        cameras.follow(camera)
    assert pauses == [0.5, 1.0, 2.0]
    reasons = [entry["gap"]["reason"] for _, entry in entries(client, "gate")[1:]]
    assert reasons[0] == "started" and len(reasons) == 3 and all("not found" in reason for reason in reasons[1:])


def test_a_server_that_is_not_there_holds_no_camera(tmp_path):
    """The stream is followed to its end."""
    make_template(tmp_path / "part.png")
    camera = config.Camera("gate", f"unix:{tmp_path}/gone", (str(tmp_path / "part.png"),),
                           source="videotestsrc num-buffers=5 ! video/x-raw,width=64,height=64",
                           settings={"backend": "cpu"})
    cameras.follow(camera)


# The first two are of one luma.
BUTTONS = {"red": (210, 59, 110), "green": (10, 161, 110), "bright": (208,) * 3, "dark": (16,) * 3}


def buttons(path, *colours):
    """A picture with a button for each of these pairs, whose right half has the second colour, 100 pixels apart."""
    picture = numpy.full((120, 20 + 100 * len(colours), 3), 160, numpy.uint8)
    for number, (left, right) in enumerate(colours):
        x = 40 + 100 * number
        picture[40:80, x:x + 30], picture[40:80, x + 30:x + 60] = BUTTONS[left], BUTTONS[right]
    PIL.Image.fromarray(picture).save(path)
    return picture


@pytest.mark.parametrize("match_on, seen, more, found, in_luma", [
    ("color", [("green", "green"), ("red", "red")], {}, [120], [20, 120]),
    ("edges", [("dark", "bright"), ("bright", "bright")], {"polarity": "either"}, [20, 120], [120]),
])
def test_templates_by_colour_and_edges(server, tmp_path, match_on, seen, more, found, in_luma):
    """What a camera's settings compare: hues, of which luma knows nothing, and outlines, whatever is inside."""
    client, address = server
    buttons(tmp_path / "scene.png", *seen)
    PIL.Image.fromarray(buttons(tmp_path / "part.png", seen[1])[20:100, 20:120]).save(tmp_path / "part.png")
    for name, settings, places in ("as-set", {"match-on": match_on, **more}, found), ("luma", more, in_luma):
        cameras.follow(config.Camera(
            name, address, (str(tmp_path / "part.png"),), source=f"filesrc location={tmp_path}/scene.png ! pngdec",
            settings={"backend": "cpu", "threshold": 0.7, "max-peaks": 2, "subpixel": "none", **settings}))
        (_, entry), = entries(client, name)
        assert sorted((peak["x"], peak["y"]) for peak in entry["peaks"]) == [(x, 20) for x in places], name


def test_a_plugin_without_hiredis(monkeypatch):
    camera = config.Camera("gate", "redis://a", ("part.png",), source="fakesrc")
    monkeypatch.setattr(cameras, "Gst", types.SimpleNamespace(ElementFactory=types.SimpleNamespace(
        find=lambda name: None)))
    with pytest.raises(_gstreamer.PipelineError, match='no element "xcorrredis": build the plugin with hiredis'):
        cameras.launch_line(camera)


@pytest.mark.parametrize("text, expected", [
    ("[", "while parsing"),
    ("- a", "the file is no mapping of redis, cameras"),
    ("cameras: {}", "the file lacks 'redis'"),
    ("redis: redis://a\ncameras: {gate: {uri: a, templates: [part.png], fps: 3}}", "camera 'gate' has 'fps'"),
    ("redis: redis://a\ncameras: {gate: {templates: [part.png]}}", "needs either 'uri' or 'source'"),
    ("redis: redis://a\ncameras: {gate: {uri: a, source: b, templates: [part.png]}}", "needs either"),
    ("redis: redis://a\ncameras: {gate: {uri: a}}", "lacks 'templates'"),
    ("redis: redis://a\ncameras: {gate: {uri: a, templates: []}}", "has no templates"),
    ("redis: redis://a\ncameras: {gate: {uri: a, templates: [gone.png]}}", "there is no template"),
    ("redis: redis://a\ncameras: {gate: {uri: a, templates: [part.png], gpus: many}}", "'gpus' cannot be 'many'"),
    ("redis: redis://a\ncameras: {gate: {uri: a, templates: [part.png], settings: {nonsense: 1}}}",
     "cudaxcorr has no property 'nonsense'"),
])
def test_files_that_are_wrong(tmp_path, text, expected):
    make_template(tmp_path / "part.png")
    file = tmp_path / "fleet.yaml"
    file.write_text(text)
    run = subprocess.run([sys.executable, "-m", "xcorr.fleet", file], text=True, capture_output=True)
    assert run.returncode == 2 and expected in run.stderr and "Traceback" not in run.stderr, run.stderr


@pytest.mark.parametrize("module, name", [("ray", "Ray"), ("redis", "redis-py"), ("yaml", "PyYAML"),
                                          ("gi", "PyGObject")])
def test_what_is_not_installed(tmp_path, module, name):
    make_template(tmp_path / "part.png")
    (tmp_path / "fleet.yaml").write_text("redis: redis://a\ncameras: {gate: {source: fakesrc, templates: [part.png]}}")
    code = f"import sys; sys.modules[{module!r}] = None; sys.argv[0] = 'fleet'; " \
           "import runpy; runpy.run_module('xcorr.fleet', run_name='__main__')"
    run = subprocess.run([sys.executable, "-c", code, tmp_path / "fleet.yaml"], text=True, capture_output=True)
    assert run.returncode == 2
    assert f"xcorr: {name} is missing" in run.stderr and "Traceback" not in run.stderr, run.stderr
