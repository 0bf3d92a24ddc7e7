# SPDX-License-Identifier: LGPL-2.1-or-later
"""The studio's page of a fleet, without a browser: what streams of a Redis server say, good ones and bad ones."""
import asyncio
import json
import time

import pytest

pytest.importorskip("gi", reason="PyGObject is missing (Debian: python3-gi)")
pytest.importorskip("aiohttp")
import aiohttp  # noqa: E402
from aiohttp.test_utils import TestClient, TestServer  # noqa: E402

from xcorr._gstreamer import Gst, matcher, play, running  # noqa: E402
from xcorr.command.main import main  # noqa: E402
from xcorr.fleet.camera import mark_gap  # noqa: E402
from xcorr.studio import streams  # noqa: E402
from xcorr.studio.fleet import Fleet, is_fleet  # noqa: E402
from xcorr.studio.server import application  # noqa: E402
from xcorr.studio.streams import Camera, Streams  # noqa: E402
from ray_workers import wait_for  # noqa: E402
from redis_server import answers, server, start  # noqa: E402, F401
import videos  # noqa: E402

PEAK = {"label": "part", "template-id": 1, "score": 0.93, "state": "tracked", "nx": 0.5, "ny": 0.25, "nwidth": 0.125,
        "nheight": 0.25}
FRAME = {"schema": 1, "running-time": 4_000_000_000, "analysed": True, "frame-width": 640, "frame-height": 360,
         "backend": "cpu", "peaks": [PEAK]}
GONE = {"event": "gone", "label": "part", "first-running-time": 1_000_000_000, "last-running-time": 3_500_000_000}


def fields(entry):
    return {name.encode(): json.dumps(value).encode() for name, value in entry.items()}


def test_frames_rates_and_events():
    camera = Camera("gate")
    for number in range(250):  # ten seconds
        assert not camera.take(f"{1_000_000 + 40 * number}-0", fields(FRAME | {"analysed": number % 10 != 0}))
    event, = camera.take("1010000-0", fields(FRAME | {"events": [GONE]}))
    assert event == {"event": "gone", "label": "part", "when": 1009.5}
    found = camera.summary(1010.2)
    assert (found["rate"], found["last"], found["missed"], found["size"]) == (25, 1010, 25, [640, 360])
    assert found["counts"][-11:] == [0] + [25] * 10 and len(found["counts"]) == streams.SPAN
    assert found["peaks"] == [{"label": "part", "template": 1, "score": 0.93, "state": "tracked",
                               "box": [0.5, 0.25, 0.125, 0.25]}]
    assert camera.summary(1002.2)["rate"] == 25  # of two seconds
    assert camera.summary(1013.2)["rate"] == 25 * 2 / 5 + 1 / 5 and camera.summary(1100)["rate"] == 0


def test_a_gap_lasts_until_the_next_frame():
    camera = Camera("gate")
    camera.take("1000000-0", fields(FRAME))
    gap = {"after": "1000000-0", "noticed": "2026-01-31T23:59:59.983Z", "reason": "started", "host": "node-2"}
    event, = camera.take("1000000-1", fields({"schema": 1, "gap": gap}))
    assert event == {"event": "gap", "label": "started", "when": 1000.0, "host": "node-2"}
    assert camera.summary(1001)["gaps"] == [{"from": 1000, "until": None, "reason": "started", "host": "node-2"}]
    camera.take("1002500-0", fields(FRAME))
    assert camera.summary(1003)["gaps"][0]["until"] == 1002.5


@pytest.mark.parametrize("change", [
    {"peaks": 5}, {"peaks": [7]}, {"peaks": {"a": 1}}, {"peaks": [PEAK | {"score": float("nan")}]},
    {"frame-width": "wide"},
    {"peaks": [PEAK | {"nx": 10 ** 400}]}, {"peaks": [PEAK | {"label": ["a"]}]}, {"events": [{"event": "arrived"}]},
    {"events": [GONE | {"last-running-time": None}]}, {"gap": "wide"}, {"gap": {"after": "now"}}, {"backend": None},
    {"frame-height": True}])
def test_entries_that_are_no_results(change):
    camera = Camera("gate")
    camera.take("1000000-0", fields(FRAME))
    before = camera.summary(1001)
    assert camera.take("1000001-0", fields(FRAME | change)) == []
    assert camera.summary(1001) == before | {"refused": 1}
    for raw in {b"peaks": b"[" * 9000}, {b"\xff": b"1"}, {b"schema": b"{"}:
        camera.take("1000002-0", raw)
    assert camera.summary(1001)["refused"] == 4 and camera.key == "1000002-0"
    json.dumps(camera.summary(1001), allow_nan=False)


def test_what_is_kept_is_limited():
    camera = Camera("gate")
    for number in range(2000):
        camera.take(f"{number}000-0", fields(FRAME | {"peaks": [PEAK | {"label": "a" * 9999}] * 99}))
    assert len(camera._counts) == 2 * streams.SPAN
    assert len(json.dumps(camera.summary(2000))) < 20_000


