# SPDX-License-Identifier: LGPL-2.1-or-later
"""The studio's server, as browsers and others meet it. The page itself is tested in a browser by test_studio_page.py."""
import asyncio
import json
import pathlib
import re
import shlex
import shutil
import socket
import subprocess
import sys

import numpy
import pytest

pytest.importorskip("gi", reason="PyGObject is missing (Debian: python3-gi)")
pytest.importorskip("aiohttp")
import aiohttp  # noqa: E402
from aiohttp.test_utils import TestClient, TestServer  # noqa: E402

from xcorr._gstreamer import Gst, matcher  # noqa: E402
from xcorr.command.main import main  # noqa: E402
from xcorr.field.images import Unreadable  # noqa: E402
from xcorr.fleet import config  # noqa: E402
from xcorr.studio import export, images  # noqa: E402
from xcorr.studio.search import Search  # noqa: E402
from xcorr.studio.server import PAGE, TICKETS, application  # noqa: E402
from xcorr.studio.sources import Sources  # noqa: E402
from xcorr.studio.studio import Studio  # noqa: E402
import videos  # noqa: E402

needs_element = pytest.mark.skipif(not Gst.ElementFactory.find("cudaxcorr"), reason="GStreamer has no element cudaxcorr")
TOKEN = "a token that nobody guesses"
SEED = 1
LIMIT = 30  # s
COMPILER = shutil.which("cc") or shutil.which("gcc")


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    return str(videos.make_video(tmp_path_factory.mktemp("studio") / "one.mp4", SEED, 60))


def run(folder, inputs, scenario, templates=()):
    """The scenario gets a client without a cookie, and the studio, which has opened the first of the inputs."""
    async def whole():
        studio = Studio(Sources([str(each) for each in inputs]), folder / "templates", "cpu")
        async with TestClient(TestServer(application(studio, TOKEN)), cookie_jar=aiohttp.CookieJar(unsafe=True)) as client:
            await studio.begin([str(each) for each in templates])
            await asyncio.wait_for(scenario(client, studio), LIMIT)
    asyncio.run(whole())


class Page:
    """As the page in the browser: it says that it has shown a picture, unless it stalls."""

    def __init__(self, connection, stalls=False):
        self.connection, self.stalls, self.picture = connection, stalls, None

    async def send(self, what, **values):
        await self.connection.send_json({"do": what, **values})

    async def next(self, kind):
        """(header, body) of the next message of that kind."""
        while True:
            message = await self.connection.receive(LIMIT)
            if message.type == aiohttp.WSMsgType.BINARY:
                length = int.from_bytes(message.data[:4], "little")
                found, body = json.loads(message.data[4:4 + length]), message.data[4 + length:]
            else:
                assert message.type == aiohttp.WSMsgType.TEXT, message
                found, body = json.loads(message.data), b""
            if found["type"] == "picture":
                self.picture = found
                if not self.stalls:
                    await self.send("shown", number=found["number"])
            if found["type"] == kind:
                return found, body

    async def draw(self, label=""):
        """A box around the target, in a picture that has one; returns the id of the template."""
        while (at := place_in(self.picture or (await self.next("picture"))[0])) is None:
            await self.next("picture")
        self.stalls = True  # as the page does while a box is drawn
        await self.send("template", number=self.picture["number"], box=[*at, videos.SIZE, videos.SIZE], label=label)
        state = (await self.next("state"))[0]
        self.stalls = False
        await self.send("shown", number=self.picture["number"])
        return state["templates"][-1]["id"]


def place_in(picture):
    """Of the target. The coder's delay shifts time stamps, not stream time."""
    return videos.place(SEED, round(picture["results"]["stream-time"] * videos.RATE / 1e9))


async def opened(client, **more):
    await client.get("/", params={"token": TOKEN})
    page = Page(await client.ws_connect("/socket"), **more)
    await page.next("state")
    return page


