# SPDX-License-Identifier: LGPL-2.1-or-later
"""The studio's page in Chromium: a box is drawn, followed, and what is exported does the same.

XCORR_SCREENSHOTS=FOLDER makes the pictures of docs/studio.md there.
"""
import contextlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time

import pytest

pytest.importorskip("gi", reason="PyGObject is missing (Debian: python3-gi)")
pytest.importorskip("aiohttp")
sync_api = pytest.importorskip("playwright.sync_api")

from xcorr._gstreamer import Gst  # noqa: E402
import studio_scene as scene  # noqa: E402

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.skipif(not CHROMIUM, reason="Chromium is missing (Debian: chromium)"),
    pytest.mark.skipif(not Gst.ElementFactory.find("cudaxcorr"), reason="GStreamer has no element cudaxcorr")]

INSET = 4  # pixels between the patch's edge and the box
EVIL = "<img src=nowhere onerror=alert(1)>"
LIMIT = 30_000  # ms


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    return scene.make(tmp_path_factory.mktemp("page") / "launch.mp4")


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM)
        yield browser
        browser.close()


@contextlib.contextmanager
def studio(folder, *words):
    """Its address, as it prints it, and where it is run."""
    command = [sys.executable, "-m", "xcorr", "studio", "--no-browser", "--port", "0", "--device", "cpu",
               *map(str, words)]
    with subprocess.Popen(command, cwd=folder, text=True, stdout=subprocess.PIPE) as server:
        try:
            yield server.stdout.readline().split()[-1]
        finally:
            server.terminate()
    assert server.returncode == 0


class Page:
    """The page, and what it got: headers of pictures by their numbers."""

    def __init__(self, browser, address, **more):
        self.context = browser.new_context(viewport={"width": 1366, "height": 768}, **more)
        self.page, self.pictures, self.fields, self.faults, self.requests = self.context.new_page(), [], [], [], []
        self.page.set_default_timeout(LIMIT)
        self.page.on("websocket", lambda socket: socket.on("framereceived", self.take))
        self.page.on("console", lambda line: line.type == "error" and self.faults.append(line.text))
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("dialog", lambda dialog: self.faults.append(dialog.message))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(address)

    def take(self, payload):
        text = payload[4:4 + int.from_bytes(payload[:4], "little")] if isinstance(payload, bytes) else payload
        header = json.loads(text)
        self.pictures += [header] * (header["type"] in ("picture", "frame"))
        self.fields += [header] * (header["type"] == "field")

    def text(self, selector):
        return self.page.inner_text(selector)

    def wait(self, what, *values):
        """Until the page says so. Playwright's own function needs `eval`, which the page's policy forbids."""
        end = time.monotonic() + LIMIT / 1000
        while not self.page.evaluate(what, list(values) or None):
            assert time.monotonic() < end, what
            self.page.wait_for_timeout(20)

    def at(self, x, y):
        """Of the picture, on the screen."""
        box = self.page.locator("#stage").bounding_box()
        scale = min(box["width"] / scene.SIZE[0], box["height"] / scene.SIZE[1])
        return (box["x"] + (box["width"] - scene.SIZE[0] * scale) / 2 + x * scale,
                box["y"] + (box["height"] - scene.SIZE[1] * scale) / 2 + y * scale)

    def still(self):
        """The number of the frame that is shown once all stands still."""
        self.wait("!document.body.classList.contains('playing')")
        seen = None
        while seen != len(self.pictures):  # until the last picture is there
            seen = len(self.pictures)
            self.page.wait_for_timeout(500)
        return frame_of(self.pictures[-1])

    def draw(self):
        """A box around the patch in the picture that stands still; returns its place in the picture."""
        x, y = scene.place(self.still())
        side = scene.PATCH - 2 * INSET
        self.page.mouse.move(*self.at(x + INSET, y + INSET))
        self.page.mouse.down()
        self.page.mouse.move(*self.at(x + scene.PATCH / 2, y + scene.PATCH / 2))
        self.page.mouse.move(*self.at(x + INSET + side, y + INSET + side))
        self.page.mouse.up()

    def follow(self):
        """Pause, a box, play: until the patch is followed."""
        self.page.keyboard.press("k")
        self.draw()
        self.wait("document.querySelectorAll('#templates li').length === 1")
        self.page.keyboard.press(" ")
        self.wait("document.querySelector('#templates .tracked')")


def frame_of(picture):
    return round(picture["results"]["stream-time"] * scene.RATE / 1e9)


def is_followed(results):
    return bool(results["peaks"]) and results["peaks"][0]["state"] == "tracked"


def strays(peaks, frame):
    """How far the patch's box is from where the patch is."""
    return max(abs(peaks[0][axis] - at - INSET) for axis, at in zip("xy", scene.place(frame)))


def behind(pictures):
    """95 of 100 pictures were on the screen so many ms after the pipeline had their frames, or sooner."""
    delays = sorted(picture["behind"] for picture in pictures if picture["behind"] is not None)
    return 1000 * delays[int(0.95 * len(delays))]


