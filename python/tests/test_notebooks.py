# SPDX-License-Identifier: LGPL-2.1-or-later
"""The notebooks run, say what is so, and are notebooks."""
import pathlib
import runpy

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("PIL")
FOLDER = pathlib.Path(__file__).parents[2] / "docs/notebooks"
NOTEBOOKS = runpy.run_path(str(FOLDER / "pictures.py"))
NAMES = NOTEBOOKS["NAMES"]


def test_there_are_some():
    assert len(NAMES) >= 5


@pytest.mark.parametrize("name", NAMES)
def test_it_runs(name):
    """Its asserts are the test."""
    from matplotlib import pyplot
    there = NOTEBOOKS["run"](name)
    assert there["figure"].axes
    pyplot.close("all")
    text = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    assert "assert " in text and f"../images/notebook-{name}.jpg" in text


@pytest.mark.parametrize("name", NAMES)
def test_jupyter_opens_it(name):
    jupytext = pytest.importorskip("jupytext")
    code = [cell.source for cell in jupytext.read(FOLDER / f"{name}.md").cells if cell.cell_type == "code"]
    assert code == [source.rstrip("\n") for _, source in NOTEBOOKS["cells"](name)]
