#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Reads what cudaxcorr finds, from Python: on the buffers, where an element further down reads it,
and on the bus, where an application does. Both have the same fields.

    read_meta.py CLIP TEMPLATE

Needs PyGObject with GStreamer's own additions to it (Debian: python3-gst-1.0), by which an array in
a structure is a Python sequence.
"""
import sys

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

PIPELINE = ("filesrc name=clip ! decodebin ! videoconvert ! cudaxcorr name=finder ! "
            "fakesink name=end")


def show(where, result):
    """A line for each peak of a result, which is the structure of a meta or of a message. Each line
    in one piece: both threads write."""
    for peak in result["peaks"]:
        sys.stdout.write("%s %.3f %s id=%d x=%.2f y=%.2f score=%.4f\n" % (
            where, result["pts"] / Gst.SECOND, peak["label"], peak["id"], peak["x"], peak["y"],
            peak["score"]))


def on_buffer(pad, info):
    meta = info.get_buffer().get_custom_meta("GstCudaXCorrMeta")
    if meta:
        show("meta", meta.get_structure())
    return Gst.PadProbeReturn.OK


def wait(bus):
    """Until the end; what went wrong, or None."""
    while True:
        message = bus.timed_pop_filtered(Gst.CLOCK_TIME_NONE, Gst.MessageType.ELEMENT |
                                         Gst.MessageType.EOS | Gst.MessageType.ERROR)
        if message.type == Gst.MessageType.EOS:
            return None
        if message.type == Gst.MessageType.ERROR:
            return message.parse_error()[0].message
        if message.has_name("cudaxcorr"):
            show("message", message.get_structure())


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    Gst.init(None)
    pipeline = Gst.parse_launch(PIPELINE)
    pipeline.get_by_name("clip").set_property("location", sys.argv[1])
    pipeline.get_by_name("finder").set_property("template", sys.argv[2])
    end = pipeline.get_by_name("end").get_static_pad("sink")
    end.add_probe(Gst.PadProbeType.BUFFER, on_buffer)
    pipeline.set_state(Gst.State.PLAYING)
    try:
        fault = wait(pipeline.get_bus())
    finally:
        pipeline.set_state(Gst.State.NULL)
    if fault:
        sys.exit(fault)


if __name__ == "__main__":
    main()
