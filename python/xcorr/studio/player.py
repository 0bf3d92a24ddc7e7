# SPDX-License-Identifier: LGPL-2.1-or-later
"""The pipeline behind the page: a source, `cudaxcorr`, `xcorrjson`, and a sink that hands out each frame with its
results.

Results come as `xcorrjson` writes them, by a named pipe; a line belongs to the frame with its timestamp. Nothing here
waits for a page. All functions but the callbacks are for one thread at a time.
"""
from __future__ import annotations

import itertools
import json
import os
import pathlib
import queue
import tempfile
import threading
import time
from typing import Any, Callable, NamedTuple

from .._gstreamer import Gst, PipelineError, change, keep_local
from ..command.pipeline import source as source_words
from ..field.images import SUFFIXES

PATIENCE = 5  # s, for the results of a frame, which were written before it came
NEXT = Gst.SECOND // 20  # until the next frame, where frames have no duration
STILL = "video/x-raw,framerate=5/1"  # of a picture, which is searched again as often while it "plays"


_NUMBERS = itertools.count(1)  # of frames of all players, so that none of another source is taken for one of this

#: What an event is about.
TOLD = {"appeared": "first-running-time", "gone": "last-running-time"}


class Frame(NamedTuple):
    number: int
    sample: Any
    results: dict[str, Any]
    taken: float  # by time.monotonic
    before: Any  # the sample right before it in the source, or None


def sample_before(results: dict[str, Any], last: Frame | None) -> Any:
    """As the frame taken last knows it, which may be the same one, searched again."""
    if last is None or results["stream-time"] is None or last.results["stream-time"] is None:
        return None
    since = results["stream-time"] - last.results["stream-time"]
    if since == 0:
        return last.before
    return last.sample if 0 < since <= max(1.5 * (last.results["duration"] or 0), NEXT) else None


def kind_of(source: str) -> str:
    if source.isdigit() or "://" in source:
        return "live"
    return "picture" if pathlib.Path(source).suffix.lower() in SUFFIXES else "video"


