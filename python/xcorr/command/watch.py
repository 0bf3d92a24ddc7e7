# SPDX-License-Identifier: LGPL-2.1-or-later
"""`xcorr watch`: which pictures appear on a screen, and when, by the element `cudaxcorr` in a pipeline of
gst-launch-1.0."""
from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import re
import signal
import sys
import threading
import time
from typing import Any, Callable, Iterator

from .._launch_line import quoted
from ..field.images import Unreadable, named, say
from .launch import check_gstreamer, frames, has_element
from .options import add_search, count, seconds, settings
from .pipeline import matcher, source, writer
from .reports import THUMBNAIL, Expectation, Interval, Report, check, write

#: s, the least that is waited for the first frame: templates are read before it.
FIRST = 30

_EPILOG = """
The labels are the names of the images in DIR; a file templates.yaml there has regions and thresholds of single ones.
Each line of the file for --expect says what has to appear, and how many seconds after the first frame at the latest:

  # after a restart
  logo within 5 s
  main menu within 20 s

The exit status is 0 where everything expected has appeared, or where something has if nothing is expected; 1 where not;
2 where the source could not be read to its end, or a report not be written; 130 where it was interrupted, with reports
of what there was until then. A live source with --expect ends as soon as that is decided.
"""


def add_to(commands: Any) -> None:
    parser = commands.add_parser("watch", help="says when pictures appear on a screen and when they are gone (with "
                                 "GStreamer)",
                                 epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input", metavar="SOURCE", help="a file, an address such as rtsp://..., or the number of a "
                        "camera")
    parser.add_argument("--templates", required=True, metavar="DIR", help="the folder of the pictures")
    parser.add_argument("--expect", metavar="FILE", help="lines such as: main menu within 20 s")
    parser.add_argument("--report", action="append", default=[], metavar="FILE",
                        help="a report with thumbnails: .html, .json or, as JUnit, .xml; may be repeated")
    parser.add_argument("--for", type=seconds, metavar="SECONDS", dest="seconds", help="end after so much of the "
                        "source")
    parser.add_argument("--stall", type=seconds, default=10, metavar="SECONDS",
                        help=f"give up where no frame comes for so long; the first one has {FIRST} (%(default)g)")
    parser.add_argument("--appear-frames", type=count, default=2, metavar="N",
                        help="that confirm that it is there (%(default)s)")
    parser.add_argument("--gone-frames", type=count, default=2, metavar="N",
                        help="that confirm that it is gone (%(default)s)")
    parser.add_argument("--interval", type=count, default=1, metavar="N", help="look at every Nth frame (%(default)s)")
    parser.add_argument("-f", "--format", choices=("table", "json"), default="table",
                        help="of the line for an event (%(default)s)")
    add_search(parser, template_required=False)
    parser.set_defaults(run=run, threshold=0.9)


def read_expectations(path: str | None) -> list[Expectation]:
    """Of the file of --expect. Raises Unreadable."""
    if not path:
        return []
    try:
        lines = pathlib.Path(path).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable(named(path, error)) from None
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        parts = re.fullmatch(r"\s*(.*\S)\s+within\s+(\d{1,9}(?:\.\d+)?)\s*s\s*", line)
        if not parts:
            raise Unreadable(f"{path}: line {number}: it is LABEL within SECONDS s, not {line.strip()!r}")
        found.append(Expectation(parts[1], float(parts[2])))
    if not found:
        raise Unreadable(f"{path}: nothing is expected")
    return found


def is_live(text: str) -> bool:
    return text.isdigit() or "://" in text and not text.startswith("file:")


def words_of(options: argparse.Namespace, lines: int, thumbnails: int | None) -> list[str]:
    """Of the command gst-launch-1.0; lines and small frames go to these descriptors.

    Nothing brings frames out of a GPU's memory but what makes thumbnails, and that sees only frames where labels come
    or go. Where decoders can be ahead several frames are searched at a time.
    """
    element = matcher(options, options.template, False)
    element += [f"templates-dir={quoted(pathlib.Path(options.templates).resolve())}", "events=true", "subpixel=none",
                f"appear-frames={options.appear_frames}", f"gone-frames={options.gone_frames}",
                f"interval={options.interval}", "post-messages=false", "attach-roi-meta=false"]
    element += [] if is_live(options.input) else ["async-depth=4"]
    end = ["fakesink", "sync=false"]
    if thumbnails is not None:
        width, height = THUMBNAIL
        end = [*(["cudadownload", "!"] if has_element("cudadownload") else []), "videoscale", "!", "videoconvert", "!",
               f"video/x-raw,format=RGB,width={width},height={height},pixel-aspect-ratio=1/1", "!", "fdsink",
               f"fd={thumbnails}", "sync=false"]
    return ["gst-launch-1.0", "-e", *source(options.input), "!", "videoconvert", "!", "queue", "max-size-buffers=4",
            "!", *element, "!", *writer(lines), "changes=true", "!", *end]


