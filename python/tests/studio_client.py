# SPDX-License-Identifier: LGPL-2.1-or-later
"""A studio for tests, and a client that behaves as the page in the browser does.

Imported before what needs PyGObject or aiohttp: it skips the tests where they are missing.
"""
import asyncio
import json

import pytest

pytest.importorskip("gi", reason="PyGObject is missing (Debian: python3-gi)")
pytest.importorskip("aiohttp")
import aiohttp  # noqa: E402
from aiohttp.test_utils import TestClient, TestServer  # noqa: E402

from xcorr._gstreamer import Gst  # noqa: E402
from xcorr.studio.server import application  # noqa: E402
from xcorr.studio.sources import Sources  # noqa: E402
from xcorr.studio.studio import Studio  # noqa: E402
import videos  # noqa: E402

needs_element = pytest.mark.skipif(not Gst.ElementFactory.find("cudaxcorr"),
                                   reason="GStreamer has no element cudaxcorr")
TOKEN = "a token that nobody guesses"
SEED = 1
LIMIT = 30  # s


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    return str(videos.make_video(tmp_path_factory.mktemp("studio") / "one.mp4", SEED, 60))


def run(folder, inputs, scenario, templates=(), video="auto"):
    """The scenario gets a client without a cookie, and the studio, which has opened the first of the inputs."""
    async def whole():
        studio = Studio(Sources([str(each) for each in inputs]), folder / "templates", "cpu", video)
        async with TestClient(TestServer(application(studio, TOKEN)),
                              cookie_jar=aiohttp.CookieJar(unsafe=True)) as client:
            await studio.begin([str(each) for each in templates])
            await asyncio.wait_for(scenario(client, studio), LIMIT)
    asyncio.run(whole())


class Page:
    """As the page in the browser: it says that it has shown a picture, unless it stalls."""

    def __init__(self, connection, stalls=False):
        self.connection, self.stalls, self.picture = connection, stalls, None

    async def send(self, what, **values):
        await self.connection.send_json({"do": what, **values})

    async def next(self, *kinds):
        """(header, body) of the next message of one of these kinds."""
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
            if found["type"] in kinds:
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
