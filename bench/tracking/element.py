# SPDX-License-Identifier: LGPL-2.1-or-later
"""cudaxcorr as a tracker: a pipeline with the properties that are given, its places from xcorrjson."""
import json
import pathlib
import resource
import shlex
import tempfile

import numpy as np

from .sequences import GLib, Gst, Unusable

FRAME_NS = 40_000_000
ALWAYS = 'track=true post-messages=false attach-roi-meta=false'


def caps_of(picture):
    height, width, _ = picture.shape
    return Gst.Caps.from_string(f'video/x-raw,format=BGR,width={width},height={height},framerate=25/1')


def buffer_of(picture, index=0):
    height, width, _ = picture.shape
    rows = np.zeros((height, -(-3 * width // 4) * 4), np.uint8)  # GStreamer's rows begin at multiples of 4
    rows[:, :3 * width] = picture.reshape(height, 3 * width)
    buffer = Gst.Buffer.new_wrapped(rows.tobytes())
    buffer.pts, buffer.duration = index * FRAME_NS, FRAME_NS
    return buffer


class Element:
    """Follows targets with the properties of `settings`, words such as template-update=0.1."""

    def __init__(self, settings):
        self.settings = settings

    def follow(self, sequence, start):
        """(the boxes from frame `start` on, ms of the CPU a frame). The target is what the truth shows there."""
        x, y, w, h = np.rint(sequence.truth[start]).astype(int)
        x, y = max(x, 0), max(y, 0)
        lines, ms = self.run(sequence.frames[start:], sequence.frames[start][y:y + h, x:x + w])
        return places([line['peaks'] for line in lines], (x, y)), ms

    def run(self, frames, patch):
        """(what xcorrjson says of each frame, ms of the process's CPU a frame)."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, 'places.jsonl')
            try:
                pipeline = Gst.parse_launch(
                    f'appsrc name=source max-bytes=0 format=time ! cudaxcorr name=finder {ALWAYS} {self.settings} ! '
                    f'xcorrjson location={shlex.quote(str(path))} ! fakesink sync=false')
            except GLib.Error as why:
                raise Unusable(f'cudaxcorr {self.settings}: {why.message}') from None
            source = pipeline.get_by_name('source')
            source.set_property('caps', caps_of(frames[0]))
            pipeline.get_by_name('finder').set_property(
                'template-sample', Gst.Sample.new(buffer_of(patch), caps_of(patch), None, None))
            for index, frame in enumerate(frames):
                source.push_buffer(buffer_of(frame, index))
            source.end_of_stream()
            before = cpu_seconds()
            try:
                pipeline.set_state(Gst.State.PLAYING)
                self.wait(pipeline.get_bus())
                took = cpu_seconds() - before
            finally:
                pipeline.set_state(Gst.State.NULL)
            lines = [json.loads(line) for line in path.read_text(encoding='utf-8').splitlines()]
        if len(lines) != len(frames) or not all(line['analysed'] for line in lines):
            raise Unusable(f'cudaxcorr {self.settings}: not every frame was analysed')
        return lines, 1000 * took / len(frames)

    def wait(self, bus):
        """Until the end of the stream. A warning would mean that other settings are measured than given."""
        message = bus.timed_pop_filtered(Gst.CLOCK_TIME_NONE,
                                         Gst.MessageType.EOS | Gst.MessageType.ERROR | Gst.MessageType.WARNING)
        if message.type != Gst.MessageType.EOS:
            fault = message.parse_error() if message.type == Gst.MessageType.ERROR else message.parse_warning()
            raise Unusable(f'cudaxcorr {self.settings}: {fault[0].message}')


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def places(frames, shown):
    """One target's boxes from the peaks of each frame: that of the track which begins nearest to where the target
    was shown and, when this track has ended, of the best one that is seen."""
    followed = None
    boxes = np.full((len(frames), 4), np.nan)
    for box, peaks in zip(boxes, frames):
        tracks = {peak['id']: peak for peak in peaks}
        seen = [peak for peak in peaks if not peak['lost']]
        if followed not in tracks and seen:
            followed = (max(seen, key=lambda peak: peak['score']) if followed else
                        min(seen, key=lambda peak: np.hypot(peak['x'] - shown[0], peak['y'] - shown[1])))['id']
        if followed in tracks and not tracks[followed]['lost']:
            box[:] = [tracks[followed][side] for side in ('x', 'y', 'width', 'height')]
    return boxes