def screenshot(page, name):
    if folder := os.environ.get("XCORR_SCREENSHOTS"):
        page.page.screenshot(path=os.path.join(folder, name), type="jpeg", quality=88)


def test_from_the_command_to_an_exported_line(tmp_path, clip, browser):
    started = time.monotonic()
    with studio(tmp_path, clip) as address:
        page = Page(browser, address, color_scheme="dark")
        assert page.page.url == address.partition("?")[0]  # the token is in no address that stays
        page.wait("document.getElementById('time').textContent")
        page.follow()
        followed = time.monotonic() - started
        seen = len(page.pictures)
        page.page.wait_for_timeout(6000)
        # Not where it begins again.
        found = [picture for picture in page.pictures[seen:] if is_followed(picture["results"])]
        assert len(found) > 30 and all(strays(each["results"]["peaks"], frame_of(each)) < 2 for each in found)
        print(f"{followed:.1f} s from the start to a followed box; p95 {behind(page.pictures[seen:]):.0f} ms behind, "
              f"{(len(page.pictures) - seen) / 6:.0f} pictures/s")
        assert followed < 20
        assert "appeared" in page.text("#events")
        page.wait("document.querySelector('#events img')?.naturalWidth > 0")
        assert "with-thumbnails" in page.page.get_attribute("#timeline", "class")
        suggested = page.text("#use")
        assert re.fullmatch(r"Use 0\.[4-9]\d", suggested) and "anything away from it" in page.text("#advice")
        screenshot(page, "studio-dark.jpg")
        page.page.click("#theme")
        assert page.page.evaluate("document.documentElement.dataset.theme") == "light"
        page.page.check("#over")
        page.page.keyboard.press("k")
        page.page.locator("#timeline").click(position={"x": 640, "y": 60})
        page.wait("document.querySelector('#templates .found')")
        page.page.wait_for_timeout(1000)
        screenshot(page, "studio-light.jpg")

        slider = page.page.locator("#threshold").bounding_box()
        middle = slider["y"] + slider["height"] / 2
        page.page.mouse.move(slider["x"] + slider["width"] * 0.7, middle)
        page.page.mouse.down()
        page.page.mouse.move(slider["x"] + slider["width"] * 0.85, middle, steps=5)
        page.page.mouse.up()
        page.wait("document.querySelector('output[for=threshold]').textContent > '0.8'")
        shown = float(page.text("output[for=threshold]"))
        page.wait("([shown]) => document.getElementById('export').textContent.includes(`threshold=${shown} `)", shown)
        line = page.text("#export")
        for form, begins in ("c", "/* gcc"), ("settings", "# As fleet.yaml"), ("python", "import json"):
            page.page.click(f"#as-{form}")
            assert page.text("#export").startswith(begins)
        page.page.select_option("#match_on", "color")
        page.wait("document.getElementById('export').textContent.includes('match-on=color')")
        page.page.click("#use")
        page.wait("([text]) => document.getElementById('export').textContent.includes(text)",
                  f"threshold={float(page.text('output[for=threshold]')):g}'")
        assert not page.faults and all(each.startswith(address.partition("?")[0])
                                       for each in page.requests), page.faults
    done = subprocess.run(shlex.split(line), cwd=tmp_path, check=True, text=True, stdout=subprocess.PIPE)
    frames = [json.loads(each) for each in done.stdout.splitlines()]
    followed = [frame for frame in frames if is_followed(frame)]
    assert len(followed) > 100
    assert all(strays(frame["peaks"], round(frame["stream-time"] * scene.RATE / 1e9)) < 2 for frame in followed)


def test_a_field(tmp_path, browser):
    """A photograph that turns: arrows, a map, and what is exported."""
    turning = scene.make_turning(tmp_path / "turning.mp4")
    with studio(tmp_path, turning) as address:
        page = Page(browser, address, color_scheme="light")
        page.wait("document.getElementById('time').textContent")
        page.page.select_option("#field-show", "magnitude")
        page.page.locator("#field-window").fill("48")
        page.wait("document.getElementById('field-says').textContent.startsWith('Median')")
        page.page.wait_for_timeout(1500)
        page.page.locator("#stage").focus()  # a slider keeps its keys
        found = [each["valid"] for each in page.fields if "valid" in each]  # the first frame has none
        assert len(found) > 3 and min(found) > 0.9
        page.page.keyboard.press("k")
        page.page.wait_for_timeout(800)
        scale = page.page.locator("#field-scale").get_attribute("aria-label")
        assert scale == f"Colours from 0.00 px to {longest(page):.2f} px"
        page.page.locator("#field-says").scroll_into_view_if_needed()
        screenshot(page, "studio-field.jpg")
        line = page.text("#export")
        assert "cudaxcorrfield 'windows=<48>' spacing=16" in line and page.page.is_hidden("#as-c")
        page.page.click("#as-python")
        assert 'frame["field"]' in page.text("#export")
        page.page.select_option("#field-reference", "picture")
        page.wait("document.getElementById('export').textContent.includes('reference-file=')")
        page.wait("document.getElementById('field-says').textContent.includes('the longest arrow 0.0')")
        page.page.select_option("#field-show", "off")
        page.wait("document.getElementById('export-of').hidden && document.getElementById('field-scale').hidden")
        assert not page.faults
    done = subprocess.run(shlex.split(line), cwd=tmp_path, check=True, text=True, stdout=subprocess.PIPE)
    last = json.loads(done.stdout.splitlines()[-1])["field"]
    assert last["state"] == "measured" and last["valid"] > 0.9


