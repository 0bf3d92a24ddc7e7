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


def make(path, frames=200, scale=1, change=lambda number, image: None):
    """`change` may draw into the images."""
    photo, patch = read("rocket.jpg")[:SIZE[1]], read("patch.png")
    counts = patch[..., 3:] >= 128

    def draw(number):
        image = photo.copy()
        x, y = place(number)
        there = image[y:y + PATCH, x:x + PATCH]
        np.copyto(there, patch[..., :3], where=counts)
        change(number, image)
        return image
    return write(path, map(draw, range(frames)), scale)


def make_turning(path, frames=50):
    """Gravel that turns by 0.3 degrees a frame, and back, about a place left of the middle."""
    photo = read("gravel.jpg")
    y, x = np.mgrid[:SIZE[1], :SIZE[0]] - np.array([200, 230])[:, None, None]

    def draw(number):
        turn = np.radians(0.3) * (number if number < frames / 2 else frames - number)
        across, down = x * np.cos(turn) - y * np.sin(turn), x * np.sin(turn) + y * np.cos(turn)
        return sampled(photo, down + 200, across + 230)
    return write(path, map(draw, range(frames)))


def sampled(image, y, x):
    """Between pixels by straight lines; the image goes on as in a mirror."""
    height, width = image.shape[:2]
    left, top = np.floor(x).astype(int), np.floor(y).astype(int)
    part_x, part_y = (x - left)[..., None], (y - top)[..., None]

    def at(down, across):
        down, across = (np.abs((each + size - 1) % (2 * size - 2) - size + 1)
                        for each, size in ((top + down, height), (left + across, width)))
        return image[down, across]
    return np.uint8((at(0, 0) * (1 - part_x) + at(0, 1) * part_x) * (1 - part_y) +
                    (at(1, 0) * (1 - part_x) + at(1, 1) * part_x) * part_y + 0.5)


def write(path, images, scale=1):
    width, height = SIZE[0] * scale, SIZE[1] * scale
    pipeline = Gst.parse_launch(f"appsrc name=source format=time "
                                f"caps=video/x-raw,format=RGB,width={SIZE[0]},height={SIZE[1]},framerate={RATE}/1 "
                                f"max-bytes=9000000 block=true ! videoconvert ! videoscale ! "
                                f"video/x-raw,format=I420,width={width},height={height} ! x264enc pass=quant "
                                f"quantizer=12 key-int-max=25 speed-preset=veryfast ! mp4mux ! filesink "
                                f"location={path}")
    source = pipeline.get_by_name("source")
    pipeline.set_state(Gst.State.PLAYING)
    for number, image in enumerate(images):
        buffer = Gst.Buffer.new_wrapped(image.tobytes())
        buffer.pts, buffer.duration = number * Gst.SECOND // RATE, Gst.SECOND // RATE
        source.emit("push-buffer", buffer)
    source.emit("end-of-stream")
    message = pipeline.get_bus().timed_pop_filtered(120 * Gst.SECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR)
    pipeline.set_state(Gst.State.NULL)
    assert message and message.type == Gst.MessageType.EOS, message and message.parse_error()
    return path