def seen(source, condition):
    """The snapshot in which that is so."""
    return wait_for(lambda: next((found for found in [source.snapshot(0)] if condition(found)), None))


def test_streams_that_come_and_a_server_that_goes(server, tmp_path, monkeypatch):
    client, address = server
    now = int(time.time() * 1000)
    client.set("places:text", "no stream")
    client.xadd("places:gate", fields(FRAME), id=f"{now - 3000}-0")
    source = Streams(address)
    try:
        found = seen(source, lambda found: found["cameras"])
        assert found["trouble"] == "" and [each["name"] for each in found["cameras"]] == ["gate"]
        client.xadd("places:gate", fields(FRAME | {"events": [GONE]}))
        client.xadd(b"places:\xff", fields(FRAME))
        mark_gap(client, "gate", "the camera is gone")
        found = seen(source, lambda found: len(found["events"]) == 2 and len(found["cameras"]) == 2)
        told = [(each["number"], each["camera"], each["event"]) for each in found["events"]]
        assert told == [(1, "gate", "gone"), (2, "gate", "gap")]
        assert [each["number"] for each in source.snapshot(1)["events"]] == [2]
        assert abs(found["now"] - time.time()) < 5
        client.delete(b"places:\xff")
        seen(source, lambda found: len(found["cameras"]) == 1)
        client.shutdown(nosave=True)
        seen(source, lambda found: found["trouble"])
        again = start(tmp_path / "socket")
        try:
            wait_for(lambda: answers(client))
            client.xadd("places:gate", fields(FRAME), id=f"{now + 60_000}-0")
            assert seen(source, lambda found: not found["trouble"])["cameras"][0]["refused"] == 0
        finally:
            again.kill()
            again.wait()
    finally:
        source.close()


def test_what_xcorrredis_writes_is_shown(server, tmp_path):
    """A match, when it came, and no entry that is not understood."""
    if not Gst.ElementFactory.find("xcorrredis"):
        pytest.skip("GStreamer has no element xcorrredis")
    _, address = server
    clip = videos.make_video(tmp_path / "one.mp4", 1, 40)
    template = videos.make_template(tmp_path / "part.png")
    find = matcher([template], {"backend": "cpu", "events": True}, camera_id="gate")
    line = f"filesrc location={clip} ! decodebin ! videoconvert ! {find} ! xcorrredis address={address} ! fakesink"
    with running(line) as pipeline:
        play(pipeline)
    source = Streams(address)
    try:
        found = seen(source, lambda found: found["cameras"])
        camera, = found["cameras"]
        assert camera["refused"] == 0 and camera["size"] == [videos.WIDTH, videos.HEIGHT]
        assert sum(camera["counts"]) <= 40
        peak, = camera["peaks"]
        assert peak["label"] == "part"
        assert peak["box"][0] * videos.WIDTH == pytest.approx(videos.place(1, 39)[0], abs=0.5)
        assert [(each["event"], each["label"]) for each in found["events"]] == [("appeared", "part")]
    finally:
        source.close()


def test_the_page_asks(server):
    client, address = server
    client.xadd("places:gate", fields(FRAME | {"events": [GONE]}))

    async def scenario():
        fleet = Fleet(address)
        async with TestClient(TestServer(application(fleet, "token")),
                              cookie_jar=aiohttp.CookieJar(unsafe=True)) as page:
            assert (await page.get("/")).status == 403
            answer = await page.get("/", params={"token": "token"})
            assert answer.status == 200 and "fleet.js" in await answer.text()
            assert (await page.get("/template/1")).status == (await page.get("/thumbnail/1")).status == 404
            socket = await page.ws_connect("/socket")
            assert await socket.receive_json() == {"type": "state", "source": address}
            found = {"cameras": []}
            while not found["cameras"]:
                await socket.send_json({"do": "look", "since": 0})
                found = await socket.receive_json()
            assert found["type"] == "fleet" and found["events"][0]["label"] == "part"
            for message, text in (({"do": "look", "since": "a"}, "events have numbers, not 'a'"),
                                  ({"do": "open"}, "nothing called 'open'")):
                await socket.send_json(message)
                assert text in (await socket.receive_json())["text"]
            client.xadd("places:gate", fields(FRAME | {"events": [GONE]}))
            with pytest.raises(asyncio.TimeoutError):  # a page that sleeps asks for nothing
                await asyncio.wait_for(socket.receive(), 1)
    asyncio.run(scenario())


def test_addresses(capsys):
    assert is_fleet("redis://a") and is_fleet("rediss://a") and is_fleet("unix:/a") and not is_fleet("rtsp://a")
    for words, text in (["redis://a", "b.mp4"], "a fleet has a page of its own; give nothing else"), \
            (["redis://:secret@a"], "a password belongs in the environment's REDISCLI_AUTH"):
        assert main(["studio", "--no-browser", *words]) == 2
        assert text in capsys.readouterr().err
