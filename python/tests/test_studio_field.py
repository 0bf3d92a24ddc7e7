# SPDX-License-Identifier: LGPL-2.1-or-later
"""The studio's displacement fields and thumbnails: of a target that moves by a known way over what does not."""
import asyncio
import json
import shlex
import sys

import numpy
import pytest

from studio_client import SEED, opened, place_in, run
from xcorr._gstreamer import Gst
from xcorr.studio import images, thumbnails
from xcorr.studio.fields import SENT, FieldView
from xcorr.studio.player import Frame, sample_before
import videos

if not Gst.ElementFactory.find("cudaxcorrfield"):
    pytest.skip("GStreamer has no element cudaxcorrfield", allow_module_level=True)
FINE = {"show": "u", "window": 16, "spacing": 8}
BY_FRAME = 2, 1  # pixels


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    return videos.make_video(tmp_path_factory.mktemp("field") / "one.mp4", SEED, 60)


class Windows:
    """Of a message: its arrays by their names."""

    def __init__(self, header, body):
        self.header, shape = header, (len(SENT), header["rows"], header["columns"])
        self.of = dict(zip(SENT, numpy.frombuffer(body, "f4").reshape(shape)))

    def motion(self, at):
        """In the middle of the target that was there."""
        middle = [each + videos.SIZE / 2 for each in at]
        nearest = numpy.hypot(self.of["x"] - middle[0], self.of["y"] - middle[1]).argmin()
        return self.of["dx"].flat[nearest], self.of["dy"].flat[nearest]


async def measured(page):
    """Windows and the picture that they are of, which is what was asked for."""
    while True:
        picture = page.picture or (await page.next("picture"))[0]
        await page.send("field")
        header, body = await page.next("field")
        if body and page.picture is picture:
            return Windows(header, body), picture
        await asyncio.wait_for(page.next("picture"), 5)


async def standing(page, seconds):
    """The frame there, which is searched when it comes."""
    await page.send("play", playing=False)
    await page.send("seek", time=seconds)
    at = None
    while at is None or abs(at - seconds * Gst.SECOND) > Gst.SECOND / videos.RATE / 2:
        at = (await page.next("picture"))[0]["results"]["stream-time"]


def test_the_motion_since_the_frame_before(tmp_path, clip):
    async def scenario(client, studio):
        page = await opened(client)
        await page.next("picture")
        await page.send("field")
        assert (await page.next("error"))[0]["text"] == "no field is shown"
        await standing(page, 0.4)
        await page.send("set_field", settings=FINE)
        assert (await page.next("state"))[0]["field"] == vars(FieldView(**FINE))
        await page.send("field")
        header, body = await page.next("field")
        assert header["state"].startswith("no frame before this one") and not body
        await page.send("step", frames=1)
        await page.next("picture")
        windows, picture = await measured(page)
        assert windows.header["state"] == "measured" and windows.header["size"] == [videos.WIDTH, videos.HEIGHT]
        at = place_in(picture)
        assert numpy.allclose(windows.motion([each - by for each, by in zip(at, BY_FRAME)]), BY_FRAME, atol=0.3)
        assert numpy.median(numpy.abs(windows.of["dx"])) < 0.1 and (windows.of["value"] == windows.of["dx"]).all()
        await page.send("set", settings={"threshold": 0.6})  # the same frame again
        await page.next("picture")
        assert numpy.allclose((await measured(page))[0].of["dx"], windows.of["dx"])
        await page.send("set_field", settings={"show": "vorticity", "subpixel": "least-squares"})
        assert numpy.isfinite((await measured(page))[0].of["value"]).all()
        await page.send("set_field", settings={"window": 128, "spacing": 128, "subpixel": "gauss"})
        await page.next("state")
        await page.send("field")
        assert (await page.next("field"))[0]["columns"] == 1
    run(tmp_path, [clip], scenario)


def test_the_motion_since_a_picture(tmp_path, clip):
    smaller = tmp_path / "smaller.png"
    images.cut(images.sample_of(videos.draw(SEED, 3)), (0, 0, 96, 96), smaller)

    async def scenario(client, studio):
        page = await opened(client)
        await page.send("set_field", settings={"reference": "picture"})
        assert "take a picture as the reference first" in (await page.next("error"))[0]["text"]
        await standing(page, 0.4)
        at = place_in(page.picture)
        await page.send("set_field", settings=FINE)
        await page.send("reference")
        while (await page.next("state"))[0]["field"]["reference"] != "picture":
            pass
        assert (tmp_path / "templates/reference.png").is_file()
        assert numpy.abs((await measured(page))[0].of["dx"]).max() < 0.1
        for steps in 1, 2:
            await page.send("step", frames=1)
            await page.next("picture")
            assert numpy.allclose((await measured(page))[0].motion(at), [each * steps for each in BY_FRAME], atol=0.3)
        await page.send("open", source=str(smaller))
        while (await page.next("picture"))[0]["size"] != [96, 96]:
            pass
        await page.send("field")
        header, body = await page.next("field")
        assert "192x128" in header["state"].replace(" ", "") and not body, header
    run(tmp_path, [clip, smaller], scenario)


