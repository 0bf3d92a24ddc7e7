# SPDX-License-Identifier: LGPL-2.1-or-later
"""Live video by WebRTC: who gets it, what is offered, what no browser says, pages that do not answer. In a browser it
is tested by test_studio_video_page.py."""
import asyncio
import os
import pathlib
import re
import types

import pytest

from studio_client import clip, needs_element, opened, run  # noqa: F401
from xcorr.field.images import Unreadable
from xcorr.studio import live, video

if video.missing():
    pytest.skip(f"no WebRTC: {video.missing()}", allow_module_level=True)


def own_udp():
    """Local addresses of this process's sockets, as the kernel writes them."""
    found = set()
    for each in pathlib.Path("/proc/self/fd").iterdir():
        try:
            found.add(re.sub(r"\D", "", os.readlink(each)))
        except OSError:  # that of the folder itself
            continue
    lines = [line.split() for name in ("udp", "udp6")
             for line in pathlib.Path(f"/proc/self/net/{name}").read_text().splitlines()[1:]]
    return [line[1].partition(":")[0] for line in lines if line[9] in found]


@needs_element
def test_what_is_offered_and_what_is_answered(tmp_path, clip):
    async def scenario(client, studio):
        page = await opened(client)
        for message, text in [({"do": "answer", "sdp": "v=0"}, "no video was offered"),
                              ({"do": "video", "codecs": "H264"}, "codecs are a list of their names"),
                              ({"do": "video", "codecs": ["H264"] * 101}, "codecs are a list of their names")]:
            await page.connection.send_json(message)
            assert (await page.next("error"))[0]["text"] == text
        await page.send("video", codecs=[["H264"], 7, "AV1"])
        assert (await page.next("images"))[0]["text"] == "the browser plays nothing that is coded here"
        await page.send("video", codecs=["AV1", *video.codecs()])
        offer = (await page.next("offer"))[0]
        assert offer["codec"] == video.codecs()[0] and "a=fingerprint:" in offer["sdp"]
        words = (await page.next("candidate"))[0]["text"].split()
        assert words[2].upper() == "UDP" and words[4] == "127.0.0.1" and words[7] == "host"
        assert own_udp() and set(own_udp()) == {"0100007F"}
        for answer, text in ((7, "an answer is a text"), ("no description", "that is no session description")):
            await page.send("answer", sdp=answer)
            assert (await page.next("error"))[0]["text"] == text
        await page.send("no_video")
        while own_udp():
            await asyncio.sleep(0.02)
        await page.send("video", codecs=["VP8"])
        assert "VP8/90000" in (await page.next("offer"))[0]["sdp"]
        await page.connection.close()
        while own_udp() or studio.clients:
            await asyncio.sleep(0.02)
    run(tmp_path, [clip], scenario, video="webrtc")


@needs_element
def test_a_page_that_does_not_answer(tmp_path, clip):
    """It gets images as before, and no more frames of a video than may be on the way; nobody else notices."""
    async def scenario(client, _):
        page, other, frames = await opened(client), await opened(client), []
        await page.send("video", codecs=video.codecs())
        await page.next("offer")
        for _ in range(40):
            header, _ = await page.next("frame", "picture")
            if header["type"] == "frame":
                frames.append(header["stamp"])
            await other.next("picture")
        late = frames[video.MOST_AHEAD:]  # once the first ones are forgotten
        assert frames == sorted(set(frames)) and len(frames) > 5
        assert all(after - before >= video.FORGOTTEN * video.CLOCK for before, after in zip(frames, late))
    run(tmp_path, [clip], scenario, video="webrtc")


@needs_element
def test_images_come_again_where_video_is_lost(tmp_path, clip, monkeypatch):
    monkeypatch.setattr(video, "LOST", 0.5)

    async def scenario(client, _):
        page, kinds = await opened(client), []
        await page.send("video", codecs=video.codecs())
        for _ in range(40):
            header, _ = await page.next("frame", "picture")
            kinds.append(header["type"])
            if header["type"] == "frame":
                await page.send("shown", number=header["number"], video=True)
        assert kinds[0] == "picture" and set(kinds[-10:]) == {"frame"}
        await page.next("picture")
    run(tmp_path, [clip], scenario, video="webrtc")


@pytest.mark.parametrize("way, here, there, why", [
    ("auto", "127.0.0.1", "127.0.0.1", "on the machine of the studio"),
    ("auto", "::1", "::1", "on the machine of the studio"),
    ("auto", "::ffff:192.0.2.1", "192.0.2.1", "on the machine of the studio"), ("auto", "192.0.2.1", "192.0.2.7", ""),
    ("webrtc", "127.0.0.1", "127.0.0.1", ""), ("mjpeg", "192.0.2.1", "192.0.2.7", "as --video=mjpeg says")])
def test_who_gets_video(way, here, there, why):
    async def ask():
        return live.LiveHost(way)._why_not(types.SimpleNamespace(here=here, there=there))
    found = asyncio.run(ask())
    assert why in found and bool(why) == bool(found)


def test_where_it_is_missing(monkeypatch):
    monkeypatch.setattr(live, "missing", lambda: "GStreamer has no element nicesink")

    async def host(way):
        return live.LiveHost(way)
    with pytest.raises(Unreadable, match="--video=webrtc: GStreamer has no element nicesink"):
        asyncio.run(host("webrtc"))
    assert asyncio.run(host("auto"))._why_not(None) == "GStreamer has no element nicesink"
