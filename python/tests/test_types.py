# SPDX-License-Identifier: LGPL-2.1-or-later
"""mypy catches what would fail, and settings are checked when they are made."""
import dataclasses
import pathlib
import re
import subprocess
import sys

import pytest

import xcorr
from conftest import noise
from xcorr._field import FieldSettingsChanges
from xcorr._settings import SettingsChanges

PROGRAM = '''
import numpy as np
import xcorr

image = np.zeros((40, 50), np.uint8)
reveal_type(xcorr.match_template(image, image[:9, :9], True, "reflect"))
reveal_type(xcorr.matchTemplate(image, image, xcorr.TM_SQDIFF))
reveal_type(xcorr.correlate2d(image, image, "same", boundary="symm"))
matcher = xcorr.Matcher([image], threshold=0.8, method="ccorr-normed", poses=xcorr.Poses(angle_extent=360))
reveal_type(matcher.match(image))
reveal_type(matcher.score(image))
reveal_type(xcorr.FieldMatcher(image, windows=(32, 16), subpixel="gauss").match(image))
reveal_type(xcorr.__version__)
xcorr.Matcher([image], treshold=0.8)  # wrong
xcorr.Matcher([image], method="nonsense")  # wrong
xcorr.Matcher([image], poses=360)  # wrong
xcorr.Matcher([image], colors="rgb")  # wrong
xcorr.Matcher([image], colours="hsv")  # wrong
xcorr.Settings(polarity="both")  # wrong
xcorr.MultiMatcher([image], devices=("cpu",), max_peak=3)  # wrong
xcorr.FieldMatcher(image, subpixel="cubic")  # wrong
xcorr.FieldMatcher(image, window=(32,))  # wrong
xcorr.match_template(image, image, method="nonsense")  # wrong
xcorr.match_template(image, image, "ccoeff-normed")  # wrong
xcorr.correlate2d(image, image, "most")  # wrong
xcorr.convolve2d(image, image, boundary="mirror")  # wrong
'''


def test_mypy(tmp_path):
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", program],
                          cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    wrong = {number for number, line in enumerate(PROGRAM.split("\n"), 1) if line.endswith("# wrong")}
    assert {int(number)
            for number in re.findall(r"^program\.py:(\d+): error", done.stdout, re.MULTILINE)} == wrong, done.stdout
    types = re.findall(r'Revealed type is "(.*)"', done.stdout)
    assert len(types) == 7 and all("ndarray" in each for each in types[:-1]) and "str" in types[-1], done.stdout


SOURCE = pathlib.Path(__file__).parents[1]


