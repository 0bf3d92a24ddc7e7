#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""docs/images/make*.py make the pictures that the pages show: pictures_test.py SOURCE

They check the positions that they draw by themselves. Exits with 77, a skip, without NumPy.
"""
import importlib.util
import pathlib
import subprocess
import sys
import tempfile

IMAGES = pathlib.Path(sys.argv[1], 'docs', 'images').resolve()

if not importlib.util.find_spec('numpy'):
    print('there is no NumPy here')
    sys.exit(77)
with tempfile.TemporaryDirectory(prefix='cudaxcorr docs ') as folder:
    for program in ('make.py', 'make_tracks.py'):
        subprocess.run([sys.executable, IMAGES / program, folder], check=True)
    assert sorted(path.name for path in pathlib.Path(folder).iterdir()) == ['found.jpg', 'response.jpg', 'tracks.jpg']
