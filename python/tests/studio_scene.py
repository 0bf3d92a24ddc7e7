# SPDX-License-Identifier: LGPL-2.1-or-later
"""A clip for the studio's tests and pictures: a round patch moves over a photograph, at places that are known."""
import pathlib

import numpy as np

from xcorr._gstreamer import Gst
from xcorr.studio.images import LIMIT, pixels_of

IMAGES = pathlib.Path(__file__).parents[2] / "docs/images"
SIZE, PATCH, RATE = (640, 426), 72, 25


def read(name):
    """RGB pixels of one of the photographs, and of the patch which of them count."""
    pipeline = Gst.parse_launch(f"filesrc location={IMAGES / name} ! decodebin ! videoconvert ! "
                                f"video/x-raw,format={'RGBA' if name.endswith('png') else 'RGB'} ! appsink name=out")
    pipeline.set_state(Gst.State.PLAYING)
    sample = pipeline.get_by_name("out").emit("try-pull-preroll", LIMIT)
    buffer = sample.get_buffer()
    if name.endswith("png"):
        found = np.frombuffer(buffer.extract_dup(0, buffer.get_size()), "u1").reshape(PATCH, PATCH, 4)
    else:
        found = pixels_of(sample)
    pipeline.set_state(Gst.State.NULL)
    return found


def place(frame):
    """The patch's upper left corner."""
    turn = 2 * np.pi * frame / 160
    return round(284 + 210 * np.sin(turn)), round(170 + 120 * np.sin(2 * turn))


def make(path, frames=200, scale=1):
    photo, patch = read("rocket.jpg")[:SIZE[1]], read("patch.png")
    counts = patch[..., 3:] >= 128
    width, height = SIZE[0] * scale, SIZE[1] * scale
    pipeline = Gst.parse_launch(f"appsrc name=source format=time caps=video/x-raw,format=RGB,width={SIZE[0]},height={SIZE[1]},"
                                f"framerate={RATE}/1 max-bytes=9000000 block=true ! videoconvert ! videoscale ! video/x-raw,"
                                f"format=I420,width={width},height={height} ! x264enc pass=quant quantizer=12 "
                                f"key-int-max=25 speed-preset=veryfast ! mp4mux ! filesink location={path}")
    source = pipeline.get_by_name("source")
    pipeline.set_state(Gst.State.PLAYING)
    for number in range(frames):
        image = photo.copy()
        x, y = place(number)
        there = image[y:y + PATCH, x:x + PATCH]
        np.copyto(there, patch[..., :3], where=counts)
        buffer = Gst.Buffer.new_wrapped(image.tobytes())
        buffer.pts, buffer.duration = number * Gst.SECOND // RATE, Gst.SECOND // RATE
        source.emit("push-buffer", buffer)
    source.emit("end-of-stream")
    message = pipeline.get_bus().timed_pop_filtered(120 * Gst.SECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR)
    pipeline.set_state(Gst.State.NULL)
    assert message and message.type == Gst.MessageType.EOS, message and message.parse_error()
    return path