class Player:
    """Plays one source. `on_frame` gets each Frame in GStreamer's thread, `on_event` a name and a text from another."""

    def __init__(self, source: str, on_frame: Callable[[Frame], None], on_event: Callable[[str, str], None],
                 device: str = "auto") -> None:
        self.kind, self.playing, self.rate = kind_of(source), False, 1.0
        self._on_frame, self._on_event = on_frame, on_event
        self._last: Frame | None = None
        self._properties: dict[str, str] = {}
        self._prerolled: int | None = None
        self._flushing = False
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._folder = tempfile.TemporaryDirectory(prefix="xcorr-studio-")
        pipe = str(pathlib.Path(self._folder.name) / "results")
        os.mkfifo(pipe)
        self._pipe = os.open(pipe, os.O_RDWR)  # also a writer: the reader never sees an end
        self._closed = threading.Event()
        self._pipeline = self._make(source, pipe, device)
        self.matcher = self._pipeline.get_by_name("match")
        refused = keep_local(self._pipeline) if self.kind != "live" else set()
        self._threads = [threading.Thread(target=each, daemon=True) for each in (self._read, self._listen)]
        try:
            self._threads[0].start()
            change(self._pipeline, Gst.State.PAUSED)
        except BaseException as error:
            self.close()
            if refused and isinstance(error, PipelineError):
                raise PipelineError(f"it is for {', '.join(sorted(refused))}, and would open what it names: a file "
                                    "must not") from error
            raise
        self._threads[1].start()

    def _make(self, source: str, pipe: str, device: str) -> Any:
        if not Gst.ElementFactory.find("cudaxcorr"):
            raise PipelineError("GStreamer has no element cudaxcorr: set GST_PLUGIN_PATH_1_0 to the folder of "
                                "libgstcudaxcorr.so; xcorr doctor says more")
        name, _, ordinal = device.partition(":")
        still = ["!", "imagefreeze", "!", STILL] if self.kind == "picture" else []
        words = [*source_words(source), *still, "!", "videoconvert", "!", "cudaxcorr", "name=match",
                 "post-messages=false", "attach-roi-meta=false", "events=true", f"backend={name}",
                 *[f"cuda-device-id={ordinal}"] * bool(ordinal), "!", "xcorrjson", f"location={pipe}", "!", "appsink",
                 "name=frames", "emit-signals=true", "max-buffers=1"]
        pipeline = Gst.parse_launchv(words)
        sink = pipeline.get_by_name("frames")
        sink.get_static_pad("sink").add_probe(Gst.PadProbeType.EVENT_FLUSH, self._flush)
        sink.connect("new-preroll", self._take, "try-pull-preroll")
        sink.connect("new-sample", self._take, "try-pull-sample")
        return pipeline

    # What threads do.

    def _read(self) -> None:
        with os.fdopen(os.dup(self._pipe), encoding="utf-8") as lines:
            for line in lines:
                if self._closed.is_set():
                    return
                self._lines.put(line)

    def _results_of(self, timestamp: int) -> dict[str, Any]:
        """Lines of frames that a flush took away are passed over. Raises queue.Empty."""
        end = time.monotonic() + PATIENCE
        while not self._flushing and not self._closed.is_set():
            try:
                results: dict[str, Any] = json.loads(self._lines.get(timeout=0.05))
            except queue.Empty:
                if time.monotonic() > end:
                    raise
                continue
            if results["timestamp"] == timestamp or timestamp == Gst.CLOCK_TIME_NONE:
                return results
        raise queue.Empty

    def _flush(self, _: Any, info: Any) -> Any:
        """Between the two events no frame comes: what was written before is of frames that never will."""
        self._flushing = info.get_event().type == Gst.EventType.FLUSH_START
        while not self._flushing and not self._lines.empty():
            self._lines.get()
        self._prerolled = None
        return Gst.PadProbeReturn.OK

    def _take(self, sink: Any, how: str) -> Any:
        pulled = sink.emit(how, 0)
        if pulled is None or self._closed.is_set():
            return Gst.FlowReturn.OK
        sample = Gst.Sample.new(pulled.get_buffer(), pulled.get_caps(), None, None)  # the sink writes to its own again
        timestamp = sample.get_buffer().pts
        if how == "try-pull-sample" and timestamp == self._prerolled:  # it was shown while the pipeline stood still
            self._prerolled = None
            return Gst.FlowReturn.OK
        self._prerolled = timestamp if how == "try-pull-preroll" else None
        try:
            results = self._results_of(timestamp)
        except queue.Empty:
            return Gst.FlowReturn.OK
        self._last = Frame(next(_NUMBERS), sample, results, time.monotonic(), sample_before(results, self._last))
        self._on_frame(self._last)
        return Gst.FlowReturn.OK

    def _listen(self) -> None:
        bus = self._pipeline.get_bus()
        while not self._closed.is_set():
            message = bus.timed_pop_filtered(Gst.SECOND // 10, Gst.MessageType.ERROR | Gst.MessageType.WARNING |
                                             Gst.MessageType.EOS)
            if message is None:
                continue
            if message.type == Gst.MessageType.EOS:
                self._on_event("end", "")
            elif message.type == Gst.MessageType.ERROR:
                self._on_event("error", message.parse_error()[0].message)
            else:
                self._on_event("warning", message.parse_warning()[0].message)

    # What the page asks for.

    def close(self) -> None:
        self._closed.set()
        self._pipeline.set_state(Gst.State.NULL)
        os.write(self._pipe, b"\n")  # wakes the reader
        for thread in self._threads:
            if thread.is_alive() and thread is not threading.current_thread():
                thread.join(PATIENCE)
        os.close(self._pipe)
        self._folder.cleanup()

    def duration(self) -> float | None:
        """In seconds, where the source has an end."""
        there, length = self._pipeline.query_duration(Gst.Format.TIME)
        return length / Gst.SECOND if there and self.kind == "video" else None

    def play(self, playing: bool, rate: float = 1.0) -> None:
        if self.kind == "video" and rate != self.rate:
            self.rate = rate
            self._seek(self._position())
        self.playing = playing
        if playing:
            self._follow(True)
        self._pipeline.set_state(Gst.State.PLAYING if playing else Gst.State.PAUSED)

    def _position(self) -> int:
        return int(self._last.results["stream-time"] or 0) if self._last else 0

    def _follow(self, really: bool) -> None:
        """A frame that is searched again and again, standing still, confirms no track: there are matches then."""
        track = really and self._properties.get("track") == "true"
        Gst.util_set_object_arg(self.matcher, "track", "true" if track else "false")

    def _seek(self, position: int) -> None:
        self._follow(self.playing)
        kinds = Gst.SeekFlags.FLUSH | Gst.SeekFlags.ACCURATE
        start, stop = (position, -1) if self.rate > 0 else (0, position)  # -1: none, also where there was one
        self._pipeline.seek(self.rate, Gst.Format.TIME, kinds, Gst.SeekType.SET, start, Gst.SeekType.SET, stop)

    def seek(self, seconds: float) -> None:
        if self.kind == "video":
            self._seek(int(seconds * Gst.SECOND))

    def again(self) -> None:
        """From where the end has been reached."""
        self._seek(0 if self.rate > 0 else int((self.duration() or 0) * Gst.SECOND))

    def step(self, frames: int) -> None:
        """So many frames on or back, standing still."""
        if self.kind != "video" or self._last is None:
            return
        self.play(False)
        self._pipeline.get_state(PATIENCE * Gst.SECOND)  # a step before the frame that stands there would be lost
        if frames > 0:
            self._follow(True)
            self._pipeline.send_event(Gst.Event.new_step(Gst.Format.BUFFERS, frames, 1.0, True, False))
        else:
            self._seek(max(0, self._position() + frames * int(self._last.results["duration"] or Gst.SECOND // 25)))

    def set(self, properties: dict[str, str]) -> None:
        for name, value in properties.items():
            if self._properties.get(name) != value:
                Gst.util_set_object_arg(self.matcher, name, value)
        self._properties = properties
        self._search_again()

    def add(self, path: str, label: str) -> int:
        """The id of the template, or 0, of which a warning says why."""
        made = int(self.matcher.emit("add-template-file", path, label))
        self._search_again()
        return made

    def remove(self, template: int) -> None:
        self.matcher.emit("remove-template", template)
        self._search_again()

    def _search_again(self) -> None:
        """The frame that stands still shows what has changed."""
        if not self.playing and self.kind != "live":
            self._seek(self._position())