@needs_element
def test_nothing_without_the_token(tmp_path, clip):
    async def scenario(client, _):
        for path in "/", "/studio.js", "/template/1", "/socket", "/nothing":
            for token in {}, {"token": "wrong"}, {"token": "größer"}:
                answer = await client.get(path, params=token)
                assert answer.status == 403 and "Content-Security-Policy" in answer.headers, path
                assert "Open the address that xcorr studio printed" in await answer.text()
        answer = await client.get("/", params={"token": TOKEN}, allow_redirects=False)
        assert answer.status == 302 and answer.headers["Location"] == "/"
        assert "HttpOnly" in answer.headers["Set-Cookie"] and "SameSite=Strict" in answer.headers["Set-Cookie"]
        for name, kind in ("", "text/html"), ("studio.js", "text/javascript"), ("studio.css", "text/css"):
            answer = await client.get(f"/{name}")
            assert answer.status == 200 and answer.content_type == kind
            assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self';")
        for headers in {"Host": "evil.example"}, {"Host": "evil.example:80"}, {"Origin": "http://evil.example"}, {"Origin": "null"}:
            assert (await client.get("/", headers=headers)).status == 403, headers
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await client.ws_connect("/socket", headers=headers)
            assert refused.value.status == 403
        client.server.app[TICKETS].add("once")
        assert (await client.get("/studio.js", params={"token": "once"})).status == 403
        client.session.cookie_jar.clear()
        assert (await client.get("/", params={"token": "once"})).status == 200
        assert (await client.get("/studio.js")).status == 200
        assert (await client.get("/", params={"token": "once"})).status == 403
        cookie = next(iter(client.session.cookie_jar)).key
        assert str(client.port) in cookie  # another server of this machine has another one
        client.session.cookie_jar.clear()
        assert (await client.get("/", cookies={cookie: "wrong"})).status == 403
    run(tmp_path, [clip], scenario)


@needs_element
def test_nothing_outside_of_what_was_given(tmp_path, clip):
    given = tmp_path / "given"
    given.mkdir()
    for name in "inside.mp4", "b.mp4":
        (given / name).write_bytes(pathlib.Path(clip).read_bytes())
    (given / "link.mp4").symlink_to(clip)
    (given / "notes.txt").write_text("none")

    async def scenario(client, _):
        page = await opened(client)
        for path in "/../server.py", "/%2e%2e/server.py", "/..%2fserver.py", "/page%2fstudio.js", "/server.py", "/template/..%2f1":
            async with client.session.get(aiohttp.client.URL(f"http://{client.host}:{client.port}{path}", encoded=True)) as answer:
                assert answer.status == 404, path
        for name in clip, "/etc/passwd", "../one.mp4", str(given / "notes.txt"), str(given / "link.mp4"), 7, None, ["a"]:
            await page.send("open", source=name)
            assert "is not among what xcorr studio was started with" in (await page.next("error"))[0]["text"]
        await page.send("open", source=str(given / "inside.mp4"))
        state = (await page.next("state"))[0]
        assert state["sources"] == [str(given / "b.mp4"), str(given / "inside.mp4")]
        assert state["source"] == str(given / "inside.mp4")
    run(tmp_path, [given], scenario)


@needs_element
def test_a_box_is_found_at_once_and_followed(tmp_path, clip):
    async def scenario(client, _):
        page = await opened(client)
        template = await page.draw()
        followed = 0
        while followed < 25:
            picture, jpeg = await page.next("picture")
            assert jpeg[:2] == b"\xff\xd8" and picture["size"] == [videos.WIDTH, videos.HEIGHT]
            at, peaks = place_in(picture), picture["results"]["peaks"]
            if followed or peaks:
                assert [peak["template-id"] for peak in peaks] == [template]
                if peaks[0]["state"] != "tentative":
                    assert abs(peaks[0]["x"] - at[0]) < 1 and abs(peaks[0]["y"] - at[1]) < 1, picture
                followed += 1
        assert peaks[0]["state"] == "tracked" and peaks[0]["label"] == "target 1"
        answer = await client.get(f"/template/{template}")
        assert answer.content_type == "image/png" and (await answer.read())[:4] == b"\x89PNG"
        await page.send("remove", id=template)
        assert not (await page.next("state"))[0]["templates"]
        assert (await client.get(f"/template/{template}")).status == 404
    run(tmp_path, [clip], scenario)


