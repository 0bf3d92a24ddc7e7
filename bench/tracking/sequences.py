# SPDX-License-Identifier: LGPL-2.1-or-later
"""Sequences with ground truth: folders of numbered images, or a video, with a text file of boxes.

A row of that file is a frame. Numbers are separated by commas, semicolons or white space; four are
x, y, width, height or the corners x1, y1, x2, y2; six the frame's number, x, y, width, height and 1 where the target
is not in view; eight the corners of a polygon, whose bounding box counts. NaN, or a box without extent, is a frame in
which the target is not in view.
"""
import dataclasses
import pathlib
import re

import gi
import numpy as np

gi.require_version('Gst', '1.0')
gi.require_version('GstVideo', '1.0')
gi.require_version('GstApp', '1.0')
# pylint: disable=wrong-import-position
from gi.repository import GLib, Gst, GstApp, GstVideo  # noqa: E402,F401  # GstApp: appsink's methods

Gst.init(None)

TRUTHS = ('groundtruth_rect.txt', 'groundtruth.txt', 'gt.txt')
IMAGES = {'.jpg': 'image/jpeg,framerate=25/1 ! jpegparse ! avdec_mjpeg', '.png': 'image/png,framerate=25/1 ! pngdec',
            '.bmp': 'image/bmp,framerate=25/1 ! avdec_bmp', '.pgm': 'image/x-portable-graymap,framerate=25/1 ! pnmdec'}
VIDEOS = ('.mpg', '.mpeg', '.avi', '.mp4', '.mkv', '.mov', '.webm')
FORMATS = ('xywh', 'corners')  # of rows of four numbers
LEAST_SIDE = 8  # pixels of a box at which a run may start


class Unusable(Exception):
    """Why a sequence cannot be used."""


@dataclasses.dataclass(frozen=True)
class Sequence:
    """`frames`: arrays of height x width x 3 bytes, blue first; `truth`: one box per frame."""
    name: str
    frames: list
    truth: np.ndarray

    def starts(self, count):
        """Frames that lie evenly in the first 60 % and show the whole target, or the next ones that do."""
        height, width, _ = self.frames[0].shape
        x, y, w, h = self.truth.T
        good = (x >= 0) & (y >= 0) & (x + w <= width) & (y + h <= height) & (w >= LEAST_SIDE) & (h >= LEAST_SIDE)
        places = np.flatnonzero(good[:-1])
        wanted = np.linspace(0, 0.6 * (len(self.frames) - 1), count)
        found = np.unique(places[np.minimum(np.searchsorted(places, wanted), len(places) - 1)]) if len(places) else []
        if not len(found):
            raise Unusable(f'{self.name}: the whole target is in view in no frame')
        return [int(frame) for frame in found]

    def first(self, count):
        """The first frames alone."""
        return Sequence(self.name, self.frames[:count], self.truth[:count])

    def drawn_loosely(self, start, times):
        """The same with a box in frame `start` that is so many times as wide and high, as far as the frame reaches."""
        low, size = np.split(self.truth[start], 2)
        around = size * (times - 1) / 2
        loose_low = np.maximum(low - around, 0)
        loose_high = np.minimum(low + size + around, self.frames[0].shape[1::-1])
        truth = self.truth.copy()
        truth[start] = [*loose_low, *(loose_high - loose_low)]
        return Sequence(self.name, self.frames, truth)


# ---- boxes --------------------------------------------------------------------------------------------


def read_truth(path, size, form=None):
    """Boxes from a file. `size`: (width, height) of the frames; `form`: one of FORMATS, or None to tell it from
    the numbers."""
    rows = []
    for number, line in enumerate(path.read_text(encoding='utf-8').splitlines(), 1):
        try:
            rows.append([float(word) for word in re.split(r'[,;\s]+', line.strip(' ,;\t'))])
        except ValueError:
            raise Unusable(f'{path}:{number}: "{line}" is not a row of numbers') from None
        if len(rows[-1]) not in (4, 6, 8) or len(rows[-1]) != len(rows[0]):
            raise Unusable(f'{path}:{number}: {len(rows[-1])} numbers; there are 4, 6 or 8 in each row')
    if not rows:
        raise Unusable(f'{path} is empty')
    rows = np.array(rows)
    if rows.shape[1] == 6:
        boxes = np.where(rows[:, 5:] == 1, np.nan, rows[:, 1:5])
    elif rows.shape[1] == 4 and (form or told_from(rows, size, path)) == 'xywh':
        boxes = rows
    else:
        corners = rows.reshape(len(rows), -1, 2)
        low = corners.min(axis=1)
        boxes = np.hstack([low, corners.max(axis=1) - low])
    boxes[np.isnan(boxes).any(axis=1) | (boxes[:, 2:] <= 0).any(axis=1)] = np.nan
    return boxes