class Watch:
    """Takes the lines of frames, one after another."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self._begin: int | None = None
        self._starts: dict[str, tuple[Any, bytes]] = {}  # of labels, when they were first seen in a row
        self._latest: dict[str, bytes] = {}
        self._before = b""  # of the analysed frame before, where that has a thumbnail
        self._had_one = False
        self._there: dict[str, Interval] = {}

    def seconds(self, running_time: int | None) -> float | None:
        """Since the first frame."""
        if running_time is None:
            return None
        return (running_time - (self._begin or 0)) / 1e9

    def take(self, line: dict[str, Any], thumbnail: Callable[[], bytes]) -> list[dict[str, Any]]:
        """The events of that frame, with `at`, seconds since the first frame. `thumbnail` gives the next one."""
        report, now = self.report, line["running-time"]
        if self._begin is None:
            self._begin = now
        self.see(line, thumbnail)
        report.frames += 1
        report.seconds = self.seconds(now) or report.seconds
        report.size = line.get("frame-width", 0), line.get("frame-height", 0)
        if line.get("analysed"):
            report.analysed += 1
        for event in line.get("events", ()):
            self._note(event)
        self._judge(report.seconds)
        return [event | {"at": self.seconds(event["first-running-time" if event["event"] == "appeared"
                                                  else "last-running-time"])} for event in line.get("events", ())]

    def see(self, line: dict[str, Any], thumbnail: Callable[[], bytes]) -> None:
        """Frames have a thumbnail where labels come or go, and the first one has: as xcorrjson passes them on."""
        came, left = line["came"], line["left"]
        if left and not self._had_one:
            self._before = thumbnail()
        for label in left:
            self._starts.pop(label, None)
            self._latest[label] = self._before
        has_one = bool(came) or not self.report.frames
        current = thumbnail() if has_one else b""
        for label in came:
            self._starts[label] = line["running-time"], current
        if line.get("analysed"):
            self._before, self._had_one = current, has_one

    def _note(self, event: dict[str, Any]) -> None:
        label, peak = event["label"], event["peak"]
        if event["event"] == "appeared":
            start = self._starts.get(label, (None, b""))
            interval = Interval(label, self.seconds(event["first-running-time"]), event.get("first-utc"), peak,
                                event["unanalysed"], start[1] if start[0] == event["first-running-time"] else b"")
            self._there[label] = interval
            self.report.intervals.append(interval)
            for expected in self.report.expectations:
                if expected.label == label and expected.met is None and (interval.first or 0) <= expected.within:
                    expected.met, expected.interval = True, interval
        elif label in self._there:
            interval = self._there.pop(label)
            interval.last, interval.last_utc = self.seconds(event["last-running-time"]), event.get("last-utc")
            interval.last_peak, interval.unanalysed_after = peak, event["unanalysed"]
            interval.last_thumbnail = self._latest.pop(label, b"")

    def _judge(self, now: float) -> None:
        """What is seen already may still be confirmed as of a frame in time."""
        for expected in self.report.expectations:
            if expected.met is None and now > expected.within:
                start = self._starts.get(expected.label)
                if not start or (self.seconds(start[0]) or 0) > expected.within:
                    expected.met = False

    def end(self, thumbnail: bytes) -> None:
        """`thumbnail` came last: of the frame that shows last what is still there, where that has none yet."""
        for label, interval in self._there.items():
            interval.last_thumbnail = (thumbnail or self._before if label in self._starts
                                       else self._latest.get(label, b""))
        for expected in self.report.expectations:
            expected.met = bool(expected.met)


def shown(text: str) -> str:
    """For a terminal, which obeys some characters."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def text_of(event: dict[str, Any]) -> str:
    peak, at = event["peak"], event["at"]
    utc = event.get("first-utc" if event["event"] == "appeared" else "last-utc", "")
    beside = "after" if event["event"] == "appeared" else "before"
    between = f"  {beside} unanalysed frames: {event['unanalysed']}" if event["unanalysed"] else ""
    return (f"{'?' if at is None else f'{at:.3f}':>10} s  {event['event']:<8}  {shown(event['label'])}  at "
            f"{peak['x']:.0f},{peak['y']:.0f}  score {peak['score']:.4g}  {utc}{between}").rstrip()


