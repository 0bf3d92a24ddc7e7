# SPDX-License-Identifier: LGPL-2.1-or-later
"""cudaxcorr as a tracker: a pipeline with the properties that are given, its places from xcorrjson."""
import json
import pathlib
import shlex
import tempfile
import time

import numpy as np

from .sequences import GLib, Gst, Unusable

FRAME_NS = 40_000_000
AHEAD = 4  # frames that wait for the element
ALWAYS = 'track=true post-messages=false attach-roi-meta=false'


class Refused(Unusable):
    """What the element warns of, such as a template without contrast."""


def caps_of(image):
    height, width, _ = image.shape
    return Gst.Caps.from_string(f'video/x-raw,format=BGR,width={width},height={height},framerate=25/1')


def buffer_of(image, index=0):
    height, width, _ = image.shape
    rows = np.zeros((height, -(-3 * width // 4) * 4), np.uint8)  # GStreamer's rows begin at multiples of 4
    rows[:, :3 * width] = image.reshape(height, 3 * width)
    buffer = Gst.Buffer.new_wrapped(rows.tobytes())
    buffer.pts, buffer.duration = index * FRAME_NS, FRAME_NS
    return buffer


class Element:
    """Follows targets with the properties of `settings`, words such as template-update=0.1."""

    version = Gst.version_string()

    def __init__(self, settings):
        self.settings = settings
        self.name = f'cudaxcorr {settings}'.strip()

    def follow(self, sequence, start):
        """(the boxes from frame `start` on with their confidence, ms of the CPU a frame). The target is what the truth
        shows there."""
        x, y, w, h = np.rint(sequence.truth[start]).astype(int)
        x, y = max(x, 0), max(y, 0)
        lines, ms = self.run(sequence.frames[start:], sequence.frames[start][y:y + h, x:x + w])
        return places([line['peaks'] for line in lines], (x, y)), ms

    def run(self, frames, patch):
        """(what xcorrjson says of each frame, ms of the CPU a frame without what this thread does: feeding)."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, 'places.jsonl')
            try:
                pipeline = Gst.parse_launch(
                    f'appsrc name=source max-bytes=0 format=time ! cudaxcorr name=finder {ALWAYS} {self.settings} ! '
                    f'xcorrjson location={shlex.quote(str(path))} ! fakesink sync=false')
            except GLib.Error as why:
                raise Unusable(f'{self.name}: {why.message}') from None
            source = pipeline.get_by_name('source')
            source.set_property('caps', caps_of(frames[0]))
            pipeline.get_by_name('finder').set_property(
                'template-sample', Gst.Sample.new(buffer_of(patch), caps_of(patch), None, None))
            before = time.process_time() - time.thread_time()
            pipeline.set_state(Gst.State.PLAYING)
            try:
                for index, frame in enumerate(frames):
                    while source.get_property('current-level-buffers') >= AHEAD:
                        self.ended(pipeline, Gst.MSECOND)
                    source.push_buffer(buffer_of(frame, index))
                source.end_of_stream()
                while not self.ended(pipeline, Gst.SECOND):
                    pass
                took = time.process_time() - time.thread_time() - before
            finally:
                pipeline.set_state(Gst.State.NULL)
            lines = [json.loads(line) for line in path.read_text(encoding='utf-8').splitlines()]
        if len(lines) != len(frames) or not all(line['analysed'] for line in lines):
            raise Unusable(f'{self.name}: not every frame was analysed')
        return lines, 1000 * took / len(frames)

    def ended(self, pipeline, patience):
        """Whether the stream ends within so many ns. A warning means that something else would be measured."""
        message = pipeline.get_bus().timed_pop_filtered(
            patience, Gst.MessageType.EOS | Gst.MessageType.ERROR | Gst.MessageType.WARNING)
        if message and message.type != Gst.MessageType.EOS:
            fault = message.parse_error() if message.type == Gst.MessageType.ERROR else message.parse_warning()
            raise Refused(f'{self.name}: {fault[0].message}')
        return message is not None


def places(frames, shown):
    """One target's boxes, and how sure each is, from the peaks of each frame: that of the track which begins nearest to
    where the target was shown and, when this track has ended, of the best one that is seen."""
    followed = None
    boxes = np.full((len(frames), 5), np.nan)
    for box, peaks in zip(boxes, frames):
        tracks = {peak['id']: peak for peak in peaks}
        seen = [peak for peak in peaks if not peak['lost']]
        if followed not in tracks and seen:
            followed = (max(seen, key=lambda peak: peak['score']) if followed else
                        min(seen, key=lambda peak: np.hypot(peak['x'] - shown[0], peak['y'] - shown[1])))['id']
        if followed in tracks and not tracks[followed]['lost']:
            box[:] = [tracks[followed][name] for name in ('x', 'y', 'width', 'height', 'confidence')]
    return boxes
