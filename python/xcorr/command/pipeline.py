# SPDX-License-Identifier: LGPL-2.1-or-later
"""`xcorr pipeline`: the line of gst-launch-1.0 that does what `xcorr track` and `xcorr find` do, to go on from."""
from __future__ import annotations

import argparse
import os
import pathlib
import shlex
from typing import Any

from .._launch_line import quoted
from .options import add_search, add_tracker


def add_to(commands: Any) -> None:
    parser = commands.add_parser("pipeline", help="prints the gst-launch-1.0 line that does the same with GStreamer")
    parser.add_argument("input", metavar="VIDEO", help="a file, an address such as rtsp://..., or the number of a "
                        "camera")
    add_search(parser)
    parser.add_argument("--track", action="store_true", help="follow targets under ids that stay")
    add_tracker(parser)
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
        return ["xcorroverlay", "!", "videoconvert", "!", *_WRITERS[options.save.suffix.lower()].split(), "!",
                "filesink", f"location={options.save.resolve()}"]
    return ["fakesink"]


def source(text: str) -> list[str]:
    if text.isdigit():
        return ["v4l2src", f"device=/dev/video{text}"]
    if "://" in text:
        return ["uridecodebin", f"uri={text}"]
    return ["filesrc", f"location={pathlib.Path(text).resolve()}", "!", "decodebin"]


# What playlists, manifests and projects are read by, which fetch what these name.
_FETCHING = ("hlsdemux", "hlsdemux2", "dashdemux", "dashdemux2", "mssdemux", "mssdemux2", "sdpdemux", "gesdemux")


def environment(text: str) -> dict[str, str]:
    """Of gst-launch-1.0: what is in a file opens no connection."""
    if text.isdigit() or "://" in text:
        return dict(os.environ)
    ranks = [os.environ.get("GST_PLUGIN_FEATURE_RANK", ""), *(f"{name}:NONE" for name in _FETCHING)]
    return {**os.environ, "GST_PLUGIN_FEATURE_RANK": ",".join(filter(None, ranks))}


def properties(options: argparse.Namespace, track: bool) -> list[str]:
    """Of the element, those that are not the default ones."""
    words = [f"method={options.method}", f"threshold={options.threshold:g}", f"max-peaks={options.max_peaks}"]
    words += [f"match-on={options.match_on}"] * (options.match_on != "luma")
    if options.angles:
        words += [f"angle-start={options.angles[0]:g}", f"angle-extent={options.angles[1]:g}"]
    if options.scales:
        words += [f"scale-min={options.scales[0]:g}", f"scale-max={options.scales[1]:g}"]
    device, _, ordinal = options.device.partition(":")
    words += [f"backend={device}"] * (device != "auto") + [f"cuda-device-id={ordinal}"] * bool(ordinal)
    if track:
        words += ["track=true"] + [f"tracker={options.tracker}"] * (options.tracker != "auto")
    return words


def matcher(options: argparse.Namespace, templates: list[str], track: bool) -> list[str]:
    files = [str(pathlib.Path(each).resolve()) for each in templates]
    words = ["cudaxcorr"]
    if len(files) == 1:
        words.append(f"template={files[0]}")
    elif files:
        words.append(f"templates=<{','.join(map(quoted, files))}>")
    return words + properties(options, track)


def search_of(options: argparse.Namespace, templates: list[str], track: bool) -> list[str]:
    """The elements from the source to the one that finds."""
    return [*source(options.input), "!", "videoconvert", "!", *matcher(options, templates, track)]


def words_of(options: argparse.Namespace, templates: list[str], track: bool, lines: int | None = None) -> list[str]:
    """Of the command gst-launch-1.0. It writes lines to standard output; to that descriptor, and then says warnings."""
    return ["gst-launch-1.0", *["-q"] * (lines is None), "-e", *search_of(options, templates, track), "!",
            *writer(lines), "!", *sink(options)]


def writer(lines: int | None) -> list[str]:
    return ["xcorrjson"] + ([] if lines is None else [f"location=/dev/fd/{lines}"])


def line_of(words: list[str]) -> str:
    """As a shell takes them."""
    return " ".join(word if word == "!" else shlex.quote(word) for word in words)


def run(options: argparse.Namespace) -> int:
    print(line_of(words_of(options, options.template, options.track)))
    return 0
