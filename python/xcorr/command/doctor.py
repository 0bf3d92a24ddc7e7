# SPDX-License-Identifier: LGPL-2.1-or-later
"""`xcorr doctor`: what is installed, and one line of advice for each thing that is missing."""
from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import platform
import shutil
import subprocess
from typing import Any

from .. import __version__
from .._devices import devices
from .launch import has_element

#: Of Python: the module, its package, what for.
_MODULES = (("numpy", "numpy", "arrays"), ("PIL", "pillow", "reading images: find, cut, field"),
            ("cv2", "opencv-python-headless", "reading videos and cameras: find, field"),
            ("tqdm", "tqdm", "progress"), ("shtab", "shtab", "completion"),
            ("matplotlib", "matplotlib", "plots of fields"), ("ray", "xcorr[ray]", "archive and fleet"),
            ("aiohttp", "aiohttp", "studio"),
            ("gi", "python3-gi of Debian, in an environment made with --system-site-packages",
             "archive, fleet, studio"))


def add_to(commands: Any) -> None:
    parser = commands.add_parser("doctor", help="what is installed, and what to do about what is missing")
    parser.add_argument("--json", action="store_true", help="one object instead of lines")
    parser.set_defaults(run=run)


def _module(name: str, package: str, purpose: str) -> tuple[str, str, str]:
    if importlib.util.find_spec(name) is None:
        how = package if " " in package else f"pip install {package}"
        return name, "", f"{how}   ({purpose})"
    return name, str(getattr(importlib.import_module(name), "__version__", "there")) if name != "ray" else "there", ""


def answer(*command: str) -> str:
    """The first line of what a program says, or nothing."""
    if not shutil.which(command[0]):
        return ""
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return done.stdout.strip().partition("\n")[0] if done.returncode == 0 else ""


def findings() -> list[tuple[str, str, str]]:
    """What, which version, and what to do where that is empty."""
    found = [("xcorr", __version__, ""), ("Python", platform.python_version(), "")]
    for name, text in devices().items():
        found.append((f"device {name}", text, ""))
    if not any(name.startswith("device cuda") for name, _, _ in found):
        there = bool(shutil.which("nvidia-smi"))
        found.append(("GPU", "", "there is one, but this package was built without CUDA, or the driver is too old: "
                      "install it again where nvcc is" if there else "none of NVIDIA's; the CPU does the work"))
    found += [_module(*each) for each in _MODULES]
    tools = answer("gst-inspect-1.0", "--version")
    found.append(("GStreamer", tools.rpartition(" ")[2], "" if tools else "apt-get install gstreamer1.0-tools "
                  "gstreamer1.0-plugins-base   (track, pipeline, archive, fleet)"))
    path = os.environ.get("GST_PLUGIN_PATH_1_0") or os.environ.get("GST_PLUGIN_PATH") or "not set"
    plugin = bool(tools) and has_element("cudaxcorr")
    found.append(("plugin cudaxcorr", "there" if plugin else "", "" if plugin else "install gstreamer1.0-cudaxcorr, or "
                  f"set GST_PLUGIN_PATH_1_0 (now: {path}) to the folder of libgstcudaxcorr.so"))
    return found


def run(options: argparse.Namespace) -> int:
    found = findings()
    if options.json:
        print(json.dumps({name: {"found": version or None, "advice": advice or None}
                          for name, version, advice in found}))
        return 0
    for name, version, advice in found:
        print(f"{'ok' if version else '--'}  {name:<18} {version or advice}")
    return 0