def test_what_is_exported_measures_the_same(tmp_path, clip):
    async def scenario(client, studio):
        page = await opened(client)
        assert "field-line" not in studio.state()["export"]
        await page.send("set_field", settings=FINE)
        exported = (await page.next("state"))[0]["export"]
        program = tmp_path / "program.py"
        program.write_text(exported["field-python"])
        made = []
        for words in shlex.split(exported["field-line"]), [sys.executable, str(program)]:
            done = await asyncio.create_subprocess_exec(*words, stdout=asyncio.subprocess.PIPE)
            made.append((await done.communicate())[0].decode().splitlines())
            assert done.returncode == 0, words
        frames = [json.loads(line)["field"] for line in made[0]]
        assert len(frames) == 60 and [frame["state"] for frame in frames[:2]] == ["reference", "measured"]
        count = frames[1]["columns"] * frames[1]["rows"]
        assert len(made[1]) == 60 + 59 * count  # a line a frame, and one a window
        await standing(page, 0.4)
        await page.send("step", frames=1)
        await page.next("picture")
        windows, picture = await measured(page)
        frame = round(picture["results"]["stream-time"] * videos.RATE / 1e9)
        assert numpy.allclose(windows.of["dx"].ravel(), frames[frame]["dx"], atol=1e-5)
    run(tmp_path, [clip], scenario)


def test_settings_that_cannot_be():
    for changes, text in [({"show": "strain"}, "show must be one of off, none, magnitude"),
                          ({"window": 4}, "from 8 to 128"), ({"spacing": True}, "spacing must be a number"),
                          ({"reference": "/etc/passwd"}, "reference must be"),
                          ({"reference-file": "a"}, "these are no settings of a field"),
                          ("off", "these are no settings")]:
        with pytest.raises(ValueError, match=text):
            FieldView().changed(changes)


def test_which_frame_is_the_one_before():
    def frame(time, before=None, duration=40):
        return Frame(1, f"sample {time}", {"stream-time": time, "duration": duration and duration * Gst.MSECOND}, 0.0,
                     before)

    def before(time, last):
        return sample_before({"stream-time": time}, last)
    ms = Gst.MSECOND
    assert before(40 * ms, frame(0)) == "sample 0" and before(40 * ms, frame(0, duration=None)) == "sample 0"
    assert before(40 * ms, frame(40 * ms, "old")) == "old"  # searched again
    assert before(0, frame(40 * ms)) is before(200 * ms, frame(0)) is before(0, None) is before(None, frame(0)) is None


def gray(jpeg):
    chain = images.Chain(["jpegdec", "!", "videoconvert", "!", "video/x-raw,format=GRAY8", "!", "appsink", "name=out",
                          "sync=false"], Gst.Caps.from_string("image/jpeg"))
    try:
        return images.pixels_of(chain(Gst.Buffer.new_wrapped(jpeg))).astype(float)
    finally:
        chain.close()


def test_thumbnails_are_of_the_first_and_the_last_frame(tmp_path):
    clip = videos.make_video(tmp_path / "long.mp4", SEED, 90)
    template = videos.make_template(tmp_path / "part.png")
    encode = images.Encoder(thumbnails.WIDEST)

    def nearest(jpeg, frame):
        """Of the frames around it, the one that it shows."""
        shown = gray(jpeg)
        return min(range(frame - 2, frame + 3), key=lambda each: numpy.abs(
            shown - gray(encode(images.sample_of(videos.draw(SEED, each))))).mean())

    async def scenario(client, studio):
        page, seen = await opened(client), set()
        assert (await client.get("/thumbnail/99")).status == (await client.get("/thumbnail/x")).status == 404
        await page.send("set", settings={"track": "off"})
        while not {("gone", 59), ("appeared", 80)} <= seen:
            for _, _, events in (await page.next("picture"))[0]["history"]:
                for event, _, _, time, number in events:
                    answer = await client.get(f"/thumbnail/{number}")
                    assert answer.content_type == "image/jpeg"
                    frame = round(time * videos.RATE)
                    assert nearest(await answer.read(), frame) == frame, (event, frame)
                    seen.add((event, frame))
    run(tmp_path, [clip], scenario, [template])
    encode.close()
