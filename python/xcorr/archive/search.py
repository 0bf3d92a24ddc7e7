# SPDX-License-Identifier: LGPL-2.1-or-later
"""The work itself: a unit is decoded and searched by GStreamer, in this process."""
from __future__ import annotations

import json
import os
import pathlib
import tempfile
from typing import Any

from .._gstreamer import Gst, matcher, play, running
from .._launch_line import quoted
from . import stacks
from .units import Unit, put_part

# Frames just before a key frame may be stored behind it.
BEHIND = Gst.SECOND

# The context on the GPU of the search before in this process, which would else be made anew for each unit, and all its
# kernels loaded again. A search that misses frames or warns leaves none: a fault of a GPU stays with its context.
CUDA = "gst.cuda.context"
kept: list[Any] = []


class Incomplete(RuntimeError):
    """Not all frames of a unit could be searched."""


def search_unit(unit: Unit, folder: str | pathlib.Path) -> tuple[int, list[str]]:
    """Searches the frames of a unit and writes its part into the folder.

    Returns how many frames that were, and what GStreamer warned of.
    """
    found, warnings = results_of(unit, seek=True)
    if len(found) < len(unit.times) and not stacks.is_stack(unit.file):
        found, warnings = results_of(unit, seek=False)  # of a file in which seeking does not lead where it should
    if len(found) < len(unit.times):
        raise Incomplete(f"{len(unit.times) - len(found)} of its frames {unit.first} to {unit.last - 1} cannot be "
                         f"searched: {'; '.join(warnings) or 'they cannot be decoded'}")
    put_part(folder, unit, [found[time] for time in unit.times])
    return len(unit.times), warnings


def results_of(unit: Unit, seek: bool) -> tuple[dict[int, dict[str, Any]], list[str]]:
    """The line of each frame of the unit that was searched, by its time, and what GStreamer warned of."""
    warnings: list[str] = []
    stack = stacks.is_stack(unit.file)
    source = ("appsrc name=source format=time block=true max-buffers=4" if stack else
              f"filesrc location={quoted(unit.file)} ! decodebin")
    with tempfile.TemporaryDirectory(prefix="xcorr-") as folder:
        lines = pathlib.Path(folder, "lines")
        # Without waiting for a first frame, which may be none of the unit's.
        line = (f"{source} ! videoconvert name=decoded ! "
                f"{matcher(unit.search.templates, dict(unit.search.settings))} ! "
                f"xcorrjson location={quoted(lines)} ! fakesink sync=false async=false")

        def prepare(pipeline: Any) -> None:
            let_through(pipeline.get_by_name("decoded"), set(unit.times), seek)
            while kept:
                pipeline.set_context(kept.pop())

        with running(line, warnings, prepare, local=True) as pipeline:
            if stack:
                pipeline.set_state(Gst.State.PLAYING)
                stacks.push(pipeline, unit)
            elif seek and unit.first:
                pipeline.seek(1.0, Gst.Format.TIME, Gst.SeekFlags.FLUSH | Gst.SeekFlags.ACCURATE, Gst.SeekType.SET,
                              unit.times[0], Gst.SeekType.SET, unit.times[-1] + BEHIND)
            play(pipeline)
            context = pipeline.get_context(CUDA)
        with open(lines, encoding="utf-8") as file:
            found = {result["stream-time"]: result for result in map(json.loads, file) if result.get("analysed")}
    if context and not warnings and len(found) == len(unit.times):
        kept.append(context)
    return found, list(dict.fromkeys(warnings))


def let_through(element: Any, times: set[int], end: bool) -> None:
    """Only frames with these stream times reach the element; if `end`, the first one behind them ends the stream.

    Whatever else is decoded, before a unit and behind it, costs no search.
    """
    last = max(times)

    def look(pad: Any, info: Any) -> Any:
        segment = pad.get_sticky_event(Gst.EventType.SEGMENT, 0).parse_segment()
        time = segment.to_stream_time(Gst.Format.TIME, info.get_buffer().pts)
        if time in times:
            return Gst.PadProbeReturn.OK
        if end and last < time != Gst.CLOCK_TIME_NONE:
            pad.send_event(Gst.Event.new_eos())
        return Gst.PadProbeReturn.DROP

    element.get_static_pad("sink").add_probe(Gst.PadProbeType.BUFFER, look)


def readable(file: str) -> str:
    """The absolute path of a file that can be read, or an OSError."""
    with open(file, "rb"):
        return os.path.abspath(file)
