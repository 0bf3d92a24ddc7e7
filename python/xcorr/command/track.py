# SPDX-License-Identifier: LGPL-2.1-or-later
"""`xcorr track`: targets of a video under ids that stay, by the element `cudaxcorr` in a pipeline of gst-launch-1.0."""
from __future__ import annotations

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
from typing import Any, Iterator

from ..field.images import Unreadable, library
from .doctor import answer
from .options import FORMATS, add_search, box
from .pipeline import words_of

_COLUMNS = ("frame", "id", "label", "state", "x", "y", "width", "height", "score", "confidence")


def add_to(commands: Any) -> None:
    parser = commands.add_parser("track", help="follows targets in a video (with GStreamer)")
    parser.add_argument("input", metavar="VIDEO", help="a file, an address such as rtsp://..., or the number of a camera")
    parser.add_argument("--box", type=box, metavar="x,y,width,height", help="what is there in the first frame is the target")
    add_search(parser, template_required=False)
    parser.add_argument("-f", "--format", choices=FORMATS, default="table",
                        help="a line for each target of a frame, or with json for each frame, as the element writes it")
    parser.set_defaults(run=run)


def _check_gstreamer() -> None:
    for program, package in (("gst-launch-1.0", "gstreamer1.0-tools"), ("gst-inspect-1.0", "gstreamer1.0-tools")):
        if not shutil.which(program):
            raise Unreadable(f"tracks are GStreamer's work, and {program} is missing (Debian: {package})")
    if not answer("gst-inspect-1.0", "cudaxcorr"):
        raise Unreadable("GStreamer has no element cudaxcorr: set GST_PLUGIN_PATH_1_0 to the folder of libgstcudaxcorr.so; "
                         "xcorr doctor says more")


def _first_frame(options: argparse.Namespace, folder: str) -> str:
    """The box of the first frame as a file."""
    cv2 = library("cv2", "--box", "opencv-python-headless")
    video = cv2.VideoCapture(int(options.input) if options.input.isdigit() else options.input)
    there, frame = video.read()
    video.release()
    if not there:
        raise Unreadable(f"{options.input}: OpenCV cannot read its first frame, which --box needs")
    x, y, width, height = options.box
    if x + width > frame.shape[1] or y + height > frame.shape[0]:
        raise Unreadable(f"{options.input}: its frames have {frame.shape[1]}x{frame.shape[0]} pixels, and the box of "
                         f"{width}x{height} at {x},{y} reaches beyond")
    path = str(pathlib.Path(folder) / "box.png")
    cv2.imwrite(path, frame[y:y + height, x:x + width])
    return path


def rows(line: str, number: int) -> Iterator[list[Any]]:
    for peak in json.loads(line).get("peaks", ()):
        yield [number, *(peak.get(column, "") for column in _COLUMNS[1:])]


def _write(form: str, lines: Any) -> int:
    """Returns how many targets there were, frames added."""
    count = 0
    if form != "json":
        print(*_COLUMNS, sep="," if form == "csv" else "\t")
    for number, line in enumerate(lines):
        if form == "json":
            print(line, end="", flush=True)
        for row in rows(line, number):
            count += 1
            if form != "json":
                print(*(f"{cell:.4g}" if isinstance(cell, float) and form == "table" else cell for cell in row),
                      sep="," if form == "csv" else "\t", flush=True)
    return count


def run(options: argparse.Namespace) -> int:
    if not options.template and not options.box:
        raise Unreadable("what is followed? Give --template FILE or --box x,y,width,height")
    _check_gstreamer()
    with tempfile.TemporaryDirectory(prefix="xcorr-") as folder:
        templates = options.template + ([_first_frame(options, folder)] if options.box else [])
        with subprocess.Popen(words_of(options, templates, True), text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as pipeline:
            assert pipeline.stdout and pipeline.stderr
            count = _write(options.format, pipeline.stdout)
            words = pipeline.stderr.read().strip()
        if pipeline.returncode:
            raise Unreadable(f"{options.input}: {words or 'gst-launch-1.0 failed'}")
        if words:
            print(words, file=sys.stderr)
    return 0 if count else 1
