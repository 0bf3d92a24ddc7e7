# SPDX-License-Identifier: LGPL-2.1-or-later
"""Pipelines with the element `cudaxcorr`, for `xcorr.archive`, `xcorr.fleet` and `xcorr.studio`.

GStreamer decodes and matches in this process; Python makes the pipeline and waits.
"""
from __future__ import annotations

import contextlib
import hashlib
import importlib
import pathlib
import time
from typing import Any, Callable, Iterator, Mapping, Sequence

from ._launch_line import quoted
from ._missing import need

gi = need("gi", "PyGObject", "Debian: python3-gi and gir1.2-gstreamer-1.0; a virtual environment sees it with "
          "--system-site-packages")
gi.require_version("Gst", "1.0")
Gst: Any = importlib.import_module("gi.repository.Gst")
Gst.init(None)

STANDSTILL = 2  # s, after which what stands still will do so for ever


class PipelineError(RuntimeError):
    """What GStreamer says, with the element that says it."""


# What a file's content may make decoders of; those of playlists, manifests, sessions and editing projects, which fetch
# what the file names, have other words in their class.
LOCAL = frozenset(("Codec", "Demuxer", "Parser", "Decoder", "Image", "Video", "Audio", "Subtitle", "Converter", "Bin",
                   "Metadata", "Hardware", "Filter", ""))
TRY, SKIP = 0, 2  # of decodebin's GstAutoplugSelectResult


def matcher(templates: Sequence[str | pathlib.Path], settings: Mapping[str, object], **more: object) -> str:
    """The element in a launch line. `settings` are its properties, by their names with `-` or `_`."""
    for element in ("cudaxcorr", "xcorrjson"):
        if not Gst.ElementFactory.find(element):
            raise PipelineError(f'GStreamer has no element "{element}": set GST_PLUGIN_PATH_1_0 to the folder of '
                                "libgstcudaxcorr.so")
    files = "<" + ",".join(quoted(pathlib.Path(template).resolve()) for template in templates) + ">"
    properties: dict[str, object] = {"post-messages": "false", "attach-roi-meta": "false"}
    properties |= {name.replace("_", "-"): value for name, value in {**settings, **more}.items()}
    known = {spec.name for spec in Gst.ElementFactory.make("cudaxcorr").list_properties()}
    for name in properties:
        if name not in known:
            raise ValueError(f"cudaxcorr has no property {name!r}")
    words = [f"{name}={quoted(value)}" for name, value in properties.items()]
    return " ".join(["cudaxcorr", "templates=" + quoted(files), *words])


def digest(templates: Sequence[str], settings: Mapping[str, object]) -> str:
    """Of everything that results depend on but the frames."""
    of = hashlib.sha256(repr(sorted(settings.items())).encode())
    for template in templates:
        of.update(pathlib.Path(template).name.encode() + b"\0")
        of.update(hashlib.sha256(pathlib.Path(template).read_bytes()).digest())
    return of.hexdigest()[:12]


@contextlib.contextmanager
def running(launch_line: str, warnings: list[str] | None = None,
            prepare: Callable[[Any], object] | None = None, local: bool = False) -> Iterator[Any]:
    """A pipeline, paused, that ends with the block. What it warns of is appended to a list of the caller's.

    `prepare` is called with it before anything flows. If `local`, nothing that a file contains opens a connection.
    """
    try:
        pipeline = Gst.parse_launch(launch_line)
    except gi.repository.GLib.Error as error:
        raise PipelineError(error.message) from None
    if warnings is not None:
        bus = pipeline.get_bus()
        bus.enable_sync_message_emission()
        bus.connect("sync-message::warning", lambda _, message: warnings.append(
            message.parse_warning()[0].message))
    if prepare:
        prepare(pipeline)
    refused = keep_local(pipeline) if local else ()
    try:
        change(pipeline, Gst.State.PAUSED)
        yield pipeline
    except PipelineError as error:
        if refused:
            raise PipelineError(f"it is for {', '.join(sorted(refused))}, and would open what it names: a file must "
                                "not") from error
        raise
    finally:
        pipeline.set_state(Gst.State.NULL)


def keep_local(pipeline: Any) -> set[str]:
    """Lets its decoders use plugins that are LOCAL. Returns a set for the names of those that they would have used."""
    refused: set[str] = set()

    def choose(_element: Any, _pad: Any, _caps: Any, factory: Any) -> int:
        if LOCAL.issuperset(factory.get_metadata(Gst.ELEMENT_METADATA_KLASS).split("/")):
            return TRY
        refused.add(factory.get_name())
        return SKIP
    for element in pipeline.children:
        if gi.repository.GObject.signal_lookup("autoplug-select", element):
            element.connect("autoplug-select", choose)
    return refused


def change(pipeline: Any, state: Any) -> None:
    """Waits until it has that state, or raises what is wrong.

    Decodebin and parsebin lose the error of a demuxer that fails at once, while they still try whether it suits: then
    there is never a frame, and no message says why.
    """
    pipeline.set_state(state)
    moved = time.monotonic()
    while (changed := pipeline.get_state(Gst.SECOND // 10)[0]) == Gst.StateChangeReturn.ASYNC:
        check(pipeline, 0, Gst.MessageType.ERROR)
        if not stands_still(pipeline):
            moved = time.monotonic()
        elif time.monotonic() - moved > STANDSTILL:
            raise PipelineError("nothing reads it any more, and there was no frame: it may be damaged")
    failed = changed == Gst.StateChangeReturn.FAILURE
    check(pipeline, Gst.SECOND if failed else 0, Gst.MessageType.ERROR)  # the message may come after the failure
    if failed:
        raise PipelineError(f"it does not get to {state.value_nick}, and no message says why")


def stands_still(pipeline: Any) -> bool:
    """Whether what drove it has paused, and nothing else does."""
    states: set[Any] = set()
    elements = pipeline.iterate_recurse()
    while (found := elements.next())[0] != Gst.IteratorResult.DONE:
        if found[0] == Gst.IteratorResult.OK:
            states |= {pad.get_task_state() for pad in found[1].pads}
        else:
            elements.resync()
    return Gst.TaskState.PAUSED in states and Gst.TaskState.STARTED not in states


def check(pipeline: Any, timeout: int, types: Any) -> Any:
    """The next message of these types within so many nanoseconds, or None; raises errors."""
    message = pipeline.get_bus().timed_pop_filtered(timeout, types | Gst.MessageType.ERROR)
    if message and message.type == Gst.MessageType.ERROR:
        error, details = message.parse_error()
        raise PipelineError(f"{message.src.get_name()}: {error.message}")
    return message


def play(pipeline: Any) -> None:
    """Until the end of the stream, or raises what is wrong."""
    pipeline.set_state(Gst.State.PLAYING)
    check(pipeline, Gst.CLOCK_TIME_NONE, Gst.MessageType.EOS)
