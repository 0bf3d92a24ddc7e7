# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whom the studio lets in and what it shows: tokens, paths, labels, the files of its page."""
import pathlib
import re

import pytest

from studio_client import TOKEN, clip, needs_element, opened, run  # noqa: F401
import aiohttp
from xcorr.studio.server import PAGE, TICKETS


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
        for headers in ({"Host": "evil.example"}, {"Host": "evil.example:80"}, {"Origin": "http://evil.example"},
                        {"Origin": "null"}):
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
        for path in ("/../server.py", "/%2e%2e/server.py", "/..%2fserver.py", "/page%2fstudio.js", "/server.py",
                     "/template/..%2f1"):
            address = aiohttp.client.URL(f"http://{client.host}:{client.port}{path}", encoded=True)
            async with client.session.get(address) as answer:
                assert answer.status == 404, path
        for name in (clip, "/etc/passwd", "../one.mp4", str(given / "notes.txt"), str(given / "link.mp4"), 7, None,
                     ["a"]):
            await page.send("open", source=name)
            assert "is not among what xcorr studio was started with" in (await page.next("error"))[0]["text"]
        await page.send("open", source=str(given / "inside.mp4"))
        state = (await page.next("state"))[0]
        assert state["sources"] == [str(given / "b.mp4"), str(given / "inside.mp4")]
        assert state["source"] == str(given / "inside.mp4")
    run(tmp_path, [given], scenario)


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
