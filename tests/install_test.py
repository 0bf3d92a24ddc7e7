#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What `meson install` gives, installed below a folder of the test's own:

    install_test.py BUILD

gst-inspect-1.0 finds the elements after the line that the installation prints, and says where their
documentation is, which is there too. The examples come with install_examples."""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path


def run(command, **environment):
    done = subprocess.run([str(word) for word in command], env={**os.environ, **environment},
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def libraries_below(root):
    """The folders with shared libraries, which the loader would know after an installation."""
    return ":".join(sorted({str(file.parent) for file in root.rglob("*.so*")}))


def documents_of(inspected):
    """The URLs that gst-inspect-1.0 shows."""
    return [re.search(rf"^  {name} +(\S+)$", inspected, re.MULTILINE).group(1)
            for name in ("Doc(?:umentation|-uri)", "Origin URL")]


def test(build, folder):
    root = folder / "root"
    printed = run([os.environ["MESON"], "install", "--no-rebuild", "-C", build, "--destdir", root])
    path = re.search(r"export GST_PLUGIN_PATH=([^'\s]+)", printed)
    # Where GStreamer looks by itself there is nothing to print.
    plugins = path.group(1) if path else os.environ["GST_PLUGINS_DIR"]
    environment = {"GST_PLUGIN_PATH": f"{root}{plugins}", "LD_LIBRARY_PATH": libraries_below(root),
                   "GST_REGISTRY": str(folder / "registry.bin")}
    for element in ("cudaxcorr", "cudaxcorrfield", "xcorroverlay", "xcorrjson"):
        inspected = run(["gst-inspect-1.0", element], **environment)
        assert f"{root}{plugins}/libgstcudaxcorr.so" in inspected, inspected
        for url in documents_of(inspected):
            scheme, _, where = url.partition("://")
            assert scheme in ("file", "http", "https") and where, url
            assert scheme != "file" or Path(f"{root}{where}").exists(), url
    options = json.loads(run([os.environ["MESON"], "introspect", "--buildoptions", build]))
    wanted = next(option["value"] for option in options if option["name"] == "install_examples")
    assert len(list(root.rglob("examples/demo"))) == wanted
    assert "capture-template(x, y, width, height)" in run(
        ["gst-inspect-1.0", "cudaxcorr"], **environment)


def main():
    with tempfile.TemporaryDirectory() as folder:
        test(Path(sys.argv[1]), Path(folder))


if __name__ == "__main__":
    main()
