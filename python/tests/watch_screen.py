# SPDX-License-Identifier: LGPL-2.1-or-later
"""For tests of `xcorr watch`: a recording of a screen, pictures to look for, the command, and a reader of its pages."""
import html.parser

import pytest

from conftest import needs_the_element, noise
from xcorr.command.main import main

Image = pytest.importorskip("PIL.Image")


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text = set(), [], ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text += data


@pytest.fixture
def screen(tmp_path):
    """A recording of 25 frames a second: a logo from frame 10 to frame 29, and a picture from frame 20 on."""
    cv2 = pytest.importorskip("cv2")
    needs_the_element()
    background, logo, menu = (cv2.GaussianBlur(noise(shape, seed), (0, 0), 2)
                              for seed, shape in enumerate([(240, 320), (40, 60), (50, 50)]))
    background, logo, menu = (cv2.normalize(image, None, 0, 255, cv2.NORM_MINMAX) for image in (background, logo, menu))
    video = cv2.VideoWriter(str(tmp_path / "screen.avi"), cv2.VideoWriter_fourcc(*"MJPG"), 25, (320, 240))
    if not video.isOpened():
        pytest.skip("this OpenCV writes no MJPEG")
    for number in range(40):
        frame = background.copy()
        if 10 <= number < 30:
            frame[20:60, 200:260] = logo
        if number >= 20:
            frame[150:200, 30:80] = menu
        video.write(cv2.cvtColor(frame, cv2.COLOR_GRAY2BGR))
    video.release()
    pictures = tmp_path / 'pictures "of" a screen'
    pictures.mkdir()
    Image.fromarray(logo).save(pictures / "logo.png")
    Image.fromarray(menu).save(pictures / "<b> & \"menu\".png")
    (pictures / "templates.yaml").write_text("logo: {region: [180, 0, 140, 100], threshold: 0.8}\n")
    (pictures / "notes.txt").write_text("none")
    return tmp_path, pictures


def run(capsys, *words):
    status = main(["watch", *map(str, words)])
    return status, *capsys.readouterr()
