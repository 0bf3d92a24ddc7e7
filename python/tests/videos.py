# SPDX-License-Identifier: LGPL-2.1-or-later
"""Videos with a target at places that are known, for the tests of archives and fleets."""
import numpy

from xcorr._gstreamer import Gst

WIDTH, HEIGHT, SIZE, RATE = 192, 128, 24, 25


def smooth(shape, seed):
    """A random texture without what encoders blur."""
    noise = numpy.random.default_rng(seed).random((shape[0] // 4 + 2, shape[1] // 4 + 2))
    grown = numpy.kron(noise, numpy.ones((4, 4)))
    for axis in 0, 1:
        grown = sum(numpy.roll(grown, shift, axis) for shift in range(-2, 3)) / 5
    grown = grown[4:4 + shape[0], 4:4 + shape[1]]
    return numpy.uint8(40 + 175 * (grown - grown.min()) / numpy.ptp(grown))


TARGET = smooth((SIZE, SIZE), 1000)


def place(seed, frame):
    """Where the target is in a frame, or None: every fourth stretch of 20 frames is without it."""
    if frame // 20 % 4 == 3:
        return None
    return (7 * seed + 2 * frame) % (WIDTH - SIZE), (11 * seed + frame) % (HEIGHT - SIZE)


def draw(seed, frame):
    image = smooth((HEIGHT, WIDTH), seed)
    if at := place(seed, frame):
        image[at[1]:at[1] + SIZE, at[0]:at[0] + SIZE] = TARGET
    return image


def push(pipeline, images):
    source = pipeline.get_by_name("source")
    pipeline.set_state(Gst.State.PLAYING)
    for number, image in enumerate(images):
        buffer = Gst.Buffer.new_wrapped(image.tobytes())
        buffer.pts, buffer.duration = number * Gst.SECOND // RATE, Gst.SECOND // RATE
        source.emit("push-buffer", buffer)
    source.emit("end-of-stream")
    message = pipeline.get_bus().timed_pop_filtered(60 * Gst.SECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR)
    pipeline.set_state(Gst.State.NULL)
    assert message and message.type == Gst.MessageType.EOS, message and message.parse_error()


def source(width=WIDTH, height=HEIGHT):
    return (f"appsrc name=source format=time caps=video/x-raw,format=GRAY8,width={width},height={height},"
            f"framerate={RATE}/1 ! videoconvert")


def make_video(path, seed, frames, coder="x264enc qp-min=1 qp-max=8 pass=quant quantizer=4 key-int-max=25 bframes=2",
               muxer="mp4mux"):
    push(Gst.parse_launch(f"{source()} ! {coder} ! {muxer} ! filesink location={path}"),
         (draw(seed, frame) for frame in range(frames)))
    return path


def make_template(path, shape=None):
    """The target, or some other texture of that height and width."""
    image = smooth(shape, 2000) if shape else TARGET
    height, width = image.shape
    push(Gst.parse_launch(f"{source(width, height)} ! pngenc ! filesink location={path}"), [image])
    return path
