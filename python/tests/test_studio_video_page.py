# SPDX-License-Identifier: LGPL-2.1-or-later
"""Live video by WebRTC in Chromium: each picture with the marks that belong to it."""
import pytest

pytest.importorskip("gi", reason="PyGObject is missing (Debian: python3-gi)")
from test_studio_page import Page, behind, browser, frame_of, is_followed, pytestmark, studio  # noqa: E402, F401
import studio_scene as scene  # noqa: E402
from xcorr.studio import video  # noqa: E402

if video.missing():
    pytest.skip(f"no WebRTC: {video.missing()}", allow_module_level=True)
BLOCK, BITS = 40, 8  # pixels; of a frame's number, in black and white at the lower edge
READ = """(() => {
  const [canvas, stage] = [document.getElementById("picture"), document.getElementById("stage")];
  const scale = Math.min(stage.clientWidth / WIDTH, stage.clientHeight / HEIGHT) * canvas.width / stage.clientWidth;
  const [left, top] = [(canvas.width - WIDTH * scale) / 2, (canvas.height - HEIGHT * scale) / 2];
  const level = (bit) => canvas.getContext("2d").getImageData(
    left + (bit + 0.5) * BLOCK * scale, top + (HEIGHT - BLOCK / 2) * scale, 1, 1).data[1];
  const number = [...Array(BITS).keys()].reduce((sum, bit) => sum + (level(bit) > 128) * 2 ** bit, 0);
  return [number, document.getElementById("time").textContent, document.getElementById("way").textContent];
})()""".replace("WIDTH", str(scene.SIZE[0])).replace("HEIGHT", str(scene.SIZE[1])).replace("BLOCK", str(BLOCK)).replace(
    "BITS", str(BITS))


@pytest.fixture(scope="module")
def numbered(tmp_path_factory):
    """The patch that moves, and in each picture its number."""
    def signed(number, image):
        for bit in range(BITS):
            image[-BLOCK:, bit * BLOCK:(bit + 1) * BLOCK] = 255 * (number >> bit & 1)
    return scene.make(tmp_path_factory.mktemp("video") / "numbered.mp4", change=signed)


def test_video_in_a_browser(tmp_path, numbered, browser):
    """What is shown is what its results are of, whatever was lost on the way; what stands still is an image again."""
    with studio(tmp_path, numbered, "--video=webrtc") as address:
        page = Page(browser, address, color_scheme="dark")
        page.wait("document.getElementById('way').textContent.startsWith('WebRTC')")
        page.follow()
        seen, shown = len(page.pictures), set()
        for _ in range(150):
            number, time, way = page.page.evaluate(READ)
            minutes, seconds = time.partition(" ")[0].split(":")
            assert way.startswith("WebRTC") and number == round((60 * int(minutes) + float(seconds)) * scene.RATE)
            shown.add(number)
            page.page.wait_for_timeout(30)
        found = page.pictures[seen:]
        assert len(shown) > 40 and {each["type"] for each in found} == {"frame"}
        followed = [each for each in found if is_followed(each["results"])]
        assert len(followed) > 40 and all(
            max(abs(each["results"]["peaks"][0][axis] - at) for axis, at in zip("xy", scene.place(frame_of(each)))) < 6
            for each in followed)
        print(f"{way}: p95 {behind(found):.0f} ms behind, {len(shown)} pictures seen")
        assert behind(found) < 1000
        page.page.keyboard.press("k")
        page.wait("!document.body.classList.contains('playing')")
        page.page.wait_for_timeout(500)
        assert page.pictures[-1]["type"] == "picture"
        page.page.keyboard.press("ArrowRight")
        page.page.wait_for_timeout(500)
        number, time, _ = page.page.evaluate(READ)
        assert number == frame_of(page.pictures[-1]) and page.pictures[-1]["type"] == "picture"
        assert not page.faults and all(each.startswith(address.partition("?")[0])
                                       for each in page.requests), page.faults
