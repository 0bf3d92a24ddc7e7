# SPDX-License-Identifier: LGPL-2.1-or-later
"""The work itself: a unit is decoded and searched by GStreamer, in this process."""
import json
import os
import pathlib
import tempfile

from .._gstreamer import Gst, change, matcher, play, quoted, running
from .units import put_part

# Frames just before a key frame may be stored behind it.
BEHIND = Gst.SECOND


class Incomplete(RuntimeError):
    """Not all frames of a unit could be decoded."""


def search_unit(unit, folder):
    """Searches the frames of a unit and writes its part into the folder. Returns how many frames that were."""
    found = results_of(unit, seek=True)
    if len(found) < len(unit.times):
        found = results_of(unit, seek=False)  # of a file in which seeking does not lead where it should
    if len(found) < len(unit.times):
        raise Incomplete(f"{len(unit.times) - len(found)} of its frames {unit.first} to {unit.last - 1} cannot be "
                         "decoded")
    put_part(folder, unit, [found[time] for time in unit.times])
    return len(unit.times)


def results_of(unit, seek):
    """The line of each frame of the unit that was decoded, by its time."""
    wanted = set(unit.times)
    with tempfile.TemporaryDirectory(prefix="xcorr-") as folder:
        lines = pathlib.Path(folder, "lines")
        line = (f"filesrc location={quoted(unit.file)} ! decodebin ! videoconvert ! "
                f"{matcher(unit.search.templates, dict(unit.search.settings))} ! "
                f"xcorrjson location={quoted(lines)} ! fakesink sync=false")
        with running(line) as pipeline:
            if seek:
                pipeline.seek(1.0, Gst.Format.TIME, Gst.SeekFlags.FLUSH | Gst.SeekFlags.ACCURATE, Gst.SeekType.SET,
                              unit.times[0], Gst.SeekType.SET, unit.times[-1] + BEHIND)
                change(pipeline, Gst.State.PAUSED)
            play(pipeline)
        with open(lines, encoding="utf-8") as file:
            results = map(json.loads, file)
            return {result["stream-time"]: result for result in results
                    if result["stream-time"] in wanted and result.get("analysed")}


def readable(file):
    """The absolute path of a file that can be read, or an OSError."""
    with open(file, "rb"):
        return os.path.abspath(file)