def test_the_package_and_the_examples_pass_mypy(tmp_path):
    pytest.importorskip("mypy")
    done = subprocess.run([sys.executable, "-m", "mypy", "--config-file", SOURCE / "pyproject.toml", "--cache-dir",
                           tmp_path, SOURCE / "xcorr", SOURCE / "examples"], text=True, capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_and_the_examples_pass_pyright():
    pytest.importorskip("pyright")
    checked = [SOURCE / "xcorr", SOURCE / "examples"]
    done = subprocess.run([sys.executable, "-m", "pyright", "-p", SOURCE, "--pythonpath", sys.executable, *checked],
                          text=True, capture_output=True)
    if not done.stdout:
        pytest.skip(f"pyright does not run: {done.stderr[-200:]}")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("settings, changes", [(xcorr.Settings, SettingsChanges),
                                               (xcorr.FieldSettings, FieldSettingsChanges)])
def test_the_keyword_arguments_are_the_settings(settings, changes):
    fields = {field.name: field.type for field in dataclasses.fields(settings)}
    assert fields == {name: getattr(kind, "__forward_arg__", kind) for name, kind in changes.__annotations__.items()}


@pytest.mark.parametrize("make, name, value, text", [
    (xcorr.Settings, "threshold", 1.5, r"threshold must be in \[-1, 1\], not 1.5"),
    (xcorr.Settings, "max_peaks", 0, r"max_peaks must be in \[1, 1024\], not 0"),
    (xcorr.Settings, "min_contrast", float("nan"), "min_contrast must be finite and not negative, not nan"),
    (xcorr.Settings, "prefilter_sigma", 11.0, r"prefilter_sigma must be in \[0, 10\], not 11.0"),
    (xcorr.Settings, "subpixel_threshold", -2.0, r"subpixel_threshold must be in \[-1, 1\], not -2.0"),
    (xcorr.Settings, "subpixel", "cubic", "subpixel is one of none, quadratic, least-squares, not 'cubic'"),
    (xcorr.Settings, "method", "zncc", "no such method: 'zncc'; there are sqdiff,"),
    (xcorr.Poses, "scale_min", 0.01, r"scale_min and scale_max must be in \[0.1, 10\], not 0.01"),
    (xcorr.Poses, "angle_extent", 400.0, r"angle_extent must be in \[0, 360\] degrees, not 400.0"),
    (xcorr.Poses, "pyramid_levels", 99, r"pyramid_levels must be in \[-1, 8\], not 99"),
    (xcorr.FieldSettings, "windows", (300,), "windows must be of 4 to 256 pixels along a side, not 300"),
    (xcorr.FieldSettings, "order", 5, "order must be 0, 1 or 2, not 5"),
    (xcorr.FieldSettings, "min_score", 2.0, r"min_score must be in \[-1, 1\], not 2.0"),
])
def test_settings_are_checked_when_they_are_made(make, name, value, text):
    for refused in (lambda: make(**{name: value}), lambda: dataclasses.replace(make(), **{name: value})):
        with pytest.raises(ValueError, match=text):
            refused()


@pytest.mark.parametrize("changes, text", [
    ({"colors": "rgb"}, "there is no setting 'colors'; is 'colours' meant?"),
    ({"treshold": 0.8}, "there is no setting 'treshold'; is 'threshold' meant?"),
    ({"brightness": 3}, "there is no setting 'brightness'; there are method, threshold,"),
    ({"poses": 360}, r"poses are Poses, such as Poses\(angle_extent=360\), or None, not 360"),
    ({"threshold": "high"}, "threshold cannot be 'high'"),
    ({"settings": {"threshold": 1}}, "settings are Settings, not {'threshold': 1}"),
])
def test_what_is_no_setting(changes, text):
    with pytest.raises(TypeError, match=text):
        xcorr.Matcher(device="cpu", **changes)


def test_fields_settings_have_names_too():
    with pytest.raises(TypeError, match="there is no setting 'window'; is 'windows' meant?"):
        xcorr.FieldMatcher(device="cpu", window=(32,))
    with pytest.raises(TypeError, match="windows are the sides of each pass, .*, not 32"):
        xcorr.FieldSettings(windows=32)


def test_the_version_is_the_projects():
    project = (SOURCE.parent / "meson.build").read_text()
    assert xcorr.__version__ == re.search(r"^  version: '(.*)',$", project, re.MULTILINE)[1]


def test_reprs_say_what_it_is():
    part = noise((20, 30), 1)
    matcher = xcorr.Matcher([part, part[:9]], device="cpu", threshold=0.75)
    assert repr(matcher) == "<xcorr.Matcher: 2 templates of 30x20, 30x9; device='cpu', threshold=0.75>"
    assert repr(xcorr.MultiMatcher([part], devices=("cpu", "cpu"), max_peaks=2)) == (
        "<xcorr.MultiMatcher: 1 template of 30x20; devices=('cpu', 'cpu'), max_peaks=2>")
    live = xcorr.LiveTemplate(part, device="cpu")
    assert repr(live) == "<xcorr.LiveTemplate: 30x20, device='cpu', version=0>"
    assert "1 template of 30x20" in repr(xcorr.Matcher([live], device="cpu"))
    assert repr(xcorr.FieldMatcher(device="cpu", order=2)) == "<xcorr.FieldMatcher: device='cpu', order=2>"
