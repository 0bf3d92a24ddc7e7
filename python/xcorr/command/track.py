# SPDX-License-Identifier: LGPL-2.1-or-later
"""`xcorr track`: targets of a video under ids that stay, by the element `cudaxcorr` in a pipeline of gst-launch-1.0."""
from __future__ import annotations

import argparse
import json
import pathlib
import sys
import tempfile
from typing import Any

from ..field.images import Unreadable, library, of_video
from .launch import check_gstreamer, frames
from .options import Output, add_output, add_search, add_tracker, box, settings
from .pipeline import add_video, words_of
from .progress import beside_the_bar, progress

_COLUMNS = {"frame": ">6", "id": ">4", "label": "<16", "state": "<10",
            **dict.fromkeys(("x", "y", "width", "height", "score"), ">8"), "confidence": ">10"}


def add_to(commands: Any) -> None:
    parser = commands.add_parser("track", help="follows targets in a video (with GStreamer)")
    parser.add_argument("input", metavar="VIDEO", help="a file, an address such as rtsp://..., or the number of a "
                        "camera")
    parser.add_argument("--box", type=box, metavar="x,y,width,height", help="what is there in the first frame is the "
                        "target")
    add_search(parser, template_required=False)
    add_tracker(parser)
    add_video(add_output(parser))
    parser.set_defaults(run=run)


def _check(options: argparse.Namespace) -> None:
    """Raises Unreadable or ValueError for what a pipeline would not say as well, or not at all."""
    if not options.template and not options.box:
        raise Unreadable("what is followed? Give --template FILE or --box x,y,width,height")
    settings(options)
    if _is_file(options.input) and not pathlib.Path(options.input).is_file():
        raise Unreadable(f"{options.input}: there is no such file")
    check_gstreamer()


def _is_file(text: str) -> bool:
    return not text.isdigit() and "://" not in text


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


def _count(options: argparse.Namespace) -> int | None:
    """Of the frames, for a bar; None where nobody sees it, or nothing knows."""
    if options.quiet or not sys.stderr.isatty() or not _is_file(options.input):
        return None
    try:
        return of_video(pathlib.Path(options.input)).count
    except Unreadable:
        return None


def rows(line: str, number: int) -> list[list[Any]]:
    return [[number, *(peak.get(column, "") for column in list(_COLUMNS)[1:])]
            for peak in json.loads(line).get("peaks", ())]


def run(options: argparse.Namespace) -> int:
    _check(options)
    with tempfile.TemporaryDirectory(prefix="xcorr-") as folder, Output(options, _COLUMNS) as results:
        templates = options.template + ([_first_frame(options, folder)] if options.box else [])
        found = frames(lambda lines, _: words_of(options, templates, True, lines), options.input)
        for number, line in enumerate(progress((line for line, _ in found), _count(options), options.quiet, "frames")):
            with beside_the_bar():
                results.write(line.rstrip("\n"), rows(line, number))
    return 0 if results.count else 1