@needs_element
def test_events(tmp_path):
    clip = videos.make_video(tmp_path / "long.mp4", SEED, 90)
    template = videos.make_template(tmp_path / "part.png")

    async def scenario(client, _):
        page, told = await opened(client), set()
        await page.send("set", settings={"track": "off"})
        while not {("gone", "part", 59), ("appeared", "part", 80)} <= told:  # it is hidden between
            for _, _, events in (await page.next("picture"))[0]["history"]:
                told |= {(event, label, round(time * videos.RATE)) for event, label, _, time, _ in events}
    run(tmp_path, [clip], scenario, [template])


@needs_element
def test_what_stands_still_is_searched_again(tmp_path, clip):
    async def scenario(client, _):
        page = await opened(client)
        await page.send("play", playing=False)
        await page.send("seek", time=0.4)
        while round(page.picture["results"]["stream-time"] / 1e8) != 4 if page.picture else True:
            await page.next("picture")
        await page.draw()
        while not page.picture["results"]["peaks"]:
            await page.next("picture")
        assert page.picture["results"]["peaks"][0]["score"] > 0.99
        stood = page.picture["results"]["stream-time"]
        for frames in 1, 1, -1:
            await page.send("step", frames=frames)
            before = page.picture["results"]["stream-time"]
            while page.picture["results"]["stream-time"] == before:
                await page.next("picture")
            assert page.picture["results"]["stream-time"] - before == frames * Gst.SECOND // videos.RATE
        assert page.picture["results"]["stream-time"] == stood + Gst.SECOND // videos.RATE
        await page.send("play", playing=True, rate=-1)
        while page.picture["results"]["stream-time"] >= stood:
            await page.next("picture")
        await page.send("play", playing=True, rate=2)
        while page.picture["results"]["stream-time"] <= stood:
            await page.next("picture")
    run(tmp_path, [clip], scenario)


@needs_element
def test_a_picture(tmp_path):
    picture = tmp_path / "frame.png"
    images.cut(images.sample_of(videos.draw(SEED, 3)), (0, 0, videos.WIDTH, videos.HEIGHT), picture)
    template = videos.make_template(tmp_path / "part.png")

    async def scenario(client, studio):
        page = await opened(client)
        while not (await page.next("picture"))[0]["results"]["peaks"]:
            pass
        peak, = page.picture["results"]["peaks"]
        assert (peak["label"], peak["score"]) == ("part", 1.0)
        assert numpy.allclose([peak["x"], peak["y"]], videos.place(SEED, 3), atol=0.01)
        state = studio.state()
        assert state["kind"] == "picture" and state["duration"] is None and not state["playing"]
        await page.send("set", settings={"threshold": 0.2, "peaks": 3, "angles": [-20, 20], "scales": [0.9, 1.1]})
        while len((await page.next("picture"))[0]["results"]["peaks"]) < 2:
            pass
        await page.send("scores", id=state["templates"][0]["id"])
        scores, jpeg = await page.next("scores")
        assert scores["target"] < 1 and scores["suggested"] and jpeg[:2] == b"\xff\xd8"  # of three, as was set
        await page.send("set", settings={"peaks": 1})
        await page.next("state")
        await page.send("scores", id=state["templates"][0]["id"])
        scores, _ = await page.next("scores")
        assert scores["target"] == 1 and scores["other"] < 0.9
        assert sum(scores["counts"]) == (videos.WIDTH - videos.SIZE + 1) * (videos.HEIGHT - videos.SIZE + 1)
    run(tmp_path, [picture], scenario, [template])


@needs_element
def test_two_pages_and_one_that_stalls(tmp_path, clip):
    async def scenario(client, _):
        stalled = await opened(client, stalls=True)
        first = (await stalled.next("picture"))[0]
        one, other = await opened(client), await opened(client)
        numbers = [(await one.next("picture"))[0]["number"] for _ in range(25)]
        assert numbers == sorted(set(numbers)) and (await other.next("picture"))[0]["number"] >= first["number"]
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(stalled.next("picture"), 0.5)
        await other.send("set", settings={"threshold": 0.55})
        assert (await one.next("state"))[0]["settings"]["threshold"] == 0.55
        await stalled.connection.close()  # the interrupted wait may have closed it; another page stalls on
        late = await opened(client, stalls=True)
        seen = (await late.next("picture"))[0]
        for _ in range(20):
            await one.next("picture")
        await late.send("shown", number=seen["number"])
        again = (await late.next("picture"))[0]
        assert again["number"] - seen["number"] >= 15  # pictures were left out
        assert len(again["history"]) >= 15 and again["behind"] > 0.3  # results were not
    run(tmp_path, [clip], scenario)


