# SPDX-License-Identifier: LGPL-2.1-or-later
"""The studio's page of a fleet in Chromium: cameras that play, fall silent and come again, with any names.

XCORR_SCREENSHOTS=FOLDER makes the pictures of docs/fleets.md there.
"""
import json
import math
import socket
import threading
import time

import pytest

pytest.importorskip("gi", reason="PyGObject is missing (Debian: python3-gi)")
from redis_server import server  # noqa: E402, F401
from test_studio_page import EVIL, Page, browser, pytestmark, screenshot, studio  # noqa: E402, F401

RATE = 10  # frames a second of each camera
SPAN = 40  # s that are there before somebody looks
LABELS = {"dock 1": ["crate", "barrel"], "dock 2": ["crate"], "dock 3": ["crate"], "gate north": ["truck"],
          "gate south": ["truck", "trailer"], "line 4": ["cap", "label", "seal"], "line 5": ["cap", "label", "seal"],
          "panel": ["lamp"], "press": ["part"]}
SILENT = "dock 3"


def entry(name, at, events=()):
    """Of a frame at that time, in seconds: targets on ellipses."""
    peaks = []
    for number, label in enumerate(LABELS.get(name, [EVIL]), 1):
        turn = at / 3 + number * 2 + len(name)
        peaks.append({"label": label, "template-id": number, "score": 0.93 + 0.04 * math.sin(turn), "state": "tracked",
                      "nx": 0.42 + 0.3 * math.sin(turn), "ny": 0.4 + 0.25 * math.cos(turn), "nwidth": 0.12,
                      "nheight": 0.16})
    frame = {"schema": 1, "running-time": round(at * 1e9), "analysed": True, "frame-width": 1280, "frame-height": 720,
             "backend": "cpu", "peaks": peaks, "events": list(events)}
    return {field: json.dumps(value) for field, value in frame.items()}


def event(kind, label, at):
    return {"event": kind, "label": label, "first-running-time": round(at * 1e9), "last-running-time": round(at * 1e9)}


def add(pipe, name, at, events=()):
    pipe.xadd(f"places:{name}", entry(name, at, events), id=f"{round(at * 1000)}-0")


def add_gap(pipe, name, at, until, reason="started"):
    gap = {"after": f"{round(at * 1000)}-0", "noticed": "2026-01-31T23:59:59.983Z", "reason": reason, "host": "node-2"}
    pipe.xadd(f"places:{name}", {"schema": "1", "gap": json.dumps(gap)}, id=f"{round(at * 1000)}-1")
    add(pipe, name, until)


class Cameras:
    """What was there, and what comes until the block ends."""

    def __init__(self, client, names):
        self.client, self.names, self.ended = client, names, threading.Event()
        self.said = {}  # events of the next frame, by the camera
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        now, pipe = time.time(), self.client.pipeline()
        for index, name in enumerate(self.names):
            there = True
            for number in range(-SPAN * RATE, 0):
                at, hole = now + number / RATE, index == 1 and -200 < number <= -167
                if hole or name == SILENT and number > -90:
                    continue
                said = []
                if number % 130 == 7 * index:
                    said = [event("gone" if there else "appeared", LABELS.get(name, [EVIL])[0], at - 0.1)]
                    there = not there
                add(pipe, name, at, said)
                if index == 1 and number == -200:
                    add_gap(pipe, name, at, at + 3.3, "rtspsrc: Could not connect to server")
        pipe.execute()
        self.thread.start()
        return self

    def run(self):
        while not self.ended.wait(1 / RATE):
            pipe = self.client.pipeline()
            for name in self.names:
                if name != SILENT:
                    add(pipe, name, time.time(), self.said.pop(name, ()))
            pipe.execute()

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()


def test_cameras_as_tiles(server, tmp_path, browser):  # noqa: F811
    client, _ = server
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    client.config_set("port", port)
    with Cameras(client, list(LABELS)) as cameras, studio(tmp_path, f"redis://127.0.0.1:{port}") as there:
        page = Page(browser, there, color_scheme="dark")
        page.wait("document.querySelectorAll('.tile').length === 9")
        assert page.page.locator(".tile b").all_inner_texts() == sorted(LABELS)
        page.wait("document.getElementById('figures').textContent.includes('9 cameras')")
        page.page.wait_for_timeout(3000)
        rates = [float(text.partition("/")[0]) for text in page.page.locator(".tile .found + small").all_inner_texts()]
        playing = [rate for name, rate in zip(sorted(LABELS), rates) if name != SILENT]
        assert all(4 < rate < 11 for rate in playing) and rates[sorted(LABELS).index(SILENT)] == 0, rates
        assert page.page.locator(".tile .silent").count() == 1 and "silent for" in page.text(".tile .silent")
        assert "a gap of 3.3 s" in page.page.locator(".tile").nth(1).inner_text()
        assert "Could not connect to server, by node-2" in page.text("#events")
        times = page.page.locator("#events li > span:first-child").all_inner_texts()
        assert len(times) > 20 and (times == sorted(times, reverse=True) or "00:00" in times[0])
        screenshot(page, "studio-fleet-dark.jpg")
        page.page.click("#theme")
        page.page.locator(".tile").nth(4).click()
        page.wait("[...document.querySelectorAll('#events small')].every((line) => line.textContent === 'gate south')")
        before = page.page.locator("#events li").count()
        cameras.said["gate south"] = [event("appeared", "van", time.time())]
        page.wait("document.querySelector('#events b').textContent === 'van'")
        assert page.page.locator("#events li").count() == before + 1
        page.page.wait_for_timeout(500)
        screenshot(page, "studio-fleet-light.jpg")
        page.page.click("#all")
        page.wait("document.querySelectorAll('.tile[aria-pressed=true]').length === 0")
        client.delete(f"places:{SILENT}")
        page.wait("document.querySelectorAll('.tile').length === 8")
        assert not page.faults and all(each.startswith(there.partition("?")[0]) for each in page.requests), page.faults


def test_names_are_texts_and_a_server_goes(server, tmp_path, browser):  # noqa: F811
    client, address = server
    with studio(tmp_path, address) as there:
        page = Page(browser, there)
        page.wait("!document.getElementById('none').hidden")
        with Cameras(client, [EVIL]):
            page.wait("document.querySelector('.tile')")
            assert page.text(".tile b") == EVIL and page.text(".tile .found").startswith(EVIL)
            page.wait("document.querySelector('#events small')")
            assert not page.page.locator("img[src=nowhere]").count()
        client.shutdown(nosave=True)
        page.wait("document.getElementById('lost').textContent.startsWith('No answer from Redis: ')")
        assert not page.faults


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_accessibility_of_a_fleet(server, tmp_path, browser, theme):  # noqa: F811
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    client, address = server
    with Cameras(client, list(LABELS)), studio(tmp_path, address) as there:
        page = Page(browser, there, color_scheme=theme)
        page.wait("document.querySelectorAll('.tile').length === 9 && document.querySelector('#events b')")
        page.page.locator(".tile").nth(1).click()
        found = axe.run(page.page).response
        assert len(found["passes"]) > 15
        assert not [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]
                    if each["impact"] in ("serious", "critical")]
