# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the documentation shows works, and it has every name."""
import inspect
import pathlib
import re
import subprocess
import sys

import pytest

import xcorr

SOURCE = pathlib.Path(__file__).parents[2]
PAGE = (SOURCE / "docs/python.md").read_text(encoding="utf-8")


def test_the_page_s_code():
    names = {}
    for code in re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
        if "# needs a GPU" not in code:
            exec(compile(code, "docs/python.md", "exec"), names)


def test_the_readme_s_code():
    for code in re.findall(r"^```python\n(.*?)^```$", (SOURCE / "python/README.md").read_text(),
                           re.MULTILINE | re.DOTALL):
        exec(compile(code, "python/README.md", "exec"), {})


def test_every_name_is_in_the_page_and_has_a_docstring():
    for name in xcorr.__all__:
        assert f"`{name}" in PAGE or name.startswith("TM_"), name
        value = getattr(xcorr, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert value.__doc__, name


def test_the_example(tmp_path):
    pytest.importorskip("matplotlib")
    done = subprocess.run([sys.executable, SOURCE / "python/examples/find.py", SOURCE / "docs/images/rocket.jpg",
                           tmp_path / "found.png"], check=True, text=True, stdout=subprocess.PIPE)
    assert "upright: at 308, 118, score 1.0000" in done.stdout
    angle, scale = map(float, re.search(r"by (\S+) degrees, scaled by (\S+),", done.stdout).groups())
    assert abs(angle - 40) < 0.3 and abs(scale - 0.9) < 0.005
    assert (tmp_path / "found.png").stat().st_size > 10_000


def test_the_example_of_fields(tmp_path):
    pytest.importorskip("matplotlib")
    done = subprocess.run([sys.executable, SOURCE / "python/examples/fields.py", tmp_path], check=True, text=True,
                          stdout=subprocess.PIPE)
    errors = dict(re.findall(r"^(\w+): (\S+) px", done.stdout, re.MULTILINE))
    assert float(errors["arrows"]) < 0.1 and float(errors["strain"]) < 0.03, done.stdout
    assert all((tmp_path / f"{name}.jpg").stat().st_size > 10_000 for name in errors)


def test_the_example_of_strain(tmp_path):
    pytest.importorskip("matplotlib")
    done = subprocess.run([sys.executable, SOURCE / "python/examples/strain.py", tmp_path / "strain.jpg"], check=True,
                          text=True, stdout=subprocess.PIPE)
    page = (SOURCE / "docs/fields.md").read_text(encoding="utf-8")
    shown, errors = ({name: (float(error), float(least)) for name, error, least in
                      re.findall(r"^(\w+): (\S+)(?: px)?, at least (\S+)$", text, re.MULTILINE)}
                     for text in (page, done.stdout))
    assert errors.keys() == {"displacement", "strain", "rotation"}, done.stdout
    assert all(errors[name] == pytest.approx(shown[name], rel=0.05) for name in errors), done.stdout
    assert done.stdout.partition(" on the ")[0] in page, done.stdout
    assert (tmp_path / "strain.jpg").stat().st_size > 10_000
