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
    add_video(parser)
    parser.set_defaults(run=run)


#: What writes a video, by the ending of its name.
_WRITERS = {".avi": "jpegenc ! avimux", ".mkv": "x264enc ! matroskamux", ".mp4": "x264enc ! mp4mux"}


def saved(text: str) -> pathlib.Path:
    if pathlib.Path(text).suffix.lower() not in _WRITERS:
        raise argparse.ArgumentTypeError(f"a video ends with {', '.join(_WRITERS)}, not {text!r}")
    return pathlib.Path(text)


def add_video(parser: Any) -> None:
    one = parser.add_mutually_exclusive_group()
    one.add_argument("--show", action="store_true", help="a window with the video and boxes")
    one.add_argument("--save", type=saved, metavar="FILE", help="the video with boxes: .mp4, .mkv or .avi")


def sink(options: argparse.Namespace) -> list[str]:
    if options.show:
        return ["xcorroverlay", "!", "videoconvert", "!", "autovideosink"]
    if options.save:
        return ["xcorroverlay", "!", "videoconvert", "!", *_WRITERS[options.save.suffix.lower()].split(), "!", "filesink",
                f"location={options.save.resolve()}"]
    return ["fakesink"]


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
    if options.angles:
        words += [f"angle-start={options.angles[0]:g}", f"angle-extent={options.angles[1]:g}"]
    if options.scales:
        words += [f"scale-min={options.scales[0]:g}", f"scale-max={options.scales[1]:g}"]
    device, _, ordinal = options.device.partition(":")
    words += [f"backend={device}"] * (device != "auto") + [f"cuda-device-id={ordinal}"] * bool(ordinal)
    return words + ["track=true"] * track


def words_of(options: argparse.Namespace, templates: list[str], track: bool) -> list[str]:
    """Of the command gst-launch-1.0."""
    return ["gst-launch-1.0", "-q", "-e", *source(options.input), "!", "videoconvert", "!",
            *matcher(options, templates, track), "!", "xcorrjson", "!", *sink(options)]


def run(options: argparse.Namespace) -> int:
    print(" ".join(word if word == "!" else shlex.quote(word)
                   for word in words_of(options, options.template, options.track)))
    return 0