@needs_element
def test_labels_are_texts_and_files_stay_in_their_folder(tmp_path, clip):
    label = "<img src=x onerror=alert(1)>/../../../etc/ü\"'"

    async def scenario(client, _):
        page = await opened(client)
        await page.draw(label)
        await page.draw(label)
        assert [each.parent for each in tmp_path.rglob("*.png")] == [tmp_path / "templates"] * 2
        while not (picture := (await page.next("picture"))[0])["results"]["peaks"]:
            pass
        assert picture["results"]["peaks"][0]["label"] == label
    run(tmp_path, [clip], scenario)
    for path in PAGE.glob("*.js"):
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b", path.read_text()), path


def test_the_page_asks_nobody_else():
    for path in PAGE.iterdir():
        text = path.read_text(encoding="utf-8").replace('xmlns="http://www.w3.org/2000/svg"', "")
        assert not re.search(r"https?://\w|//cdn|@import|url\(", text), path
        assert "SPDX-License-Identifier: LGPL-2.1-or-later" in text


def test_every_file_is_installed():
    folder = pathlib.Path(__file__).parents[1]
    listed = (folder / "meson.build").read_text(encoding="utf-8")
    for path in (folder / "xcorr/studio").rglob("*.*"):
        if "__pycache__" not in path.parts:
            assert f"'{path.relative_to(folder)}'" in listed, path


@needs_element
def test_what_cannot_be_done_is_said(tmp_path, clip):
    async def scenario(client, _):
        page = await opened(client)
        number = (await page.next("picture"))[0]["number"]
        for message, text in [
            ("no JSON", "that is no JSON object"), ("[1]", "that is no JSON object"), ("[" * 9000, "that is no JSON object"),
            ({"do": "fly"}, "there is nothing called 'fly' to do"), ({}, "there is nothing called None to do"),
            ({"do": "set", "settings": {"threshold": 2}}, "threshold must be a number from -1 to 1, not 2"),
            ({"do": "set", "settings": {"angles": [9, 1]}}, "angles go from the least to the greatest"),
            ({"do": "set", "settings": {"location": "/etc/passwd"}}, "these are no settings"),
            ({"do": "set", "settings": {"track": ["off"]}}, "track must be one of"),
            ({"do": "set", "settings": {"match_on": "hue"}}, "match_on must be one of luma, color, edges, color-edges, not 'hue'"),
            ({"do": "seek", "time": -1}, "there is nothing at -1 s"), ({"do": "play", "rate": 99}, "not 99"),
            ({"do": "template", "number": number + 99, "box": [0, 0, 9, 9]}, "no longer on the screen"),
            ({"do": "remove", "id": 99}, "there is no template 99"), ({"do": "scores", "id": None}, "there is no template None"),
        ]:
            await page.connection.send_str(message if isinstance(message, str) else json.dumps(message))
            assert text in (await page.next("error"))[0]["text"], message
        page.stalls = True
        number = (await page.next("picture"))[0]["number"]
        for box in [[0, 0, 4, 9], [-1, 0, 9, 9], [190, 0, 9, 9], [0.5, 0, 9, 9], [0, 0, 9], None, [0, 0, 1 << 70, 9]]:
            await page.send("template", number=number, box=box)
            assert (await page.next("error"))[0]["text"].startswith("a box "), box
        await page.connection.send_str("x" * 100_000)  # too long: the connection ends, the studio does not
        while (message := await page.connection.receive(LIMIT)).type in (aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY):
            pass
        assert (await (await opened(client)).next("picture"))[0]["number"] >= number
    run(tmp_path, [clip], scenario)


