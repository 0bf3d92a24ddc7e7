# SPDX-License-Identifier: LGPL-2.1-or-later
"""The studio's server, as browsers meet it. The page itself is tested in a browser by test_studio_page.py."""
import asyncio

import numpy
import pytest

from studio_client import SEED, clip, needs_element, opened, place_in, run  # noqa: F401
from xcorr._gstreamer import Gst
from xcorr.studio import images
from xcorr.studio.search import Search
import videos


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
    assert search.of_element(False) | {"angle-start": "-180", "angle-extent": "360", "track": "true",
                                       "tracker": "filter", "scale-min": "1"} == search.of_element(False)
    assert search.of_element(True)["track"] == "false"
    assert "scale-max=1.5" in Search().changed({"scales": [1, 1.5]}).words("a.mp4", "auto", ["b.png"], False)
    assert not {word for word in Search().words("a.mp4", "auto", ["b.png"], False)
                if "angle" in word or "scale" in word}
    edges = Search().changed({"match_on": "edges", "angles": [-9, 9], "scales": [1, 2]})
    assert edges.of_element(False) | {"match-on": "edges", "angle-extent": "18",
                                      "scale-max": "2"} == edges.of_element(False)
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
            there = []
            while not there:
                peaks = (await page.next("picture"))[0]["results"]["peaks"]
                there = [peak for peak in peaks if peak["label"] == label]
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
