#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the notebooks of this folder without Jupyter, and saves the last figure of each:

    pictures.py FOLDER [NAME...]
"""
import os
import pathlib
import re
import sys

import matplotlib

matplotlib.use("agg")
HERE = pathlib.Path(__file__).resolve().parent
NAMES = sorted(path.stem for path in HERE.glob("*.md"))


def cells(name):
    """(number of its first line, source) of each."""
    text = (HERE / f"{name}.md").read_text(encoding="utf-8")
    return [(text[:found.start(1)].count("\n"), found[1])
            for found in re.finditer(r"^```\{code-cell\} python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)]


def run(name):
    """What its cells leave: names and values."""
    there = {}
    before = os.getcwd()
    os.chdir(HERE)  # as Jupyter does
    try:
        for line, source in cells(name):
            exec(compile("\n" * line + source, f"{name}.md", "exec"), there)
    finally:
        os.chdir(before)
    return there


if __name__ == "__main__":
    for each in sys.argv[2:] or NAMES:
        run(each)["figure"].savefig(pathlib.Path(sys.argv[1], f"notebook-{each}.jpg"), dpi=90,
                                    pil_kwargs={"quality": 85})