@needs_element
@pytest.mark.skipif(not COMPILER or not shutil.which("pkg-config"), reason="no compiler for C, or no pkg-config")
def test_what_is_exported_does_the_same(tmp_path, clip):
    async def scenario(client, studio):
        page = await opened(client)
        assert not any(studio.state()["export"].values())
        await page.draw("a 'quoted' one")
        await page.send("set", settings={"threshold": 0.8})
        exported = (await page.next("state"))[0]["export"]
        assert {"threshold=0.8", "track=true", "tracker=template"} <= set(shlex.split(exported["line"]))
        program = tmp_path / "program.py"
        program.write_text(exported["python"])
        (tmp_path / "search.c").write_text(exported["c"])
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "gstreamer-1.0"], check=True, text=True,
                               stdout=subprocess.PIPE).stdout.split()
        subprocess.run([COMPILER, "-std=c11", "-Wall", "-Wextra", "-Werror", tmp_path / "search.c", "-o", tmp_path / "search",
                        *flags], check=True)
        for command in exported["line"], f"{sys.executable} {program}", str(tmp_path / "search"):
            done = await asyncio.create_subprocess_shell(command, stdout=subprocess.PIPE)
            lines = (await done.communicate())[0].decode().splitlines()
            assert done.returncode == 0 and len(lines) > 40, command
            assert "a _quoted_ one" in lines[20]
    run(tmp_path, [clip], scenario)


def test_texts_in_what_is_exported(tmp_path):
    name = "a \"b\" \\ ??/ %d \t ü\x01\n{}"
    (tmp_path / "text.c").write_text(f"#include <stdio.h>\nint main(void) {{ return puts({export.c_text(name + '1')}) < 0; }}")
    if COMPILER:
        subprocess.run([COMPILER, "-std=c99", tmp_path / "text.c", "-o", tmp_path / "text"], check=True)
        assert subprocess.run([tmp_path / "text"], check=True, stdout=subprocess.PIPE).stdout.decode() == name + "1\n"
    yaml = pytest.importorskip("yaml")
    made = yaml.safe_load(export.settings("0", ["v4l2src", "device=/dev/video0"], [name], {"threshold": "0.7"}))
    assert made["cameras"]["studio"] == {"source": "v4l2src device=/dev/video0", "templates": [name],
                                         "settings": {"threshold": "0.7"}}


@needs_element
def test_settings_are_for_a_fleet(tmp_path, clip):
    pytest.importorskip("yaml")
    template = videos.make_template(tmp_path / "part.png").rename(tmp_path / "a 'part' \".png")
    exported = Search().changed({"threshold": 0.8}).exported(clip, "cpu", [str(template)], False)
    (tmp_path / "fleet.yaml").write_text(exported["settings"])
    camera, = config.read(str(tmp_path / "fleet.yaml"))
    assert (camera.uri, camera.templates) == (pathlib.Path(clip).as_uri(), (str(template),))
    assert camera.settings["threshold"] == "0.8" and camera.settings["track"] == "true"
    matcher(camera.templates, camera.settings)  # refuses what is no property