def _check(options: argparse.Namespace) -> None:
    if not pathlib.Path(options.templates).is_dir():
        raise Unreadable(f"{options.templates}: there is no such folder")
    for path in options.report:
        check(path)
    settings(options)


def _unknown(expectations: list[Expectation], folder: str) -> list[str]:
    """Labels that neither an image has as its name nor `templates.yaml` names."""
    rules = pathlib.Path(folder, "templates.yaml")
    text = rules.read_text(encoding="utf-8", errors="replace") if rules.is_file() else ""
    names = {each.stem for each in pathlib.Path(folder).iterdir()}
    return [each.label for each in expectations if each.label not in names and each.label not in text]


class _Lines:
    """Standard output, for who reads it. Where nobody does any more a report or a verdict may still be waited for."""

    def __init__(self, goes_on: bool) -> None:
        self._goes_on, self._ended = goes_on, False
        self.failed: list[str] = []

    def write(self, line: str) -> None:
        if self._ended:
            return
        try:
            print(line, flush=True)
        except OSError as error:
            if not self._goes_on:
                raise
            self._ended = True
            self.failed += [named("standard output", error)] * (not isinstance(error, BrokenPipeError))
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left in its buffer goes there


@contextlib.contextmanager
def _interrupted_by_terminate() -> Iterator[None]:
    """SIGTERM, of a test runner whose time is over, ends it as ctrl-C does: with reports."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _follow(options: argparse.Namespace, watch: Watch, lines: _Lines) -> bytes:
    """Until the end. Returns the last frame's thumbnail."""
    report, last = watch.report, b""

    def enough() -> bool:
        decided = bool(report.expectations) and all(each.met is not None for each in report.expectations)
        return is_live(options.input) and decided or bool(options.seconds) and report.seconds >= options.seconds

    size = 3 * THUMBNAIL[0] * THUMBNAIL[1] if options.report else 0
    for line, thumbnail in frames(lambda *descriptors: words_of(options, *descriptors), options.input,
                                  first=max(options.stall, FIRST), stall=options.stall, block=size, enough=enough):
        if not line:
            last = thumbnail()
        elif enough():  # for the pictures of what is still there
            watch.see(json.loads(line), thumbnail)
        else:
            for event in watch.take(json.loads(line), thumbnail):
                lines.write(json.dumps(event) if options.format == "json" else text_of(event))
    if not report.frames:
        raise Unreadable(f"{options.input}: there was no frame")
    return last


def _written(report: Report, paths: list[str]) -> list[str]:
    """What was wrong with those that could not be."""
    failed = []
    for path in paths:
        try:
            write(report, path)
        except Unreadable as error:
            failed.append(str(error))
    return failed


def run(options: argparse.Namespace) -> int:
    _check(options)
    report = Report(options.input, options.templates, read_expectations(options.expect))
    for label in _unknown(report.expectations, options.templates):
        say(f"{shown(label)} is expected, and nothing in {options.templates} is called so")
    check_gstreamer()
    watch, lines = Watch(report), _Lines(bool(options.report or report.expectations))
    begun, last, interrupted = time.time(), b"", False
    with _interrupted_by_terminate():
        try:
            last = _follow(options, watch, lines)
        except Unreadable as error:
            report.error = str(error)
        except KeyboardInterrupt:
            interrupted, report.error = True, "it was interrupted"
    watch.end(last)
    report.took = time.time() - begun
    failed = lines.failed + _written(report, options.report)
    for expected in report.expectations:
        said = "appeared" if expected.met else "did not appear"
        print(f"{shown(expected.label)}: {said} within {expected.within:g} s", file=sys.stderr)
    for text in [report.error] * bool(report.error) + failed:
        say(text)
    if interrupted:
        return 130
    return 2 if report.error or failed else 0 if report.passed else 1