def told_from(rows, size, path):
    """Which of FORMATS. Corners are in order in every row, what widths and heights need not be; taken for these,
    those of targets on the right or at the bottom reach out of the frame."""
    rows = rows[~np.isnan(rows).any(axis=1)]
    if (rows[:, 2:] < rows[:, :2]).any():
        return 'xywh'
    if (rows[:, :2] + rows[:, 2:] > size).any():
        return 'corners'
    raise Unusable(f'{path}: are its rows x, y, width, height or corners? Say --truth=xywh or --truth=corners')


# ---- frames -------------------------------------------------------------------------------------------


def decoded(source, feed=()):
    """Frames of a pipeline that begins with `source`, whose appsrc gets the bytes that `feed` gives."""
    pipeline = Gst.parse_launch(f'{source} ! videoconvert ! video/x-raw,format=BGR ! appsink name=frames sync=false')
    sink, source = pipeline.get_by_name('frames'), pipeline.get_by_name('source')
    pipeline.set_state(Gst.State.PLAYING)
    try:
        for data in feed:
            source.push_buffer(Gst.Buffer.new_wrapped(data))
        if feed:
            source.end_of_stream()
        while sample := sink.pull_sample():
            yield pixels_of(sample)
        if message := pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR):
            raise Unusable(message.parse_error()[0].message)
    finally:
        pipeline.set_state(Gst.State.NULL)


def video(path):
    """The frames of a file that decodebin knows."""
    return list(decoded(f'filesrc location="{path}" ! decodebin'))


def pixels_of(sample):
    info = GstVideo.VideoInfo.new_from_caps(sample.get_caps())
    buffer = sample.get_buffer()
    meta = GstVideo.buffer_get_video_meta(buffer)
    stride = (meta or info).stride[0]
    _, memory = buffer.map(Gst.MapFlags.READ)
    try:
        rows = np.frombuffer(memory.data, np.uint8, count=stride * (info.height - 1) + 3 * info.width)
        rows = np.lib.stride_tricks.as_strided(rows, (info.height, info.width, 3), (stride, 3, 1))
        return rows.copy()
    finally:
        buffer.unmap(memory)


def images(paths):
    """The frames of image files of one kind, in the order of the numbers in their names."""
    paths = sorted(paths, key=lambda path: [int(number) for number in re.findall(r'\d+', path.stem)])
    caps = IMAGES[paths[0].suffix.lower()]
    frames = list(decoded(f'appsrc name=source max-bytes=0 format=time caps={caps}',
                          [path.read_bytes() for path in paths]))
    if len(frames) != len(paths):
        raise Unusable(f'{paths[0].parent}: {len(frames)} of {len(paths)} images could be decoded')
    return frames


# ---- folders ------------------------------------------------------------------------------------------


def read(folder, form=None):
    """The sequence in a folder: one file of TRUTHS in it or below, and one video or images of one kind."""
    folder = pathlib.Path(folder)
    files = sorted(path for path in folder.rglob('*') if path.is_file())
    truths = [path for path in files if path.name in TRUTHS]
    if len(truths) != 1:
        raise Unusable(f'{folder}: {len(truths)} files of ground truth ({", ".join(TRUTHS)}) instead of one')
    videos = [path for path in files if path.suffix.lower() in VIDEOS]
    stills = [path for path in files if path.suffix.lower() in IMAGES]
    if len(videos) + bool(stills) != 1 or len({path.suffix for path in stills}) > 1:
        raise Unusable(f'{folder}: {len(videos)} videos and {len(stills)} images; there is to be one video, or '
                       'images of one kind')
    frames = images(stills) if stills else video(videos[0])
    if not frames:
        raise Unusable(f'{folder}: no frame could be decoded')
    if len({frame.shape for frame in frames}) > 1:
        raise Unusable(f'{folder}: frames differ in size')
    truth = read_truth(truths[0], frames[0].shape[1::-1], form)
    if len(truth) != len(frames):
        raise Unusable(f'{folder}: {len(truth)} boxes for {len(frames)} frames')
    return Sequence(folder.resolve().name, frames, truth)
