# SPDX-License-Identifier: LGPL-2.1-or-later
"""`xcorr pipeline`: the line of gst-launch-1.0 that does what `xcorr track` and `xcorr find` do, to go on from."""
from __future__ import annotations

import argparse
import pathlib
import shlex
from typing import Any

from .options import add_search


def add_to(commands: Any) -> None:
    parser = commands.add_parser("pipeline", help="prints the gst-launch-1.0 line that does the same with GStreamer")
    parser.add_argument("input", metavar="VIDEO", help="a file, an address such as rtsp://..., or the number of a camera")
    add_search(parser)
    parser.add_argument("--track", action="store_true", help="follow targets under ids that stay")
    parser.add_argument("--show", action="store_true", help="a window with boxes instead of lines of JSON")
    parser.set_defaults(run=run)


def source(text: str) -> list[str]:
    if text.isdigit():
        return ["v4l2src", f"device=/dev/video{text}"]
    if "://" in text:
        return ["uridecodebin", f"uri={text}"]
    return ["filesrc", f"location={pathlib.Path(text).resolve()}", "!", "decodebin"]


def matcher(options: argparse.Namespace, templates: list[str], track: bool) -> list[str]:
    """The element with its properties, those that are not the default ones."""
    files = [str(pathlib.Path(each).resolve()) for each in templates]
    quoted = ['"' + each.replace("\\", "\\\\").replace('"', '\\"') + '"' for each in files]
    words = ["cudaxcorr", f"template={files[0]}" if len(files) == 1 else f"templates=<{','.join(quoted)}>"]
    words += [f"method={options.method}", f"threshold={options.threshold:g}", f"max-peaks={options.max_peaks}"]
    words += ["match-on=color"] * (options.match_on == "color")
    if options.angles:
        words += [f"angle-start={options.angles[0]:g}", f"angle-extent={options.angles[1]:g}"]
    if options.scales:
        words += [f"scale-min={options.scales[0]:g}", f"scale-max={options.scales[1]:g}"]
    device, _, ordinal = options.device.partition(":")
    words += [f"backend={device}"] * (device != "auto") + [f"cuda-device-id={ordinal}"] * bool(ordinal)
    return words + ["track=true"] * track


def words_of(options: argparse.Namespace, templates: list[str], track: bool, show: bool = False) -> list[str]:
    """Of the command gst-launch-1.0."""
    end = ["xcorroverlay", "!", "videoconvert", "!", "autovideosink"] if show else ["xcorrjson", "!", "fakesink"]
    return ["gst-launch-1.0", "-q", *source(options.input), "!", "videoconvert", "!",
            *matcher(options, templates, track), "!", *end]


def run(options: argparse.Namespace) -> int:
    print(" ".join(word if word == "!" else shlex.quote(word)
                   for word in words_of(options, options.template, options.track, options.show)))
    return 0
