# SPDX-License-Identifier: LGPL-2.1-or-later
"""The file of a fleet: what cannot be is said in a line, at once, whatever is in it."""
import time

import pytest

pytest.importorskip("yaml")
from xcorr.fleet import config  # noqa: E402

CAMERA = "{source: fakesrc, templates: [part.png]}"
BOMB = "a: &a [x, x]\n" + "".join(f"{name}: &{name} [{', '.join(9 * ['*' + before])}]\n"
                                  for before, name in zip("abcdefg", "bcdefgh"))


@pytest.fixture
def read(tmp_path):
    (tmp_path / "part.png").write_bytes(b"image")

    def cameras(text):
        (tmp_path / "fleet.yaml").write_text(text, encoding="utf-8")
        return config.read(tmp_path / "fleet.yaml")
    return cameras


def of_camera(settings):
    return "redis: redis://host\ncameras: {gate: {source: fakesrc, templates: [part.png], " + settings + "}}"


def test_what_is_right(read):
    cameras = read(f"redis: redis://user@host\ncameras: {{gate: {CAMERA}, 7: {CAMERA}}}")
    assert [camera.name for camera in cameras] == ["gate", "7"]
    assert read(of_camera("settings: {threshold: 0.5, best_template: true}, gpus: 0.5"))[0].gpus == 0.5


@pytest.mark.parametrize("text, reason", [
    (f"redis: redis://host\ncameras: {{1: {CAMERA}, '1': {CAMERA}}}", "twice"),
    (f"redis: redis://a\nredis: redis://b\ncameras: {{gate: {CAMERA}}}", "twice"),
    (f"redis: redis://host\ncameras: {{'': {CAMERA}}}", "a name is"),
    (f"redis: redis://host\ncameras: {{true: {CAMERA}}}", "a name is"),
    (f"redis: redis://host?ssl_cert_reqs=none\ncameras: {{gate: {CAMERA}}}", "behind a '[?]'"),
    (f"redis: redis://user:secret@host\ncameras: {{gate: {CAMERA}}}", "REDISCLI_AUTH"),
    (of_camera("settings: {5: 6}"), "setting 5"),
    (of_camera("settings: {threshold: [1, 2]}"), "'threshold' cannot be"),
    (of_camera("settings: {camera-id: other}"), "the fleet sets it"),
    (of_camera("settings: {templates: /etc/passwd}"), "the fleet sets it"),
    (of_camera("gpus: -5"), "'gpus' cannot be -5"),
    (of_camera("cpus: .nan"), "'cpus' cannot be nan"),
    (of_camera("cpus: true"), "'cpus' cannot be True"),
    (BOMB + "redis: redis://host\ncameras: {}", "aliases"),
    ("redis: " + 100000 * "[", "recursion"),
    ("redis: " + 1000000 * "a", "characters"),
    ("redis: !!python/object/apply:os.system ['true']\ncameras: {}", "constructor"),
])
def test_what_is_wrong(read, text, reason):
    begin = time.monotonic()
    with pytest.raises(ValueError, match=reason) as raised:
        read(text)
    assert time.monotonic() - begin < 10
    assert len(str(raised.value)) < 500
