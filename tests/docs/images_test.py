#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The scripts in docs/images make the images that the pages show: images_test.py SOURCE PROGRAMS

They check the positions that they draw by themselves. PROGRAMS is the folder with the built examples. Exits with 77, a
skip, without NumPy.
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
    subprocess.run([sys.executable, IMAGES / 'make.py', folder], check=True)
    subprocess.run([sys.executable, IMAGES / 'make_tracks.py', folder], check=True)
    for script in ('parts.py', 'patches.py'):
        subprocess.run([sys.executable, IMAGES / script, folder, f'{sys.argv[2]}/find-parts'], check=True)
    assert sorted(path.name for path in pathlib.Path(folder).iterdir()) == [
        'found.jpg', 'part.png', 'parts-found.jpg', 'parts.jpg', 'patches-found.jpg', 'patches.jpg', 'response.jpg',
        'tracks.jpg']
