# SPDX-License-Identifier: LGPL-2.1-or-later
"""SciPy's and scikit-image's own tests, from their packages, run with the functions of xcorr."""
import os
import pathlib
import re
import subprocess
import sys
import zipfile

import pytest

#: The last one whose package has its tests.
SKIMAGE = "scikit-image==0.25.2"
PLACE = pathlib.Path(__file__).parent


def run(folder, *arguments):
    path = os.pathsep.join([str(PLACE), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "peers_plugin",
                           "--rootdir", folder, *arguments], cwd=folder, env={**os.environ, "PYTHONPATH": path},
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=250)
    counts = {what: int(count) for count, what in re.findall(r"(\d+) (passed|failed|error|skipped)", done.stdout)}
    calls = {name: int(count) for name, count in re.findall(r"'(\w+)': (\d+)", done.stdout)}
    assert done.returncode == 0 and counts.keys() <= {"passed", "skipped"}, done.stdout
    return counts["passed"], calls


def test_scipys(tmp_path):
    """But for one that is slow there, too: it needs 6 GB."""
    pytest.importorskip("scipy.signal.tests.test_signaltools", reason="this SciPy has no tests in its package")
    passed, calls = run(tmp_path, "--pyargs", "scipy.signal.tests.test_signaltools", "-m", "not slow",
                        "-k", "TestConvolve2d or TestCorrelate2d")
    assert passed >= 15 and calls["convolve2d"] > 20 and calls["correlate2d"] > 8


def test_scikit_images(tmp_path):
    got = subprocess.run([sys.executable, "-m", "pip", "-q", "download", "--no-deps", "--only-binary=:all:",
                          "--python-version=3.12", "-d", tmp_path, SKIMAGE], text=True, stderr=subprocess.PIPE)
    if got.returncode:
        pytest.skip(f"no {SKIMAGE} from PyPI: {got.stderr[-200:]}")
    with zipfile.ZipFile(next(tmp_path.glob("scikit_image-*.whl"))) as wheel:
        (tmp_path / "test_template.py").write_bytes(wheel.read("skimage/feature/tests/test_template.py"))
    passed, calls = run(tmp_path, "test_template.py")
    assert passed == 11 and calls["match_template"] >= 11