def longest(page):
    return float(re.search(r"longest arrow ([\d.]+)", page.text("#field-says"))[1])


def test_keys_labels_and_a_second_page(tmp_path, clip, browser):
    evil = tmp_path / f"{EVIL}.png"
    shutil.copy(scene.IMAGES / "patch.png", evil)
    with studio(tmp_path, clip, scene.IMAGES, "-t", evil) as address:
        page = Page(browser, address, color_scheme="light")
        page.wait("document.querySelector('#templates b')")
        assert page.text("#templates b") == EVIL and not page.page.locator("img[src=nowhere]").count()
        keys = page.page.keyboard
        keys.press("k")
        page.wait("!document.body.classList.contains('playing')")
        keys.press("j")
        page.wait("document.getElementById('rate').textContent === '× -1'")
        keys.press("l")
        keys.press("l")
        page.wait("document.getElementById('rate').textContent === '× 2'")
        keys.press(" ")
        before = page.still()
        for key, after in ("ArrowRight", before + 1), ("ArrowLeft", before):
            keys.press(key)
            end = time.monotonic() + LIMIT / 1000
            while frame_of(page.pictures[-1]) != after:
                assert time.monotonic() < end, key
                page.page.wait_for_timeout(20)
        page.page.fill("#label", "by keys")
        page.page.locator("#stage").focus()
        keys.press("b")
        for key in "ArrowLeft", "ArrowDown", "Shift+ArrowRight", "Enter":
            keys.press(key)
        page.wait("document.querySelectorAll('#templates li').length === 2")
        assert page.page.locator("#templates b").all_inner_texts() == [EVIL, "by keys"]
        other = Page(browser, address)
        other.wait("document.querySelectorAll('#templates li').length === 2")
        keys.press("Delete")
        other.wait("document.querySelectorAll('#templates li').length === 1")
        other.page.select_option("#source", label="rocket.jpg")
        page.wait("document.getElementById('play').disabled")
        assert page.page.input_value("#source").endswith("rocket.jpg")
        keys.press("?")
        assert page.page.locator("dialog").is_visible()
        assert not page.faults + other.faults


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_accessibility(tmp_path, clip, browser, theme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    with studio(tmp_path, clip, "-t", scene.IMAGES / "patch.png") as address:
        page = Page(browser, address, color_scheme=theme)
        page.wait("document.querySelector('#templates b') && !document.getElementById('use').hidden")
        page.page.select_option("#field-show", "magnitude")
        page.wait("!document.getElementById('field-scale').hidden")
        for key in "", "?":
            if key:
                page.page.keyboard.press(key)
            found = axe.run(page.page).response
            assert len(found["passes"]) > 15
            assert not [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]
                        if each["impact"] in ("serious", "critical")]


def test_without_the_token(tmp_path, clip, browser):
    with studio(tmp_path, clip) as address:
        page = browser.new_page()
        assert page.goto(address.partition("?")[0]).status == 403
        assert "Open the address that xcorr studio printed" in page.inner_text("body")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_laptop_s_screen_shows_all(tmp_path, clip, browser, theme):
    """Video, timeline, events and export without scrolling. The middle of both sliders is the template's own size."""
    with studio(tmp_path, clip, "-t", scene.IMAGES / "patch.png") as address:
        page = Page(browser, address, color_scheme=theme)
        page.wait("document.querySelector('#events img')?.naturalWidth > 0 && !document.getElementById('use').hidden")
        least = {"#stage": 440, "#timeline": 120, "#events": 60, "#export": 60, "#as-settings": 20}
        for selector, height in least.items():
            box = page.page.locator(selector).bounding_box()
            assert box["height"] >= height and box["y"] >= 0, selector
            assert box["y"] + box["height"] <= 768 and box["x"] + box["width"] <= 1366, selector
        assert page.page.locator("#stage").bounding_box()["width"] >= 740
        assert page.page.evaluate("[...document.querySelectorAll('.column')].every("
                                  "(one) => one.scrollHeight <= one.clientHeight)")
        assert page.text("output[for=smallest]") == page.text("output[for=largest]") == "× 1.00"
        page.page.locator("#largest").fill("0.5")
        page.wait("document.getElementById('export').textContent.includes('scale-max=1.41')")
        page.page.locator("#smallest").fill("1")
        page.wait("document.getElementById('export').textContent.includes('scale-min=2 scale-max=2')")
        assert not page.faults