@needs_element
def test_sources_that_do_not_work(tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    (tmp_path / "damaged.mp4").write_bytes(bytes(range(256)) * 9)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for words, text in [([tmp_path / "none.mp4"], "none.mp4: there is no such file"),
                            ([tmp_path / "empty"], "no video and no picture"),
                            ([tmp_path / "damaged.mp4", "--port", 0], f"{tmp_path}/damaged.mp4: "),
                            ([tmp_path / "damaged.mp4", "--port", port],
                             f"port {port} is in use, by another studio perhaps: give --port another one")]:
            assert main(["studio", "--no-browser", *map(str, words)]) == 2
            assert text in capsys.readouterr().err, words


@needs_element
def test_a_source_that_fails_and_the_next(tmp_path, clip):
    (tmp_path / "damaged.mp4").write_bytes(bytes(range(256)) * 9)
    address = f"file://{clip}"

    async def scenario(client, _):
        page = await opened(client)
        template = await page.draw()
        await page.send("open", source=str(tmp_path / "damaged.mp4"))
        state = (await page.next("state"))[0]
        assert state["source"] == state["kind"] == "" and len(state["templates"]) == 1
        assert (await page.next("error"))[0]["text"].startswith(f"{tmp_path}/damaged.mp4: ")
        await page.send("scores", id=template)
        await page.send("play", playing=True)
        assert (await page.next("error"))[0]["text"] == "nothing is open"
        await page.send("open", source=address)  # played as a camera is, without an end
        state = (await page.next("state"))[0]
        assert (state["source"], state["kind"], state["duration"]) == (address, "live", None)
        while not (await page.next("picture"))[0]["results"]["peaks"]:
            pass
    run(tmp_path, [clip, tmp_path / "damaged.mp4", address], scenario)


def test_cameras_and_addresses_are_sources():
    assert Sources(["0", "rtsp://one/two"]).names() == {"camera 0": "0", "rtsp://one/two": "rtsp://one/two"}
    with pytest.raises(Unreadable):
        Sources(["0"]).find("1")


def test_thresholds_that_are_suggested():
    response = numpy.zeros((60, 80), "u1")
    response[10, 20], response[11, 21], response[40, 50] = 250, 240, 100
    found = images.read_scores(response, (16, 12), 1)
    assert (found["target"], found["other"], found["suggested"]) == (250 / 255, 100 / 255, 0.69)
    assert sum(found["counts"]) == (60 - 12 + 1) * (80 - 16 + 1) and found["counts"][250 >> 2] == 1
    heat = images.as_heat(response, (16, 12))
    assert heat.shape == (60, 80, 3) and (heat.sum(axis=2).argmax() == (10 + 6) * 80 + 20 + 8)


def test_settings():
    search = Search().changed({"angles": [-180, 180], "track": "filter"})
    assert search.of_element(False) | {"angle-start": "-180", "angle-extent": "360", "track": "true", "tracker": "filter",
                                       "scale-min": "1"} == search.of_element(False)
    assert search.of_element(True)["track"] == "false"
    assert "scale-max=1.5" in Search().changed({"scales": [1, 1.5]}).words("a.mp4", "auto", ["b.png"], False)
    assert not {word for word in Search().words("a.mp4", "auto", ["b.png"], False) if "angle" in word or "scale" in word}
    edges = Search().changed({"match_on": "edges", "angles": [-9, 9], "scales": [1, 2]})
    assert edges.of_element(False) | {"match-on": "edges", "angle-extent": "18", "scale-max": "2"} == edges.of_element(False)
    assert Search().of_element(False)["match-on"] == "luma"


@needs_element
def test_colours_and_edges(tmp_path):
    """Two squares of the same brightness, one of them in the colours of the template, and a dark one."""
    frame = numpy.full((96, 288, 3), 110, "u1")
    frame[32:64, 32:64], frame[32:64, 128:160], frame[32:64, 224:256] = (210, 59, 110), (10, 161, 110), 20
    picture, part, dark = tmp_path / "frame.png", tmp_path / "part.png", tmp_path / "dark.png"
    images.cut(images.sample_of(frame), (0, 0, 288, 96), picture)
    images.cut(images.sample_of(frame), (16, 16, 64, 64), part)
    images.cut(images.sample_of(frame // 2 + 70), (208, 16, 64, 64), dark)  # paler than what it is to be found in

    async def scenario(client, studio):
        page = await opened(client)

        async def found(label):
            while not (there := [peak for peak in (await page.next("picture"))[0]["results"]["peaks"] if peak["label"] == label]):
                pass
            return [(round(peak["x"]), round(peak["score"], 1)) for peak in there]
        await page.send("set", settings={"match_on": "color", "peaks": 2})
        assert await found("part") == [(16, 1)]
        await page.send("set", settings={"peaks": 1})
        await page.next("state")
        await page.send("scores", id=studio.templates[0].id)
        assert (await page.next("scores"))[0]["target"] == 1
        await page.send("remove", id=studio.templates[0].id)
        await page.send("set", settings={"match_on": "edges", "threshold": 0.9, "angles": [-20, 20]})
        assert await found("dark") == [(208, 1)]
        await page.send("scores", id=studio.templates[0].id)
        assert (await page.next("scores"))[0]["target"] > 0.9
        line = studio.state()["export"]["line"]
        assert "match-on=edges" in line and "angle-extent=40" in line
    run(tmp_path, [picture], scenario, [part, dark])
