# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the studio says to messages, sources and ports that are no good, and that it goes on."""
import json
import socket

import pytest

from studio_client import LIMIT, clip, needs_element, opened, run  # noqa: F401
import aiohttp
from xcorr.command.main import main
from xcorr.field.images import Unreadable
from xcorr.studio.sources import Sources


@needs_element
def test_what_cannot_be_done_is_said(tmp_path, clip):
    async def scenario(client, _):
        page = await opened(client)
        number = (await page.next("picture"))[0]["number"]
        for message, text in [
            ("no JSON", "that is no JSON object"), ("[1]", "that is no JSON object"),
            ("[" * 9000, "that is no JSON object"),
            ({"do": "fly"}, "there is nothing called 'fly' to do"), ({}, "there is nothing called None to do"),
            ({"do": "set", "settings": {"threshold": 2}}, "threshold must be a number from -1 to 1, not 2"),
            ({"do": "set", "settings": {"angles": [9, 1]}}, "angles go from the least to the greatest"),
            ({"do": "set", "settings": {"location": "/etc/passwd"}}, "these are no settings"),
            ({"do": "set", "settings": {"track": ["off"]}}, "track must be one of"),
            ({"do": "set", "settings": {"match_on": "hue"}},
             "match_on must be one of luma, color, edges, color-edges, not 'hue'"),
            ({"do": "seek", "time": -1}, "there is nothing at -1 s"), ({"do": "play", "rate": 99}, "not 99"),
            ({"do": "template", "number": number + 99, "box": [0, 0, 9, 9]}, "no longer on the screen"),
            ({"do": "remove", "id": 99}, "there is no template 99"),
            ({"do": "scores", "id": None}, "there is no template None"),
        ]:
            await page.connection.send_str(message if isinstance(message, str) else json.dumps(message))
            assert text in (await page.next("error"))[0]["text"], message
        page.stalls = True
        number = (await page.next("picture"))[0]["number"]
        for box in [[0, 0, 4, 9], [-1, 0, 9, 9], [190, 0, 9, 9], [0.5, 0, 9, 9], [0, 0, 9], None, [0, 0, 1 << 70, 9]]:
            await page.send("template", number=number, box=box)
            assert (await page.next("error"))[0]["text"].startswith("a box "), box
        await page.connection.send_str("x" * 100_000)  # too long: the connection ends, the studio does not
        while (message := await page.connection.receive(LIMIT)).type in (aiohttp.WSMsgType.TEXT,
                                                                         aiohttp.WSMsgType.BINARY):
            pass
        assert (await (await opened(client)).next("picture"))[0]["number"] >= number
    run(tmp_path, [clip], scenario)


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
                             f"port {port} is in use, by another studio perhaps: give --port another one"),
                            ([tmp_path / "damaged.mp4", "--host", "192.0.2.1", "--port", 0],
                             "cannot listen at --host 192.0.2.1: ")]:
            assert main(["studio", "--no-browser", *map(str, words)]) == 2
            assert text in capsys.readouterr().err, words


def test_a_port_that_cannot_be(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["studio", "--no-browser", "--port", "70000"])
    assert ended.value.code == 2
    assert "argument --port: 70000 is no port: 0 to 65535" in capsys.readouterr().err


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
